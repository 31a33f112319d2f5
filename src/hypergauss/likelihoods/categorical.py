r"""Many classes, one latent function each."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from hypergauss.likelihoods.base import Classification
from hypergauss.likelihoods.quadrature import NUM_NODES, gaussian_nodes, hermite

#: Step and reach of the trapezoidal rule in u; its integrands are analytic and fall off doubly exponentially to the
#: right and exponentially to the left, so that the rule converges geometrically in 1/step.
_STEP, _REACH = 0.25, 18.0


class LatentForEachClass(Classification):
    """Classes that compete: only differences between their latents matter."""

    @property
    def num_latents(self) -> int:  # noqa: D102
        return self.num_classes

    @property
    def is_shift_invariant(self) -> bool:  # noqa: D102
        return True


class Softmax(LatentForEachClass):
    r"""p(y = c | f) = exp(f_c) / sum over j of exp(f_j).

    Expectations under independent Gaussians are reduced to one dimension. For positive S,
    log S = integral over t of (exp(-t) - exp(-t S)) / t, and 1/S = integral of exp(-t S). With S = sum of exp(f_j) the
    expectation of exp(-t S) is the product of the L_j(t) = E exp(-t exp(f_j)), each by Gauss-Hermite quadrature. In
    u = log t,

        E log S       = integral du ( exp(-e^u) - product over j of L_j ),
        E softmax_c   = integral du ( -dL_c/du ) product over j != c of L_j,

    both by the trapezoidal rule. No bound and no sampling.
    """

    num_classes: int = eqx.field(static=True)

    def log_density(self, latents: Float[Array, "n L"], y: Float[Array, " n"]) -> Float[Array, " n"]:  # noqa: D102
        return _pick(jax.nn.log_softmax(latents, axis=1), y)

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n L"], variance: Float[Array, "n L"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        shift = jnp.max(mean, axis=1, keepdims=True)  # centres the integral over u
        u, log_transform = _log_laplace(mean - shift, variance)
        inner = jnp.exp(-jnp.exp(u)) - jnp.exp(log_transform.sum(axis=1))
        return _pick(mean, y) - shift[:, 0] - _STEP * inner.sum(axis=1)

    def probabilities(self, mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Float[Array, "n C"]:  # noqa: D102
        shift = jnp.max(mean, axis=1, keepdims=True)
        u = _grid()
        f = gaussian_nodes(mean - shift, variance)  # (n, C, q)
        argument = jnp.exp(u[:, None] + f[:, :, None, :])  # (n, C, U, q)
        _, weights = hermite()
        transform = jnp.exp(-argument) @ weights
        slope = (argument * jnp.exp(-argument)) @ weights
        # The product over the other classes, without dividing by a transform that may underflow.
        logs = jnp.log(jnp.maximum(transform, 1e-300))
        others = jnp.exp(logs.sum(axis=1, keepdims=True) - logs)
        raw = _STEP * (slope * others).sum(axis=2)
        return raw / raw.sum(axis=1, keepdims=True)


class RobustMax(LatentForEachClass):
    r"""p(y = c | f) = 1 - epsilon if f_c is the largest, epsilon / (C - 1) otherwise (Hernandez-Lobato et al., 2011).

    The paper's likelihood. Under independent Gaussians, the probability that f_c is the largest is
    E product over j != c of Phi((f_c - mean_j) / std_j), a one-dimensional expectation over f_c.
    """

    num_classes: int = eqx.field(static=True)
    epsilon: float = eqx.field(static=True, default=1e-3)

    def log_density(self, latents: Float[Array, "n L"], y: Float[Array, " n"]) -> Float[Array, " n"]:  # noqa: D102
        hit, miss = self._logs()
        return jnp.where(jnp.argmax(latents, axis=1) == y.astype(int), hit, miss)

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n L"], variance: Float[Array, "n L"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        hit, miss = self._logs()
        largest = _pick(_largest(mean, variance), y)
        return largest * hit + (1 - largest) * miss

    def probabilities(self, mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Float[Array, "n C"]:  # noqa: D102
        largest = _largest(mean, variance)
        largest = largest / largest.sum(axis=1, keepdims=True)
        return largest * (1 - self.epsilon) + (1 - largest) * self.epsilon / (self.num_classes - 1)

    def _logs(self) -> tuple[float, float]:
        return float(np.log1p(-self.epsilon)), float(np.log(self.epsilon / (self.num_classes - 1)))


def _grid() -> np.ndarray:
    return np.arange(-_REACH, _REACH / 2 + _STEP, _STEP)


def _log_laplace(mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> tuple[np.ndarray, Float[Array, "n L u"]]:
    """Return the grid u and log E exp(-exp(u + f)) for each Gaussian."""
    u = _grid()
    f = gaussian_nodes(mean, variance)
    _, weights = hermite()
    transform = jnp.exp(-jnp.exp(u[:, None] + f[:, :, None, :])) @ weights
    return u, jnp.log(jnp.maximum(transform, 1e-300))


def _largest(mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Float[Array, "n L"]:
    """Return the probability of each latent to be the largest, by quadrature over that latent."""
    f = gaussian_nodes(mean, variance, NUM_NODES)  # (n, C, q)
    std = jnp.sqrt(jnp.maximum(variance, 1e-10))
    below = norm.cdf((f[:, :, None, :] - mean[:, None, :, None]) / std[:, None, :, None])  # (n, c, j, q)
    # Kept off 0 and 1, as GPflow does, so that a certain answer still has a gradient.
    below = below * (1 - 2e-4) + 1e-4
    own = jnp.eye(mean.shape[1])[None, :, :, None]
    _, weights = hermite(NUM_NODES)
    return jnp.prod(jnp.where(own > 0, 1.0, below), axis=2) @ weights


def _pick(values: Float[Array, "n C"], y: Float[Array, " n"]) -> Float[Array, " n"]:
    return jnp.take_along_axis(values, y.astype(int)[:, None], axis=1)[:, 0]
