"""JSON and arrays -> values, by making objects of known classes alone and nothing larger than the file warrants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.attributes import Attributes
from hypergauss.hypergraph.frozen import freeze
from hypergauss.operators import LocalLaplacian
from hypergauss.solvers.choose import condition
from hypergauss.spectrum.laplacians import SparseMatrix
from hypergauss.storage.archive import Archive
from hypergauss.storage.classes import STORED
from hypergauss.storage.own_classes import own_class
from hypergauss.storage.stored import restored
from hypergauss.storage.writing import Json

#: Text is held at the width of its longest entry unless that takes so many times the bytes of all, and a few more.
_WIDEST, _LITTLE = 16, 1 << 20


class Reader:
    """Turns JSON back into values. Nodes refer only to nodes before them.

    Parameters
    ----------
    archive : Archive
        With the arrays that nodes refer to, and a size that no dimension may exceed.
    nodes : JSON
        The objects, in the order in which they are made.
    classes : sequence of type
        Classes of users whose objects may be made.
    """

    def __init__(self, archive: Archive, nodes: Json, classes: Sequence[type] = ()) -> None:
        self.archive, self.classes = archive, classes
        self.made: list[Any] = []
        if not isinstance(nodes, list):
            raise TypeError("the list of objects is missing")
        for kind, *parts in nodes:
            self.made.append(self.make(kind, parts))

    def decode(self, value: Json) -> Any:
        """Return the value of a piece of JSON."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((tag, body),) = value.items()
        if tag == "$float":
            return float(body)
        if tag == "$tuple":
            return tuple(self.decode(item) for item in body)
        if tag == "$dict":
            return {self.decode(key): self.decode(item) for key, item in body}
        if tag == "$node":
            return self.made[_position(body, len(self.made))]
        raise ValueError(f"{tag!r} is unknown")

    def make(self, kind: str, parts: list[Json]) -> Any:
        """Return the object of one node."""
        if kind in ("array", "scalar"):
            array = self.archive.arrays[_position(parts[0], len(self.archive.arrays))]
            return freeze(array) if kind == "array" else array[()]
        if kind in ("object", "own"):
            name, state = parts
            return self.make_object(kind, str(name), {key: self.decode(part) for key, part in _items(state)})
        made = [self.decode(part) for part in parts]
        if kind == "range":
            start, stop, step = map(int, made)
            self.check_dimension(len(range(start, stop, step)))
            return pd.RangeIndex(start, stop, step)
        if kind == "sparse":
            return self.sparse(*made).copy()
        if kind == "frozen":
            return self.frozen(*made)
        return _MAKERS[kind](*made)

    def make_object(self, kind: str, name: str, state: dict[str, Any]) -> Any:
        """Return an object of one of our classes, or of a user's that the caller allows."""
        return STORED[name].make(state) if kind == "object" else restored(own_class(name, self.classes), state)

    def sparse(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> sp.csr_array:
        """Return a sparse matrix on given arrays, checked to be one."""
        rows, columns = (self.check_dimension(int(size)) for size in shape)
        matrix = sp.csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format()
        return matrix

    def frozen(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> SparseMatrix:
        """Return a sparse matrix that cannot be changed, on the very arrays: several may share them."""
        rows, columns = self.sparse(data, indices, indptr, shape).shape
        return SparseMatrix(data, indices, indptr, (rows, columns))

    def check_dimension(self, size: int) -> int:
        """Refuse more rows, columns or names than a file of this size can have: each takes some bytes of it."""
        if not 0 <= size <= self.archive.size:
            raise ValueError(f"{size} rows or columns are declared in {self.archive.size} bytes")
        return size


def _items(state: Json) -> Any:
    if not isinstance(state, dict):
        raise TypeError("an object has no fields")
    return state.items()


def _position(number: Json, size: int) -> int:
    if type(number) is not int or not 0 <= number < size:
        raise IndexError(f"{number!r} refers to nothing")
    return number


def name_array(items: list[Any], dimensions: int) -> np.ndarray:
    """Return names of any kind."""
    if dimensions not in (0, 1) or (dimensions == 0 and len(items) != 1):
        raise ValueError(f"{len(items)} names in {dimensions} dimensions")
    array = np.fromiter(items, dtype=object, count=len(items))
    return array if dimensions else array.reshape([])


def text_array(items: list[Any], dimensions: int) -> np.ndarray:
    """Return text, at the width of the longest entry; as objects where that would waste memory."""
    names = name_array(items, dimensions)
    if not all(type(item) is str for item in items):
        raise TypeError("text is expected")
    lengths = [len(item) for item in items]
    whole = max(lengths, default=0) * len(items)
    return names.astype(np.str_) if 4 * whole <= _WIDEST * sum(lengths) + _LITTLE else names


def _frame(index: pd.Index, names: list[Any], columns: list[np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame(dict(enumerate(columns)), index=index).set_axis(names, axis=1)


def _hypergraph(
    incidence: sp.csr_array, vertices: pd.Index, edges: pd.Index, weights: np.ndarray, attributes: Mapping[str, Any]
) -> Hypergraph:
    if incidence.shape != (len(vertices), len(edges)) or len(weights) != len(edges):
        raise ValueError("a hypergraph's parts do not fit together")
    return Hypergraph(incidence, vertices=vertices, edges=edges, weights=weights, attributes=Attributes(**attributes))


def _index(values: np.ndarray) -> pd.Index:
    # Names that were objects stay objects, whatever a version of pandas would make of text.
    return pd.Index(values, dtype=object if values.dtype == object else None, tupleize_cols=False)


_MAKERS: dict[str, Callable[..., Any]] = {
    "frame": _frame,
    "graph": Graph,
    "hypergraph": _hypergraph,
    "index": _index,
    "laplacian": LocalLaplacian,
    "names": name_array,
    "posterior": condition,
    "series": lambda index, values: pd.Series(values, index=index),
    "text": text_array,
}
