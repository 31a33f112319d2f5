r"""The r x r system behind low-rank covariances: C = (W^-1 + G)^-1 = W P, P = (I + G W)^-1, for symmetric G.

Where no weight is negative, by Cholesky's factor L of M = I + R G R, R = W^1/2, at half the cost: C = R M^-1 R, and
M has a factor exactly where prior times sites is a distribution. A filter that rises with the eigenvalue has negative
weights; then by LU, and everything still holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from hypergauss.exceptions import NumericalError

#: Weights below zero by no more than this share of the largest are zero but for rounding.
_ROUNDING = 1e-12
#: What rounding may take off the least eigenvalue of a matrix, as a share of its trace.
_SLACK = 2 * float(np.finfo(np.float64).eps)

#: What a feature adds to M's diagonal, below which what it says is lost beside the identity.
_LITTLE = 1e-3


class Capacitance(ABC):
    """C and what follows from it. ``log_det`` is log det(I + G W)."""

    log_det: float

    @abstractmethod
    def times(self, b: np.ndarray) -> np.ndarray:
        """Return C b."""

    @abstractmethod
    def residual(self, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return P b = b - G C b, given x = C b."""

    @abstractmethod
    def reduced_diagonal(self) -> np.ndarray:
        """Return the diagonal of P G = G - G C G."""

    @abstractmethod
    def spread(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F C, shape (n, r), and the diagonal of F C F', shape (n,)."""

    @abstractmethod
    def matrix(self) -> np.ndarray:
        """Return C itself."""


def capacitance(G: np.ndarray, weights: np.ndarray) -> Capacitance:
    """Return the system of some weights by the cheaper factorisation that they allow.

    Raises `NumericalError` where I + G W has no positive determinant: prior times sites is then no distribution.
    """
    root = root_of(weights)
    return _ByLU(G, weights) if root is None else _ByCholesky(G, root)


def root_of(weights: np.ndarray) -> np.ndarray | None:
    """Return W^1/2 where no weight is negative but by rounding, else None."""
    if len(weights) and weights.min() < -_ROUNDING * np.abs(weights).max():
        return None
    return np.sqrt(np.maximum(weights, 0.0))


class _ByCholesky(Capacitance):
    def __init__(self, G: np.ndarray, root: np.ndarray) -> None:
        self._G, self._weights, self._root = G, root**2, root
        M = G * (root[:, None] * root)
        # As much as rounding may have taken off M's least eigenvalue, so that huge weights do not end the
        # factorisation.
        diagonal = M.reshape(-1)[:: len(M) + 1]
        self._unit = 1.0 + _SLACK * diagonal.sum()
        diagonal += self._unit
        self._factor, info = dpotrf(M.T, lower=1, clean=1, overwrite_a=1)
        # A factorisation that broke off leaves numbers that have no logarithm; one of NaN does not break off.
        roots = self._factor.reshape(-1, order="A")[:: len(M) + 1]
        if info != 0 or not np.isfinite(roots).all():
            raise NumericalError(_failed(len(G)))
        self.log_det = 2 * float(np.log(roots).sum())

    def times(self, b: np.ndarray) -> np.ndarray:
        inner = dtrtrs(self._factor, self._root[:, None] * b, lower=1)[0]
        return self._root[:, None] * dtrtrs(self._factor, inner, lower=1, trans=1)[0]

    def residual(self, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        # b - G x loses every digit where weights are large, and x / w does where they are small.
        large = (self._weights > 1.0)[:, None]
        return np.where(large, x / np.where(large, self._weights[:, None], 1.0), b - self._G @ x)

    def reduced_diagonal(self) -> np.ndarray:
        # R (P G) R = I - M^-1, whose diagonal comes from L^-1 alone, at a third of the cost of L^-1 R G; but beside the
        # identity it has no digits of features that say next to nothing.
        own = self._G.diagonal()
        small = self._weights * own < _LITTLE
        if 2 * small.sum() > len(small):
            small[:] = True
        found = np.empty_like(own)
        if not small.all():
            inverse = dtrtri(self._factor, lower=1)[0]
            said = 1.0 - self._unit * np.einsum("ij,ij->j", inverse, inverse)
            found = self._unit * said / np.where(small, 1.0, self._weights)
        if small.any():
            # By columns, as LAPACK reads it without a copy: G is symmetric.
            T = dtrtrs(self._factor, (self._G[small] * self._root).T, lower=1, overwrite_b=1)[0]
            found[small] = own[small] - np.einsum("ij,ij->j", T, T)
        return found

    def matrix(self) -> np.ndarray:
        T = dtrtri(self._factor, lower=1)[0] * self._root
        return T.T @ T

    def spread(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = dtrtrs(self._factor, (F * self._root).T, lower=1, overwrite_b=1)[0]  # T'T = F C F'
        diagonal = np.einsum("rn,rn->n", T, T)
        return dtrtrs(self._factor, T, lower=1, trans=1, overwrite_b=1)[0].T * self._root, diagonal


class _ByLU(Capacitance):
    def __init__(self, G: np.ndarray, weights: np.ndarray) -> None:
        self._G, self._weights = G, weights
        try:
            lu, pivots = scipy.linalg.lu_factor(np.eye(len(G)) + G * weights)
        except ValueError as error:
            raise NumericalError(_failed(len(G))) from error
        diagonal = np.diagonal(lu)
        swaps = int((pivots != np.arange(len(pivots))).sum())
        if not np.prod(np.sign(diagonal)) * (1 - 2 * (swaps % 2)) > 0:
            raise NumericalError(_failed(len(G)))
        self.log_det = float(np.log(np.abs(diagonal)).sum())
        self._P = scipy.linalg.lu_solve((lu, pivots), np.eye(len(G)), check_finite=False)

    def times(self, b: np.ndarray) -> np.ndarray:
        return self._weights[:, None] * (self._P @ b)

    def residual(self, b: np.ndarray, x: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return self._P @ b

    def reduced_diagonal(self) -> np.ndarray:
        return (self._P * self._G.T).sum(axis=1)

    def matrix(self) -> np.ndarray:
        C = self._weights[:, None] * self._P
        return (C + C.T) / 2

    def spread(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        FC = F @ self.matrix()
        return FC, np.einsum("nr,nr->n", FC, F)


def _failed(size: int) -> str:
    return (
        f"The system of the {size} features is singular or not finite. Likely causes: a noise variance too small for "
        "the kernel's variance, or hyperparameters at the edge of their range."
    )
