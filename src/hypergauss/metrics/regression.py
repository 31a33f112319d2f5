"""Scores of Gaussian predictions: a mean and a standard deviation for each observation."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from hypergauss import _checks
from hypergauss._checks import Values


def gaussian_log_predictive_density(y: Values, mean: Values, std: Values) -> float:
    """Return the mean over observations of log N(y | mean, std^2); higher is better.

    Examples
    --------
    >>> round(gaussian_log_predictive_density([0.0, 1.0], [0.0, 0.0], [1.0, 1.0]), 4)
    -1.1689
    """
    y, mean, std = _aligned(y, mean, std)
    return float(norm.logpdf(y, mean, std).mean())


def interval_coverage(y: Values, mean: Values, std: Values, level: float = 0.9) -> float:
    """Return the share of observations inside the central Gaussian interval of the given level.

    Examples
    --------
    >>> interval_coverage([0.0, 1.0, 5.0, -1.0], [0.0] * 4, [1.0] * 4, level=0.9)
    0.75
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
    y, mean, std = _aligned(y, mean, std)
    return float((np.abs(y - mean) <= norm.ppf(0.5 + level / 2) * std).mean())


def _aligned(y: Values, mean: Values, std: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the three as float arrays of one shape, with positive standard deviations."""
    arrays = [
        _checks.finite_array(name, value, missing="Score only what was predicted.")
        for name, value in (("y", y), ("mean", mean), ("std", std))
    ]
    if len({array.shape for array in arrays}) > 1 or arrays[0].size == 0:
        raise ValueError(f"`y`, `mean` and `std` must have one non-empty shape. Got {[a.shape for a in arrays]}.")
    if (arrays[2] <= 0).any():
        raise ValueError(f"`std` must be positive. Got {arrays[2].min():g}.")
    return arrays[0], arrays[1], arrays[2]
