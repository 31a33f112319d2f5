r"""What a filter gives each vertex, by products alone: the diagonal of phi(Delta) for every phi at once.

With t_k the Chebyshev polynomials on [0, upper] and c_k the coefficients of a filter phi,

    phi(Delta)_ii = sum over k of c_k t_k(Delta)_ii,    t_k(Delta)_ii = mean over probes of z_i (t_k(Delta) z)_i,

z vectors of independent signs. The direction u that the standardised prior takes out is an eigenvector of eigenvalue 0
and is kept apart, exactly: the probes are projected onto its complement. With s probes the variance of the diagonal is

    ((P phi^2)_ii - (P phi)_ii^2) / s,    P = I - u u',

which is known by the same moments, so the estimate states its own error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, minres

from hypergauss.exceptions import ConvergenceError
from hypergauss.operators import LaplacianOperator, LocalLaplacian, column_slices
from hypergauss.spectrum import chebyshev

#: The highest Chebyshev polynomial, the probes behind each diagonal, and the vertices up to which nothing is random.
_DEGREE, _PROBES, _FEW_VERTICES = 64, 64, 1_000
#: Vertices from which moments are kept in single precision, whose rounding is far below what probes leave.
_MANY_VERTICES = 200_000
#: Residual of the projection onto the null space where components are not to be had, and the most products for it.
_RESIDUAL, _MOST_PRODUCTS = 1e-13, 10_000


class LocalDensity(NamedTuple):
    """How the eigenvalues are spread as each vertex sees them.

    Attributes
    ----------
    moments : array, shape (N, degree + 1)
        The diagonals of P t_k(Delta).
    trivial : array, shape (N,)
        The direction u that P leaves out.
    upper : float
        A number that no eigenvalue exceeds.
    n_random : int
        Probes behind the moments; 0 where nothing is random.
    """

    moments: np.ndarray
    trivial: np.ndarray
    upper: float
    n_random: int

    @classmethod
    def of(cls, operator: LaplacianOperator, trivial: np.ndarray, seed: int = 0) -> Self:
        """Find the moments of an operator by probes, or of few vertices by all unit vectors."""
        N = operator.size
        is_few = N <= _FEW_VERTICES
        signs = np.sqrt(N) * np.eye(N) if is_few else None
        count = N if is_few else _PROBES
        rng = np.random.default_rng([seed, 4])
        moments = np.zeros((N, _DEGREE + 1), dtype=np.float32 if N > _MANY_VERTICES else np.float64)
        u = operator.vector(trivial[:, None])
        for some in column_slices(count):
            z = operator.signs(some.stop - some.start, rng) if signs is None else operator.vector(signs[:, some])
            centred = operator.settle(z - u @ operator.fetch(u.T @ z))
            for k, term in enumerate(chebyshev.terms(operator, operator.enter(centred), _DEGREE)):
                found = operator.settle((z * operator.leave(term)).sum(axis=1)[:, None])
                moments[:, k] += operator.array(found)[:, 0] / count
        moments[:, 0] = 1.0 - trivial**2  # known, as t_0 is the identity
        return cls(moments, trivial, operator.upper or 1.0, 0 if is_few else count)

    def diagonal(self, phi: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Return the diagonal of P phi(Delta), shape (N,), for a filter that falls; complex where phi is."""
        values = self.moments @ self._coefficients(phi)
        least = phi(np.array([self.upper]))[0] * (1.0 - self.trivial**2)
        return np.where(np.real(values) > np.real(least), values, least)

    def standard_error(self, phi: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the standard error of each vertex's `diagonal`, shape (N,)."""
        if self.n_random == 0:
            return np.zeros(len(self.moments))
        squares = self.moments @ self._coefficients(lambda nodes: phi(nodes) ** 2)
        return np.sqrt(np.maximum(squares - self.diagonal(phi) ** 2, 0.0) / self.n_random)

    def _coefficients(self, phi: Callable[[np.ndarray], Any]) -> np.ndarray:
        degree = self.moments.shape[1] - 1
        values = phi(chebyshev.nodes(4 * degree, self.upper))
        return chebyshev.coefficient_matrix(degree, len(values)) @ values


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
