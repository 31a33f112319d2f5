"""Counts."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from hypergauss.likelihoods.base import Expectation, Measurement, Moments, OneLatent


class Poisson(OneLatent, Measurement):
    r"""p(y | f) = exp(f)^y exp(-exp(f)) / y!, counts 0, 1, 2, ... with the rate exp(f).

    Under f ~ N(mean, variance) the rate is log-normal and everything is closed. With r = exp(mean + variance / 2),

        E log p = y mean - r - log y!,        E y = r,        Var y = r + (exp(variance) - 1) r^2.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = Poisson().moments(np.array([[0.0]]), np.array([[1.0]]))
    >>> print(mean.round(3), variance.round(3))
    [1.649] [6.319]
    """

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return y * latent - np.exp(latent) - gammaln(y + 1)

    def derivatives(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # noqa: D102
        rate = np.exp(latent)
        return y - rate, -rate, -rate

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return y * mean[:, 0] - _expected_rate(mean, variance) - gammaln(y + 1)

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:  # noqa: D102
        rate = _expected_rate(mean, variance)[:, None]
        return Expectation(self.expected_log_density(mean, variance, y), y[:, None] - rate, -rate / 2)

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> Moments:  # noqa: D102
        rate = _expected_rate(mean, variance)
        return Moments(rate, rate + np.expm1(variance[:, 0]) * rate**2)


def _expected_rate(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return np.exp(mean[:, 0] + variance[:, 0] / 2)
