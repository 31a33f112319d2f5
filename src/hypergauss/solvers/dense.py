"""The dense solver: factors of the n x n covariance of the sites. O(n^3), for any kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import ClassVar

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dtrsm

from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Kernel
from hypergauss.solvers.base import (
    Evidence,
    ExactSolver,
    LeaveOneOut,
    Marginals,
    Posterior,
    Prior,
    leave_one_out,
)
from hypergauss.solvers.cholesky import cholesky, inverse_of_factor
from hypergauss.solvers.reduction import Reduction, lower_factor
from hypergauss.solvers.sites import NaturalSites, Sites

#: Rows for which covariances with the sites are held at once.
_CHUNK = 4096


class DenseSolver(ExactSolver):
    r"""Systems of C = K + Sigma by Cholesky's factorisation, and of I + B^1/2 K B^1/2 for sites of precisions B.

    With a = C^-1 (y - mean), the slope of log N(y | mean, C) in C is (a a' - L C^-1) / 2 for L outputs; under sites
    that of log Z in K is (a a' - R) / 2, a = K^-1 (posterior mean - mean) and R = B - B S B = (K + B^-1)^-1.
    """

    name: ClassVar[str] = "dense"

    def __init__(self, kernel: Kernel, rows: np.ndarray) -> None:
        super().__init__(kernel, rows)
        self.inputs = kernel.inputs(rows)
        self._latest: tuple[Kernel | None, np.ndarray] = (None, np.zeros((0, 0)))

    def _covariance(self, kernel: Kernel) -> np.ndarray:
        """Return K, remembered while sites move at one value of the hyperparameters."""
        if self._latest[0] is not kernel:
            self._latest = (kernel, kernel.cross(self.inputs, self.inputs))
        return self._latest[1]

    def evidence(self, kernel: Kernel, mean: np.ndarray, sites: Sites) -> Evidence:  # noqa: D102
        C = kernel.cross(self.inputs, self.inputs)
        C[np.diag_indices_from(C)] += sites.variance
        targets = sites.mean - mean
        n, outputs = targets.shape
        factor = cholesky(C)
        alpha = scipy.linalg.cho_solve((factor, True), targets, check_finite=False)
        log_det = 2 * np.log(np.diagonal(factor)).sum()
        value = -0.5 * ((targets * alpha).sum() + outputs * (log_det + n * np.log(2 * np.pi))) + sites.log_offset
        slopes = (alpha @ alpha.T - outputs * inverse_of_factor(factor)) / 2
        in_kernel = kernel.pull_back(self.inputs, self.inputs, slopes)
        return Evidence(float(value), in_kernel, alpha.sum(axis=0), np.diagonal(slopes).copy())

    def marginals(self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites) -> Marginals:  # noqa: D102
        K = self._covariance(kernel)
        try:
            return _conditioned(K, mean, sites)
        except NumericalError:
            return Marginals.improper(sites)

    def pull_back(  # noqa: D102
        self,
        kernel: Kernel,
        mean: np.ndarray,
        sites: NaturalSites,
        in_unexplained: np.ndarray,  # noqa: ARG002
    ) -> tuple[np.ndarray, np.ndarray]:
        K = self._covariance(kernel)
        precision = sites.precision.T
        R, room = np.empty((2, *precision.shape, len(K)))
        if (precision >= 0).all():
            Reduction(K).into(R, precision, room)
        else:
            R[:] = precision[:, :, None] * np.linalg.inv(np.eye(len(K)) + K * precision[:, None])
        relative = sites.shift - sites.precision * mean
        alpha = relative - np.matmul(R, (K @ relative).T[:, :, None])[:, :, 0].T
        slopes = (alpha @ alpha.T - R.sum(axis=0)) / 2
        return kernel.pull_back(self.inputs, self.inputs, slopes), alpha.sum(axis=0)

    def multiply(self, kernel: Kernel, vectors: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._covariance(kernel) @ vectors

    def pull_back_product(self, kernel: Kernel, left: np.ndarray, right: np.ndarray) -> np.ndarray:  # noqa: D102
        return kernel.pull_back(self.inputs, self.inputs, left @ right.T)

    def posterior(self, prior: Prior, sites: Sites) -> DensePosterior:  # noqa: D102
        return DensePosterior(prior, sites, self._covariance(prior.kernel))


def _conditioned(K: np.ndarray, mean: np.ndarray, sites: NaturalSites) -> Marginals:
    """Return the marginals: those under sites whose precision is not negative, and what the others give back.

    With B of the former, I + B^1/2 K B^1/2 = L L' and T = L^-1 B^1/2 K, S = K - T'T.
    """
    root = np.sqrt(np.maximum(sites.precision.T, 0.0))
    T = np.multiply(root[:, :, None], K, order="C")  # (L, n, n)
    M = np.multiply(T, root[:, None, :], order="C")
    diagonals = M.reshape(len(M), -1)[:, :: len(K) + 1]
    diagonals += 1.0
    # Rows of NumPy's arrays are columns to LAPACK: nothing is copied by transposing them.
    for system, each in zip(M, T, strict=True):
        dtrsm(1.0, lower_factor(system), each.T, side=1, lower=1, trans_a=1, overwrite_b=1)
    half_log_det = float(np.log(diagonals).sum())
    variance = K.diagonal() - np.einsum("lij,lij->lj", T, T)
    given_back = {}
    for latent in np.flatnonzero(sites.precision.min(axis=0) < 0):
        V, more = _given_back(K, T[latent], sites.precision[:, latent])
        given_back[latent] = V
        variance[latent] += np.einsum("ij,ij->j", V, V)
        half_log_det += more

    def smooth(x: np.ndarray) -> np.ndarray:
        smoothed = K @ x - np.matmul(T.transpose(0, 2, 1), np.matmul(T, x.T[:, :, None]))[:, :, 0].T
        for latent, V in given_back.items():
            smoothed[:, latent] += V @ x[:, latent] @ V
        return smoothed

    relative = sites.shift - sites.precision * mean
    centred = smooth(relative)
    at_mean = (sites.shift + relative).sum(axis=0) @ mean  # twice shift m - precision m^2 / 2
    log_z = float(at_mean + np.vdot(relative, centred)) / 2 - half_log_det
    return Marginals(mean + centred, variance.T, log_z, isfinite(log_z), smooth=smooth)


def _given_back(K: np.ndarray, T: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, float]:
    """Return V, for the covariance S + V'V with sites of negative precision too, and what half a log det grows by.

    With -B their precisions and S = K - T'T of the others, I - B^1/2 S B^1/2 = L L' and V = L^-1 B^1/2 S, rows and
    columns where they are. Without a factor, prior times sites is no distribution.
    """
    J = np.flatnonzero(precision < 0)
    root = np.sqrt(-precision[J])
    V = root[:, None] * (K[J] - T[:, J].T @ T)
    factor = lower_factor(np.eye(len(J)) - V[:, J] * root)
    dtrsm(1.0, factor, V.T, side=1, lower=1, trans_a=1, overwrite_b=1)
    return V, float(np.log(factor.diagonal()).sum())


class DensePosterior(Posterior):
    """Conditioning by a factor of K_tt + Sigma: Cholesky, or LU where a likelihood's sites have negative variances."""

    solver: ClassVar[str] = "dense"

    def __init__(self, prior: Prior, sites: Sites, known: np.ndarray | None = None) -> None:
        super().__init__(prior, sites)
        # Latents share a kernel, and so its covariances between the sites.
        covariance = prior.kernel.gram(sites.rows, sites.rows) if known is None else known.copy()
        covariance[np.diag_indices_from(covariance)] += sites.variance
        self._solve, log_det = _factorise(covariance, definite=bool((sites.variance > 0).all()))
        targets = sites.mean - prior.mean
        n, outputs = targets.shape
        self._alpha = self._solve(targets)
        self.log_evidence = float(
            -0.5 * ((targets * self._alpha).sum() + outputs * (log_det + n * np.log(2 * np.pi))) + sites.log_offset
        )

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        solved = self._solve(residual)
        parts = [self._cross(chunk) @ solved for chunk in _chunks(rows)]
        return np.concatenate(parts) if parts else np.zeros((0, residual.shape[1]))

    def variance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        parts = []
        for chunk in _chunks(rows):
            cross = self._cross(chunk)
            explained = (cross * self._solve(cross.T).T).sum(axis=1)
            parts.append(self.prior.kernel.diagonal(chunk) - explained)
        return np.maximum(np.concatenate(parts), 0.0) if parts else np.zeros(0)

    def covariance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        cross = self._cross(rows)
        covariance = self.prior.kernel.gram(rows, rows) - cross @ self._solve(cross.T)
        return (covariance + covariance.T) / 2

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._solve(self._cross(rows).T).T

    def moments_and_weights(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same from covariances with the sites that are made once."""
        cross = self._cross(rows)
        weights = self._solve(cross.T).T
        variance = self.prior.kernel.diagonal(rows) - (cross * weights).sum(axis=1)
        return self.prior.mean + cross @ self._alpha, np.maximum(variance, 0.0), weights

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        return self._alpha

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        inverse = self._solve(np.eye(len(self.sites.rows)))
        return leave_one_out(self.sites, self._alpha, np.diagonal(inverse))

    def _cross(self, rows: np.ndarray) -> np.ndarray:
        return self.prior.kernel.gram(rows, self.sites.rows)


def _factorise(covariance: np.ndarray, *, definite: bool) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Return a function that solves with a symmetric matrix, and the log of its absolute determinant."""
    if not definite:
        factor = scipy.linalg.lu_factor(covariance, overwrite_a=True)
        return partial(scipy.linalg.lu_solve, factor), float(np.log(np.abs(np.diagonal(factor[0]))).sum())
    lower = cholesky(covariance)
    return partial(scipy.linalg.cho_solve, (lower, True)), float(2 * np.log(np.diagonal(lower)).sum())


def _chunks(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
