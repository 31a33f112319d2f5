r"""Many classes, one latent function each."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.likelihoods.base import Classification
from hypergauss.likelihoods.quadrature import gaussian_nodes, hermite, row_by_row
from hypergauss.parameters import as_array, check_fixed, positive

#: Points of the trapezoidal rule in u. Its integrands are analytic and fall off exponentially to the left and doubly
#: exponentially to the right, so that the rule converges geometrically.
_NUM_POINTS = 48
#: How far a probability in a product is kept from 0 and 1, so that a certain answer still has a gradient; GPflow's.
_SQUASH = 1e-6


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

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def log_density(self, latents: Float[Array, "n L"], y: Float[Array, " n"]) -> Float[Array, " n"]:  # noqa: D102
        return _pick(jax.nn.log_softmax(latents, axis=1), y)

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n L"], variance: Float[Array, "n L"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        return _pick(mean, y) - row_by_row(_expected_log_sum, mean, variance)

    def probabilities(self, mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Float[Array, "n C"]:  # noqa: D102
        return row_by_row(_expected_softmax, mean, variance)


class RobustMax(LatentForEachClass):
    r"""p(y = c | f) = 1 - epsilon if f_c is the largest, epsilon / (C - 1) otherwise (Hernandez-Lobato et al., 2011).

    The paper's likelihood. Under independent Gaussians, the probability that f_c is the largest is
    E product over j != c of Phi((f_c - mean_j) / std_j), a one-dimensional expectation over f_c.

    Parameters
    ----------
    num_classes : int
        C, at least two.
    epsilon : float, default 1e-3
        The share of labels that are wrong whatever the latents say, learned unless ``fixed`` names it.
    fixed : sequence of str
        ``("epsilon",)`` keeps epsilon, as the paper does.
    """

    num_classes: int = eqx.field(static=True)
    fixed: tuple[str, ...] = eqx.field(static=True)
    epsilon: Array = positive(1e-6, 0.5)

    def __init__(self, num_classes: int, epsilon: float = 1e-3, *, fixed: Sequence[str] = ()) -> None:
        self.num_classes = num_classes
        self.epsilon = as_array(_checks.positive("epsilon", epsilon))
        self.fixed = check_fixed(fixed, ("epsilon",))

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return False

    @property
    def has_mode(self) -> bool:  # noqa: D102
        return False

    def log_density(self, latents: Float[Array, "n L"], y: Float[Array, " n"]) -> Float[Array, " n"]:  # noqa: D102
        hit, miss = self._logs()
        return jnp.where(jnp.argmax(latents, axis=1) == y.astype(int), hit, miss)

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n L"], variance: Float[Array, "n L"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        hit, miss = self._logs()
        largest = _largest(mean, variance, y)
        return largest * hit + (1 - largest) * miss

    def probabilities(self, mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Float[Array, "n C"]:  # noqa: D102
        labels = [jnp.full(len(mean), float(c)) for c in range(self.num_classes)]
        largest = jnp.stack([_largest(mean, variance, label) for label in labels], axis=1)
        largest = largest / largest.sum(axis=1, keepdims=True)
        return largest * (1 - self.epsilon) + (1 - largest) * self.epsilon / (self.num_classes - 1)

    def _logs(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return jnp.log1p(-self.epsilon), jnp.log(self.epsilon / (self.num_classes - 1))


def _grid(mean: Float[Array, "n C"], variance: Float[Array, "n C"]) -> tuple[Array, Array, Array]:
    """Return points u for each vertex, their distance, and the shift of the latents that centres the integral.

    The wider the Gaussians, the farther the integrand reaches and the smoother it is. The points carry no gradient:
    the integral does not depend on them.
    """
    mean, std = jax.lax.stop_gradient((mean, jnp.sqrt(variance.max(axis=1))))
    low, high = -(16 + 3 * std), 3.5 + 4 * std
    u = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _NUM_POINTS)
    return u, (high - low) / (_NUM_POINTS - 1), mean.max(axis=1, keepdims=True)


def _expected_log_sum(mean: Float[Array, "n C"], variance: Float[Array, "n C"]) -> Float[Array, " n"]:
    """Return E log of the sum of exp(f_j)."""
    u, step, shift = _grid(mean, variance)
    f = gaussian_nodes(mean - shift, variance, hermite()[0])  # (n, C, q)
    log_transform = _safe_log(_expect(jnp.exp(-jnp.exp(u[:, None, :, None] + f[:, :, None, :]))))
    inner = jnp.exp(-jnp.exp(u)) - jnp.exp(log_transform.sum(axis=1))
    return shift[:, 0] + step * inner.sum(axis=1)


def _expected_softmax(mean: Float[Array, "n C"], variance: Float[Array, "n C"]) -> Float[Array, "n C"]:
    u, step, shift = _grid(mean, variance)
    f = gaussian_nodes(mean - shift, variance, hermite()[0])
    argument = jnp.exp(u[:, None, :, None] + f[:, :, None, :])  # (n, C, u, q)
    logs = _safe_log(_expect(jnp.exp(-argument)))
    slope = _expect(argument * jnp.exp(-argument))
    # The product over the other classes, without dividing by a transform that may underflow.
    others = jnp.exp(logs.sum(axis=1, keepdims=True) - logs)
    raw = step[:, None] * (slope * others).sum(axis=2)
    return raw / raw.sum(axis=1, keepdims=True)


def _expect(values: Float[Array, "... q"]) -> Array:
    return values @ hermite()[1]


def _safe_log(values: Array) -> Array:
    return jnp.log(jnp.maximum(values, 1e-300))


def _largest(mean: Float[Array, "n L"], variance: Float[Array, "n L"], label: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the probability that the latent of each vertex's label is its largest, by quadrature over that latent."""
    z, weights = hermite()
    f = gaussian_nodes(_pick(mean, label), _pick(variance, label), z)  # (n, q)
    std = jnp.sqrt(jnp.maximum(variance, 1e-10))
    below = erfc((mean[:, :, None] - f[:, None, :]) / (np.sqrt(2) * std[:, :, None])) / 2  # Phi, (n, C, q)
    below = below * (1 - 2 * _SQUASH) + _SQUASH
    own = label[:, None] == jnp.arange(mean.shape[1])
    return jnp.prod(jnp.where(own[:, :, None], 1.0, below), axis=1) @ weights


def _pick(values: Float[Array, "n C"], y: Float[Array, " n"]) -> Float[Array, " n"]:
    return jnp.take_along_axis(values, y.astype(int)[:, None], axis=1)[:, 0]
