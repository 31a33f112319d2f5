"""Measurements with normal errors."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.likelihoods.base import Measurement, Moments, OneLatent
from hypergauss.parameters import as_array, check_fixed, positive


class Gaussian(OneLatent, Measurement):
    r"""p(y | f) = N(y; f, noise_variance).

    Under f ~ N(mean, variance) the expectation is closed,
    E log p = log N(y; mean, noise_variance) - variance / (2 noise_variance).

    Parameters
    ----------
    noise_variance : float, default 1.0
        Of the measurement error.
    fixed : sequence of str
        May name "noise_variance".

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> mean, variance = Gaussian(0.5).moments(jnp.array([[1.0]]), jnp.array([[0.2]]))
    >>> print(mean, variance)
    [1.] [0.7]
    """

    fixed: tuple[str, ...] = eqx.field(static=True)
    noise_variance: Array = positive()

    def __init__(self, noise_variance: float = 1.0, *, fixed: Sequence[str] = ()) -> None:
        self.noise_variance = as_array(_checks.positive("noise_variance", noise_variance))
        self.fixed = check_fixed(fixed, ("noise_variance",))

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "n ..."]:  # noqa: D102
        return -((y - latent) ** 2 / self.noise_variance + jnp.log(2 * jnp.pi * self.noise_variance)) / 2

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        return self.pointwise(mean[:, 0], y) - variance[:, 0] / (2 * self.noise_variance)

    def moments(self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"]) -> Moments:  # noqa: D102
        return Moments(mean[:, 0], variance[:, 0] + self.noise_variance)
