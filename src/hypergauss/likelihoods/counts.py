"""Counts."""

from __future__ import annotations

import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from hypergauss.likelihoods.base import Measurement, Moments, OneLatent


class Poisson(OneLatent, Measurement):
    r"""p(y | f) = exp(f)^y exp(-exp(f)) / y!, counts 0, 1, 2, ... with the rate exp(f).

    Under f ~ N(mean, variance) the rate is log-normal and everything is closed. With r = exp(mean + variance / 2),

        E log p = y mean - r - log y!,        E y = r,        Var y = r + (exp(variance) - 1) r^2.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> mean, variance = Poisson().moments(jnp.array([[0.0]]), jnp.array([[1.0]]))
    >>> print(mean.round(3), variance.round(3))
    [1.649] [6.319]
    """

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "n ..."]:  # noqa: D102
        return y * latent - jnp.exp(latent) - gammaln(y + 1)

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        return y * mean[:, 0] - _expected_rate(mean, variance) - gammaln(y + 1)

    def moments(self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"]) -> Moments:  # noqa: D102
        rate = _expected_rate(mean, variance)
        return Moments(rate, rate + jnp.expm1(variance[:, 0]) * rate**2)


def _expected_rate(mean: Float[Array, "n 1"], variance: Float[Array, "n 1"]) -> Float[Array, " n"]:
    return jnp.exp(mean[:, 0] + variance[:, 0] / 2)
