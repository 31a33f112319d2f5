r"""Derivatives of a latent kernel k(u, u') in the coordinates that it sees.

By hand for the squared exponential and the linear kernel. For a kernel of the user's own, first derivatives by the
complex step, Im k(u + i h e_q, u') / h, and second derivatives by Cauchy's formula: for f(t) = k(u + t d, u' + t d'),

    f''(0) = 2 / (2 pi r^2) * integral over the circle |t| = r of f(r e^{i a}) e^{-2 i a} da,

whose mean over eight points is exact to 1e-11 where k is analytic within r = 0.01 of the coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np

from hypergauss.kernels import Kernel, Linear, SquaredExponential

_STEP = 1e-20
_RADIUS = 1e-2
#: The upper half of the circle; on the lower half stand the conjugates.
_ANGLES = np.pi * (np.arange(4) + 0.5) / 4
#: The step of the difference by which complex steps are checked, and where they may disagree.
_CHECK_STEP, _DISAGREEMENT = 1e-6, 1e-4


class LatentDerivatives(ABC):
    """Derivatives of one kernel between coordinates ``left``, shape (n, Q), and ``right``, shape (m, Q)."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @staticmethod
    def of(kernel: Kernel) -> LatentDerivatives:
        """Return the derivatives by hand if they are known, else by complex numbers."""
        # The class itself: another one that inherits from it may have another formula.
        by_hand = {SquaredExponential: _OfSquaredExponential, Linear: _OfLinear}
        return by_hand.get(type(kernel), _ByComplexNumbers)(kernel)

    def check(self, coordinates: np.ndarray) -> None:  # noqa: B027
        """Refuse a kernel of which no derivatives can be found."""

    @abstractmethod
    def first(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return dk / du_q, shape (Q, n, m)."""

    @abstractmethod
    def second(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return d2k / du_q du_r, shape (Q, Q, n, m)."""

    @abstractmethod
    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return d2k / du_q du'_r, shape (Q, Q, n, m)."""

    @abstractmethod
    def variances_first(self, coordinates: np.ndarray) -> np.ndarray:
        """Return d k(u, u) / du_q, shape (n, Q)."""

    @abstractmethod
    def variances_second(self, coordinates: np.ndarray) -> np.ndarray:
        """Return d2 k(u, u) / du_q du_r, shape (n, Q, Q)."""

    def pull_back(
        self,
        left: np.ndarray,
        right: np.ndarray,
        adjoint: np.ndarray,
        covariances: np.ndarray,  # noqa: ARG002
    ) -> np.ndarray:
        """Return the gradient in ``left``, (n, Q), of a number with slopes in the covariances, both (n, m)."""
        return np.einsum("nm,qnm->nq", adjoint, self.first(left, right))


class _OfSquaredExponential(LatentDerivatives):
    """With d_q = (u_q - u'_q) / l_q^2: dk/du_q = -k d_q and d2k/du_q du_r = k (d_q d_r - [q = r] / l_q^2)."""

    kernel: SquaredExponential

    def first(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return -self.kernel.cross(left, right) * self._distances(left, right)

    def second(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        d = self._distances(left, right)
        products = d[:, None] * d[None]
        for q, precision in enumerate(self._precisions(left)):
            products[q, q] -= precision
        return self.kernel.cross(left, right) * products

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return -self.second(left, right)

    def variances_first(self, coordinates: np.ndarray) -> np.ndarray:
        return np.zeros_like(coordinates)

    def variances_second(self, coordinates: np.ndarray) -> np.ndarray:
        n, Q = coordinates.shape
        return np.zeros((n, Q, Q))

    def pull_back(
        self, left: np.ndarray, right: np.ndarray, adjoint: np.ndarray, covariances: np.ndarray
    ) -> np.ndarray:
        slopes = adjoint * covariances
        return (slopes @ right - slopes.sum(axis=1)[:, None] * left) * self._precisions(left)

    def _precisions(self, coordinates: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.kernel.lengthscale**-2.0, coordinates.shape[1])

    def _distances(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return (left.T[:, :, None] - right.T[:, None, :]) * self._precisions(left)[:, None, None]


class _OfLinear(LatentDerivatives):
    """Of k(u, u') = sum over q of s_q u_q u'_q."""

    kernel: Linear

    def first(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.repeat((right * self.kernel.variance).T[:, None, :], len(left), axis=1)

    def second(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        Q = left.shape[1]
        return np.zeros((Q, Q, len(left), len(right)))

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.tile(np.diag(self.kernel.weights())[:, :, None, None], (1, 1, len(left), len(right)))

    def variances_first(self, coordinates: np.ndarray) -> np.ndarray:
        return 2 * coordinates * self.kernel.variance

    def variances_second(self, coordinates: np.ndarray) -> np.ndarray:
        return np.tile(2 * np.diag(self.kernel.weights()), (len(coordinates), 1, 1))

    def pull_back(
        self,
        left: np.ndarray,  # noqa: ARG002
        right: np.ndarray,
        adjoint: np.ndarray,
        covariances: np.ndarray,  # noqa: ARG002
    ) -> np.ndarray:
        return (adjoint @ right) * self.kernel.variance


class _ByComplexNumbers(LatentDerivatives):
    """Of any kernel whose ``cross`` and ``variances`` take complex coordinates."""

    def first(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.stack([np.imag(self.kernel.cross(left + 1j * _STEP * e, right)) / _STEP for e in _units(left)])

    def second(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return _polarised(left, lambda d: _on_circle(lambda t: self.kernel.cross(left + t * d, right)))

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return half of what f'' along (e_q, e_r) has more than along e_q and e_r alone."""

        def along(d: np.ndarray, e: np.ndarray) -> np.ndarray:
            return _on_circle(lambda t: self.kernel.cross(left + t * d, right + t * e))

        units, none = _units(left), np.zeros(left.shape[1])
        of_left, of_right = [along(d, none) for d in units], [along(none, e) for e in units]
        return np.stack(
            [
                np.stack([(along(d, e) - one - other) / 2 for e, other in zip(units, of_right, strict=True)])
                for d, one in zip(units, of_left, strict=True)
            ]
        )

    def variances_first(self, coordinates: np.ndarray) -> np.ndarray:
        steps = [coordinates + 1j * _STEP * e for e in _units(coordinates)]
        return np.stack([np.imag(self.kernel.variances(step)) / _STEP for step in steps], axis=1)

    def variances_second(self, coordinates: np.ndarray) -> np.ndarray:
        found = _polarised(coordinates, lambda d: _on_circle(lambda t: self.kernel.variances(coordinates + t * d)))
        return np.moveaxis(found, -1, 0)

    def check(self, coordinates: np.ndarray) -> None:
        """Refuse a formula whose complex steps are not its derivatives, as a difference of two of its values shows."""
        found = self.first(coordinates, coordinates)
        for step, slopes in zip(_CHECK_STEP * _units(coordinates), found, strict=True):
            ahead, behind = (self.kernel.cross(coordinates + move, coordinates) for move in (step, -step))
            expected = (ahead - behind) / (2 * _CHECK_STEP)
            largest = max(float(np.abs(expected).max()), 1e-6)
            if not np.abs(slopes - expected).max() <= _DISAGREEMENT * largest:
                raise ValueError(
                    f"`latent_kernel` must return a kernel whose `cross` takes complex coordinates, by which its "
                    f"derivatives are found. Got another derivative than its values have from "
                    f"{type(self.kernel).__name__}. Write it without `abs`, `real` or comparisons of complex numbers "
                    "(for instance `np.sqrt(x**2)`)."
                )


def _units(coordinates: np.ndarray) -> np.ndarray:
    return np.eye(coordinates.shape[1])


def _on_circle(f: Callable[[complex], np.ndarray]) -> np.ndarray:
    """Return f''(0) by Cauchy's formula."""
    parts = [f(_RADIUS * np.exp(1j * angle)) * np.exp(-2j * angle) for angle in _ANGLES]
    return 2 * np.real(np.mean(parts, axis=0)) / _RADIUS**2


def _polarised(coordinates: np.ndarray, along: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return all second derivatives from those along directions: H_qr = (H(e_q + e_r) - H(e_q) - H(e_r)) / 2."""
    units = _units(coordinates)
    own = [along(e) for e in units]
    hessian = np.zeros((len(units), len(units), *own[0].shape))
    for q, r in combinations_with_replacement(range(len(units)), 2):
        both = own[q] if q == r else (along(units[q] + units[r]) - own[q] - own[r]) / 2
        hessian[q, r] = hessian[r, q] = both
    return hessian
