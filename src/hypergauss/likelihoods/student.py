"""Measurements among which some are far off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import loggamma, ndtr

from hypergauss import _checks
from hypergauss.likelihoods.base import Expectation, Measurement, Moments, OneLatent, Tilted
from hypergauss.likelihoods.quadrature import DROP
from hypergauss.parameters import Number, positive, pull_back

#: Points of the trapezoidal rule in u, and the u beyond which exp(-exp(u)) is below rounding.
_NUM_POINTS, _HIGH = 80, float(np.log(37.0))
#: Of nodes in the logarithm of a precision, relative to how narrow its density is at least.
_SPACING = 0.4


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

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:
        r"""Return log Z by the mixture that Student's distribution is: normal errors of variance scale^2 / t, t Gamma.

        With d = y - mean, S = variance + scale^2 / t and averages under the density of t times N(d; 0, S), the slope is
        E d / S and the bend E (d^2 / S^2 - 1 / S) - slope^2. In log t the integrand is smooth however narrow the
        errors are, where nodes in f step over them.
        """
        d = y - mean[:, 0]
        u, log_weights = self._log_precisions((d / np.real(self.scale)) ** 2)
        total = variance + self.scale**2 * np.exp(-u)
        log_p = log_weights - (d[:, None] ** 2 / total + np.log(2 * np.pi * total)) / 2
        top = log_p.real.max(axis=1, keepdims=True)
        p = np.exp(log_p - top)
        mass = p.sum(axis=1)
        pull = d[:, None] / total
        slope = (p * pull).sum(axis=1) / mass
        bend = (p * (pull**2 - 1 / total)).sum(axis=1) / mass - slope**2
        return Tilted(np.log(mass) + top[:, 0], slope[:, None], bend[:, None])

    def pull_back_tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient by complex steps of the mixture."""
        return pull_back(self, lambda own: own.tilted(mean, variance, y).log_z, 1.0)

    def cumulative(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return P(measurement <= y), the same mixture of normal distribution functions."""
        u, log_weights = self._log_precisions(np.zeros(len(y)))
        spread = np.sqrt(variance + self.scale**2 * np.exp(-u))
        return (np.exp(log_weights) * ndtr((y - mean[:, 0])[:, None] / spread)).sum(axis=1)

    def _log_precisions(self, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes u = log t and the logarithms of their weights, for squared residuals over scale^2, shape (n,).

        The density of u is exp(nu/2 (u - e^u)) up to a constant. Times a normal density it falls by the exponent
        (nu + 1)/2 left of log((nu + 1) / (nu + square)), and is no narrower than sqrt(2 / (nu + 1)).
        The points carry no derivative.
        """
        nu = float(np.real(self.degrees_of_freedom))
        share = 2 * DROP / nu
        high = np.log1p(share + np.sqrt(2 * share))
        low = np.log((nu + 1) / (nu + 1 + np.real(square))) - share - np.sqrt(2 * share)
        size = int(np.ceil((high - low).max(initial=0.0) / (_SPACING * np.sqrt(2 / (nu + 1))))) + 1
        u = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, size)
        half = self.degrees_of_freedom / 2
        log_constant = half * np.log(half) - loggamma(half)
        return u, log_constant + half * (u - np.exp(u)) + np.log((high - low) / (size - 1))[:, None]

    def rescaled(self, scale: float) -> Self:  # noqa: D102
        return type(self)(float(self.scale) * scale, float(self.degrees_of_freedom), fixed=self.fixed)

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> Moments:
        """Return E y and Var y: an infinite variance up to two degrees of freedom, and neither (NaN) up to one."""
        nu = float(self.degrees_of_freedom)
        error = self.scale**2 * (nu / (nu - 2) if nu > 2 else np.inf)
        exists = 0.0 if nu > 1 else np.nan
        return Moments(mean[:, 0] + exists, variance[:, 0] + error + exists)

    def _width(self) -> Number:
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
