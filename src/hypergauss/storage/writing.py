"""Values -> JSON, arrays aside."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.operators import LocalLaplacian
from hypergauss.parameters import Parametrised, fields
from hypergauss.solvers.base import Posterior
from hypergauss.spectrum.laplacians import SparseMatrix
from hypergauss.storage.classes import KEYS, STORED
from hypergauss.storage.own_classes import own_name

#: What a piece of JSON is to Python.
Json = None | bool | int | float | str | list[Any] | dict[str, Any]


class Writer:
    """Turns values into JSON and a list of arrays. Objects that are met twice are written once."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.arrays: list[np.ndarray] = []
        self._known: dict[int, int] = {}
        self._kept: list[object] = []  # an id is only good while its object lives

    def encode(self, value: object, where: str) -> Json:
        """Return a value as JSON; each object in it is tagged by a single key that begins with $."""
        if value is None or type(value) in (bool, int, str):
            return value  # type: ignore[return-value]
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if type(value) is list:
            return [self.encode(item, where) for item in value]
        if type(value) is tuple:
            return {"$tuple": [self.encode(item, where) for item in value]}
        if isinstance(value, Mapping):
            return {"$dict": [[self.encode(k, where), self.encode(v, where)] for k, v in value.items()]}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return None
        return {"$node": self._once(value, where)}

    def _once(self, value: object, where: str) -> int:
        if id(value) not in self._known:
            node = self._node(value, where)
            self._kept.append(value)
            self._known[id(value)] = len(self.nodes)
            self.nodes.append(node)
        return self._known[id(value)]

    def _node(self, value: object, where: str) -> Json:
        """Return an object as the name of its kind and its parts."""
        if isinstance(value, np.ndarray | np.generic):
            return self._array_node(value, where)
        if isinstance(value, pd.RangeIndex):
            return ["range", value.start, value.stop, value.step]
        parted = _parts(value)
        if parted is not None:
            kind, *parts = parted
            return [kind, *(self.encode(part, where) for part in parts)]
        cls = type(value)
        if cls in KEYS:
            key = KEYS[cls]
            state = {name: self.encode(held, f"{where}.{name}") for name, held in STORED[key].take(value).items()}
            return ["object", key, state]
        if isinstance(value, Parametrised):
            state = {name: self.encode(held, f"{where}.{name}") for name, held in fields(value).items()}
            return ["own", own_name(cls), state]
        raise TypeError(
            f"`{where}` holds {cls.__name__}, which a model file cannot. Kernels and likelihoods, also your own, "
            "numbers, text and tables can be saved; use `pickle` where there is trust."
        )

    def _array_node(self, value: np.ndarray | np.generic, where: str) -> Json:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            self.arrays.append(array)
            return ["scalar" if isinstance(value, np.generic) else "array", len(self.arrays) - 1]
        if array.dtype.kind in "OU" and array.ndim <= 1:
            listed = [plain.item() if isinstance(plain, np.generic) else plain for plain in array.ravel().tolist()]
            kind = "text" if array.dtype.kind == "U" else "names"
            return [kind, [self.encode(item, where) for item in listed], array.ndim]
        raise TypeError(f"`{where}` holds an array of {array.dtype}, which a model file cannot.")


def _parts(value: object) -> tuple[Any, ...] | None:
    """Return the kind of an object that is made of others, and these; None if it is of no such kind."""
    if isinstance(value, pd.Index):
        return "index", value.to_numpy()
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, j].to_numpy() for j in range(value.shape[1])]
        return "frame", value.index, value.columns.tolist(), columns
    if isinstance(value, pd.Series):
        return "series", value.index, value.to_numpy()
    if isinstance(value, SparseMatrix):
        return "frozen", value.data, value.indices, value.indptr, list(value.shape)
    if sp.issparse(value):
        matrix = sp.csr_array(value)
        return "sparse", matrix.data, matrix.indices, matrix.indptr, list(matrix.shape)
    if isinstance(value, Hypergraph):
        attributes = value.attributes._asdict()
        return "hypergraph", value.incidence, value.vertices, value.edges, value.weights, attributes
    if isinstance(value, Graph):
        return "graph", value.adjacency, value.vertices
    if type(value) is LocalLaplacian:
        return "laplacian", *value.parts
    if isinstance(value, Posterior):
        return "posterior", *value.conditioned_on()
    return None
