"""Names of vertices and hyperedges <-> their indices.

Names may be any hashable values. They are kept in a pandas Index, whose hash table answers look-ups of whole
arrays at once and whose range form costs nothing for the default names 0, 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from hypergauss import _checks

_Held = TypeVar("_Held")
#: What a vertex or a hyperedge is called. Methods return names as `Any`: who gave them knows of what kind they are.
Name: TypeAlias = Hashable
#: Something for each of some names: a mapping's keys are of one kind, and text would not do where any name does.
ByName: TypeAlias = Mapping[Any, _Held]
#: The names of a vertex and of a hyperedge that it is in.
Membership: TypeAlias = tuple[Any, Any]

#: Names in an order that positions refer to.
Names: TypeAlias = "list[Any] | np.ndarray | pd.Index"

#: How many names an error message quotes at most.
_QUOTED = 3


def as_list(names: Iterable[Name]) -> Names:
    """Return names as a flat sequence; a single column (n, 1) of names counts as flat."""
    if isinstance(names, str | bytes):
        raise TypeError(f"Names must come in a list or array. Got the single string {names!r}: pass [{names!r}].")
    if isinstance(names, set | frozenset):
        raise TypeError("Names must come in an order, as answers do. Got a set: pass `sorted(...)` or a list.")
    if isinstance(names, pd.MultiIndex):
        return list(names)
    if isinstance(names, pd.Index):
        return names
    if isinstance(names, pd.Series):
        return names.to_numpy()
    if isinstance(names, pd.DataFrame):
        names = names.to_numpy()
    if isinstance(names, np.ndarray):
        if names.ndim == 2 and names.shape[1] == 1:
            return names[:, 0]
        if names.ndim != 1:
            raise ValueError(f"Vertices are one name each: a 1-D array. Got shape {names.shape}.")
        return names
    if hasattr(names, "__array__"):
        return as_list(np.asarray(names))
    if not isinstance(names, Iterable):
        raise TypeError(f"Names must come in a list or array. Got {names!r}: pass [{names!r}].")
    if isinstance(names, range):
        return pd.RangeIndex(names.start, names.stop, names.step)
    return list(names)


def make_index(names: Iterable[Name] | None, size: int, *, of: str) -> pd.Index:
    """Return the index of ``size`` unique names; ``None`` gives 0, 1, ..., size - 1."""
    if names is None:
        return pd.RangeIndex(size)
    values = as_list(names)
    if len(values) != size:
        raise ValueError(f"`{of}` must name each of the {size:,} {of} once. Got {len(values):,} names.")
    return unique_index(values, of=of)


def unique_index(names: Iterable[Name], *, of: str) -> pd.Index:
    """Return an index of the given names, which must be hashable, present and all different."""
    index = _index(as_list(names), of=of)
    missing = np.flatnonzero(np.asarray(index.isna()))
    if len(missing):
        raise ValueError(
            f"`{of}` must not contain missing names. Got {index[missing[0]]!r} at position {missing[0]}"
            f"{_checks.others(len(missing) - 1)}. Give each of the {of} a name."
        )
    if not index.is_unique:
        repeated = index[index.duplicated()].unique()
        raise ValueError(
            f"`{of}` must have different names. {plain(repeated[0])!r}{_checks.others(len(repeated) - 1)} "
            f"occur more than once. Rename them, for example by adding a number."
        )
    return index


def distinct_index(names: Any, *, of: str) -> pd.Index:
    """Return an index of names that are known to be present, hashable and all different."""
    if isinstance(names, np.ndarray) and names.dtype == object and _are_text(names):
        return pd.Index(names, dtype=object)
    return _index(names, of=of)


def _are_text(names: np.ndarray) -> bool:
    return pd.api.types.infer_dtype(names, skipna=False) == "string"


def locate(index: pd.Index, names: Iterable[Name], *, argument: str, owner: str, cure: str) -> np.ndarray:
    """Return the position of each name, or explain which names are not there."""
    values = as_list(names)
    wanted = _index(values, of=argument)
    # An integer index would match 1.0 and True as well as 1, as a Python dict does; text never matches a number.
    rows = index.get_indexer(wanted)
    unknown = np.flatnonzero(rows < 0)
    if len(unknown):
        shown = ", ".join(repr(plain(wanted[i])) for i in unknown[:_QUOTED])
        rest = len(pd.unique(wanted[unknown])) - len(pd.unique(wanted[unknown[:_QUOTED]]))
        raise ValueError(f"`{argument}` must belong to {owner}. Got {shown}{_checks.others(rest)}. {cure}")
    return np.asarray(rows, dtype=np.int64)


def locate_vertices(vertices: pd.Index, names: Iterable[Name], *, argument: str = "vertices") -> np.ndarray:
    """Return the row of each named vertex of a hypergraph."""
    return locate(
        vertices,
        names,
        argument=argument,
        owner=f"the hypergraph ({len(vertices):,} vertices)",
        cure="Add them with `Hypergraph.from_edges(..., vertices=...)`.",
    )


def _index(values: Any, *, of: str) -> pd.Index:
    """Return an Index that keeps integers as integers and everything else as Python objects."""
    if isinstance(values, pd.RangeIndex):
        return values
    if isinstance(values, np.ndarray | pd.Index) and values.dtype.kind in "iu":
        return pd.Index(values)
    if isinstance(values, pd.Index) and isinstance(values.dtype, pd.StringDtype):
        return pd.Index(values.to_numpy(dtype=object), dtype=object)  # text: nothing to look through one by one
    try:
        set(values)  # surfaces an unhashable name in Python's own words
    except TypeError as error:
        raise TypeError(f"`{of}` must be hashable names such as text, numbers or tuples. Got {error}.") from error
    index = pd.Index(np.fromiter(values, dtype=object, count=len(values)), dtype=object, tupleize_cols=False)
    return pd.Index(index.to_numpy(dtype=np.int64)) if _all_integers(index) else index


def _all_integers(index: pd.Index) -> bool:
    return len(index) > 0 and pd.api.types.infer_dtype(index, skipna=False) == "integer" and _fits_int64(index)


def _fits_int64(index: pd.Index) -> bool:
    limits = np.iinfo(np.int64)
    return bool(limits.min <= min(index) and max(index) <= limits.max)


def plain(name: Name) -> Any:
    """Show NumPy scalars as the plain values they stand for."""
    return name.item() if isinstance(name, np.generic) else name
