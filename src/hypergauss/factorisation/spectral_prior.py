r"""A side's spectral prior: which filters its columns may take, and their conditionals given the factors.

In the basis of the Laplacian's eigenvectors a spectral prior is diagonal, so that with energies e_q, the squares of a
column's coefficients in the modes q of multiplicity m_q,

    log p(f | nu, lengthscale, v) = -1/2 sum_q [ m_q log(v kappa_q) + e_q / (v kappa_q) ],
    kappa = phi(l; nu, lengthscale) / mean of phi.

Columns come in blocks, the bias alone and all factors together, and those of a block share their filter and variances.
Under the conjugate prior of v, inverse gamma with a and b, v integrates out: what is left of each point of a grid of
(nu, lengthscale) is (b + sum_q e_q / (2 kappa_q))^-(a + Dn/2) times a constant, e_q summed over the D columns of a
block. For all points and blocks that is one product of matrices, and nu, lengthscale and v are drawn at once, exactly.

The eigenvectors of eigenvalue 0, one a component, are to a function on vertices what its mean is. A filter steep enough
to tell the other modes apart would spend all variance on these. So they count in it as the least of the other
eigenvalues, and each column has besides a level for each component, along that eigenvector, with a variance of its own.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hypergauss.factorisation.columns import Basis, SpectralColumns
from hypergauss.factorisation.portraits import Portrait
from hypergauss.kernels.filters import matern
from hypergauss.operators import column_slices
from hypergauss.spectrum import EigenSpectrum

#: Eigenvalues below this count as 0.
_NULL = 1e-8
#: Least variance of a mode, as a share of the mean: below, coefficients are lost in single precision.
_FLOOR = 1e-5
#: The inverse gamma prior of variances; with the expansion's normal prior the standard deviation is half-Cauchy.
SHAPE, RATE = 0.5, 0.5


class Grid(NamedTuple):
    """Points (nu, lengthscale) that a column's filter may take, logarithms of prior weights, and where to start.

    An infinite nu is the diffusion filter.
    """

    nu: np.ndarray
    lengthscale: np.ndarray
    log_weights: np.ndarray
    start: int

    def neighbour(self, point: np.ndarray, spread: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return points near given ones, and whether they are on the grid (if not, the given one stands for it).

        One value of nu up, down or none, and a number of lengthscales: as likely as the way back.
        """
        width = len(self.nu) // len(np.unique(self.nu))  # lengthscales vary fastest
        nu = point // width + rng.integers(-1, 2, size=len(point))
        lengthscale = point % width + np.rint(spread * rng.standard_normal(len(point))).astype(np.int64)
        inside = (nu >= 0) & (nu < len(self.nu) // width) & (lengthscale >= 0) & (lengthscale < width)
        return np.where(inside, nu * width + lengthscale, point), inside


class Hyperparameters(NamedTuple):
    r"""Of the K columns of one side; those of a block are alike.

    Attributes
    ----------
    point : array of int, shape (K,)
        The filter of each column, a point of the grid.
    variance, level_variance : array, shape (K,)
        v, the mean variance of the spectral part, and the variance of the levels.
    weights : array, shape (number of relations,)
        Variance of a relation's effects, as a multiple of v.
    expansion : array, shape (K,)
        alpha: the factors are alpha times a column with the variances above. Drawn along with the data, it lets a
        column's scale move in one step where given the column it could move only a little.
    block : array of int, shape (K,)
        Of each column: 0 for the bias, 1 for factors.
    """

    point: np.ndarray
    variance: np.ndarray
    level_variance: np.ndarray
    weights: np.ndarray
    expansion: np.ndarray
    block: np.ndarray

    @property
    def blocks(self) -> list[np.ndarray]:
        """The columns of each block."""
        return [np.flatnonzero(self.block == block) for block in np.unique(self.block)]

    def of(self, free: np.ndarray) -> Hyperparameters:
        """Return those of some columns."""
        parts = (self.point, self.variance, self.level_variance, self.expansion, self.block)
        point, variance, level_variance, expansion, block = (part[free] for part in parts)
        return Hyperparameters(point, variance, level_variance, self.weights, expansion, block)

    def scaled(self, scales: np.ndarray) -> Hyperparameters:
        """Return those of columns times given scales."""
        return self._replace(expansion=self.expansion * scales)


class Modes(NamedTuple):
    """A spectrum made ready: eigenvectors, eigenvalues with their multiplicities, and inverse filters of the grid.

    Attributes
    ----------
    vectors : array, shape (N, r)
        U.
    eigenvalues : array, shape (r,)
        Of U's columns; none less than the least of a mode that is neither a level nor local (`_least`).
    rest : array, shape (2,)
        Interval of the others.
    levels : CSR array, shape (N, number of components)
        The eigenvectors of eigenvalue 0, with mean square 1 over all vertices together.
    grid : Grid
        Of filters.
    kappa : array, shape (G, r + 1)
        At each point, last for all modes beyond U.
    inverse : array, shape (G, r + 1)
        1 / kappa; 0 for all modes beyond U if it is complete.
    log_det : array, shape (G,)
        Of the inverse filters over all modes: for each column, twice what it adds to a point's log probability.
    """

    vectors: np.ndarray
    eigenvalues: np.ndarray
    rest: np.ndarray
    levels: sp.csr_array
    grid: Grid
    kappa: np.ndarray
    inverse: np.ndarray
    log_det: np.ndarray

    @classmethod
    def of(cls, spectrum: EigenSpectrum, levels: sp.csr_array, grid: Grid, dtype: DTypeLike) -> Self:
        """Evaluate the filters of a grid on a spectrum."""
        vectors, rest = np.asarray(spectrum.vertex_vectors, dtype), spectrum.rest
        eigenvalues = np.maximum(spectrum.eigenvalues, _least(spectrum.eigenvalues, vectors, float(rest[0])))
        multiplicity = _multiplicity(vectors)
        parts = [
            _normalised(eigenvalues, rest, multiplicity, grid.nu[part], grid.lengthscale[part])
            for part in column_slices(len(grid.nu))
        ]
        kappa = np.concatenate(parts)
        log_det = -np.log(kappa) @ multiplicity
        inverse = np.where(multiplicity > 0, 1.0 / kappa, 0.0).astype(dtype)
        own_levels = sp.csr_array(levels, dtype=dtype)
        return cls(vectors, eigenvalues, rest, own_levels, grid, kappa.astype(dtype), inverse, log_det)

    @classmethod
    def independent(cls, num_vertices: int, dtype: DTypeLike) -> Self:
        """Return the modes of a prior that knows no hypergraph: all vertices independent."""
        grid = Grid(np.array([1.0]), np.array([0.0]), np.zeros(1), 0)
        vectors, no_levels = np.zeros((num_vertices, 0), dtype), sp.csr_array((num_vertices, 0), dtype=dtype)
        ones = np.ones((1, 1), dtype)
        return cls(vectors, np.zeros(0), np.ones(2), no_levels, grid, ones, ones, np.zeros(1))

    @property
    def multiplicity(self) -> np.ndarray:
        """How often each mode counts: once; the last for all beyond U."""
        return _multiplicity(self.vectors)

    def filters(self, point: np.ndarray) -> np.ndarray:
        """Return kappa, shape (r + 1, K), at a point for each column."""
        return self.kappa[point].T.astype(np.float64)


def _least(eigenvalues: np.ndarray, vectors: np.ndarray, of_others: float) -> float:
    """Return the least eigenvalue of a mode that says how vertices at large go together.

    Those of eigenvalue 0 are levels. A few vertices tied to the rest by a thread have an eigenvalue near 0 and a mode
    of their own, to which a steep filter would give nearly all variance. A mode lives on about 1 / sum_i u_i^4
    vertices; one on fewer than sqrt(N) is local.
    """
    spread = 1.0 / (np.asarray(vectors, np.float64) ** 4).sum(axis=0) >= np.sqrt(len(vectors))
    return float(eigenvalues[spread & (eigenvalues >= _NULL)].min(initial=of_others))


def _multiplicity(vectors: np.ndarray) -> np.ndarray:
    size, rank = vectors.shape
    return np.append(np.ones(rank), size - rank)


def _normalised(
    eigenvalues: np.ndarray, rest: np.ndarray, multiplicity: np.ndarray, nu: np.ndarray, lengthscale: np.ndarray
) -> np.ndarray:
    """Return kappa of some filters, shape (G, r + 1): at the known eigenvalues, and last the middle over the rest."""
    phi = matern(np.concatenate([eigenvalues, rest]), 1.0 / nu[:, None], lengthscale[:, None])
    phi = np.concatenate([phi[:, :-2], phi[:, -2:].mean(axis=1, keepdims=True)], axis=1)
    share = multiplicity / multiplicity.sum()
    kappa = np.maximum(phi / (phi @ share)[:, None], _FLOOR)
    return kappa / (kappa @ share)[:, None]


class Relations(NamedTuple):
    """Hyperedges of further relations of a side, as features of its vertices.

    Attributes
    ----------
    names : tuple of str
        The relations.
    features : CSR array, shape (N, Q)
        The normalised incidence matrices A_r side by side, each scaled so that A_r A_r' has mean diagonal 1 over the
        vertices that it says something of: A_r A_r' = I - Delta_r is itself a kernel on the relation's hypergraph.
    owner : array of int, shape (Q,)
        The relation of each column.
    """

    names: tuple[str, ...]
    features: sp.csr_array
    owner: np.ndarray


class Side:
    """One side's prior with everything but its hyperparameters.

    Coordinates x, shape (N + L + Q, K), hold a column's spectral part, its levels and the effects of relations.
    """

    def __init__(self, modes: Modes, relations: Relations) -> None:
        self.modes, self.relations = modes, relations
        self.num_vertices = len(modes.vectors)
        self.num_levels = modes.levels.shape[1]
        self.features = sp.csr_array(sp.hstack([modes.levels, relations.features], format="csr"))
        self.num_coordinates = self.num_vertices + self.features.shape[1]
        #: Coordinates of a column that share v.
        self.num_sharing = self.num_vertices + len(relations.owner)
        self.constant = _constant(modes.levels, self.num_coordinates)
        self._basis = Basis(modes.vectors, self.features)
        self._constant_parts = _split(modes, self.constant[: self.num_vertices, None])

    def start(self, num_columns: int, variance: float) -> Hyperparameters:
        """Return hyperparameters to begin with: one filter and one variance for all."""
        everywhere = np.full(num_columns, variance)
        point = np.full(num_columns, self.modes.grid.start)
        weights = np.ones(len(self.relations.names))
        block = np.minimum(np.arange(num_columns), 1)
        return Hyperparameters(point, everywhere, everywhere.copy(), weights, np.ones(num_columns), block)

    def columns(self, hyper: Hyperparameters) -> SpectralColumns:
        """Return the prior of the columns."""
        kappa = self.modes.filters(hyper.point)
        levels = np.repeat((hyper.level_variance / hyper.variance)[None], self.num_levels, axis=0)
        effects = np.repeat(hyper.weights[self.relations.owner][:, None], len(hyper.point), axis=1)
        scale = np.abs(hyper.expansion) * np.sqrt(hyper.variance)
        return SpectralColumns(self._basis, scale, kappa[:-1], kappa[-1], np.concatenate([levels, effects]))

    def lone_variances(self, hyper: Hyperparameters) -> np.ndarray:
        """Return the prior variance, for each column, of a vertex of which nothing is known."""
        kappa = self.modes.filters(hyper.point)
        return hyper.expansion**2 * hyper.variance * kappa[-1]

    def portrait(self, x: np.ndarray) -> Portrait:
        """Return what the prior sees of coordinates x, and of the constant."""
        n, last = self.num_vertices, self.num_vertices + self.num_levels
        parts = zip(_split(self.modes, x[:n]), self._constant_parts, strict=True)
        coefficients, rest = (np.concatenate(both, axis=1) for both in parts)
        features = np.concatenate([x[n:], self.constant[n:, None]], axis=1)
        return Portrait.of(coefficients, rest, features[: last - n], features[last - n :])

    def turned(self, x: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Return the columns of (X, 1) T."""
        step = turn[:, :-1].astype(x.dtype)
        return x @ step[:-1] + self.constant.astype(x.dtype)[:, None] * step[-1]

    def draw(self, hyper: Hyperparameters, portrait: Portrait, rng: np.random.Generator) -> Hyperparameters:
        """Draw filters, variances and weights given columns; the expansion stays."""
        squares = hyper.expansion**2
        by_relation = self._by_relation(portrait.effects[:, :-1]) / squares
        energies = np.concatenate([portrait.coefficients[:, :-1] ** 2, portrait.rest.diagonal()[None, :-1]]) / squares
        q = (self.modes.inverse @ energies.astype(self.modes.inverse.dtype)).astype(np.float64)
        q += (by_relation / hyper.weights[:, None]).sum(axis=0)
        levels = (portrait.levels[:, :-1] ** 2).sum(axis=0) / squares
        point, variance, level_variance = np.empty_like(hyper.point), np.empty(q.shape[1]), np.empty(q.shape[1])
        for block in hyper.blocks:
            count, whole = len(block), q[:, block].sum(axis=1)
            shape = SHAPE + 0.5 * count * self.num_sharing
            log_p = self.modes.grid.log_weights + 0.5 * count * self.modes.log_det - shape * np.log(RATE + 0.5 * whole)
            point[block] = drawn = _drawn(log_p, rng)
            variance[block] = (RATE + 0.5 * whole[drawn]) / rng.gamma(shape)
            level_shape = SHAPE + 0.5 * count * self.num_levels
            level_variance[block] = (RATE + 0.5 * levels[block].sum()) / rng.gamma(level_shape)
        sizes = np.bincount(self.relations.owner, minlength=len(hyper.weights)) * q.shape[1]
        weights = (RATE + 0.5 * (by_relation / variance).sum(axis=1)) / rng.gamma(SHAPE + 0.5 * sizes)
        return hyper._replace(point=point, variance=variance, level_variance=level_variance, weights=weights)

    def products(self, hyper: Hyperparameters, portrait: Portrait) -> tuple[np.ndarray, np.ndarray]:
        """Return x_k' C_j^-1 x_m for priors j of columns, without levels and with v = 1, shape (K, K + 1, K + 1).

        And those of levels with variance 1. The precision of column j's prior is the former over v_j and the latter
        over the levels' variance.
        """
        inverse = self.modes.inverse[hyper.point].astype(np.float64)
        c, e = portrait.coefficients, portrait.effects
        own = c.T @ (inverse[:, :-1, None] * c) + inverse[:, -1, None, None] * portrait.rest
        own += e.T @ (e / hyper.weights[self.relations.owner, None])
        squares = (hyper.expansion**2)[:, None, None]
        return own / squares, portrait.levels.T @ portrait.levels / squares

    def _by_relation(self, effects: np.ndarray) -> np.ndarray:
        """Return squares of effects summed over each relation's hyperedges, shape (relations, K)."""
        sums = np.zeros((len(self.relations.names), effects.shape[1]))
        np.add.at(sums, self.relations.owner, effects.astype(np.float64) ** 2)
        return sums


def _drawn(log_p: np.ndarray, rng: np.random.Generator) -> int:
    """Draw a place by probabilities known up to a factor."""
    whole = np.cumsum(np.exp(log_p - log_p.max()))
    return int((whole <= rng.random() * whole[-1]).sum())


def _constant(levels: sp.csr_array, num_coordinates: int) -> np.ndarray:
    """Return coordinates of the function that is 1 everywhere: levels as close to it as they come, and what is left."""
    E = sp.csr_array(levels, dtype=np.float64)
    nearest = E.T @ np.ones(E.shape[0]) / E.power(2).sum(axis=0)
    coordinates = np.zeros(num_coordinates)
    coordinates[: E.shape[0]] = 1.0 - E @ nearest
    coordinates[E.shape[0] : E.shape[0] + E.shape[1]] = nearest
    return coordinates


def _split(modes: Modes, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients in the known modes, and what they leave of each column, in double precision."""
    coefficients = modes.vectors.T @ own
    complete = modes.vectors.shape[0] == modes.vectors.shape[1]
    rest = own[:0] if complete else own - modes.vectors @ coefficients
    return coefficients.astype(np.float64), rest.astype(np.float64)


def draw_expansion(
    hyper: Hyperparameters,
    factors: np.ndarray,
    gram: np.ndarray,
    linear: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw alpha, one number a block, given the columns without it, xi = factors / alpha.

    The ratings are linear in alpha, so that alpha | xi ~ N(m, P^-1) with

        P = I + T' sum_i (xi_i xi_i') * gram_i T,      P m = T' sum_i xi_i * linear_i,

    products * entry by entry, where T says which block a column is of; ``gram`` has shape (K, K, N).
    """
    T = (hyper.block[:, None] == np.unique(hyper.block)).astype(float)
    xi = factors / hyper.expansion.astype(factors.dtype)
    rows = np.ascontiguousarray(xi.T)
    products = np.matmul(gram * rows, rows[:, :, None])[:, :, 0].astype(np.float64)
    precision = np.eye(T.shape[1]) + T.T @ products @ T
    linear_term = T.T @ np.einsum("nk,nk->k", xi, linear).astype(np.float64)
    # Sums in single precision may miss being positive definite, by less than this share of the diagonal.
    precision[np.diag_indices(len(precision))] *= 1.0 + 100 * np.finfo(gram.dtype).eps
    root = np.linalg.cholesky(precision)
    white = rng.standard_normal(len(precision))
    return T @ np.linalg.solve(root.T, np.linalg.solve(root, linear_term) + white)
