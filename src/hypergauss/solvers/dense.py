"""The dense solver: a Cholesky factor of the n x n covariance of the sites. O(n^3), for any kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from hypergauss.exceptions import NumericalError
from hypergauss.solvers.base import LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.kernels import Kernel

#: Rows for which covariances with the sites are held at once.
_CHUNK = 4096


def log_normal(covariance: Float[Array, "n n"], targets: Float[Array, "n L"]) -> Float[Array, ""]:
    """Return the sum over columns y of log N(y | 0, covariance)."""
    return log_normal_of_gram(covariance, targets, jnp.asarray(float(targets.shape[1])))


@jax.custom_vjp
def log_normal_of_gram(
    covariance: Float[Array, "n n"], root: Float[Array, "n k"], columns: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the sum over columns y of Y of log N(y | 0, covariance), known through ``root root' = Y Y'`` alone.

    Its derivatives are written by hand, (a a' - L K^-1) / 2 with a = K^-1 root and L columns, at a third of the cost of
    differentiating through the factorisation.
    """
    value, _ = _log_normal_forward(covariance, root, columns)
    return value


def _log_normal_forward(covariance: Array, root: Array, columns: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    factor = jnp.linalg.cholesky(covariance)
    alpha = cho_solve((factor, True), root)
    log_det = 2 * jnp.log(jnp.diagonal(factor)).sum()
    value = -0.5 * ((root * alpha).sum() + columns * (log_det + root.shape[0] * jnp.log(2 * jnp.pi)))
    return value, (factor, alpha, columns)


def _log_normal_backward(saved: tuple[Array, Array, Array], gradient: Array) -> tuple[Array, Array, None]:
    factor, alpha, columns = saved
    inverse = cho_solve((factor, True), jnp.eye(factor.shape[0]))
    return gradient * (alpha @ alpha.T - columns * inverse) / 2, -gradient * alpha, None


log_normal_of_gram.defvjp(_log_normal_forward, _log_normal_backward)


class DenseEvidence(eqx.Module):
    """The log evidence as a function of the kernel, the noise and the mean, from inputs gathered once."""

    observations: Observations
    inputs: Any

    @classmethod
    def of(cls, kernel: Kernel, observations: Observations) -> DenseEvidence:
        """Gather the kernel's inputs at the observed vertices."""
        return cls(observations, kernel.inputs(observations.rows))

    def __call__(self, kernel: Kernel, noise_variance: Array, mean: Array) -> Float[Array, ""]:
        """Return log N(y | mean, K + Sigma)."""
        sites = self.observations.sites(noise_variance)
        covariance = kernel.cross(self.inputs, self.inputs) + jnp.diag(jnp.asarray(sites.variance))
        return log_normal(covariance, sites.mean - mean) + sites.log_offset


class DensePosterior(Posterior):
    """Conditioning by a factor of K_tt + Sigma: Cholesky, or LU where a likelihood's sites have negative variances."""

    solver: ClassVar[str] = "dense"

    def __init__(self, prior: Prior, sites: Sites) -> None:
        super().__init__(prior, sites)
        covariance = np.array(prior.kernel.gram(sites.rows, sites.rows))
        covariance[np.diag_indices_from(covariance)] += np.asarray(sites.variance)
        self._solve, log_det = _factorise(covariance, definite=bool((np.asarray(sites.variance) > 0).all()))
        targets = np.asarray(sites.mean) - prior.mean
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
            parts.append(np.asarray(self.prior.kernel.diagonal(chunk)) - explained)
        return np.maximum(np.concatenate(parts), 0.0) if parts else np.zeros(0)

    def covariance(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        cross = self._cross(rows)
        covariance = np.asarray(self.prior.kernel.gram(rows, rows)) - cross @ self._solve(cross.T)
        return (covariance + covariance.T) / 2

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        return self._alpha

    def leave_one_out(self) -> LeaveOneOut:  # noqa: D102
        inverse = self._solve(np.eye(len(self.sites.rows)))
        return leave_one_out(self.sites, self.prior, self._alpha, np.diagonal(inverse))

    def _cross(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.prior.kernel.gram(rows, self.sites.rows))


def _factorise(covariance: np.ndarray, *, definite: bool) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Return a function that solves with a symmetric matrix, and the log of its absolute determinant."""
    if not definite:
        factor = scipy.linalg.lu_factor(covariance, overwrite_a=True)
        return partial(scipy.linalg.lu_solve, factor), float(np.log(np.abs(np.diagonal(factor[0]))).sum())
    try:
        factor = scipy.linalg.cho_factor(covariance, lower=True, overwrite_a=True)
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"The covariance of the {len(covariance)} observations is not positive definite. Likely causes: a "
            "noise variance too small for the kernel's variance, or a product of kernels that is nearly singular."
        ) from error
    return partial(scipy.linalg.cho_solve, factor), float(2 * np.log(np.diagonal(factor[0])).sum())


def _chunks(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
