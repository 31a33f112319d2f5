r"""What is known of hyperparameters once data were seen: how far from their estimates they may be.

Coordinates are those that learning moves: logarithms of positive hyperparameters, others as they are. Their covariance
is the inverse of the curvature of log evidence plus log prior at the mode, or that of draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from hypergauss import parameters
from hypergauss.learning.curvature import Curvature
from hypergauss.learning.priors import LogNormal, match_priors
from hypergauss.parameters import Model, Parametrised

#: The ends of intervals, as probabilities, and the standard normal variables there.
ENDS, _Z = (0.05, 0.95), 1.6448536269514722


class HyperparameterPosterior(NamedTuple):
    """The spread of p hyperparameters, entries of those that are arrays counted.

    Attributes
    ----------
    entries : tuple of str
        Their names, as `parameters.values` has them, entries of arrays by number: ``shape[0]``.
    covariance : array, shape (p, p)
        In coordinates; zero for one that is held at the end of its range.
    lower, upper : arrays, shape (p,)
        The ends of 90% intervals, in the hyperparameters' own units.
    prior_variance : array, shape (p,)
        Of the coordinates: the prior's, or that of a uniform one over the range where there is no other.
    """

    entries: tuple[str, ...]
    covariance: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    prior_variance: np.ndarray

    @classmethod
    def of_curvature(
        cls,
        model: Model,
        curvature: Curvature,
        priors: Mapping[str, LogNormal],
        reported: Callable[[Model], Parametrised],
    ) -> Self:
        """Return the normal approximation around a mode.

        Parameters
        ----------
        model : Parametrised
            At the mode.
        curvature : Curvature
            Around it.
        priors : dict of name to LogNormal
            Of its hyperparameters.
        reported : callable
            From a model to that in the units of the data.
        """
        covariance = curvature.standard_covariance()
        ends = _ends(model, curvature.centre, covariance, reported)
        return cls(entry_names(model), covariance, *ends, prior_variance(model, priors))

    @classmethod
    def of_covariance(cls, model: Parametrised, covariance: np.ndarray, priors: Mapping[str, LogNormal]) -> Self:
        """Return that of a covariance of the coordinates around a mode, which is in the units of the data."""
        ends = _ends(model, parameters.pack(model), covariance, lambda there: there)
        return cls(entry_names(model), covariance, *ends, prior_variance(model, priors))

    @classmethod
    def of_draws(
        cls, names: tuple[str, ...], coordinates: np.ndarray, values: np.ndarray, prior_variances: np.ndarray
    ) -> Self:
        """Return that of draws, shape (draws, p): in coordinates, and in the hyperparameters' own units."""
        lower, upper = np.quantile(values, ENDS, axis=0) if len(names) else np.zeros((2, 0))
        return cls(names, np.atleast_2d(np.cov(coordinates.T)), lower, upper, prior_variances)

    @property
    def standard_errors(self) -> np.ndarray:
        """Of the coordinates, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def told(self) -> np.ndarray:
        """Return the share of its prior's variance that the data took from each, shape (p,); NaN if it is held."""
        variance = np.diag(self.covariance)
        return np.where(variance > 0, np.clip(1.0 - variance / self.prior_variance, 0.0, 1.0), np.nan)

    def covariance_table(self) -> pd.DataFrame:
        """Return the covariance by names."""
        return pd.DataFrame(self.covariance, index=list(self.entries), columns=list(self.entries))

    def correlations(self) -> pd.DataFrame:
        """Return correlations by names, NaN with one that is held."""
        errors = self.standard_errors
        scale = np.outer(errors, errors)
        found = np.divide(self.covariance, scale, out=np.full_like(scale, np.nan), where=scale > 0)
        return pd.DataFrame(found, index=list(self.entries), columns=list(self.entries))


def entry_names(model: Parametrised) -> tuple[str, ...]:
    """Return a name for each coordinate of a model."""
    return tuple(
        slot.name + (f"[{i}]" if slot.value.ndim else "") for slot in parameters.slots(model) for i in range(slot.size)
    )


def prior_variance(model: Parametrised, priors: Mapping[str, LogNormal]) -> np.ndarray:
    """Return the variance of each coordinate under its prior, shape (p,), or over its range."""
    limits = parameters.bounds(model)
    found = (limits[:, 1] - limits[:, 0]) ** 2 / 12
    matched, start = dict(match_priors(model, priors)), 0
    for position, slot in enumerate(parameters.slots(model)):
        if position in matched:
            # Spreads are of logarithms: dt / t = (dt / du) du / t.
            value = np.ravel(slot.value)
            factor = value / np.broadcast_to(slot.coordinate.slope(value), value.shape)
            found[start : start + slot.size] = (matched[position].spread * factor) ** 2
        start += slot.size
    return found


def _ends(
    model: Model, centre: np.ndarray, covariance: np.ndarray, reported: Callable[[Model], Parametrised]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of 90% intervals around coordinates, shapes (p,), in the hyperparameters' own units."""
    limits, reach = parameters.bounds(model), _Z * np.sqrt(np.diag(covariance))
    ends = [
        _entries(reported(parameters.unpack(model, np.clip(centre + way * reach, limits[:, 0], limits[:, 1]))))
        for way in (-1.0, 1.0)
    ]
    # What is shown as its inverse has its ends the other way round.
    return np.minimum(*ends), np.maximum(*ends)


def _entries(model: Parametrised) -> np.ndarray:
    """Return all free hyperparameters in their own units, shape (p,)."""
    values = [np.ravel(value) for value in parameters.values(model).values()]
    return np.concatenate(values) if values else np.zeros(0)
