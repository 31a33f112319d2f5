r"""Hyperparameters: fields of a model that can be learned, the coordinates that learning moves, and derivatives.

A model is a tree of `Parametrised` objects. A field declared with `positive`, `bounded` or `reciprocal` is a
hyperparameter; everything else, eigenvectors above all, is data. `pack` lists the free hyperparameters of a tree as one
vector, `unpack` puts such a vector back.

**Derivatives** of a formula f of a handful of hyperparameters are taken by the complex step,

    df / d theta_j = Im f(theta + i h e_j) / h,      h = 1e-20,

which subtracts nothing and so is exact to rounding. A formula written with NumPy's arithmetic, exp, log, sqrt, powers,
sums and products is analytic and needs nothing else; `abs` and whatever takes a real part lose the derivative, which
`formula_checks` finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from hypergauss import _checks

Model = TypeVar("Model", bound="Parametrised")
#: A formula: from a model to an array, or to several.
Formula = Callable[[Model], Any]
#: One number, or an array of them; complex while a derivative is taken.
Number = float | np.ndarray
#: The way from the root of a tree to one of its parts: names of fields, and positions in tuples.
Path = tuple[str | int, ...]

_STEP = 1e-20


@dataclass(frozen=True)
class Coordinate:
    """A one-to-one map between a hyperparameter and the coordinate that learning moves, with its range."""

    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    #: The derivative of the hyperparameter in its coordinate, as a function of the hyperparameter.
    slope: Callable[[np.ndarray], np.ndarray]
    lower: float
    upper: float
    #: Name and map by which users know it, where that is not the field itself.
    shown_as: tuple[str, Callable[[np.ndarray], np.ndarray]] | None = None
    is_positive: bool = True


def positive(lower: float = 1e-6, upper: float = 1e6) -> Any:
    """Declare a positive hyperparameter, learned through its logarithm within [lower, upper]."""
    return Coordinate(np.log, np.exp, _same, float(np.log(lower)), float(np.log(upper)))


def bounded(lower: float, upper: float) -> Any:
    """Declare a hyperparameter learned as it is within [lower, upper]."""
    return Coordinate(_same, _same, np.ones_like, lower, upper, is_positive=lower >= 0)


def reciprocal(name: str, lower: float, upper: float) -> Any:
    """Declare a hyperparameter held and learned within [lower, upper] but shown to users as ``name``, its inverse."""
    return Coordinate(_same, _same, np.ones_like, lower, upper, (name, _invert))


def _same(value: np.ndarray) -> np.ndarray:
    return value


def _invert(value: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1.0 / np.asarray(value)


class Parametrised:
    """An immutable object that declares its hyperparameters on its class; a field is set once, and stays.

    Examples
    --------
    >>> class Line(Parametrised):
    ...     slope = bounded(-10.0, 10.0)
    ...     scale = positive()
    ...
    ...     def __init__(self, slope, scale):
    ...         self.slope, self.scale = slope, scale
    >>> values(Line(2.0, 0.5))
    {'slope': 2.0, 'scale': 0.5}
    """

    #: Fields that learning leaves alone.
    fixed: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:
            raise AttributeError(f"{type(self).__name__} is immutable: make another one with another `{name}`.")
        is_declared = name in declared(type(self))
        object.__setattr__(self, name, np.asarray(value, dtype=np.float64) if is_declared else value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # immutable: cloning an estimator must not copy eigenvectors

    def __getstate__(self) -> dict[str, Any]:
        return fields(self)

    @cached_property
    def _free(self) -> tuple[Slot, ...]:
        return tuple(_walk(self, (), "", free_only=True))

    def coordinate(self, field: str) -> Coordinate:
        """Return the coordinate of a hyperparameter: what the class declares, unless an object narrows its range."""
        return declared(type(self))[field]

    def check_formulas(self) -> None:
        """Refuse formulas whose complex steps are not derivatives; a class that has formulas says how."""

    def check_fixed(self, fixed: str | Sequence[str]) -> tuple[str, ...]:
        """Return the fields that hold the hyperparameters of these names, checked to exist."""
        fields = {_shown_name(field, coordinate): field for field, coordinate in declared(type(self)).items()}
        chosen = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        return tuple(fields[_checks.one_of("fixed", name, tuple(fields))] for name in chosen)


def declared(cls: type) -> dict[str, Coordinate]:
    """Return the hyperparameters that a class declares, its own before those of its bases."""
    found = cls.__dict__.get("_declared")
    if found is None:
        found = {}
        for home in cls.__mro__:
            found |= {k: v for k, v in vars(home).items() if isinstance(v, Coordinate) and k not in found}
        cls._declared = found  # type: ignore[attr-defined]
    return found


class Slot(NamedTuple):
    """One free hyperparameter: the name it is shown by, the way to it from the root, its coordinate and value."""

    name: str
    path: Path
    coordinate: Coordinate
    value: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value."""
        return self.value.shape

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.value.size


