r"""Posterior marginals under natural sites exp(shift f - precision f^2 / 2), as pure functions of the hyperparameters.

A site's precision may be zero or negative, as those of likelihoods that are not log-concave can be. With B the diagonal
of precisions, S = (K^-1 + B)^-1, and shift' = shift - B mean relative to the prior mean,

    log Z = sum of (shift mean - precision mean^2 / 2) + shift'' S shift' / 2 - log det(I + K B) / 2

is the log of the integral of the prior times the sites.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve
from jaxtyping import Array, Float

from hypergauss.inference.projection import Inducing
from hypergauss.kernels import Kernel


class NaturalSites(NamedTuple):
    """exp(shift f - precision f^2 / 2) for n vertices and L latent functions, arrays of shape (n, L)."""

    shift: Float[Array, "n L"]
    precision: Float[Array, "n L"]


class Marginals(NamedTuple):
    """Posterior mean and variance of each latent at each site, shape (n, L), and log Z summed over latents.

    ``unexplained`` is prior variance that a sparse approximation leaves out of what the sites see, shape (n, 1).
    """

    mean: Float[Array, "n L"]
    variance: Float[Array, "n L"]
    log_partition: Float[Array, ""]
    unexplained: Array | float = 0.0

    @property
    def total_variance(self) -> Float[Array, "n L"]:
        """The variance of the latents themselves."""
        return self.variance + self.unexplained


class DenseSystem(eqx.Module):
    """Marginals by an LU factorisation of I + K B, n x n, for each latent."""

    inputs: Any

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray) -> DenseSystem:
        """Gather the kernel's inputs."""
        return cls(kernel.inputs(rows))

    def __call__(self, kernel: Kernel, mean: Float[Array, " L"], sites: NaturalSites) -> Marginals:
        """Return the marginals under the kernel, the same for all latents, and a constant mean for each."""
        K = kernel.cross(self.inputs, self.inputs)
        eye = jnp.eye(K.shape[0])

        def one(mean: Array, shift: Array, precision: Array) -> tuple[Array, Array, Array]:
            factor = lu_factor(eye + K * precision)
            relative = shift - precision * mean
            S = lu_solve(factor, K)
            centred = S @ relative
            log_z = (shift * mean - precision * mean**2 / 2).sum() + (relative @ centred) / 2 - _log_det(factor[0]) / 2
            return mean + centred, jnp.diagonal(S), log_z

        return _for_each_latent(one, mean, sites)


class LowRankSystem(eqx.Module):
    r"""Marginals in the r features of a structured kernel K = F W F' + diag(rho).

    With h = precision / (1 + rho precision), G = F' diag(h) F and C = W (I + G W)^-1, the coefficients of the features
    have covariance C; nothing divides by a precision.
    """

    inputs: Any

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray) -> LowRankSystem:
        """Gather the kernel's inputs."""
        return cls(kernel.inputs(rows))

    def __call__(self, kernel: Kernel, mean: Float[Array, " L"], sites: NaturalSites) -> Marginals:
        """Return the marginals under the kernel, the same for all latents, and a constant mean for each."""
        F = jnp.asarray(kernel.features(self.inputs))
        w = kernel.weights()
        rho = jnp.broadcast_to(kernel.remainder(self.inputs), F.shape[:1])
        eye = jnp.eye(F.shape[1])

        def one(mean: Array, shift: Array, precision: Array) -> tuple[Array, Array, Array]:
            keep = 1 / (1 + rho * precision)
            relative = (shift - precision * mean) * keep
            factor = lu_factor(eye + (F.T * (precision * keep)) @ F * w)
            C = w[:, None] * lu_solve(factor, eye)
            b = F.T @ relative
            fitted = F @ (C @ b)
            centred = keep * fitted + rho * relative
            variance = keep**2 * ((F @ C) * F).sum(axis=1) + keep * rho
            quadratic = b @ (C @ b) + (rho * relative**2 / keep).sum()
            log_det = _log_det(factor[0]) - jnp.log(keep).sum()
            log_z = (shift * mean - precision * mean**2 / 2).sum() + (quadratic - log_det) / 2
            return mean + centred, variance, log_z

        return _for_each_latent(one, mean, sites)


def _for_each_latent(
    one: Callable[[Array, Array, Array], tuple[Array, Array, Array]], mean: Float[Array, " L"], sites: NaturalSites
) -> Marginals:
    """Return the marginals of all latents, one after another.

    A batched factorisation inside a compiled loop can wait for ever on a machine of two cores: XLA shares the batch
    among the threads of the pool that its own loop is running in.
    """
    means, variances, log_z = jax.lax.map(lambda of: one(*of), (mean, sites.shift.T, sites.precision.T))
    return Marginals(means.T, variances.T, log_z.sum())


class SparseSystem(eqx.Module):
    r"""Marginals with inducing variables c: f = F c + g, where sites see only F c, and g keeps its prior variance.

    With q(c) = prior times sites this is the family of Titsias (2009) and Hensman et al. (2015), at its best q.
    """

    inputs: Any
    inducing: Inducing

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray, inducing: Inducing) -> SparseSystem:
        """Gather the kernel's inputs."""
        return cls(kernel.inputs(rows), inducing)

    def __call__(self, kernel: Kernel, mean: Float[Array, " L"], sites: NaturalSites) -> Marginals:
        """Return the marginals under the kernel, the same for all latents, and a constant mean for each."""
        projected = self.inducing.project(kernel)
        seen = LowRankSystem(self.inputs)(projected, mean, sites)
        return seen._replace(unexplained=projected.unexplained(self.inputs)[:, None])


System = DenseSystem | LowRankSystem | SparseSystem


def _log_det(lu: Float[Array, "n n"]) -> Float[Array, ""]:
    """Return the log determinant from an LU factor; the matrix is similar to a positive definite one."""
    return jnp.log(jnp.abs(jnp.diagonal(lu))).sum()
