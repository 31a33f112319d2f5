r"""What a filter gives each vertex, by products alone: the diagonal of phi(Delta) for every phi at once.

With t_k the Chebyshev polynomials on [0, upper] and c_k the coefficients of a filter phi,

    phi(Delta)_ii = sum over k of c_k t_k(Delta)_ii.

The direction u that the standardised prior takes out is an eigenvector of eigenvalue 0 and is kept apart, exactly. With
an orthonormal Q of leading eigenvectors besides, however rough, and z vectors of independent signs,

    t_k(Delta) = t_k(Delta) (u u' + Q Q' + P),    diag(t_k Q Q') = row sums of (t_k Q) o Q,
    diag(t_k P) = mean over probes of z o (t_k P z),

so that only what a filter that falls has little of is left to chance. With s probes the variance of the diagonal is

    ((phi^2 P)_ii - (phi P)_ii^2) / s,

which is known by the same moments: the estimate states its own error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, minres

from hypergauss.exceptions import ConvergenceError
from hypergauss.operators import Block, LaplacianOperator, LocalLaplacian, column_slices
from hypergauss.spectrum import chebyshev
from hypergauss.spectrum.leading import leading_subspace

#: The highest Chebyshev polynomial, the probes behind each diagonal, and the vertices up to which nothing is random.
_DEGREE, _PROBES, _FEW_VERTICES = 64, 64, 1_000
#: Leading eigenvectors that probes are relieved of, and squared lengths, relative to the largest, that count as some.
_LEADING, _INDEPENDENT = 64, 1e-3
#: Vertices from which moments are kept in single precision, whose rounding is far below what probes leave.
_MANY_VERTICES = 200_000
#: Residual of the projection onto the null space where components are not to be had, and the most products for it.
_RESIDUAL, _MOST_PRODUCTS = 1e-13, 10_000


class LocalDensity(NamedTuple):
    """How the eigenvalues are spread as each vertex sees them.

    Attributes
    ----------
    known, estimated : arrays, shape (N, degree + 1)
        The diagonals of t_k(Delta) Q Q', and of t_k(Delta) P by probes.
    trivial : array, shape (N,)
        The direction u that both leave out.
    upper : float
        A number that no eigenvalue exceeds.
    n_random : int
        Probes behind the estimated ones; 0 where nothing is random.
    """

    known: np.ndarray
    estimated: np.ndarray
    trivial: np.ndarray
    upper: float
    n_random: int

    @classmethod
    def of(cls, operator: LaplacianOperator, trivial: np.ndarray, seed: int = 0) -> Self:
        """Find the moments of an operator by probes, or of few vertices by all unit vectors."""
        N, u, rng = operator.size, operator.vector(trivial[:, None]), np.random.default_rng([seed, 4])
        is_few = N <= _FEW_VERTICES
        Q = _leading(operator, u, 0 if is_few else _LEADING, rng)
        known = np.zeros((N, _DEGREE + 1), dtype=np.float32 if N > _MANY_VERTICES else np.float64)
        estimated, count = np.zeros_like(known), N if is_few else _PROBES
        for some in column_slices(Q.shape[1]):
            _add_diagonals(operator, Q[:, some], Q[:, some], known, 1.0)
        for some in column_slices(count):
            width = some.stop - some.start
            z = operator.vector(np.eye(N, width, -some.start)) if is_few else operator.signs(width, rng)
            rest = z - u @ operator.fetch(u.T @ z)
            rest = operator.settle(rest - Q @ operator.fetch(Q.T @ rest) if Q.shape[1] else rest)
            _add_diagonals(operator, z, rest, estimated, 1.0 if is_few else 1.0 / count)
        estimated[:, 0] = 1.0 - trivial**2 - known[:, 0]  # as t_0 is the identity
        return cls(known, estimated, trivial, operator.upper or 1.0, 0 if is_few else count)

    def diagonal(self, phi: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the diagonal of phi(Delta) (I - u u'), shape (N,), for a filter that falls; complex where phi is."""
        c = self._coefficients(phi)
        values = self.known @ c + self.estimated @ c
        least = phi(np.array([self.upper]))[0] * (1.0 - self.trivial**2)
        return np.where(np.real(values) > np.real(least), values, least)

    def standard_error(self, phi: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the standard error of each vertex's `diagonal`, shape (N,), with what the polynomial may leave.

        It is an estimate itself: rough for a single vertex, and good on average over many.
        """
        left_out = np.abs(self._coefficients(phi, beyond=True)).sum()
        if self.n_random == 0:
            return np.full(len(self.estimated), left_out)
        squares = self.estimated @ self._coefficients(lambda nodes: phi(nodes) ** 2)
        own = self.estimated @ self._coefficients(phi)
        return np.sqrt(np.maximum(squares - own**2, 0.0) / self.n_random + left_out**2)

    def _coefficients(self, phi: Callable[[np.ndarray], np.ndarray], *, beyond: bool = False) -> np.ndarray:
        """Return those of the moments, or those that are beyond them."""
        degree = self.estimated.shape[1] - 1
        values = phi(chebyshev.nodes(8 * degree, self.upper))
        whole = chebyshev.coefficient_matrix(4 * degree, len(values)) @ values
        return whole[degree + 1 :] if beyond else whole[: degree + 1]


def _leading(operator: LaplacianOperator, u: Block, size: int, rng: np.random.Generator) -> Block:
    """Return leading eigenvectors, roughly, orthonormal and orthogonal to u, shape (N, q)."""
    if size == 0:
        return u[:, :0]
    found = leading_subspace(operator.in_single(), size, rng).vectors.astype(np.float64)
    found = operator.settle(found - u @ operator.fetch(u.T @ found))
    values, vectors = np.linalg.eigh(operator.fetch(found.T @ found))
    keep = values > _INDEPENDENT * values.max()
    return operator.settle(found @ (vectors[:, keep] / np.sqrt(values[keep])))


def _add_diagonals(operator: LaplacianOperator, left: Block, right: Block, totals: np.ndarray, share: float) -> None:
    """Add the row sums of left o t_k(Delta) right to each column of the totals."""
    for k, term in enumerate(chebyshev.terms(operator, operator.enter(right), totals.shape[1] - 1)):
        found = operator.settle((left * operator.leave(term)).sum(axis=1)[:, None])
        totals[:, k] += share * operator.array(found)[:, 0]


def trivial_direction(operator: LaplacianOperator) -> np.ndarray:
    """Return the unit vector of eigenvalue 0 nearest to a constant, shape (N,); zeros where there is none.

    That is the projection of the constant onto the null space. Of a hypergraph at hand it is sqrt(degree) on each
    component C, times (t_C' 1) / (t_C' t_C); else 1 - x with Delta x = Delta 1, by products.
    """
    if isinstance(operator, LocalLaplacian) and operator.has_incidence and operator.null is not None:
        direction = _by_components(operator.incidence, operator.null)
    else:
        direction = _by_products(operator)
    length = np.linalg.norm(direction)
    return direction / length if length > _RESIDUAL * np.sqrt(max(len(direction), 1)) else np.zeros_like(direction)


def _by_components(A: sp.csr_array, null: np.ndarray) -> np.ndarray:
    t = np.where(np.diff(A.indptr) > 0, null, 0.0)
    count, labels = connected_components(sp.block_array([[None, A], [A.T, None]], format="csr"), directed=False)
    of_vertices = labels[: len(t)]
    squares = np.bincount(of_vertices, t**2, count)
    levels = np.divide(np.bincount(of_vertices, t, count), squares, out=np.zeros(count), where=squares > 0)
    return t * levels[of_vertices]


def _by_products(operator: LaplacianOperator) -> np.ndarray:
    def product(x: np.ndarray) -> np.ndarray:
        return operator.array(operator @ operator.vector(x.reshape(-1, 1)))[:, 0]

    ones = np.ones(operator.size)
    rhs = product(ones)
    if np.linalg.norm(rhs) <= _RESIDUAL * np.linalg.norm(ones):
        return ones
    system = LinearOperator((operator.size, operator.size), matvec=product, dtype=np.float64)
    x, failed = minres(system, rhs, rtol=_RESIDUAL, maxiter=_MOST_PRODUCTS)
    direction = ones - x
    if failed or np.linalg.norm(product(direction)) > 1e-9 * np.linalg.norm(ones):
        raise ConvergenceError(
            "The direction that centring takes out could not be found by products. Likely cause: parts of the "
            "hypergraph that hardly hang together. Make the spectrum of the `Hypergraph` itself, whose components are "
            "known, or leave out `Standardised`."
        )
    return direction