def slots(model: Parametrised, *, free_only: bool = True) -> tuple[Slot, ...]:
    """List the hyperparameters of a model, as a rule without those named in an object's ``fixed``.

    Those of an object's parts stand before its own.
    """
    return model._free if free_only else tuple(_walk(model, (), "", free_only))


def pack(model: Parametrised) -> np.ndarray:
    """Return the coordinates of the free hyperparameters as one vector, shape (p,)."""
    parts = [np.ravel(slot.coordinate.forward(slot.value)) for slot in slots(model)]
    return np.concatenate(parts) if parts else np.zeros(0)


def unpack(model: Model, theta: np.ndarray, free: Sequence[Slot] | None = None) -> Model:
    """Return the model with its free hyperparameters set from a vector of coordinates.

    ``free`` are the model's `slots`, where one model is filled again and again and they are known.
    """
    free = slots(model) if free is None else free
    found = tuple(
        Slot(name, path, coordinate, np.asarray(coordinate.inverse(part)))
        for (name, path, coordinate, _), part in zip(free, split(free, theta), strict=True)
    )
    filled = with_values(model, [(slot.path, slot.value) for slot in found])
    filled.__dict__["_free"] = found  # the same hyperparameters are free
    return filled


def split(free: Sequence[Slot], vector: np.ndarray) -> list[np.ndarray]:
    """Cut the last axis of an array into one part for each hyperparameter, of the hyperparameter's shape."""
    parts, start = [], 0
    for slot in free:
        end = start + slot.value.size
        parts.append(vector[..., start:end].reshape((*vector.shape[:-1], *slot.value.shape)))
        start = end
    return parts


def replace(model: Model, held: Sequence[Number]) -> Model:
    """Return the model with what its free hyperparameters' fields hold replaced, in the order of `slots`."""
    return with_values(model, [(slot.path, np.asarray(v)) for slot, v in zip(slots(model), held, strict=True)])


def with_value(node: Model, path: Path, value: object) -> Model:
    """Return a copy of a tree that holds another value at the end of a path (`with_values`)."""
    return with_values(node, [(path, value)])


def with_values(node: Any, changes: Sequence[tuple[Path, Any]]) -> Any:
    """Return a copy of a tree that holds other values at the ends of some paths; all else is shared.

    What a `cached_property` has made of the old values is not.
    """
    if not changes:
        return node
    if not changes[0][0]:
        return changes[-1][1]
    below: dict[str | int, list[tuple[Path, Any]]] = {}
    for (step, *rest), value in changes:
        below.setdefault(step, []).append((tuple(rest), value))
    if isinstance(node, tuple):
        return tuple(with_values(item, below.get(i, ())) for i, item in enumerate(node))
    copy = object.__new__(type(node))
    copy.__dict__.update(fields(node))
    for step, within in below.items():
        copy.__dict__[step] = with_values(node.__dict__[step], within)
    return copy


def _computed(cls: type) -> frozenset[str]:
    """Return the names under which a class keeps what it computes from its fields."""
    found = cls.__dict__.get("_computed")
    if found is None:
        everything = (item for home in cls.__mro__ for item in vars(home).items())
        found = frozenset(name for name, value in everything if isinstance(value, cached_property))
        cls._computed = found  # type: ignore[attr-defined]
    return found


def fields(node: Parametrised) -> dict[str, Any]:
    """Return what an object was made of, without what it has computed from that."""
    computed = _computed(type(node))
    return {name: held for name, held in node.__dict__.items() if name not in computed}


def transferred(model: Model, other: Parametrised) -> Model:
    """Return a model with the values that another has for hyperparameters of the same name, free or not."""
    known = {slot.name: slot.value for slot in slots(other, free_only=False)}
    alike = (s for s in slots(model, free_only=False) if s.name in known and np.shape(known[s.name]) == s.shape)
    return with_values(model, [(slot.path, np.asarray(known[slot.name])) for slot in alike])


def moved_as(model: Model, other: Parametrised) -> Model:
    """Return a model with the values that another has for those hyperparameters that are free in it."""
    free = {slot.name: slot.value for slot in slots(other)}
    moved = (slot for slot in slots(model, free_only=False) if slot.name in free)
    return with_values(model, [(slot.path, np.asarray(free[slot.name])) for slot in moved])


def bounds(model: Parametrised) -> np.ndarray:
    """Return the range of each coordinate, shape (p, 2)."""
    rows = [[slot.coordinate.lower, slot.coordinate.upper] for slot in slots(model) for _ in range(slot.size)]
    return np.array(rows).reshape(-1, 2)


