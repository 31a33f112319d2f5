"""The posterior by way of the r coefficients of a structured kernel's features, and a shelf for these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from hypergauss.kernels import Kernel
from hypergauss.solvers.base import LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.solvers.cholesky import cholesky
from hypergauss.solvers.low_rank.capacitance import capacitance
from hypergauss.solvers.sites import Sites

#: Rows of features gathered at once, to keep memory at what the spectrum itself takes, and entries of features that
#: are kept for the next to ask.
_CHUNK, _SHELVED = 8192, 500_000
#: Sites that may be new, as a share of the features, for an update of low rank to pay; the rounding of a precision.
_FEW_OF, _SAME = 0.25, 1e-12


def check_rank(kernel: Kernel) -> int:
    """Return the number of features, or say which solver serves a kernel without."""
    if kernel.rank is None:
        raise ValueError(
            f"The low-rank solver needs a kernel with features. Got {type(kernel).__name__}, which has none. "
            "Use `solver='dense'`."
        )
    return kernel.rank


def features_at(kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F and the remainder of each vertex, shapes (n, r) and (n,)."""
    F, (_, remainder) = kernel.features_and_structure(kernel.inputs(rows))
    return F, np.broadcast_to(remainder, len(rows))


class Shelf:
    """Features lately asked for: those at the sites, and at the vertices that every latent is predicted at.

    Latents share a kernel, and each asks for the features of the same vertices several times.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Kernel, np.ndarray, tuple[np.ndarray, np.ndarray]]] = []

    def features(self, kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `features_at` of a kernel, which never changes, and rows, which a caller may change."""
        for of, at, found in self._held:
            if of is kernel and len(at) == len(rows) and (at == rows).all():
                return found
        found = features_at(kernel, rows)
        if found[0].size > _SHELVED:
            return found
        self._held = [*self._held[-1:], (kernel, rows.copy(), found)]
        return found


