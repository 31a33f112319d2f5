"""Measurements among which some are far off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import loggamma

from hypergauss import _checks
from hypergauss.likelihoods.base import Expectation, Measurement, Moments, OneLatent
from hypergauss.parameters import positive

#: Points of the trapezoidal rule in u, and the u beyond which exp(-exp(u)) is below rounding.
_NUM_POINTS, _HIGH = 80, float(np.log(37.0))


class StudentT(OneLatent, Measurement):
    r"""y = f + scale * t, t from Student's distribution: measurements with outliers, which it does not follow.

    log p(y | f) = log C - (nu + 1)/2 log(1 + r^2), with r = (y - f) / (scale sqrt(nu)), nu the degrees of freedom, and
    C = Gamma((nu + 1)/2) / (Gamma(nu / 2) sqrt(pi nu) scale).

    Gauss-Hermite quadrature fails where the scale is small against the spread of f, since the logarithm is singular at
    r = +-i. Instead, with log(1 + r^2) = integral over t of exp(-t) (1 - exp(-t r^2)) / t, the Gaussian expectation of
    exp(-t r^2) in closed form, and u = log t, for r ~ N(m, v)

        E log(1 + r^2) = integral du exp(-e^u) ( 1 - q ),    q = exp(-e^u m^2 / (1 + 2 e^u v)) / sqrt(1 + 2 e^u v),

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
    >>> import numpy as np
    >>> mean, variance = StudentT(0.5, 4.0).moments(np.array([[1.0]]), np.array([[0.2]]))
    >>> print(mean, variance)
    [1.] [0.7]
    """

    scale: np.ndarray = positive()
    degrees_of_freedom: np.ndarray = positive(1.0, 1e3)

    def __init__(
        self,
        scale: float = 1.0,
        degrees_of_freedom: float = 4.0,
        *,
        fixed: str | Sequence[str] = ("degrees_of_freedom",),
    ) -> None:
        self.scale = np.asarray(_checks.positive("scale", scale))
        self.degrees_of_freedom = np.asarray(_checks.positive("degrees_of_freedom", degrees_of_freedom))
        self.fixed = self.check_fixed(fixed)

    def pointwise(self, latent: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._log_density_given(np.log1p((y - latent) ** 2 / self._width()))

    def derivatives(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return those of -(nu + 1)/2 log(w + d^2), d = y - f and w the squared residual at which r = 1."""
        d, w, factor = y - latent, self._width(), self.degrees_of_freedom + 1
        total = w + d**2
        return factor * d / total, factor * (d**2 - w) / total**2, -2 * factor * d * (3 * w - d**2) / total**3

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        width = self._width()
        square, spread = (y - mean[:, 0]) ** 2 / width, variance[:, 0] / width
        return self._log_density_given(_expected_log(square, spread)[0])

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:  # noqa: D102
        width, residual = self._width(), y - mean[:, 0]
        value, in_square, in_variance = _expected_log(residual**2 / width, variance[:, 0] / width)
        factor = -(self.degrees_of_freedom + 1) / (2 * width)
        return Expectation(
            self._log_density_given(value),
            (factor * in_square * -2 * residual)[:, None],
            (factor * in_variance)[:, None],
        )

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> Moments:
        """Return E y and Var y: an infinite variance up to two degrees of freedom, and neither (NaN) up to one."""
        nu = float(self.degrees_of_freedom)
        error = self.scale**2 * (nu / (nu - 2) if nu > 2 else np.inf)
        exists = 0.0 if nu > 1 else np.nan
        return Moments(mean[:, 0] + exists, variance[:, 0] + error + exists)

    def _width(self) -> Any:
        """Return the squared residual that makes r = 1."""
        return self.degrees_of_freedom * self.scale**2

    def _log_density_given(self, logarithm: np.ndarray) -> np.ndarray:
        """Return log p for log(1 + r^2), or the expectation of the one for that of the other."""
        nu = self.degrees_of_freedom
        log_constant = loggamma((nu + 1) / 2) - loggamma(nu / 2) - np.log(np.pi * self._width()) / 2
        return log_constant - (nu + 1) / 2 * logarithm


def _expected_log(square: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return E log(1 + r^2) for r ~ N(m, variance), m^2 = square, and its slopes in both."""
    # Left of the lowest point the integrand is exp(u) (square + variance), in all exp(-25) of the answer.
    # The points carry no derivative: the integral does not depend on them.
    low = -(25.0 + np.log1p(np.real(square + variance)))
    u = low[:, None] + (_HIGH - low)[:, None] * np.linspace(0, 1, _NUM_POINTS)
    t = np.exp(u)
    weights = (_HIGH - low)[:, None] / (_NUM_POINTS - 1) * np.exp(-t)
    widened = 1 + 2 * t * variance[:, None]
    exponent = -t * square[:, None] / widened - np.log1p(2 * t * variance[:, None]) / 2
    weighted = weights * np.exp(exponent)
    value = (weights * -np.expm1(exponent)).sum(axis=1)
    in_square = (weighted * t / widened).sum(axis=1)
    in_variance = (weighted * (t / widened - 2 * t**2 * square[:, None] / widened**2)).sum(axis=1)
    return value, in_square, in_variance
