"""The dense solver: factors of the n x n covariance of the sites. O(n^3), for any kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpotri

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
    log_partition,
)
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
        slopes = (alpha @ alpha.T - outputs * _inverse(factor)) / 2
        in_kernel = kernel.pull_back(self.inputs, self.inputs, slopes)
        return Evidence(float(value), in_kernel, alpha.sum(axis=0), np.diagonal(slopes).copy())

    def marginals(self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites) -> Marginals:  # noqa: D102
        K = self._covariance(kernel)
        found = [_condition(K, shift - b * m, b) for m, shift, b in zip(mean, sites.shift.T, sites.precision.T, strict=True)]
        log_z = log_partition(mean, sites) + sum((part.quadratic - part.log_det) / 2 for part in found)
        return Marginals(
            mean + np.stack([part.centred for part in found], axis=1),
            np.stack([part.variance for part in found], axis=1),
            float(log_z),
            all(part.is_proper for part in found),
        )

    def pull_back(  # noqa: D102
        self, kernel: Kernel, mean: np.ndarray, sites: NaturalSites, in_unexplained: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        K = self._covariance(kernel)
        slopes, in_mean = np.zeros_like(K), np.zeros(len(mean))
        for latent, (m, shift, b) in enumerate(zip(mean, sites.shift.T, sites.precision.T, strict=True)):
            relative = shift - b * m
            part = _condition(K, relative, b)
            alpha = relative - b * part.centred
            slopes += (np.outer(alpha, alpha) - part.reduction()) / 2
            in_mean[latent] = alpha.sum()
        return kernel.pull_back(self.inputs, self.inputs, slopes), in_mean

    def multiply(self, kernel: Kernel, vectors: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._covariance(kernel) @ vectors

    def pull_back_product(self, kernel: Kernel, left: np.ndarray, right: np.ndarray) -> np.ndarray:  # noqa: D102
        return kernel.pull_back(self.inputs, self.inputs, left @ right.T)

    def posterior(self, prior: Prior, sites: Sites) -> DensePosterior:  # noqa: D102
        return DensePosterior(prior, sites)


class _Conditioned(NamedTuple):
    """One latent given its sites: S r for shifts r relative to the prior mean, diag S, r' S r, log det(I + K B)."""

    centred: np.ndarray
    variance: np.ndarray
    quadratic: float
    log_det: float
    is_proper: bool
    #: R = B - B S B, computed where it is asked for.
    reduction: Callable[[], np.ndarray]


def _condition(K: np.ndarray, relative: np.ndarray, b: np.ndarray) -> _Conditioned:
    """Condition on sites exp(relative f - b f^2 / 2): by Cholesky where no precision is negative, else by LU."""
    if (b < 0).any():
        return _condition_by_lu(K, relative, b)
    root = np.sqrt(b)
    M = root[:, None] * K * root
    M[np.diag_indices_from(M)] += 1.0
    factor = cholesky(M)
    half = scipy.linalg.solve_triangular(factor, root[:, None] * K, lower=True, check_finite=False)
    centred = K @ relative - half.T @ (half @ relative)  # S = K - half' half
    variance = np.diagonal(K) - (half**2).sum(axis=0)
    log_det = 2 * float(np.log(np.diagonal(factor)).sum())

    def reduction() -> np.ndarray:
        return root[:, None] * _inverse(factor) * root

    return _Conditioned(centred, variance, float(relative @ centred), log_det, True, reduction)


def _condition_by_lu(K: np.ndarray, relative: np.ndarray, b: np.ndarray) -> _Conditioned:
    factor = scipy.linalg.lu_factor(np.eye(len(K)) + K * b, check_finite=False)
    S = scipy.linalg.lu_solve(factor, K, check_finite=False)
    S = (S + S.T) / 2
    centred = S @ relative
    with np.errstate(divide="ignore"):
        log_det = float(np.log(np.abs(np.diagonal(factor[0]))).sum())
    slack = 1e-9 * np.abs(np.diagonal(S)).max() * np.eye(len(S))
    return _Conditioned(
        centred,
        np.diagonal(S).copy(),
        float(relative @ centred),
        log_det,
        _is_definite(S + slack),
        lambda: np.diag(b) - b[:, None] * S * b,
    )


class DensePosterior(Posterior):
    """Conditioning by a factor of K_tt + Sigma: Cholesky, or LU where a likelihood's sites have negative variances."""

    solver: ClassVar[str] = "dense"

    def __init__(self, prior: Prior, sites: Sites) -> None:
        super().__init__(prior, sites)
        covariance = prior.kernel.gram(sites.rows, sites.rows)
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

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        return self._alpha

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        inverse = self._solve(np.eye(len(self.sites.rows)))
        return leave_one_out(self.sites, self.prior, self._alpha, np.diagonal(inverse))

    def _cross(self, rows: np.ndarray) -> np.ndarray:
        return self.prior.kernel.gram(rows, self.sites.rows)


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the lower factor of a covariance, or say why there is none."""
    try:
        return scipy.linalg.cholesky(matrix, lower=True, check_finite=False)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise NumericalError(
            f"The covariance of the {len(matrix)} observations is not positive definite. Likely causes: a "
            "noise variance too small for the kernel's variance, or a product of kernels that is nearly singular."
        ) from error


def _inverse(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix from its lower factor."""
    inverse, _ = dpotri(factor, lower=1)
    lower = np.tril(inverse)
    return lower + np.tril(inverse, -1).T


def _is_definite(matrix: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(matrix).all())


def _factorise(covariance: np.ndarray, *, definite: bool) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Return a function that solves with a symmetric matrix, and the log of its absolute determinant."""
    if not definite:
        factor = scipy.linalg.lu_factor(covariance, overwrite_a=True)
        return partial(scipy.linalg.lu_solve, factor), float(np.log(np.abs(np.diagonal(factor[0]))).sum())
    lower = cholesky(covariance)
    return partial(scipy.linalg.cho_solve, (lower, True)), float(2 * np.log(np.diagonal(lower)).sum())


def _chunks(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
