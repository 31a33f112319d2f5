"""Hyperparameters: fields of a model that can be learned, and the coordinates in which learning moves them.

A model is an Equinox module. A field declared with `positive` or `bounded` is a hyperparameter; everything else,
eigenvectors above all, is data. `pack` lists the free hyperparameters of a whole tree of modules as one vector,
`unpack` puts such a vector back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hypergauss import _checks

# Kernels with a wide spectrum lose positive definiteness in single precision.
jax.config.update("jax_enable_x64", True)

Model = TypeVar("Model", bound=eqx.Module)


@dataclass(frozen=True)
class Coordinate:
    """A one-to-one map between a hyperparameter and the coordinate that learning moves, with its range."""

    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    lower: float
    upper: float
    #: Name and map by which users know it, where that is not the field itself.
    shown_as: tuple[str, Callable[[Any], Any]] | None = None
    is_positive: bool = True


class Slot(NamedTuple):
    """One free hyperparameter: the name it is shown by, the way to it from the root, its coordinate and shape."""

    name: str
    path: tuple[str | int, ...]
    coordinate: Coordinate
    shape: tuple[int, ...]

    def of(self, model: Any) -> Any:
        """Follow the path from the root."""
        for step in self.path:
            model = model[step] if isinstance(step, int) else getattr(model, step)
        return model


def positive(lower: float = 1e-6, upper: float = 1e6) -> Any:
    """Declare a positive hyperparameter, learned through its logarithm within [lower, upper]."""
    return _declare(Coordinate(np.log, _exp, float(np.log(lower)), float(np.log(upper))))


def bounded(lower: float, upper: float) -> Any:
    """Declare a hyperparameter learned as it is within [lower, upper]."""
    return _declare(Coordinate(_same, _same, lower, upper, is_positive=lower >= 0))


def reciprocal(name: str, lower: float, upper: float) -> Any:
    """Declare a hyperparameter held and learned within [lower, upper] but shown to users as ``name``, its inverse."""
    return _declare(Coordinate(_same, _same, lower, upper, (name, _invert)))


def _exp(value: Any) -> Any:
    # Plain numbers stay with NumPy, where there is nothing to compile.
    return np.exp(value) if isinstance(value, np.ndarray) else jnp.exp(value)


def _same(value: Any) -> Any:
    return value


def _invert(value: Any) -> Any:
    with np.errstate(divide="ignore"):
        return 1.0 / np.asarray(value)


def _declare(coordinate: Coordinate) -> Any:
    return eqx.field(converter=as_array, metadata={"coordinate": coordinate})


def as_array(value: Any) -> Array:
    """Return a value in double precision."""
    return jnp.asarray(value, dtype=jnp.float64)


def check_fixed(fixed: Sequence[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of fixed hyperparameters, checked to exist."""
    chosen = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in chosen:
        _checks.one_of("fixed", name, names)
    return chosen


def slots(model: eqx.Module, *, free_only: bool = True) -> list[Slot]:
    """List the hyperparameters of a model, as a rule without those named in a module's ``fixed``."""
    return list(_walk(model, (), "", free_only))


def pack(model: eqx.Module) -> np.ndarray:
    """Return the coordinates of the free hyperparameters as one vector, shape (p,)."""
    parts = [np.ravel(slot.coordinate.forward(np.asarray(slot.of(model)))) for slot in slots(model)]
    return np.concatenate(parts) if parts else np.zeros(0)


def unpack(model: Model, theta: np.ndarray | Array) -> Model:
    """Return the model with its free hyperparameters set from a vector of coordinates."""
    free = slots(model)
    if not free:
        return model
    values, start = [], 0
    for slot in free:
        size = int(np.prod(slot.shape))
        values.append(slot.coordinate.inverse(theta[start : start + size]).reshape(slot.shape))
        start += size
    return eqx.tree_at(lambda tree: [slot.of(tree) for slot in free], model, values)


def bounds(model: eqx.Module) -> np.ndarray:
    """Return the range of each coordinate, shape (p, 2)."""
    rows = [[s.coordinate.lower, s.coordinate.upper] for s in slots(model) for _ in range(int(np.prod(s.shape)))]
    return np.array(rows).reshape(-1, 2)


def values(model: eqx.Module, *, free_only: bool = True) -> dict[str, float | np.ndarray]:
    """Return hyperparameters by name, in their own units."""
    found = {}
    for slot in slots(model, free_only=free_only):
        shown = slot.coordinate.shown_as
        value = np.asarray(slot.of(model) if shown is None else shown[1](slot.of(model)))
        found[slot.name] = float(value) if value.ndim == 0 else value
    return found


def _walk(node: Any, path: tuple[str | int, ...], prefix: str, free_only: bool) -> Iterator[Slot]:
    if isinstance(node, tuple):
        # Sums and products label their parts; other tuples are numbered.
        for position, child in enumerate(node):
            yield from _walk(child, (*path, position), f"{prefix}{position}.", free_only)
        return
    if not isinstance(node, eqx.Module):
        return
    fixed = getattr(node, "fixed", ()) if free_only else ()
    labels = getattr(node, "labels", None)
    for field in fields(node):
        value = getattr(node, field.name)
        coordinate = field.metadata.get("coordinate")
        if coordinate is not None:
            if field.name not in fixed:
                shown = field.name if coordinate.shown_as is None else coordinate.shown_as[0]
                yield Slot(prefix + shown, (*path, field.name), coordinate, jnp.shape(value))
        elif labels is not None and isinstance(value, tuple) and len(value) == len(labels):
            for position, (label, child) in enumerate(zip(labels, value, strict=True)):
                yield from _walk(child, (*path, field.name, position), f"{prefix}{label}.", free_only)
        else:
            yield from _walk(value, (*path, field.name), prefix, free_only)