def values(model: Parametrised, *, free_only: bool = True) -> dict[str, float | np.ndarray]:
    """Return hyperparameters by name, in their own units."""
    found = {}
    for slot in slots(model, free_only=free_only):
        shown = slot.coordinate.shown_as
        value = np.asarray(slot.value if shown is None else shown[1](slot.value))
        found[slot.name] = float(value) if value.ndim == 0 else value
    return found


def with_shown(model: Model, shown: Mapping[str, float | np.ndarray]) -> Model:
    """Return a model with free hyperparameters as `values` has them, by name; what is not named stays."""
    found = []
    for slot in slots(model):
        if slot.name in shown:
            value, turned = np.asarray(shown[slot.name]), slot.coordinate.shown_as
            # What is shown as its inverse is the inverse of what is shown.
            found.append((slot.path, value if turned is None else turned[1](value)))
    return with_values(model, found)


def brief(value: float | np.ndarray) -> str:
    """Show a number, or a few of them, to four digits."""
    return f"{value:.4g}" if np.ndim(value) == 0 else np.array2string(np.asarray(value), precision=4, threshold=6)


# ---------------------------------------------------------------- derivatives


def tangents(model: Parametrised, formula: Formula) -> list[Any]:
    """Return the derivative of a formula in each coordinate of a model, each shaped as the formula's outcome."""
    found = []
    for slot in slots(model):
        here = np.asarray(slot.coordinate.forward(slot.value), dtype=np.complex128)
        for entry in np.ndindex(here.shape):
            moved = here.copy()
            moved[entry] += 1j * _STEP
            # An array, also where NumPy would make a number of it, as fields hold.
            value = np.asarray(slot.coordinate.inverse(moved))
            found.append(_imaginary(formula(with_value(model, slot.path, value))))
    return found


def pull_back(model: Model, formula: Formula[Model], adjoint: Any) -> np.ndarray:
    """Return the gradient, shape (p,), of a number that has the given slopes in a formula's outcome."""
    return np.array([_inner(adjoint, tangent) for tangent in tangents(model, formula)])


def gather(model: Parametrised, gradients: Mapping[str, Any]) -> np.ndarray:
    """Return one gradient, shape (p,), in the order of `pack`.

    Parameters
    ----------
    model : Parametrised
        Whose hyperparameters they are.
    gradients : dict of field to array
        For a part of the model its gradient in its own coordinates; for a hyperparameter of the model's own the slope
        in the hyperparameter itself. A field that is not named has none.
    """
    found = []
    for field, node in vars(model).items():
        if isinstance(node, Parametrised):
            found.append(gradients[field] if field in gradients else np.zeros(sum(slot.size for slot in slots(node))))
    for field, coordinate in declared(type(model)).items():
        if field not in model.fixed:
            value = getattr(model, field)
            slope = gradients[field] * coordinate.slope(value) if field in gradients else np.zeros_like(value)
            found.append(np.reshape(slope, -1))
    return np.concatenate(found) if found else np.zeros(0)


def _imaginary(outcome: Any) -> Any:
    if isinstance(outcome, tuple):
        return tuple(_imaginary(part) for part in outcome)
    return np.imag(outcome) / _STEP


def _inner(adjoint: Any, tangent: Any) -> float:
    if isinstance(tangent, tuple):
        return sum(_inner(a, t) for a, t in zip(adjoint, tangent, strict=True))
    return float(np.sum(adjoint * tangent))


def _shown_name(field: str, coordinate: Coordinate) -> str:
    return field if coordinate.shown_as is None else coordinate.shown_as[0]


def _walk(node: object, path: Path, prefix: str, free_only: bool) -> Iterator[Slot]:
    """Yield the hyperparameters of an object's parts, then its own; parts in a tuple are labelled or numbered."""
    if isinstance(node, tuple):
        for position, child in enumerate(node):
            yield from _walk(child, (*path, position), f"{prefix}{position}.", free_only)
        return
    if not isinstance(node, Parametrised):
        return
    own, computed = declared(type(node)), _computed(type(node))
    labels = getattr(node, "labels", None)
    for field, value in vars(node).items():
        if field in own or field in computed:
            continue
        if labels is not None and isinstance(value, tuple) and value is not labels and len(value) == len(labels):
            for position, (label, child) in enumerate(zip(labels, value, strict=True)):
                yield from _walk(child, (*path, field, position), f"{prefix}{label}.", free_only)
        elif isinstance(value, (Parametrised, tuple)):
            yield from _walk(value, (*path, field), prefix, free_only)
    for field in own:
        if not free_only or field not in node.fixed:
            coordinate = node.coordinate(field)
            yield Slot(prefix + _shown_name(field, coordinate), (*path, field), coordinate, getattr(node, field))
