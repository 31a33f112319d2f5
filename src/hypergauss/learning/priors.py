"""Log-normal priors on hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hypergauss import _checks, parameters
from hypergauss.parameters import Number, Parametrised


@dataclass(frozen=True)
class LogNormal:
    """A prior on a positive hyperparameter t: log t is normal around log(median) with this spread.

    Its log density is taken with respect to log t, so that the most probable value does not depend on the units.
    """

    median: float
    spread: float = 1.0

    def __post_init__(self) -> None:
        _checks.positive("median", self.median)
        _checks.positive("spread", self.spread)

    def log_density(self, value: Number) -> float:
        """Return the log density at a value, summed over its entries."""
        return self.density_and_slope(value)[0]

    def density_and_slope(self, value: Number) -> tuple[float, np.ndarray]:
        """Return the log density at a value, and its slope in each of the value's entries."""
        entries = np.ravel(value)
        z = (np.log(entries) - math.log(self.median)) / self.spread
        density = -0.5 * (z @ z + len(z) * math.log(2 * math.pi * self.spread**2))
        return float(density), -z / (self.spread * entries)


#: Priors matched to a model: (number of the free hyperparameter, prior on what its field holds).
Matched = tuple[tuple[int, LogNormal], ...]


def log_prior(model: Parametrised, priors: Matched) -> float:
    """Return the log density of a model's hyperparameters under the priors matched to it."""
    if not priors:
        return 0.0
    free = parameters.slots(model)
    return sum(prior.log_density(free[number].value) for number, prior in priors)


def log_prior_and_gradient(model: Parametrised, priors: Matched) -> tuple[float, np.ndarray]:
    """Return `log_prior`, and its gradient in the coordinates of `parameters.pack`, shape (p,)."""
    free = parameters.slots(model)
    parts, total = [np.zeros(slot.size) for slot in free], 0.0
    for number, prior in priors:
        value, coordinate = free[number].value, free[number].coordinate
        density, slope = prior.density_and_slope(value)
        total += density
        parts[number] += slope * np.ravel(coordinate.slope(value))
    return total, np.concatenate(parts) if parts else np.zeros(0)


def check_priors(priors: Mapping[str, LogNormal] | None) -> dict[str, LogNormal]:
    """Return priors by name, checked as far as they can be before there is a model."""
    checked = dict(priors or {})
    for name, prior in checked.items():
        if not isinstance(prior, LogNormal):
            raise TypeError(f"`priors[{name!r}]` must be a LogNormal. Got {type(prior).__name__}.")
    return checked


def with_defaults(
    model: Parametrised, priors: Mapping[str, LogNormal], defaults: Mapping[str, LogNormal]
) -> dict[str, LogNormal]:
    """Return priors by name, and default ones for the free hyperparameters that they leave out."""
    found = dict(priors)
    for slot in parameters.slots(model):
        last = slot.name.rsplit(".", 1)[-1]
        if last in defaults and slot.name not in priors and last not in priors:
            found[slot.name] = defaults[last]
    return found


def match_priors(model: Parametrised, priors: Mapping[str, LogNormal]) -> Matched:
    """Return (number of the slot, prior on what the slot holds) for each free hyperparameter with a prior."""
    free = parameters.slots(model)
    matched = []
    for name, prior in priors.items():
        found = [i for i, slot in enumerate(free) if slot.name == name or slot.name.rsplit(".", 1)[-1] == name]
        if not found:
            known = ", ".join(slot.name for slot in free)
            raise ValueError(f"`priors` must name hyperparameters to be learned ({known}). Got {name!r}.")
        signed = [free[i].name for i in found if not free[i].coordinate.is_positive]
        if signed:
            raise ValueError(f"`priors` must be on positive hyperparameters. Got {signed[0]!r}, which may be negative.")
        for i in found:
            inverted = free[i].coordinate.shown_as is not None
            matched.append((i, LogNormal(1.0 / prior.median, prior.spread) if inverted else prior))
    return tuple(matched)
