r"""What a new observation at a vertex will be: its distribution, from what is known of the function there.

Three kinds answer the same questions. Moments are those of a new observation, or of E(y | f), what measuring the vertex
again and again would settle at; quantiles and log densities are of the same mixture over hyperparameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import norm

from hypergauss.likelihoods import Likelihood, Measurement, Moments, as_classification
from hypergauss.likelihoods.quadrature import expectation, row_blocks
from hypergauss.likelihoods.transforms import Transform

#: Steps of a search for a quantile, and how exact it is: in probability, or as a share of the first bracket.
_MOST_STEPS, _EXACT = 200, 1e-12


class Prediction(ABC):
    """The distribution of a new observation at each of m vertices."""

    @abstractmethod
    def moments(self, *, include_noise: bool = True) -> Moments:
        """Return mean and variance of the observation, or of E(y | f), each of shape (m,)."""

    @abstractmethod
    def quantiles(self, probabilities: np.ndarray, *, include_noise: bool = True) -> np.ndarray:
        """Return the least value that is not exceeded with each probability, shape (m, number of them)."""

    @abstractmethod
    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return the log density of an observation at each vertex, its log probability if values are discrete."""


class NormalPrediction(Prediction):
    """T(y) = f + noise, f ~ N(mean, variance).

    Parameters
    ----------
    mean, variance : arrays of one shape, or the variance with an axis of length one
        Of f.
    noise : float
        Variance of the measurement error.
    transform : Transform
        T.
    """

    def __init__(self, mean: np.ndarray, variance: np.ndarray, noise: float, transform: Transform) -> None:
        self.mean, self.variance = mean, np.broadcast_to(variance, mean.shape)
        self.noise, self.transform = np.asarray(noise), transform

    def moments(self, *, include_noise: bool = True) -> Moments:  # noqa: D102
        if include_noise:
            return self.transform.moments(self.mean, self.variance + self.noise, np.zeros(()))
        return self.transform.moments(self.mean, self.variance, self.noise)

    def quantiles(self, probabilities: np.ndarray, *, include_noise: bool = True) -> np.ndarray:  # noqa: D102
        variance = self.variance + self.noise if include_noise else self.variance
        z = self.mean[..., None] + np.sqrt(variance)[..., None] * ndtri(probabilities)
        return self.transform.back(z) if include_noise else self.transform.expected(z, self.noise)

    def log_density(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        log_slope = self.transform.log_slope(y)
        possible = np.isfinite(log_slope)
        found = np.full(np.shape(y), -np.inf)
        z = self.transform.forward(np.asarray(y)[possible])
        std = np.sqrt(self.variance + self.noise)
        found[possible] = norm.logpdf(z, self.mean[possible], std[possible]) + log_slope[possible]
        return found


class Part(NamedTuple):
    """A likelihood at one value of the hyperparameters, its weight, and f ~ N(mean, variance), each of shape (m, 1)."""

    weight: float
    likelihood: Likelihood
    mean: np.ndarray
    variance: np.ndarray


class LikelihoodPrediction(Prediction):
    """Numbers through a likelihood: a mixture of E p(y | f) over parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts

    def moments(self, *, include_noise: bool = True) -> Moments:  # noqa: D102
        if not include_noise:
            return _expected(self.parts, self._expected_given)
        weights = np.array([part.weight for part in self.parts])
        found = [_measurement(part.likelihood).moments(part.mean, part.variance) for part in self.parts]
        means, variances = np.stack([each.mean for each in found]), np.stack([each.variance for each in found])
        mean = np.tensordot(weights, means, axes=1)
        return Moments(mean, np.tensordot(weights, variances + (means - mean) ** 2, axes=1))

    def quantiles(self, probabilities: np.ndarray, *, include_noise: bool = True) -> np.ndarray:  # noqa: D102
        if not include_noise:
            return _quantiles_of_expected(self.parts, probabilities, self._expected_given)
        is_discrete = _measurement(self.parts[0].likelihood).is_discrete
        found = np.empty((len(self.parts[0].mean), len(probabilities)))
        for rows in row_blocks(len(found)):
            block = [part._replace(mean=part.mean[rows], variance=part.variance[rows]) for part in self.parts]
            for at, probability in enumerate(probabilities):
                search = _discrete_quantile if is_discrete else _quantile
                found[rows, at] = search(block, probability)
        return found

    def log_density(self, y: np.ndarray) -> np.ndarray:  # noqa: D102
        found = np.empty(len(y))
        for rows in row_blocks(len(y)):
            logs = [
                part.likelihood.tilted(part.mean[rows], part.variance[rows], y[rows]).log_z + np.log(part.weight)
                for part in self.parts
            ]
            found[rows] = logsumexp(np.stack(logs), axis=0)
        return found

    @staticmethod
    def _expected_given(likelihood: Likelihood, f: np.ndarray) -> np.ndarray:
        return _measurement(likelihood).moments(f, np.zeros_like(f)).mean


class LevelPrediction(Prediction):
    """Levels in an order: the probability of each.

    Parameters
    ----------
    parts : sequence of Part
        Whose likelihoods are of classes, numbered in their order.
    levels : array of C
        The levels, lowest first: numbers, or names, which moments number from 0.
    """

    def __init__(self, parts: Sequence[Part], levels: np.ndarray) -> None:
        self.parts, self.levels = parts, levels
        self.numbers = level_numbers(levels)
        self.probabilities = _averaged(
            parts, lambda part: as_classification(part.likelihood).probabilities(part.mean, part.variance)
        )

    def moments(self, *, include_noise: bool = True) -> Moments:  # noqa: D102
        if not include_noise:
            return _expected(self.parts, self._expected_given)
        mean = self.probabilities @ self.numbers
        return Moments(mean, (self.probabilities * (self.numbers - mean[:, None]) ** 2).sum(axis=1))

    def quantiles(self, probabilities: np.ndarray, *, include_noise: bool = True) -> np.ndarray:  # noqa: D102
        if not include_noise:
            return _quantiles_of_expected(self.parts, probabilities, self._expected_given)
        below = np.cumsum(self.probabilities, axis=1)[:, :-1, None]
        return self.levels[(below < probabilities).sum(axis=1)]

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return the log probability of levels given by their numbers 0, 1, ..., C - 1."""
        return np.log(self.probabilities[np.arange(len(y)), y.astype(int)])

    def _expected_given(self, likelihood: Likelihood, f: np.ndarray) -> np.ndarray:
        return as_classification(likelihood).probabilities(f, np.zeros_like(f)) @ self.numbers


def level_numbers(levels: np.ndarray) -> np.ndarray:
    """Return levels that are numbers as they are, and the numbers of others, from 0."""
    return levels.astype(float) if levels.dtype.kind in "iufb" else np.arange(float(len(levels)))


def _measurement(likelihood: Likelihood) -> Measurement:
    assert isinstance(likelihood, Measurement), "checked when the model was fitted"
    return likelihood


def _expected(parts: Sequence[Part], given: Callable[[Likelihood, np.ndarray], np.ndarray]) -> Moments:
    """Return mean and variance of E(y | f), a function of likelihood and f of shape (m, 1), by quadrature in f."""

    def power(part: Part, exponent: int) -> np.ndarray:
        return expectation(
            lambda f: given(part.likelihood, f.reshape(-1, 1)).reshape(f.shape) ** exponent,
            part.mean[:, 0],
            part.variance[:, 0],
        )

    first, second = _averaged(parts, partial(power, exponent=1)), _averaged(parts, partial(power, exponent=2))
    return Moments(first, np.maximum(second - first**2, 0.0))


def _averaged(parts: Sequence[Part], of: Callable[[Part], np.ndarray]) -> np.ndarray:
    """Return what each part says, averaged by their weights."""
    return np.tensordot(np.array([part.weight for part in parts]), np.stack([of(part) for part in parts]), axes=1)


def _quantiles_of_expected(
    parts: Sequence[Part], probabilities: np.ndarray, given: Callable[[Likelihood, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return quantiles of E(y | f), which grows with f: those of f, of its mixture's moments, put through it."""
    weights = np.array([part.weight for part in parts])
    means, variances = np.stack([part.mean for part in parts]), np.stack([part.variance for part in parts])
    mean = np.tensordot(weights, means, axes=1)
    std = np.sqrt(np.tensordot(weights, variances + (means - mean) ** 2, axes=1))
    f = mean + std * ndtri(probabilities)
    columns = f.reshape(-1, 1)
    return _averaged(parts, lambda part: given(part.likelihood, columns)).reshape(f.shape)


def _below(parts: Sequence[Part], y: np.ndarray) -> np.ndarray:
    """Return P(observation <= y)."""
    return _averaged(parts, lambda part: _measurement(part.likelihood).cumulative(part.mean, part.variance, y))


def _quantile(parts: Sequence[Part], probability: float) -> np.ndarray:
    """Return where the distribution function reaches a probability, by false position within a bracket (Illinois)."""
    centre = parts[0].mean[:, 0]
    width = np.sqrt(parts[0].variance[:, 0]) + 1e-3 * np.abs(centre) + 1e-12
    low, high = centre - width, centre + width
    below, above = _below(parts, low) - probability, _below(parts, high) - probability
    while (below > 0).any() or (above < 0).any():
        width = 2 * width
        low, high = np.where(below > 0, low - width, low), np.where(above < 0, high + width, high)
        below, above = _below(parts, low) - probability, _below(parts, high) - probability
    for _ in range(_MOST_STEPS):
        middle = low + (high - low) * np.clip(-below / np.maximum(above - below, 1e-300), 0.01, 0.99)
        here = _below(parts, middle) - probability
        is_low = here < 0
        # An end that stays counts for half from then on, so that the other moves across.
        below, above = np.where(is_low, here, below / 2), np.where(is_low, above / 2, here)
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        if ((np.abs(here) <= _EXACT) | (high - low <= _EXACT * width)).all():
            break
    return middle


def _discrete_quantile(parts: Sequence[Part], probability: float) -> np.ndarray:
    """Return the least whole number that the distribution function reaches a probability at, by halving."""
    low, high = np.full(len(parts[0].mean), -1.0), np.ones(len(parts[0].mean))
    while (short := _below(parts, high) < probability).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        reaches = _below(parts, middle) >= probability
        low, high = np.where(reaches, low, middle), np.where(reaches, middle, high)
    return high
