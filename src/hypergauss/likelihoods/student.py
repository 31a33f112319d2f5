"""Measurements among which some are far off."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.likelihoods.base import Measurement, Moments, OneLatent
from hypergauss.parameters import as_array, check_fixed, positive

#: Points of the trapezoidal rule in u, and the u beyond which exp(-exp(u)) is below rounding.
_NUM_POINTS, _HIGH = 80, float(np.log(37.0))


class StudentT(OneLatent, Measurement):
    r"""y = f + scale * t, t from Student's distribution: measurements with outliers, which it does not follow.

    log p(y | f) = log C - (nu + 1)/2 log(1 + r^2), with r = (y - f) / (scale sqrt(nu)), nu the degrees of freedom, and
    C = Gamma((nu + 1)/2) / (Gamma(nu / 2) sqrt(pi nu) scale).

    Gauss-Hermite quadrature fails where the scale is small against the spread of f, since the logarithm is singular at
    r = +-i. Instead, with log(1 + r^2) = integral over t of exp(-t) (1 - exp(-t r^2)) / t, the Gaussian expectation of
    exp(-t r^2) in closed form, and u = log t, for r ~ N(m, v)

        E log(1 + r^2) = integral du exp(-e^u) ( 1 - exp(-e^u m^2 / (1 + 2 e^u v)) / sqrt(1 + 2 e^u v) ),

    whose integrand is analytic in a strip of width pi whatever m and v are: the trapezoidal rule converges
    geometrically.

    Parameters
    ----------
    scale : float, default 1.0
        Of the measurement error; its standard deviation is scale * sqrt(nu / (nu - 2)).
    degrees_of_freedom : float, default 4.0
        Fewer allow for farther outliers; the likelihood becomes `Gaussian` as they grow. Learning keeps them within
        [1, 1000].
    fixed : sequence of str, default ("degrees_of_freedom",)
        Hyperparameters that learning leaves alone, from "scale", "degrees_of_freedom".

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> mean, variance = StudentT(0.5, 4.0).moments(jnp.array([[1.0]]), jnp.array([[0.2]]))
    >>> print(mean, variance)
    [1.] [0.7]
    """

    fixed: tuple[str, ...] = eqx.field(static=True)
    scale: Array = positive()
    degrees_of_freedom: Array = positive(1.0, 1e3)

    def __init__(
        self,
        scale: float = 1.0,
        degrees_of_freedom: float = 4.0,
        *,
        fixed: Sequence[str] = ("degrees_of_freedom",),
    ) -> None:
        self.scale = as_array(_checks.positive("scale", scale))
        self.degrees_of_freedom = as_array(_checks.positive("degrees_of_freedom", degrees_of_freedom))
        self.fixed = check_fixed(fixed, ("scale", "degrees_of_freedom"))

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return False

    def pointwise(self, latent: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "n ..."]:  # noqa: D102
        return self._log_density_given(jnp.log1p((y - latent) ** 2 / self._width()))

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        width = self._width()
        return self._log_density_given(_expected_log((y - mean[:, 0]) ** 2 / width, variance[:, 0] / width))

    def moments(self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"]) -> Moments:
        """Return E y and Var y: an infinite variance up to two degrees of freedom, and neither (NaN) up to one."""
        nu = self.degrees_of_freedom
        error = self.scale**2 * jnp.where(nu > 2, nu / jnp.where(nu > 2, nu - 2, 1.0), jnp.inf)
        exists = jnp.where(nu > 1, 0.0, jnp.nan)
        return Moments(mean[:, 0] + exists, variance[:, 0] + error + exists)

    def _width(self) -> Float[Array, ""]:
        """Return the squared residual that makes r = 1."""
        return self.degrees_of_freedom * self.scale**2

    def _log_density_given(self, logarithm: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """Return log p for log(1 + r^2), or the expectation of the one for that of the other."""
        nu = self.degrees_of_freedom
        log_constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - jnp.log(jnp.pi * self._width()) / 2
        return log_constant - (nu + 1) / 2 * logarithm


def _expected_log(square: Float[Array, " n"], variance: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return E log(1 + r^2) for r ~ N(m, variance), m^2 = square."""
    # Left of the lowest point the integrand is exp(u) (square + variance), in all exp(-25) of the answer.
    # The points carry no gradient: the integral does not depend on them.
    low = jax.lax.stop_gradient(-(25.0 + jnp.log1p(square + variance)))
    u = low[:, None] + (_HIGH - low)[:, None] * np.linspace(0, 1, _NUM_POINTS)
    t = jnp.exp(u)
    spread = 2 * t * variance[:, None]
    inner = -jnp.expm1(-t * square[:, None] / (1 + spread) - jnp.log1p(spread) / 2)
    return (_HIGH - low) / (_NUM_POINTS - 1) * (jnp.exp(-t) * inner).sum(axis=1)
