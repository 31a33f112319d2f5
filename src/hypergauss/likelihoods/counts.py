"""Counts."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincc, gammaln, ndtr, polygamma

from hypergauss.likelihoods.base import Expectation, Measurement, Moments, OneLatent
from hypergauss.likelihoods.quadrature import DROP, NUM_POINTS, expectation


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
    def is_discrete(self) -> bool:  # noqa: D102
        return True

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

    def cumulative(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return P(count <= y) = P(f < log G), G from the Gamma distribution with shape floor(y) + 1 and scale 1.

        Of f and log G the one that varies less is integrated over, since the other's distribution function is then
        smooth between its nodes.
        """
        shape = np.maximum(np.floor(y), 0.0) + 1.0
        m, v = mean[:, 0], variance[:, 0]
        found = np.empty(len(m))
        narrow = v < polygamma(1, shape)
        k = shape[narrow, None]
        found[narrow] = expectation(lambda f: gammaincc(k, np.exp(f)), m[narrow], v[narrow])
        log_g, weights = _log_gamma_nodes(shape[~narrow])
        found[~narrow] = (weights * ndtr((log_g - m[~narrow, None]) / np.sqrt(v[~narrow, None]))).sum(axis=1)
        return np.where(y < 0, 0.0, found)


def _log_gamma_nodes(shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for the logarithm of a Gamma variable, each of shape (n, points).

    With t = log(G / shape) its density is exp(-shape (e^t - 1 - t)) up to a factor, exp(-DROP) at both ends.
    """
    share = DROP / shape
    left, right = -share - np.sqrt(2 * share), np.log1p(share + np.sqrt(2 * share))
    t = left[:, None] + (right - left)[:, None] * np.linspace(0, 1, NUM_POINTS)
    weights = np.exp(-shape[:, None] * (np.expm1(t) - t))
    return np.log(shape)[:, None] + t, weights / weights.sum(axis=1, keepdims=True)


def _expected_rate(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return np.exp(mean[:, 0] + variance[:, 0] / 2)
