"""Held-out numbers: what a regressor says of them, and what two methods that know less say, as the same tables.

Each table has a row a vertex, and columns ``mean``, ``std``, ``low`` and ``high``, the ends of a 90% interval, and
``log density`` of what was observed. All methods have the scale of the model and the values that its observations can
have: logarithms where it takes them, whole numbers, levels. So their densities are of one kind.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.linear_model import RidgeCV

from hypergauss import _checks
from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.inference.predictive import NormalPrediction, Prediction
from hypergauss.likelihoods import Measurement
from hypergauss.likelihoods.ordinal import log_probability_between
from hypergauss.likelihoods.transforms import TRANSFORMS

#: The ends of intervals, and the least spread and probability.
_ENDS, _LEAST_SPREAD, _LEAST_PROBABILITY = np.array([0.05, 0.95]), 1e-12, 1e-12

Told = tuple[np.ndarray, np.ndarray]


def of_model(
    fitted: HypergraphGPRegressor, names: np.ndarray, observed: np.ndarray, levels: np.ndarray | None
) -> pd.DataFrame:
    """Return the table of a fitted model; levels that its fold has not seen have probability zero."""
    if levels is None:
        mean, std = fitted.predict(names, return_std=True)
        low, high = fitted.predict_quantiles(names, _ENDS.tolist()).T
        return _table(mean, std, low, high, fitted.log_density(names, observed))
    assert fitted.levels_ is not None
    probabilities = np.zeros((len(names), len(levels)))
    probabilities[:, _checks.positions(fitted.levels_, levels)] = fitted.predict_proba(names)
    return _of_levels(probabilities, observed)


def of_baselines(
    fitted: HypergraphGPRegressor,
    y: np.ndarray,
    observed: np.ndarray,
    memberships: tuple[sp.csr_array, sp.csr_array],
    levels: np.ndarray | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of ridge regression on memberships, and of the mean of all.

    Parameters
    ----------
    fitted : HypergraphGPRegressor
        Whose scale they take.
    y, observed : arrays
        Measurements to learn from, and those held out; with levels, their numbers from 0.
    memberships : pair of sparse arrays
        Of the vertices of either.
    levels : array or None
        The levels.
    """
    transform = TRANSFORMS[fitted.transform_]
    z, known, wanted = transform.forward(y.astype(float)), *memberships
    ridge = RidgeCV(np.logspace(-3, 3, 13), store_cv_results=True).fit(known, z)
    error = float(np.sqrt(ridge.cv_results_.mean(axis=0).min()))
    linear = (ridge.predict(wanted), np.full(len(observed), max(error, _LEAST_SPREAD)))
    constant = (np.full(len(observed), z.mean()), np.full(len(observed), max(float(np.std(z)), _LEAST_SPREAD)))
    if levels is not None:
        shares = np.bincount(y.astype(int), minlength=len(levels)) / len(y)
        ends = np.concatenate([[-np.inf], np.arange(len(levels) - 1) + 0.5, [np.inf]])
        rounded = np.diff(norm.cdf((ends - linear[0][:, None]) / linear[1][:, None]), axis=1)
        return _of_levels(rounded, observed), _of_levels(np.tile(shares, (len(observed), 1)), observed)
    if isinstance(fitted.likelihood_, Measurement) and fitted.likelihood_.is_discrete:
        return _of_counts(linear, observed), _of_counts(constant, observed)
    first, second = (NormalPrediction(mean, std**2, 0.0, transform) for mean, std in (linear, constant))
    return _of_prediction(first, observed), _of_prediction(second, observed)


def _of_prediction(prediction: Prediction, observed: np.ndarray) -> pd.DataFrame:
    mean, variance = prediction.moments()
    low, high = prediction.quantiles(_ENDS).T
    return _table(mean, np.sqrt(variance), low, high, prediction.log_density(observed))


def _of_counts(told: Told, observed: np.ndarray) -> pd.DataFrame:
    """Return a normal distribution rounded to whole numbers, all that is below 0 to 0."""
    mean, std = told
    below = np.where(observed > 0, observed - 0.5, -np.inf)
    log_probability = log_probability_between((below - mean) / std, (observed + 0.5 - mean) / std)
    low, high = (np.maximum(np.round(mean + std * norm.ppf(end)), 0.0) for end in _ENDS)
    return _table(mean, std, low, high, log_probability)


def _of_levels(probabilities: np.ndarray, observed: np.ndarray) -> pd.DataFrame:
    """Return what probabilities say of the numbers of levels, from 0."""
    numbers = np.arange(probabilities.shape[1])
    mean = probabilities @ numbers
    std = np.sqrt((probabilities * (numbers - mean[:, None]) ** 2).sum(axis=1))
    below = np.cumsum(probabilities, axis=1)[:, :-1, None]
    low, high = (below < _ENDS).sum(axis=1).T
    of_observed = probabilities[np.arange(len(observed)), observed.astype(int)]
    return _table(mean, std, low, high, np.log(np.maximum(of_observed, _LEAST_PROBABILITY)))


def _table(
    mean: np.ndarray, std: np.ndarray, low: np.ndarray, high: np.ndarray, log_density: np.ndarray
) -> pd.DataFrame:
    return pd.DataFrame({"mean": mean, "std": std, "low": low, "high": high, "log density": log_density})
