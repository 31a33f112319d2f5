"""Measurements with normal errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from hypergauss import _checks
from hypergauss.likelihoods.base import Expectation, Measurement, Moments, OneLatent, Tilted
from hypergauss.parameters import positive


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
    >>> import numpy as np
    >>> mean, variance = Gaussian(0.5).moments(np.array([[1.0]]), np.array([[0.2]]))
    >>> print(mean, variance)
    [1.] [0.7]
    """

    noise_variance: np.ndarray = positive()

    def __init__(self, noise_variance: float = 1.0, *, fixed: str | Sequence[str] = ()) -> None:
        self.noise_variance = np.asarray(_checks.positive("noise_variance", noise_variance))
        self.fixed = self.check_fixed(fixed)

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return -((y - latent) ** 2 / self.noise_variance + np.log(2 * np.pi * self.noise_variance)) / 2

    def derivatives(self, latent: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # noqa: D102
        level = np.zeros_like(latent)
        return (y - latent) / self.noise_variance, level - 1 / self.noise_variance, level

    def expected_log_density(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return self.pointwise(mean[:, 0], y) - variance[:, 0] / (2 * self.noise_variance)

    def expectation(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Expectation:  # noqa: D102
        in_variance = np.full_like(variance, -0.5 / self.noise_variance)
        return Expectation(
            self.expected_log_density(mean, variance, y), (y[:, None] - mean) / self.noise_variance, in_variance
        )

    def tilted(self, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> Tilted:
        """Return log N(y; mean, variance + noise_variance) and its derivatives."""
        total = variance[:, 0] + self.noise_variance
        away = y - mean[:, 0]
        log_z = -(away**2 / total + np.log(2 * np.pi * total)) / 2
        return Tilted(log_z, (away / total)[:, None], (-1 / total)[:, None])

    def rescaled(self, scale: float) -> Self:  # noqa: D102
        return type(self)(float(self.noise_variance) * scale**2, fixed=self.fixed)

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> Moments:  # noqa: D102
        return Moments(mean[:, 0], variance[:, 0] + self.noise_variance)
