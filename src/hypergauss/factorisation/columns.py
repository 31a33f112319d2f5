r"""Gaussian priors of a side's factors, split into a rough and a smooth part.

A side (users, or items) has N vertices and K columns of factors. Column k is

    f_k = rho_k h_k + B_k y_k,

where h_k, one number a vertex, and the coordinates y_k are independent standard normals a priori. The rough part h is
independent from vertex to vertex, so that a solver can eliminate it exactly; the smooth part is what ties vertices
together. Two forms serve all models here:

- `SpectralColumns`: the covariance b I + U diag(v - b) U' of a spectral kernel gives rho = sqrt(b) and the features
  U diag(sqrt(v - b)), to which come those of the hyperedges of relations. However much the variances of columns and of
  modes differ, nothing is ever divided by them.
- `FeatureColumns`: given features and no rough part, as inducing vertices make them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse as sp

#: Leading modes, and effects of relations at most, whose block the preconditioner inverts whole.
_LEADING, _MOST_EFFECTS = 16, 96
#: Share added to that block's diagonal: sums in single precision may miss being positive definite, by less than this.
_RIDGE = 1e-4


class Columns(ABC):
    """The prior of K columns of factors at given hyperparameters."""

    @abstractmethod
    def factors(self, y: np.ndarray) -> np.ndarray:
        """Return the smooth part B Y, shape (N, K), of coordinates Y."""

    @abstractmethod
    def adjoint(self, h: np.ndarray) -> np.ndarray:
        """Return B' H, in the shape of coordinates, of H, shape (N, K)."""

    @property
    @abstractmethod
    def rough(self) -> np.ndarray:
        """Rho, shape (K,)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Of coordinates."""

    @abstractmethod
    def preconditioner(self, gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return an approximate inverse of I + B' blockdiag(gram) B, for blocks of shape (K, K, N)."""


class Basis:
    """Eigenvectors U, shape (N, r), and features B_r of relations' hyperedges, shape (N, Q): no hyperparameter in them.

    Few features are held as a full matrix beside U, and all products are of one matrix.
    """

    def __init__(self, vectors: np.ndarray, relations: sp.csr_array) -> None:
        self.size, self.rank = vectors.shape
        self.num_effects = relations.shape[1]
        self.dtype = vectors.dtype
        self.few = self.num_effects <= _MOST_EFFECTS
        self.vectors = np.concatenate([vectors, relations.toarray()], axis=1) if self.few else vectors
        self.num_leading = min(_LEADING, self.rank)
        self._relations, self._transposed = relations, relations.T
        leading = [vectors[:, : self.num_leading], self.vectors[:, self.rank :]]
        self.leading = LeadingBlock(np.concatenate(leading, axis=1))

    def combined(self, y: np.ndarray) -> np.ndarray:
        """Return (U, B_r) Y."""
        if self.few:
            return self.vectors @ y
        return self.vectors @ y[: self.rank] + self._relations @ y[self.rank :]

    def spectral(self, y: np.ndarray) -> np.ndarray:
        """Return U Y."""
        return self.vectors[:, : self.rank] @ y

    def products(self, h: np.ndarray) -> np.ndarray:
        """Return (U, B_r)' H."""
        own = self.vectors.T @ h
        return own if self.few else np.concatenate([own, self._transposed @ h])

    def squared_relations(self, gram: np.ndarray) -> np.ndarray:
        """Return sum_i B_iq^2 gram_i for each hyperedge q, shape (K, K, Q)."""
        return _weighted(self._relations.power(2), gram)


class LeadingBlock:
    """I + T V' blockdiag(gram) V T for a few vectors V, shape (N, q): a matrix over vectors and columns."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._count = vectors.shape[1]
        self._first, self._second = np.triu_indices(self._count)
        self._products = vectors[:, self._first] * vectors[:, self._second]

    def inverse(self, gram: np.ndarray, deviations: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return its inverse for blocks, shape (K, K, N), and the diagonal of T, shape (q, K).

        It is factorised in double precision: many ratings against a prior of large variance are ill-conditioned.
        """
        size, count = len(gram), self._count
        pairs = _weighted(self._products, gram)
        between = np.empty((count, size, count, size))
        between[self._first, :, self._second] = pairs.transpose(2, 0, 1)
        between[self._second, :, self._first] = pairs.transpose(2, 0, 1)
        between *= deviations[:, :, None, None] * deviations
        whole = between.reshape(count * size, count * size)
        diagonal = np.diag_indices(count * size)
        whole[diagonal] = (1.0 + _RIDGE) * whole[diagonal] + 1.0
        factor = scipy.linalg.cho_factor(whole, overwrite_a=True, check_finite=False)

        def solve(y: np.ndarray) -> np.ndarray:
            return scipy.linalg.cho_solve(factor, y.ravel(), check_finite=False).astype(y.dtype).reshape(y.shape)

        return solve


class SpectralColumns(Columns):
    r"""A spectral prior and independent effects of the hyperedges of relations.

    Parameters
    ----------
    basis : Basis
        U and B_r.
    scale : array, shape (K,)
        s, the standard deviation of each column.
    variances : array, shape (r, K)
        v, of each mode, as multiples of the column's variance; none is less than ``rest``.
    rest : array, shape (K,)
        b, that of what is orthogonal to U, likewise.
    effects : array, shape (Q, K)
        Variances of effects, likewise.
    """

    def __init__(
        self, basis: Basis, scale: np.ndarray, variances: np.ndarray, rest: np.ndarray, effects: np.ndarray
    ) -> None:
        self._basis = basis
        self._scale = scale.astype(basis.dtype)
        self._rough = (scale * np.sqrt(rest)).astype(basis.dtype)
        own = np.sqrt(np.maximum(variances - rest, 0.0))
        self._deviations = (scale * np.concatenate([own, np.sqrt(effects)])).astype(basis.dtype)

    @property
    def rough(self) -> np.ndarray:  # noqa: D102
        return self._rough

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return self._deviations.shape

    def spectral(self, y: np.ndarray) -> np.ndarray:
        """Return the smooth part without relations, shape (N, K)."""
        rank = self._basis.rank
        return self._basis.spectral(self._deviations[:rank] * y[:rank])

    def effects(self, y: np.ndarray) -> np.ndarray:
        """Return the effects of relations' hyperedges in units of factors, shape (Q, K)."""
        rank = self._basis.rank
        return self._deviations[rank:] * y[rank:]

    def factors(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._basis.combined(self._deviations * y)

    def adjoint(self, h: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._deviations * self._basis.products(h)

    def preconditioner(self, gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the inverse of the block of all leading modes and effects, and of the diagonal for other modes.

        Leading modes carry most of the prior's variance, and the data tie them to one another: their block is inverted
        whole, with the effects of relations if they are few. The other modes are many and see the mean of the data.
        """
        basis, count, rank = self._basis, self._basis.num_leading, self._basis.rank
        mean = np.einsum("kkn->k", gram) / basis.size
        others = 1.0 / (1.0 + self._deviations[count:rank] ** 2 * mean)
        ends = self._deviations[rank:] if basis.few else self._deviations[:0]
        coarse = basis.leading.inverse(gram, np.concatenate([self._deviations[:count], ends]))
        effects = None if basis.few else _inverses(basis.squared_relations(gram), self._deviations[rank:])

        def solve(y: np.ndarray) -> np.ndarray:
            solved = np.empty_like(y)
            both = coarse(np.concatenate([y[:count], y[rank:] if basis.few else y[:0]]))
            solved[:count] = both[:count]
            solved[count:rank] = others * y[count:rank]
            solved[rank:] = both[count:] if effects is None else blockwise(effects, y[rank:])
            return solved

        return solve


class FeatureColumns(Columns):
    """F = B Y with one matrix B of features, shape (N, m), for all K columns."""

    def __init__(self, features: np.ndarray, num_columns: int) -> None:
        self._features, self._num_columns = features, num_columns

    @property
    def rough(self) -> np.ndarray:  # noqa: D102
        return np.zeros(self._num_columns, self._features.dtype)

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return self._features.shape[1], self._num_columns

    def factors(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._features @ y

    def adjoint(self, h: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._features.T @ h

    def preconditioner(self, gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:  # noqa: D102
        ones = np.ones((1, self._num_columns), self._features.dtype)
        inverses = _inverses(_weighted(self._features**2, gram), ones)
        return lambda y: blockwise(inverses, y)


def blockwise(blocks: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return each block, shape (K, K, n), times its row of y, shape (n, K)."""
    return np.ascontiguousarray(np.einsum("kln,ln->kn", blocks, np.ascontiguousarray(y.T)).T)


def _weighted(weights: np.ndarray | sp.csr_array, gram: np.ndarray) -> np.ndarray:
    """Return sums of the blocks, shape (K, K, N), with given weights, shape (N, m), as blocks, shape (K, K, m)."""
    size = len(gram)
    return np.asarray(gram.reshape(size * size, -1) @ weights).reshape(size, size, -1)


def _inverses(blocks: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return inverses of I + diag(t) block diag(t), shape (K, K, m), for each block and its row t of deviations."""
    whitened = deviations[:, :, None] * blocks.transpose(2, 0, 1) * deviations[:, None, :]
    return np.ascontiguousarray(np.linalg.inv(np.eye(len(blocks), dtype=blocks.dtype) + whitened).transpose(1, 2, 0))
