"""Classes of users: a file names them, and whoever opens it brings them."""

from __future__ import annotations

from collections.abc import Sequence

from hypergauss.exceptions import FileError
from hypergauss.parameters import Parametrised


def own_name(cls: type) -> str:
    """Return where a class that is not ours is found, as module:name."""
    return f"{cls.__module__}:{cls.__qualname__}"


def check_own(classes: Sequence[type]) -> tuple[type, ...]:
    """Return classes of users that a file may hold objects of, checked."""
    given = tuple(classes)
    for cls in given:
        if not (isinstance(cls, type) and issubclass(cls, Parametrised)):
            raise TypeError(
                f"`classes` must be classes of kernels, likelihoods or inducing variables. Got {cls!r}. Pass the class "
                "itself, not an object of it: `classes=(MyKernel,)`."
            )
    return given


def own_class(name: str, classes: Sequence[type]) -> type:
    """Return the class of a name among those given, which may have moved to another module; nothing is imported."""
    module, _, qualified = name.partition(":")
    short = qualified.rpartition(".")[2]
    same = [cls for cls in classes if cls.__name__ == short]
    exact = [cls for cls in same if own_name(cls) == name]
    if len(exact or same) != 1:
        raise FileError(
            f"This model holds a {short} of the module {module}, which is not a class of hypergauss. Pass the class "
            f"that it shall be: `load(path, classes=({short},))`."
        )
    return (exact or same)[0]
