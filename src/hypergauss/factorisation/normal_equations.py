r"""All factors of one side given those of the other: one Gaussian system, and exact draws from it.

Ratings are y_ij = mu + b_i + c_j + u_i . w_j + noise of precision tau. Row i of the users' factors is x_i = (b_i, u_i);
given the items', it meets the features z_j = (1, w_j), and c_j is known. With factors X = C Y in coordinates Y that are
standard normal a priori (`priors`), Y has a posteriori, over all users and columns together,

    precision   P = I + C' blockdiag_i( tau sum_j z_j z_j' ) C,
    mean        P^-1 C' ( tau sum_j z_j (y_ij - mu - c_j) )_i.

A draw is the solution of one linear system whose right-hand side is perturbed: noise of variance 1 / tau is added to
each rating, and standard normals to the prior's part. The right-hand side then has covariance P, and the solution
P^-1 P P^-1 = P^-1. Items are drawn likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.exceptions import NumericalError
from hypergauss.factorisation.columns import Columns, blockwise
from hypergauss.solvers.conjugate_gradients import joint_conjugate_gradients

#: Some ten steps are usual, and where rounding stops the descent in single precision, more of them do not help.
_MOST_STEPS = {np.dtype(np.float32): 100, np.dtype(np.float64): 1000}
#: Numbers of the blocks that are worked on at once: they stay in the processor's cache.
_PART = 1 << 16


class NormalEquations(NamedTuple):
    r"""Sums over the ratings of each vertex, for features e_j = (1, w_j, c_j) and weights h_j of the other side.

    Attributes
    ----------
    gram : array, shape (D + 2, D + 2, N)
        sum_j h_j e_j e_j'; vertices come last, so that arithmetic on blocks is that of long rows.
    moments : array, shape (N, D + 2)
        sum_j h_j y_ij e_j.
    squares : array, shape (N,)
        sum_j h_j y_ij^2.
    """

    gram: np.ndarray
    moments: np.ndarray
    squares: np.ndarray

    def residuals(self, factors: np.ndarray, mean: float) -> np.ndarray:
        r"""Return sum_j h_j r_ij^2 for rows (b_i, u_i) of factors, shape (N,): no pass over the ratings.

        The prediction of ij is f_i . e_j with f_i = (mu + b_i, u_i, 1), so that the sum is
        squares_i - 2 f_i . moments_i + f_i' gram_i f_i.
        """
        f = np.concatenate([factors, np.ones((len(factors), 1), factors.dtype)], axis=1)
        f[:, 0] += factors.dtype.type(mean)
        fitted = blockwise(self.gram, f)
        return np.maximum(self.squares + np.einsum("nk,nk->n", f, fitted - 2.0 * self.moments, dtype=np.float64), 0.0)


def features(factors: np.ndarray) -> np.ndarray:
    """Return (1, w_j, c_j) for each row (c_j, w_j) of factors."""
    return np.concatenate([np.ones((len(factors), 1), factors.dtype), factors[:, 1:], factors[:, :1]], axis=1)


def normal_equations(
    pattern: sp.csr_array, table: sp.csr_array, e: np.ndarray, weights: np.ndarray | None = None
) -> NormalEquations:
    """Sum features and their products over the ratings of each row, one pass each over the sparse tables."""
    size = e.shape[1]
    h = np.ones(len(e), e.dtype) if weights is None else weights.astype(e.dtype)
    weighed = h[:, None] * e
    squares = sp.csr_array((table.data.astype(np.float64) ** 2, table.indices, table.indptr), shape=table.shape) @ h
    upper = np.triu_indices(size)
    place = np.zeros((size, size), dtype=np.int64)
    place[upper] = np.arange(len(upper[0]))
    place = np.maximum(place, place.T)
    sums = np.ascontiguousarray((pattern @ (weighed[:, upper[0]] * e[:, upper[1]])).T)
    return NormalEquations(sums[place], table @ weighed, squares)


class Solution(NamedTuple):
    """Coordinates of the smooth part, shape (m, K), the rough part h, shape (N, K), and the factors they make."""

    smooth: np.ndarray
    rough: np.ndarray
    factors: np.ndarray


class System:
    r"""Posterior of some columns of one side's factors, shape (N, K).

    With blocks G_i = tau sum_j z_j z_j' and rho for diag(rho), the system over (h, y) is

        [ I + rho G rho      rho G B ] [h]   [ rho l + noise ]
        [ B' G rho       I + B' G B  ] [y] = [ B' l + noise  ],    l_i = tau sum_j z_j (y_ij - mu - c_j),

    whose first block is one K x K matrix a vertex. Eliminating h leaves I + B' G~ B with G~_i = (I + G_i rho^2)^-1 G_i,
    the data as they look once the rough part has taken its share, never more than 1 / rho^2.

    Parameters
    ----------
    columns : Columns
        The prior.
    gram : array, shape (K, K, N)
        G.
    linear : array, shape (N, K)
        l.
    """

    def __init__(self, columns: Columns, gram: np.ndarray, linear: np.ndarray) -> None:
        self.columns, self.gram, self.linear = columns, gram, linear
        rho = columns.rough.astype(gram.dtype)
        self._shared, self._log_det = left_by_rough(gram, rho)
        self._own = -rho[:, None, None] * self._shared * rho[:, None]  # the inverse of I + rho G rho
        k = np.arange(len(rho))
        self._own[k, k] += 1.0

    def product(self, y: np.ndarray) -> np.ndarray:
        """Return I + B' G~ B times coordinates."""
        return y + self.columns.adjoint(blockwise(self._shared, self.columns.factors(y)))

    def mean(self, tolerance: float, start: np.ndarray | None = None) -> Solution:
        """Return the posterior's mean, which is also its mode."""
        return self._solve(self.linear, np.zeros_like(self.linear), np.zeros((), self.linear.dtype), tolerance, start)

    def evidence(self, smooth: np.ndarray) -> float:
        """Return log p of the ratings, up to a constant, given the smooth part of the factors, the rough part out.

        It is l . f - f' G f / 2 of the smooth part f, and v' (I + rho G rho)^-1 v / 2 - log det(I + rho G rho) / 2 with
        v = rho (l - G f) of the rough one.
        """
        left = self.linear - blockwise(self.gram, smooth)
        v = self.columns.rough * left
        squares = np.einsum("nk,nk->", smooth, self.linear + left, dtype=np.float64)
        squares += np.einsum("nk,nk->", v, blockwise(self._own, v), dtype=np.float64)
        return 0.5 * float(squares - self._log_det)

    def draw(
        self,
        scattered: np.ndarray,
        tolerance: float,
        rng: np.random.Generator,
        before: Solution | None = None,
        kept: float = 0.0,
    ) -> Solution:
        """Return a draw, given noise of covariance G_i for each vertex, shape (N, K).

        Of where it was before, a share c of the distance x - m from the mean m may be kept, with -1 < c < 1: it is at
        m + c (x - m) plus sqrt(1 - c^2) of what a draw is from m (Adler, 1981). The right-hand side P m of a draw
        becomes (1 - c) P m + c P x, and P x is [h + rho G f, y + B' G f].
        """
        dtype = self.linear.dtype
        for_rough = rng.standard_normal(self.linear.shape, dtype=dtype)
        for_smooth = rng.standard_normal(self.columns.shape, dtype=dtype)
        if before is None or kept == 0.0:
            return self._solve(self.linear + scattered, for_rough, for_smooth, tolerance, None)
        c, fresh = dtype.type(kept), dtype.type(np.sqrt(1.0 - kept**2))
        linear = (1 - c) * self.linear + c * blockwise(self.gram, before.factors) + fresh * scattered
        for_rough = c * before.rough + fresh * for_rough
        for_smooth = c * before.smooth + fresh * for_smooth
        return self._solve(linear, for_rough, for_smooth, tolerance, None)

    def _solve(
        self,
        linear: np.ndarray,
        for_rough: np.ndarray,
        for_smooth: np.ndarray,
        tolerance: float,
        start: np.ndarray | None,
    ) -> Solution:
        rho = self.columns.rough
        of_rough = rho * linear + for_rough
        taken = blockwise(self.gram, rho * blockwise(self._own, of_rough))
        right = self.columns.adjoint(linear - taken) + for_smooth
        preconditioner = self.columns.preconditioner(self._shared)
        y = self._solved(right, preconditioner, tolerance, start)
        if y is None and right.dtype != np.float64:
            # A level drawn with a great variance can be too much for single precision.
            y = self._solved(right.astype(np.float64), preconditioner, tolerance, None)
        if y is None:
            raise NumericalError(
                f"Conjugate gradients did not reach the tolerance {tolerance:g} in {_MOST_STEPS[np.dtype(np.float64)]} "
                "steps. Likely causes: a tolerance below what the numbers' precision allows (1e-4 for float32), or "
                "ratings on very uneven scales."
            )
        y = y.astype(right.dtype, copy=False)
        smooth = self.columns.factors(y)
        h = blockwise(self._own, of_rough - rho * blockwise(self.gram, smooth))
        return Solution(y, h, rho * h + smooth)

    def _solved(
        self,
        right: np.ndarray,
        preconditioner: Callable[[np.ndarray], np.ndarray],
        tolerance: float,
        start: np.ndarray | None,
    ) -> np.ndarray | None:
        """Return coordinates y, or None where rounding stops the descent before the tolerance is reached."""
        found = joint_conjugate_gradients(
            self.product,
            right,
            tolerance=tolerance,
            max_iterations=_MOST_STEPS[right.dtype],
            precondition=preconditioner,
            start=start,
        )
        return found.x if found.residual <= tolerance else None


def left_by_rough(gram: np.ndarray, rho: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (I + G rho^2)^-1 G for blocks G, shape (K, K, N), one column's rough part after another.

    For column k alone it is G - g g' rho_k^2 / (1 + rho_k^2 g_k), g the k-th column of G, and its own row is
    g / (1 + rho_k^2 g_k), in which nothing cancels. The product of these denominators is det(I + rho G rho), whose
    logarithm, summed over blocks, is returned too.
    """
    left, log_det = gram.copy(), 0.0
    for part in _parts(left):
        for k, square in enumerate(rho**2):
            row = part[k].copy()
            whole = 1.0 + square * row[k]
            log_det += float(np.log(whole).sum(dtype=np.float64))
            taken = np.sqrt(square / whole) * row
            part -= taken[:, None] * taken
            part[k] = part[:, k] = row / whole
    return left, log_det


def system(
    equations: NormalEquations, columns: Columns, *, mean: float, precision: float | np.ndarray, free: np.ndarray
) -> System:
    """Return the system of the free columns, given the mean mu and the noise's precision, for all or for each row."""
    gram, moments, _ = equations
    tau = np.broadcast_to(np.asarray(precision, gram.dtype), len(moments))
    linear = moments[:, free] - gram.dtype.type(mean) * gram[free, 0].T - gram[free, -1].T
    return System(columns, tau * gram[free[:, None], free], tau[:, None] * linear)


def scattered_noise(gram: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw noise of covariance G_i for each vertex, shape (N, K), for blocks of shape (K, K, N).

    It stands for noise of the ratings, sum_j z_j xi_ij, of which there are many more: L_i times K standard normals,
    with Cholesky's factor G_i = L_i L_i', one column after another. Where ratings are few G_i is singular: a pivot
    that rounding leaves counts as 0.
    """
    size = len(gram)
    noise = np.zeros((size, gram.shape[2]), gram.dtype)
    white = rng.standard_normal(noise.shape, dtype=gram.dtype)
    left = gram.copy()
    for part, own, drawn in zip(_parts(left), _parts(noise), _parts(white), strict=True):
        rounding = size * np.finfo(gram.dtype).eps * np.einsum("kkn->kn", part)
        for k in range(size):
            is_known = part[k, k] > rounding[k]
            root = np.sqrt(np.where(is_known, part[k, k], 1.0))
            column = np.where(is_known, part[k, k:] / root, 0.0)
            own[k:] += column * drawn[k]
            part[k + 1 :, k + 1 :] -= column[1:, None] * column[1:]
    return np.ascontiguousarray(noise.T)


def _parts(blocks: np.ndarray) -> Iterator[np.ndarray]:
    """Yield views of some vertices' numbers at once, the last axis, as many for blocks as for their rows."""
    step = max(_PART // len(blocks) ** 2, 1)
    for first in range(0, blocks.shape[-1], step):
        yield blocks[..., first : first + step]