class LowRankPosterior(Posterior):
    r"""Conditioning in feature space.

    Write f = F c + g with coefficients c ~ N(0, W) and g ~ N(0, remainder) of each vertex's own. Given the sites, c has
    mean C b and covariance C, with b = F' D^-1 z. At an observed vertex g takes up the share
    rho = remainder / (remainder + site variance) of what F c leaves unexplained.
    """

    solver: ClassVar[str] = "low-rank"

    def __init__(
        self, prior: Prior, sites: Sites, shelf: Shelf | None = None, before: LowRankPosterior | None = None
    ) -> None:
        super().__init__(prior, sites)
        check_rank(prior.kernel)
        self._shelf = Shelf() if shelf is None else shelf
        # Where it is one number for all vertices it is known once and for all.
        self._uniform = prior.kernel.remainder(None) if prior.kernel.has_uniform_remainder else None
        self._d = self._remainder(sites.rows) + sites.variance
        updated = None if before is None else self._updated(before)
        self._coefficient_covariance, self._log_det = self._anew() if updated is None else updated
        targets = sites.mean - prior.mean
        b = self._project(targets)
        self._coefficients = self._coefficient_covariance @ b
        # Sites of a likelihood that is not log-concave may have negative variances; then this is no evidence.
        log_det = self._log_det + np.log(2 * np.pi * np.abs(self._d)).sum()
        quadratic = (targets**2 / self._d[:, None]).sum() - (b * self._coefficients).sum()
        self.log_evidence = float(-0.5 * (quadratic + targets.shape[1] * log_det) + sites.log_offset)

    def _anew(self) -> tuple[np.ndarray, float]:
        """Return C = (W^-1 + F' D^-1 F)^-1, and log det(I + W F' D^-1 F)."""
        rank = len(self.prior.kernel.weights())
        G = np.zeros((rank, rank))
        for part, F, _ in self._chunks(self.sites.rows):
            G += (F / self._d[part, None]).T @ F
        system = capacitance(G, self.prior.kernel.weights())
        return system.matrix(), system.log_det

    def _updated(self, before: LowRankPosterior) -> tuple[np.ndarray, float] | None:
        r"""Return the same from an earlier C, where the precisions D^-1 of k sites have grown by e > 0; None if many.

        With F_k their features, C - C F_k' (diag(1/e) + F_k C F_k')^-1 F_k C, and the determinant grows by
        det(I + e^1/2 F_k C F_k' e^1/2): O(k r^2) in place of O(n r^2 + r^3).
        """
        at = before.position[self.sites.rows]
        if (at >= 0).sum() < len(before.sites.rows):
            return None
        gain = 1.0 / self._d - np.where(at >= 0, 1.0 / before._d[at], 0.0)
        changed = np.flatnonzero(np.abs(gain) > _SAME / np.abs(self._d))
        C = before._coefficient_covariance
        if len(changed) > _FEW_OF * len(C) or (gain[changed] <= 0).any():
            return None
        scaled = np.sqrt(gain[changed])[:, None] * self._features(self.sites.rows[changed])
        along = scaled @ C
        factor = cholesky(np.eye(len(changed)) + along @ scaled.T)
        half = solve_triangular(factor, along, lower=True, check_finite=False)
        return C - half.T @ half, before._log_det + 2 * float(np.log(np.diagonal(factor)).sum())

    def mean(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.prior.mean + self._fitted(rows, self.sites.mean - self.prior.mean, self._coefficients)

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        return self._fitted(rows, residual, self._coefficient_covariance @ self._project(residual))

    def _fitted(self, rows: np.ndarray, residual: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return K_*t (K_tt + Sigma)^-1 residual from the coefficients C F' D^-1 residual."""
        result = np.empty((len(rows), residual.shape[1]))
        for part, F, _ in self._chunks(rows):
            result[part] = F @ coefficients
        seen, share = self._share(rows)
        result[seen] += share[seen, None] * (residual[self.position[rows[seen]]] - result[seen])
        return result

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return F_* C F' D^-1, and at an observed vertex the share rho of what that leaves of its own site."""
        result = np.empty((len(rows), len(self.sites.rows)))
        thinned = self._features(rows) @ self._coefficient_covariance
        for part, F, _ in self._chunks(self.sites.rows):
            result[:, part] = thinned @ F.T / self._d[part]
        seen, share = self._share(rows)
        result[seen] *= (1 - share[seen])[:, None]
        result[seen, self.position[rows[seen]]] += share[seen]
        return result

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        targets = self.sites.mean - self.prior.mean
        fitted = np.empty_like(targets)
        for part, F, _ in self._chunks(self.sites.rows):
            fitted[part] = F @ self._coefficients
        return (targets - fitted) / self._d[:, None]

    def variance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        result = self._of_coefficients(rows)
        _, share = self._share(rows)
        # remainder * site variance / d = (1 - share) * remainder; an unobserved vertex keeps all of it.
        return np.maximum((1 - share) ** 2 * result + (1 - share) * self._remainder(rows), 0.0)

    def covariance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        F = self._features(rows)
        _, share = self._share(rows)
        thinned = (1 - share)[:, None] * F
        own = (1 - share) * self._remainder(rows)
        # A vertex asked for twice is one vertex: its own part is shared.
        return thinned @ self._coefficient_covariance @ thinned.T + np.where(rows[:, None] == rows, own, 0.0)

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        leverage = self._of_coefficients(self.sites.rows)
        return leave_one_out(self.sites, self.dual_weights(), (1 - leverage / self._d) / self._d)

    def _of_coefficients(self, rows: np.ndarray) -> np.ndarray:
        """Return the variance of F c at each vertex."""
        result = np.empty(len(rows))
        for part, F, _ in self._chunks(rows):
            result[part] = ((F @ self._coefficient_covariance) * F).sum(axis=1)
        return result

    def _project(self, residual: np.ndarray) -> np.ndarray:
        """Return F' D^-1 residual."""
        total = np.zeros((len(self._coefficient_covariance), residual.shape[1]))
        for part, F, _ in self._chunks(self.sites.rows):
            total += F.T @ (residual[part] / self._d[part, None])
        return total

    def _remainder(self, rows: np.ndarray) -> np.ndarray:
        if self._uniform is not None:
            return np.broadcast_to(self._uniform, len(rows))
        return np.concatenate([np.zeros(0), *(remainder for _, _, remainder in self._chunks(rows))])

    def _features(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([F for _, F, _ in self._chunks(rows)]) if len(rows) > _CHUNK else self._at(rows)[0]

    def _chunks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield which rows, their features, and their remainders, a block at a time."""
        if len(rows) <= _CHUNK:
            yield slice(0, len(rows)), *self._at(rows)
            return
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, *features_at(self.prior.kernel, rows[part])

    def _at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._shelf.features(self.prior.kernel, rows)

    def _share(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows are observed, and rho at each row, 0 if it is not."""
        position = self.position[rows]
        seen = position >= 0
        share = np.zeros(len(rows))
        d = self._d[position[seen]]
        share[seen] = 1 - self.sites.variance[position[seen]] / d
        return seen, share
