"""Scales that measurements are learned on: as they are, or their logarithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from hypergauss.likelihoods.base import Moments


class Transform(ABC):
    """An increasing T: z = T(y) is what is learned, y = T^-1(z) what is predicted.

    The density of y is that of z times T'(y). Whatever is said of y includes that factor, so that log evidences and log
    densities of one target on several scales can be compared.
    """

    name: ClassVar[str]

    @abstractmethod
    def forward(self, y: np.ndarray) -> np.ndarray:
        """Return T(y), elementwise."""

    @abstractmethod
    def back(self, z: np.ndarray) -> np.ndarray:
        """Return T^-1(z), elementwise; quantiles of y are those of z taken back."""

    @abstractmethod
    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """Return log T'(y), elementwise."""

    @abstractmethod
    def expected(self, z: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return E T^-1(Z) for Z ~ N(z, variance)."""

    @abstractmethod
    def moments(self, mean: np.ndarray, variance: np.ndarray, noise: np.ndarray) -> Moments:
        """Return E y and Var E(y | f) for T(y) = f + N(0, noise), f ~ N(mean, variance)."""


class Plain(Transform):
    """T(y) = y."""

    name: ClassVar[str] = "none"

    def forward(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return y

    def back(self, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return z

    def log_slope(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.zeros(np.shape(y))

    def expected(self, z: np.ndarray, variance: np.ndarray) -> np.ndarray:  # noqa: D102, ARG002
        return z

    def moments(self, mean: np.ndarray, variance: np.ndarray, noise: np.ndarray) -> Moments:  # noqa: D102, ARG002
        return Moments(mean, variance)


class Log(Transform):
    r"""T(y) = log y, for positive y: y is log-normal, with median exp(m) and mean exp(m + v / 2) where log y ~ N(m, v).

    Its variance is (exp(v) - 1) exp(m + v / 2)^2, and T'(y) = 1 / y.
    """

    name: ClassVar[str] = "log"

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Return log y, refusing numbers that have none."""
        bad = np.ravel(y)[~(np.ravel(y) > 0)]
        if len(bad):
            raise ValueError(
                f"`transform='log'` is for positive `y`. Got {bad[0]:g}. Leave `transform` out, or use "
                "`transform='auto'`, which takes logarithms only where all measurements have one."
            )
        return np.log(y)

    def back(self, z: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.exp(z)

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """Return -log y; -inf times nothing is a density of zero where y is not positive."""
        positive = np.asarray(y) > 0
        return np.where(positive, -np.log(np.where(positive, y, 1.0)), -np.inf)

    def expected(self, z: np.ndarray, variance: np.ndarray) -> np.ndarray:  # noqa: D102
        return np.exp(z + variance / 2)

    def moments(self, mean: np.ndarray, variance: np.ndarray, noise: np.ndarray) -> Moments:  # noqa: D102
        centre = np.exp(mean + (variance + noise) / 2)
        return Moments(centre, np.expm1(variance) * centre**2)


#: By name.
TRANSFORMS: dict[str, Transform] = {transform.name: transform for transform in (Plain(), Log())}
