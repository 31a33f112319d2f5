"""Numbers as the page holds them: five digits, which is what can be seen, in half the space."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss._checks import Values
from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.inference.predictive import level_numbers
from hypergauss.parameters import Number


def rounded(values: Values) -> list[float]:
    """Return numbers to five digits."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float).tolist()]


def finite(value: Number, otherwise: float | None = 0.0) -> float | None:
    """Return a number to five digits, or what stands for one that is not finite."""
    number = float(value)
    return float(f"{number:.5g}") if np.isfinite(number) else otherwise


def as_numbers(model: HypergraphGPRegressor, values: pd.Series | np.ndarray) -> np.ndarray:
    """Return values of a regressor's target as numbers; levels that are none as their places in the order."""
    if model.levels_ is None:
        return np.asarray(values, dtype=float)
    return level_numbers(model.levels_)[_checks.positions(values, model.levels_)]
