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
        """Return an approximate inverse of I + B' blockdiag(gram) B, for blocks of shape (N, K, K)."""


class SpectralColumns(Columns):
    r"""A spectral prior and independent effects of the hyperedges of relations.

    Parameters
    ----------
    vectors : array, shape (N, r)
        U.
    scale : array, shape (K,)
        s, the standard deviation of each column.
    variances : array, shape (r, K)
        v, of each mode, as multiples of the column's variance; none is less than ``rest``.
    rest : array, shape (K,)
        b, that of what is orthogonal to U, likewise.
    relations : CSR array, shape (N, Q)
        B_r; Q may be 0.
    effects : array, shape (Q, K)
        Variances of effects, likewise.
    """

    def __init__(
        self,
        vectors: np.ndarray,
        scale: np.ndarray,
        variances: np.ndarray,
        rest: np.ndarray,
        relations: sp.csr_array,
        effects: np.ndarray,
    ) -> None:
        dtype = vectors.dtype
        self._vectors, self._relations, self._transposed = vectors, relations, relations.T
        self._size, self._rank = vectors.shape
        self._scale = scale.astype(dtype)
        self._rough = (scale * np.sqrt(rest)).astype(dtype)
        self._deviations = np.sqrt(np.maximum(variances - rest, 0.0)).astype(dtype)
        self._effects = np.sqrt(effects).astype(dtype)

    @property
    def rough(self) -> np.ndarray:  # noqa: D102
        return self._rough

    @property
    def shape(self) -> tuple[int, int]:  # noqa: D102
        return self._rank + len(self._effects), len(self._scale)

    def spectral(self, y: np.ndarray) -> np.ndarray:
        """Return the smooth part without relations, shape (N, K)."""
        return self._scale * self._own(y[: self._rank])

    def effects(self, y: np.ndarray) -> np.ndarray:
        """Return the effects of relations' hyperedges in units of factors, shape (Q, K)."""
        return self._scale * self._effects * y[self._rank :]

    def factors(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        own, g = self._own(y[: self._rank]), y[self._rank :]
        return self._scale * (own + self._relations @ (self._effects * g) if len(g) else own)

    def adjoint(self, h: np.ndarray) -> np.ndarray:  # noqa: D102
        scaled = self._scale * h
        parts = [self._deviations * (self._vectors.T @ scaled)]
        if len(self._effects):
            parts.append(self._effects * (self._transposed @ scaled))
        return np.concatenate(parts)

    def preconditioner(self, gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the inverse of the block of all leading modes and effects, and of the diagonal for other modes.

        Leading modes carry most of the prior's variance, and the data tie them to one another: their block is inverted
        whole, with the effects of relations if they are few. The other modes are many and see the mean of the data.
        """
        gram = self._scale[:, None] * gram * self._scale
        count = min(_LEADING, self._rank)
        mean = np.einsum("nkk->k", gram) / len(gram)
        others = 1.0 / (1.0 + self._deviations[count:] ** 2 * mean)
        vectors, deviations = self._vectors[:, :count], self._deviations[:count]
        few = len(self._effects) <= _MOST_EFFECTS
        if few:
            vectors = np.concatenate([vectors, self._relations.toarray()], axis=1)
            deviations = np.concatenate([deviations, self._effects])
        coarse = _coarse(vectors, gram, deviations)
        effects = None if few else np.linalg.inv(_whitened(_weighted(self._relations.power(2).T, gram), self._effects))

        def solve(y: np.ndarray) -> np.ndarray:
            solved = np.empty_like(y)
            ends = y[self._rank :] if few else y[:0]
            both = coarse(np.concatenate([y[:count], ends]))
            solved[:count] = both[:count]
            solved[count : self._rank] = others * y[count : self._rank]
            solved[self._rank :] = both[count:] if effects is None else blockwise(effects, y[self._rank :])
            return solved

        return solve

    def _own(self, a: np.ndarray) -> np.ndarray:
        return self._vectors @ (self._deviations * a)


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
        inverse = np.linalg.inv(_whitened(_weighted((self._features**2).T, gram), ones))
        return lambda y: blockwise(inverse, y)


def blockwise(blocks: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return each block, shape (n, K, K), times its row of y, shape (n, K)."""
    return np.matmul(blocks, y[:, :, None])[:, :, 0]


def _coarse(vectors: np.ndarray, gram: np.ndarray, deviations: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the inverse of I + T V' blockdiag(gram) V T for a few vectors V, shape (N, q), over modes and columns.

    It is factorised in double precision: many ratings against a prior of large variance are ill-conditioned.
    """
    count, size = vectors.shape[1], gram.shape[1]
    first, second = np.triu_indices(count)
    pairs = _weighted((vectors[:, first] * vectors[:, second]).T, gram)
    blocks = np.empty((count, count, size, size), gram.dtype)
    blocks[first, second] = pairs
    blocks[second, first] = pairs
    blocks *= deviations[:, None, :, None] * deviations[None, :, None, :]
    whole = blocks.transpose(0, 2, 1, 3).reshape(count * size, count * size).astype(np.float64)
    diagonal = np.diag_indices(count * size)
    whole[diagonal] = (1.0 + _RIDGE) * whole[diagonal] + 1.0
    factor = scipy.linalg.cho_factor(whole, overwrite_a=True, check_finite=False)

    def solve(y: np.ndarray) -> np.ndarray:
        return scipy.linalg.cho_solve(factor, y.ravel(), check_finite=False).astype(y.dtype).reshape(y.shape)

    return solve


def _weighted(weights: np.ndarray | sp.csr_array, gram: np.ndarray) -> np.ndarray:
    """Return sums of the blocks with given weights, shape (m, N)."""
    size = gram.shape[1]
    return (weights @ gram.reshape(len(gram), -1)).reshape(-1, size, size)


def _whitened(blocks: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return I + diag(t) block diag(t) for each block and its row t of deviations."""
    whitened = deviations[:, :, None] * blocks * deviations[:, None, :]
    k = np.arange(blocks.shape[1])
    whitened[:, k, k] += 1.0
    return whitened
