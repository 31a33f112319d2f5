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
from jaxtyping import Array, Bool, Float

from hypergauss.solvers.projection import Inducing
from hypergauss.kernels import Kernel


class NaturalSites(NamedTuple):
    """exp(shift f - precision f^2 / 2) for n vertices and L latent functions, arrays of shape (n, L)."""

    shift: Float[Array, "n L"]
    precision: Float[Array, "n L"]


class Marginals(NamedTuple):
    """Posterior mean and variance of each latent at each site, shape (n, L), and log Z summed over latents.

    ``unexplained`` is prior variance that a sparse approximation leaves out of what the sites see, shape (n, 1).
    ``is_proper`` is false where negative precisions outweigh the prior: prior times sites is no distribution then,
    though its formal variances may all be positive.
    """

    mean: Float[Array, "n L"]
    variance: Float[Array, "n L"]
    log_partition: Float[Array, ""]
    is_proper: Bool[Array, ""]
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

        def one(mean: Array, shift: Array, precision: Array) -> tuple[Array, Array, Array, Array]:
            S, log_det = posterior_covariance(K, precision)
            relative = shift - precision * mean
            centred = S @ relative
            log_z = (shift * mean - precision * mean**2 / 2).sum() + (relative @ centred) / 2 - log_det / 2
            return mean + centred, jnp.diagonal(S), log_z, _is_definite(S)

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

        def one(mean: Array, shift: Array, precision: Array) -> tuple[Array, Array, Array, Array]:
            keep = 1 / (1 + rho * precision)
            relative = (shift - precision * mean) * keep
            C, log_capacity, sign = coefficient_covariance((F.T * (precision * keep)) @ F, w)
            b = F.T @ relative
            fitted = F @ (C @ b)
            centred = keep * fitted + rho * relative
            variance = keep**2 * ((F @ C) * F).sum(axis=1) + keep * rho
            quadratic = b @ (C @ b) + (rho * relative**2 / keep).sum()
            log_det = log_capacity - jnp.log(keep).sum()
            log_z = (shift * mean - precision * mean**2 / 2).sum() + (quadratic - log_det) / 2
            # With a weight below zero, C need not be definite, and the sign of the determinant is all there is to see.
            proper = _is_definite(C) if kernel.has_positive_weights else sign > 0
            return mean + centred, variance, log_z, proper & (keep > 0).all()

        return _for_each_latent(one, mean, sites)


@jax.custom_vjp
def posterior_covariance(K: Float[Array, "n n"], b: Float[Array, " n"]) -> tuple[Array, Array]:
    """Return S = (K^-1 + B)^-1 and log det(I + K B), B = diag(b), without inverting either.

    Derivatives by hand, in products where those of an LU factorisation would be many solves: with T = I - S B,
    dS = T dK T' - S dB S and d log det = tr(B T dK) + sum of S_ii db_i.
    """
    return _posterior_forward(K, b)[0]


def _posterior_forward(K: Array, b: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    factor = lu_factor(jnp.eye(K.shape[0]) + K * b)
    S = lu_solve(factor, K)
    return (S, _log_det(factor[0])), (S, b)


def _posterior_backward(saved: tuple[Array, Array], gradient: tuple[Array, Array]) -> tuple[Array, Array]:
    S, b = saved
    d_S, d_log_det = gradient
    T = jnp.eye(S.shape[0]) - S * b
    d_K = T.T @ d_S @ T + d_log_det * (b[:, None] * T).T
    d_b = d_log_det * jnp.diagonal(S) - ((d_S.T @ S) * S).sum(axis=0)
    return d_K, d_b


posterior_covariance.defvjp(_posterior_forward, _posterior_backward)


@jax.custom_vjp
def coefficient_covariance(G: Float[Array, "r r"], w: Float[Array, " r"]) -> tuple[Array, Array, Array]:
    """Return C = W P for P = (I + G W)^-1, the log of |det(I + G W)|, and the determinant's sign; G is symmetric.

    Derivatives by hand: dC = P' dW P - C dG C and d log det = tr(C dG) + sum of (P G)_ii dw_i.
    """
    return _coefficient_forward(G, w)[0]


def _coefficient_forward(G: Array, w: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, ...]]:
    eye = jnp.eye(G.shape[0])
    factor = lu_factor(eye + G * w)
    P = lu_solve(factor, eye)
    return (w[:, None] * P, _log_det(factor[0]), _sign(factor)), (G, w, P)


def _coefficient_backward(saved: tuple[Array, ...], gradient: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    G, w, P = saved
    d_C, d_log_det, _ = gradient
    C = w[:, None] * P
    d_G = d_log_det * C.T - C.T @ d_C @ C.T
    d_w = d_log_det * (P * G.T).sum(axis=1) + ((P @ d_C) * P).sum(axis=1)
    return d_G, d_w


coefficient_covariance.defvjp(_coefficient_forward, _coefficient_backward)


def _for_each_latent(
    one: Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]],
    mean: Float[Array, " L"],
    sites: NaturalSites,
) -> Marginals:
    """Return the marginals of all latents, one after another.

    A batched factorisation inside a compiled loop can wait for ever on a machine of two cores: XLA shares the batch
    among the threads of the pool that its own loop is running in.
    """
    means, variances, log_z, proper = jax.lax.map(lambda of: one(*of), (mean, sites.shift.T, sites.precision.T))
    return Marginals(means.T, variances.T, log_z.sum(), proper.all())


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


def _sign(factor: tuple[Array, Array]) -> Float[Array, ""]:
    """Return the sign of a determinant from an LU factorisation."""
    lu, pivots = factor
    swaps = (pivots != jnp.arange(len(pivots))).sum()
    return jnp.prod(jnp.sign(jnp.diagonal(lu))) * (1 - 2 * (swaps % 2))


def _is_definite(S: Float[Array, "n n"]) -> Bool[Array, ""]:
    """Return whether a symmetric matrix has no eigenvalue below zero by more than rounding."""
    slack = 1e-9 * jnp.abs(jnp.diagonal(S)).max() * jnp.eye(S.shape[0])
    return jnp.isfinite(jnp.linalg.cholesky(jax.lax.stop_gradient((S + S.T) / 2 + slack))).all()
