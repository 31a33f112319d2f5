"""How an object becomes the fields that a file keeps of it, and is made of them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hypergauss.parameters import Parametrised


def restored(cls: type, state: Mapping[str, Any]) -> Any:
    """Return an object of a class with the given fields."""
    if not issubclass(cls, Parametrised):
        return cls(**state)
    made = object.__new__(cls)
    for name, value in state.items():
        setattr(made, name, value)
    return made


class Stored(NamedTuple):
    """A class, the names of what makes up an object, and how the object is made of it and it of the object.

    Usually these are fields, which are set and taken. ``later`` are fields that earlier files do not have yet, with
    what their objects have in place of them. ``check`` refuses an object whose parts do not fit together.
    """

    cls: type
    state: tuple[str, ...]
    maker: Callable[..., Any] | None = None
    taker: Callable[[Any], dict[str, Any]] | None = None
    later: Mapping[str, Any] = MappingProxyType({})
    check: Callable[[Any], None] | None = None

    def take(self, held: Any) -> dict[str, Any]:
        """Return what makes up an object, without what earlier files do without where it says no more than they do."""
        whole = {name: getattr(held, name) for name in self.state} if self.taker is None else self.taker(held)
        return {name: value for name, value in whole.items() if not self._goes_without_saying(name, value)}

    def _goes_without_saying(self, name: str, value: Any) -> bool:
        usual = self.later.get(name, ...)
        is_same = type(value) is type(usual) and isinstance(usual, str | float) and value == usual
        return value is usual or is_same

    def make(self, state: Mapping[str, Any]) -> Any:
        """Return an object of all that makes one up and nothing else."""
        whole = {**self.later, **state}
        if set(whole) != set(self.state):
            raise ValueError(f"{self.cls.__name__} has other fields")
        ordered = {name: whole[name] for name in self.state}
        return restored(self.cls, ordered) if self.maker is None else self.maker(**ordered)
