"""Fitted estimators as files: what they hold, written field by field as JSON and arrays, never as code.

Of the objects inside an estimator only those of the classes known here are written or made, and they are made by
setting their fields. A posterior is written as what it is conditioned on, and conditioned again when read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hypergauss._version import __version__
from hypergauss.storage.archive import DAMAGE, read_archive, write_archive
from hypergauss.hypergraph.attributes import Attributes
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.exceptions import FileError, HypergaussError
from hypergauss.hypergraph.frozen import freeze
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.solvers.choose import condition
from hypergauss.solvers.iterative import IterativePosterior
from hypergauss.solvers.iterative.system import Workspace
from hypergauss.solvers.base import Posterior, Prior
from hypergauss.solvers.sparse import SparsePosterior
from hypergauss.operators import LocalLaplacian

#: What the file says it is, and the version of its layout that this code writes. A newer one is refused.
FORMAT, FORMAT_VERSION = "hypergauss model", 1

_ESTIMATORS = {cls.__name__: cls for cls in (HypergraphGPRegressor, HypergraphGPClassifier)}
#: Where the classes are whose objects a fitted estimator may hold.
_HOMES = (
    "estimators.latents",
    "inference.draws",
    "inference.gaussian",
    "inference.iterative.options",
    "inference.latent",
    "inference.learning",
    "inference.marginals",
    "inference.posterior",
    "inference.priors",
    "inference.projection",
    "inference.sites",
    "inference.size_exponent",
    "inference.whitened",
    "kernels.base",
    "kernels.covariates",
    "kernels.filters",
    "kernels.spectral",
    "likelihoods.binary",
    "likelihoods.categorical",
    "likelihoods.ordinal",
    "spectrum.density",
    "spectrum.laplacians",
    "spectrum.spectrum",
)


def save(estimator: HypergraphGPRegressor | HypergraphGPClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, which `load` reads: arrays and JSON, never code.

    The file holds the hypergraph, the parameters and all that was learned, and appears whole or not at all. A random
    generator among the parameters is left out; it matters only for fitting again.

    Parameters
    ----------
    estimator : HypergraphGPRegressor or HypergraphGPClassifier
        Fitted.
    path : path
        Where to, as a rule with the ending ``.hypergauss``. A file that is there is replaced.
    """
    name = type(estimator).__name__
    if _ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(f"`estimator` must be one of {', '.join(_ESTIMATORS)}. Got {name}.")
    check_is_fitted(estimator)
    writer = _Writer()
    state = {key: writer.encode(value, key) for key, value in vars(estimator).items()}
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "hypergauss": __version__,
        "estimator": name,
        "state": state,
        "nodes": writer.nodes,
    }
    write_archive(path, content, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator that `save` has written; its predictions are the same to the last digit.

    Those of the iterative solver are the same to its tolerances: it begins without what learning had left behind.

    A file that is damaged, of another kind, or written by a newer version is refused with a `FileError`.
    """
    content, arrays = read_archive(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"{path} is no model of hypergauss. Write one with `hypergauss.save`.")
    version = content.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FileError(
            f"{path} was written by hypergauss {content.get('hypergauss')} in a newer layout ({version}) than this "
            f"version ({__version__}) knows ({FORMAT_VERSION}). Update it: `pip install --upgrade hypergauss`."
        )
    try:
        estimator = object.__new__(_ESTIMATORS[content["estimator"]])
        reader = _Reader(arrays, content["nodes"])
        estimator.__dict__.update({str(key): reader.decode(value) for key, value in content["state"].items()})
        estimator.get_params(deep=False)
        check_is_fitted(estimator)
    except (*DAMAGE, HypergaussError) as error:
        raise FileError(f"{path} is damaged, though its archive is whole ({error}). Save the model again.") from error
    return estimator


@cache
def _classes() -> dict[str, type]:
    """Return by name the classes whose objects may be written and made."""
    found: dict[str, type] = {}
    for home in _HOMES:
        module = import_module(f"hypergauss.{home}")
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__ and _field_names(value) is not None:
                if name in found:
                    raise HypergaussError(f"Two classes are named {name}; a file could not tell them apart.")
                found[name] = value
    return found


def _field_names(cls: type) -> tuple[str, ...] | None:
    """Return the fields that make up an object of a class, or None if it is not made of fields."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple(cls._fields)
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    return None


class _Writer:
    """Turns values into JSON, arrays aside. Objects that are met twice are written once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []  # an id is only good while its object lives

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; each object in it is tagged by a single key that begins with $."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if type(value) is list:
            return [self.encode(item, where) for item in value]
        if type(value) is tuple:
            return {"$tuple": [self.encode(item, where) for item in value]}
        if isinstance(value, Mapping):
            return {"$dict": [[self.encode(k, where), self.encode(v, where)] for k, v in value.items()]}
        if isinstance(value, np.random.RandomState | np.random.Generator | Workspace):
            return None
        return {"$node": self._once(value, where)}

    def _once(self, value: Any, where: str) -> int:
        if id(value) not in self._known:
            node = self._node(value, where)
            self._kept.append(value)
            self._known[id(value)] = len(self.nodes)
            self.nodes.append(node)
        return self._known[id(value)]

    def _node(self, value: Any, where: str) -> Any:
        """Return an object as the name of its kind and its parts."""
        if isinstance(value, np.ndarray | np.generic | jax.Array):
            return self._array_node(value, where)
        if isinstance(value, pd.RangeIndex):
            return ["range", value.start, value.stop, value.step]
        if isinstance(value, pd.Index):
            return ["index", self.encode(value.to_numpy(), where)]
        if isinstance(value, pd.DataFrame):
            columns = [self.encode(value.iloc[:, j].to_numpy(), where) for j in range(value.shape[1])]
            return ["frame", self.encode(value.index, where), self.encode(value.columns.tolist(), where), columns]
        if isinstance(value, pd.Series):
            return ["series", self.encode(value.index, where), self.encode(value.to_numpy(), where)]
        if sp.issparse(value):
            matrix = sp.csr_array(value)
            held = (matrix.data, matrix.indices, matrix.indptr, list(matrix.shape))
            return ["sparse", *(self.encode(part, where) for part in held)]
        if isinstance(value, Hypergraph):
            parts = (value.incidence, value.vertices, value.edges, value.weights, value.attributes._asdict())
            return ["hypergraph", *(self.encode(part, where) for part in parts)]
        if isinstance(value, Graph):
            return ["graph", self.encode(value.adjacency, where), self.encode(value.vertices, where)]
        if isinstance(value, LocalLaplacian):
            return ["laplacian", *(self.encode(part, where) for part in value.parts)]
        if isinstance(value, Posterior):
            return ["posterior", *(self.encode(part, where) for part in _conditioned_on(value))]
        cls = type(value)
        names = _field_names(cls)
        if names is not None and _classes().get(cls.__name__) is cls:
            fields_held = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}
            return ["object", cls.__name__, fields_held]
        raise TypeError(
            f"`{where}` holds {cls.__name__}, which a model file cannot. Only hypergauss's own kernels and "
            "likelihoods, numbers, text and tables can be saved; use `pickle` where there is trust."
        )

    def _array_node(self, value: Any, where: str) -> Any:
        kind = "scalar" if isinstance(value, np.generic) else "array" if isinstance(value, np.ndarray) else "jax"
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            self.arrays.append(array)
            return [kind, len(self.arrays) - 1]
        if array.dtype.kind in "OU" and array.ndim <= 1:
            listed = [plain.item() if isinstance(plain, np.generic) else plain for plain in array.ravel().tolist()]
            return ["names", [self.encode(item, where) for item in listed], array.dtype.str, array.ndim]
        raise TypeError(f"`{where}` holds an array of {array.dtype}, which a model file cannot.")


class _Reader:
    """Turns JSON back into values. Nodes refer only to nodes before them."""

    def __init__(self, arrays: list[np.ndarray], nodes: Any) -> None:
        self.arrays = arrays
        self.made: list[Any] = []
        if not isinstance(nodes, list):
            raise TypeError("the list of objects is missing")
        for kind, *parts in nodes:
            self.made.append(self._make(kind, parts))

    def decode(self, value: Any) -> Any:
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

    def _make(self, kind: str, parts: list[Any]) -> Any:
        if kind in ("array", "jax", "scalar"):
            array = self.arrays[_position(parts[0], len(self.arrays))]
            return jnp.asarray(array) if kind == "jax" else array[()] if kind == "scalar" else freeze(array)
        if kind == "range":
            start, stop, step = map(int, parts)
            return pd.RangeIndex(start, stop, step)
        if kind == "names":
            items, dtype, dimensions = parts
            return _name_array(self.decode(items), dtype, dimensions)
        if kind == "object":
            name, held = parts
            return _rebuilt(_classes()[name], {key: self.decode(part) for key, part in held.items()})
        made = [self.decode(part) for part in parts]
        return _MAKERS[kind](*made)


def _position(number: Any, size: int) -> int:
    if type(number) is not int or not 0 <= number < size:
        raise IndexError(f"{number!r} refers to nothing")
    return number


def _name_array(items: list[Any], dtype: str, dimensions: int) -> np.ndarray:
    if np.dtype(dtype).kind == "U":
        return np.asarray(items, dtype=dtype).reshape([-1] if dimensions else [])
    array = np.fromiter(items, dtype=object, count=len(items))
    return array if dimensions else array.reshape([])


def _rebuilt(cls: type, held: dict[str, Any]) -> Any:
    """Return an object of a class with the given fields, all of them and no others."""
    names = _field_names(cls) or ()
    if set(held) != set(names):
        raise ValueError(f"{cls.__name__} has other fields")
    if issubclass(cls, tuple):
        return cls(**held)
    made = object.__new__(cls)
    for name in names:
        object.__setattr__(made, name, held[name])
    return made


def _conditioned_on(posterior: Posterior) -> tuple[Any, ...]:
    """Return prior, sites, solver and inducing variables, which give the posterior again."""
    if isinstance(posterior, IterativePosterior):
        return posterior.prior, posterior.sites, posterior.options, None
    if isinstance(posterior, SparsePosterior):
        projection: Any = posterior.prior.kernel
        return Prior(projection.kernel, posterior.prior.mean), posterior.sites, "auto", projection.inducing
    return posterior.prior, posterior.sites, posterior.solver, None


def _hypergraph(
    incidence: sp.csr_array, vertices: pd.Index, edges: pd.Index, weights: np.ndarray, attributes: dict[str, Any]
) -> Hypergraph:
    if incidence.shape != (len(vertices), len(edges)) or len(weights) != len(edges):
        raise ValueError("a hypergraph's parts do not fit together")
    return Hypergraph(incidence, vertices=vertices, edges=edges, weights=weights, attributes=Attributes(**attributes))


def _sparse(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: list[int]) -> sp.csr_array:
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(map(int, shape)), copy=True)
    matrix.check_format()
    return matrix


_MAKERS: dict[str, Callable[..., Any]] = {
    "frame": lambda index, names, columns: pd.DataFrame(dict(enumerate(columns)), index=index).set_axis(names, axis=1),
    "graph": Graph,
    "hypergraph": _hypergraph,
    "index": lambda values: pd.Index(values, tupleize_cols=False),
    "laplacian": LocalLaplacian,
    "posterior": condition,
    "series": lambda index, values: pd.Series(values, index=index),
    "sparse": _sparse,
}
