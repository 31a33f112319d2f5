"""Formulas that users write: whether their complex steps are the derivatives that `parameters` takes them for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hypergauss import parameters
from hypergauss.parameters import Model, Parametrised

_DIFFERENCE = 1e-6
#: Where a complex step and a difference of two values may disagree, relative to the largest derivative.
_DISAGREEMENT = 1e-4


def check_derivatives(model: Model, formula: parameters.Formula[Model], of: str) -> None:
    """Refuse a formula whose complex steps are not its derivatives, as a difference of two of its values shows."""
    theta, own = parameters.pack(model), type(model).__name__
    names = [slot.name for slot in parameters.slots(model) for _ in range(slot.size)]
    try:
        found = parameters.tangents(model, formula)
    except TypeError as error:
        raise TypeError(
            f"`{of}` of {own} must be a formula that takes complex numbers, by which its derivatives are found. Got "
            f"{error}. Use functions that take them, such as NumPy's or `scipy.special.loggamma`."
        ) from error
    for j, (name, tangent) in enumerate(zip(names, found, strict=True)):
        step = _DIFFERENCE * np.eye(len(theta))[j]
        ahead, behind = formula(parameters.unpack(model, theta + step)), formula(parameters.unpack(model, theta - step))
        for slope, there, here in zip(_leaves(tangent), _leaves(ahead), _leaves(behind), strict=True):
            check_slope(slope, (np.asarray(there) - np.asarray(here)) / (2 * _DIFFERENCE), f"`{of}` of {own}", name)


def check_slope(found: np.ndarray, difference: np.ndarray, formula: str, within: str) -> None:
    """Refuse a derivative that is not the one that a difference of two values shows, where both are finite."""
    known = np.isfinite(difference)
    largest = max(float(np.max(np.abs(difference), where=known, initial=0.0)), 1e-6)
    if not (np.abs(found - difference)[known] <= _DISAGREEMENT * largest).all():
        raise ValueError(
            f"{formula} must be a formula that takes complex numbers, by which its derivatives are found. Got another "
            f"derivative in `{within}` than its values have. Write it without `abs`, `real` or comparisons of complex "
            "numbers, and smooth (for instance `np.sqrt(x**2 + 1e-6)` for `abs(x)`)."
        )


def check_own_formulas(model: Parametrised) -> None:
    """Refuse formulas that users wrote, in whatever part of a model, whose derivatives would be wrong."""
    for part in _parts(model):
        if type(part).__module__.split(".")[0] != __name__.split(".")[0]:
            part.check_formulas()


def _parts(node: object) -> Iterator[Parametrised]:
    """Yield all objects of a tree that may have hyperparameters."""
    if isinstance(node, tuple):
        for child in node:
            yield from _parts(child)
    elif isinstance(node, Parametrised):
        yield node
        for value in parameters.fields(node).values():
            yield from _parts(value)


def _leaves(outcome: Any) -> Iterator[Any]:
    if isinstance(outcome, tuple):
        for part in outcome:
            yield from _leaves(part)
    else:
        yield outcome
