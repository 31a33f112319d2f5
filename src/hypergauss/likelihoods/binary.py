"""Two classes, one latent function."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr

from hypergauss import _checks
from hypergauss.likelihoods.base import Classification, OneLatent, Tilted
from hypergauss.likelihoods.quadrature import expectation

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


class Bernoulli(OneLatent, Classification):
    """p(y = 1 | f) = link(f), with the logistic function ("logit") or the normal distribution function ("probit")."""

    def __init__(self, link: str = "logit") -> None:
        self.link = _checks.one_of("link", link, ("logit", "probit"))
        self.num_classes = 2

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        signed = (2 * y - 1) * latent
        return log_expit(signed) if self.link == "logit" else log_ndtr(signed)

    def with_slope(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        sign = 2 * y - 1
        value = self.pointwise(latent, y)
        return value, sign * (expit(-sign * latent) if self.link == "logit" else _hazard(sign * latent, value))

    def derivatives(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return p' = 1 - p for the logistic function; for Phi, r = phi / Phi has r' = -r (x + r)."""
        sign = 2 * y - 1
        x = sign * latent
        if self.link == "logit":
            p = expit(x)
            return sign * expit(-x), -p * (1 - p), -sign * p * (1 - p) * (1 - 2 * p)
        r = _hazard(x, log_ndtr(x))
        second = -r * (x + r)
        return sign * r, second, sign * (-second * (x + 2 * r) - r)

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:
        """Return log Phi(z), z = sign * mean / (1 + variance)^1/2, for the probit; by quadrature for the logit."""
        if self.link == "logit":
            return super().tilted(mean, variance, y)
        sign = (2 * y - 1)[:, None]
        s = np.sqrt(1 + variance)
        z = sign * mean / s
        value = log_ndtr(z)
        r = _hazard(z, value)
        return Tilted(value[:, 0], sign * r / s, -r * (z + r) / s**2)

    def probabilities(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:  # noqa: D102
        if self.link == "probit":
            one = ndtr(mean[:, 0] / np.sqrt(1 + variance[:, 0]))
        else:
            one = expectation(expit, mean[:, 0], variance[:, 0])
        return np.stack([1 - one, one], axis=1)


def _hazard(x: np.ndarray, log_cdf: np.ndarray) -> np.ndarray:
    """Return phi(x) / Phi(x), which keeps its digits in the left tail."""
    return np.exp(-(x**2) / 2 - _LOG_ROOT_2PI - log_cdf)
