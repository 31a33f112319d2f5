"""From members, matrices and tables to the parts of a hypergraph: an incidence matrix and two sets of names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.exceptions import DataWarning
from hypergauss.hypergraph.names import ByName, Name, distinct_index, locate, make_index, plain, unique_index

#: A column of more different values than this is no category if most of them occur once.
_CATEGORIES = 20
#: How many times as many as the rows whole numbers may be for a table of all of them to pay.
_GAPS = 4


class Parts(NamedTuple):
    """What a hypergraph is assembled from, hyperedge weights aside."""

    incidence: sp.csr_array
    vertices: pd.Index
    edges: pd.Index


@dataclass(frozen=True)
class Numbered:
    """A column of names that is numbered already: different names, each with a row, and the number of each row's."""

    codes: np.ndarray
    names: Any

    def __len__(self) -> int:
        return len(self.codes)


def of_members(edges: ByName[Iterable[Name]] | Sequence[Iterable[Name]], vertices: Iterable[Name] | None) -> Parts:
    """Assemble from lists of members."""
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise TypeError(
            f"`edges` must be a list of hyperedges, each a list of members, or a dict of them by name. Got {edges!r}."
        )
    if isinstance(edges, pd.Series) and not _is_numbering(edges.index):
        edges = dict(zip(unique_index(edges.index, of="edges"), edges, strict=True))
    groups: list[Any] = list(edges.values()) if isinstance(edges, Mapping) else list(edges)
    for position, group in enumerate(groups):
        if isinstance(group, str | bytes) or not isinstance(group, Iterable):
            raise TypeError(
                f"A hyperedge must be a list of vertex names. Got {group!r} at position {position}: "
                f"pass [{group!r}] for a hyperedge of one vertex."
            )
    members = [list(group) for group in groups]
    strengths = None
    if any(isinstance(group, Mapping) for group in groups):
        pairs = zip(groups, members, strict=True)
        strengths = np.array(
            [
                r
                for group, names in pairs
                for r in (group.values() if isinstance(group, Mapping) else [1.0] * len(names))
            ]
        )
    return _of_pairs(
        list(chain.from_iterable(members)),
        np.repeat(np.arange(len(members)), [len(group) for group in members]),
        strengths,
        vertices=vertices,
        edges=make_index(list(edges) if isinstance(edges, Mapping) else None, len(members), of="edges"),
    )


def of_matrix(matrix: Any, vertices: Iterable[Name] | None, edges: Iterable[Name] | None) -> Parts:
    """Assemble from an incidence matrix, dense, sparse or a DataFrame."""
    if isinstance(matrix, pd.DataFrame):
        vertices = matrix.index if vertices is None else vertices
        edges = matrix.columns if edges is None else edges
        matrix = matrix.to_numpy()
    if matrix is None:
        raise TypeError("`matrix` must be an incidence matrix, vertices x hyperedges. Got None.")
    if not sp.issparse(matrix):
        matrix = _checks.finite_array("matrix", matrix, missing="Write 0 where a vertex is not in a hyperedge.")
        if matrix.ndim != 2:
            raise ValueError(f"`matrix` must have two dimensions, vertices x hyperedges. Got shape {matrix.shape}.")
    _checks.no_complex("matrix", matrix)
    # First the type, then the sums of entries that a sparse matrix lists twice: small integers would overflow.
    incidence = sp.csr_array(matrix.astype(np.float64), copy=True)
    _checks.non_negative_array("matrix", incidence.data)
    return Parts(
        incidence,
        make_index(vertices, incidence.shape[0], of="vertices"),
        make_index(edges, incidence.shape[1], of="edges"),
    )


def of_table(
    frame: pd.DataFrame | Mapping[str, Any],
    vertex: str,
    edge: str,
    weight: str | None,
    vertices: Iterable[Name] | None,
    edges: Iterable[Name] | None,
) -> Parts:
    """Assemble from one row an incidence."""
    if not isinstance(frame, pd.DataFrame | Mapping):
        raise TypeError(f"`frame` must be a DataFrame or a dict of columns. Got {type(frame).__name__}.")
    used = [vertex, edge] if weight is None else [vertex, edge, weight]
    _checks.different_columns(used)
    for column in used:
        if column not in frame:
            columns = [str(name) for name in frame.keys()]  # noqa: SIM118 (a DataFrame too)
            near = _checks.did_you_mean(str(column), columns)
            raise ValueError(f"`frame` must have a column {column!r}.{near} Its columns are {', '.join(columns)}.")
        if getattr(frame[column], "ndim", 1) != 1:
            raise ValueError(f"`frame` must have one column {column!r}. It has several. Rename or drop the others.")
        _checks.same_length(vertex, len(frame[vertex]), column, len(frame[column]))
    edge_values = _names_of(frame[edge])
    if edges is None:
        codes, edge_index = _codes(edge_values, column=edge, of="edges")
    else:
        edge_index = unique_index(edges, of="edges")
        codes = _located(
            edge_index,
            edge_values,
            argument=edge,
            owner=f"the {len(edge_index):,} given `edges`",
            cure="Add them to `edges`, or leave it out.",
        )
    return _of_pairs(
        _names_of(frame[vertex]),
        codes,
        None if weight is None else np.asarray(frame[weight]),
        vertices=vertices,
        edges=edge_index,
        column=vertex,
    )


def of_attributes(frame: pd.DataFrame) -> Parts:
    """Assemble one hyperedge for each value of each column, values in sorted order."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"`frame` must be a DataFrame with one row a vertex. Got {type(frame).__name__}.")
    blocks, names, lonely = [], [], {}
    for position, column in enumerate(frame.columns):
        try:
            codes, values = pd.factorize(frame.iloc[:, position], sort=True)
        except TypeError as error:
            raise TypeError(
                f"Column {column!r} must hold values that can be hashed, such as text and numbers. Got {error}. "
                "Of lists, make a row for each entry (`frame.explode`), and read it by `Hypergraph.from_table`."
            ) from error
        alone = int((np.bincount(codes[codes >= 0]) == 1).sum())
        if len(values) > _CATEGORIES and alone > len(values) / 2:
            lonely[column] = alone
        known = np.flatnonzero(codes >= 0)
        blocks.append(sp.csr_array((np.ones(len(known)), (known, codes[known])), shape=(len(frame), len(values))))
        names += [(column, plain(value)) for value in values]
    if lonely:
        _warn_of_lonely_values(lonely)
    incidence = sp.csr_array(sp.hstack(blocks)) if blocks else sp.csr_array((len(frame), 0))
    return Parts(incidence, unique_index(frame.index, of="vertices"), unique_index(names, of="edges"))


def _warn_of_lonely_values(lonely: ByName[int]) -> None:
    """Say which columns, of measurements or of names, tell vertices apart where hyperedges should join them."""
    listed = ", ".join(f"{column!r} ({count:,})" for column, count in lonely.items())
    warnings.warn(
        f"Most values of {listed} belong to one vertex alone, and so do their hyperedges, which relate nothing. Cut "
        "numbers into ranges (`pandas.cut`) or give them as `covariates`; make names the index, or leave them out.",
        DataWarning,
        stacklevel=4,  # who called `Hypergraph.from_attributes`
    )


def edge_weights(weights: Iterable[float] | ByName[float] | None, edges: pd.Index) -> np.ndarray:
    """Return w(e) for each hyperedge, checked to be positive; 1 if none are given."""
    if weights is None:
        return np.ones(len(edges))
    if isinstance(weights, pd.Series):
        weights = weights.to_dict()
    if isinstance(weights, Mapping):
        absent = [edge for edge in edges if edge not in weights]
        if absent:
            raise ValueError(
                f"`weights` must name every hyperedge. {absent[0]!r}{_checks.others(len(absent) - 1)} has none."
            )
        surplus = [name for name in weights if name not in edges]
        if surplus:
            raise ValueError(
                f"`weights` must name hyperedges. Got {surplus[0]!r}{_checks.others(len(surplus) - 1)}, which are none."
            )
        weights = [weights[edge] for edge in edges]
    if isinstance(weights, str | bytes) or not isinstance(weights, Iterable):
        raise TypeError(
            f"`weights` must be a list with a number for each hyperedge, or a dict of them by name. Got {weights!r}."
        )
    array = _checks.finite_array("weights", list(weights), missing="Give every hyperedge a weight.")
    _checks.same_length("edges", len(edges), "weights", len(array))
    bad = np.flatnonzero(array <= 0)
    if len(bad):
        raise ValueError(
            f"`weights` must be positive. Got {array[bad[0]]:g} for hyperedge {edges[bad[0]]!r}"
            f"{_checks.others(len(bad) - 1)}. Leave a hyperedge out instead of giving it weight 0."
        )
    return array


def _of_pairs(
    names: Any,
    edge_codes: np.ndarray,
    strengths: np.ndarray | None,
    *,
    vertices: Iterable[Name] | None,
    edges: pd.Index,
    column: str = "edges",
) -> Parts:
    """Assemble from one (vertex name, hyperedge index, strength) triple an incidence."""
    if vertices is None:
        values = _object_array(names) if isinstance(names, list) else names
        rows, vertex_index = _codes(values, column=column, of="vertices")
    else:
        vertex_index = unique_index(vertices, of="vertices")
        rows = _located(
            vertex_index,
            names,
            argument=column,
            owner=f"the {len(vertex_index):,} given `vertices`",
            cure="Add them to `vertices`, or leave it out.",
        )
    shape = (len(vertex_index), len(edges))
    if strengths is not None:
        data = _checks.non_negative_array("weight", strengths)
        return Parts(sp.coo_array((data, (rows, edge_codes)), shape=shape).tocsr(), vertex_index, edges)
    # One byte a membership moves faster than eight. True and true is true: a member named twice is one member.
    members = sp.coo_array((np.ones(len(rows), dtype=bool), (rows, edge_codes)), shape=shape).tocsr()
    incidence = sp.csr_array((np.ones(members.nnz), members.indices, members.indptr), shape=shape)
    return Parts(incidence, vertex_index, edges)


def _is_numbering(index: pd.Index) -> bool:
    """Tell whether an index says no more than the order of rows."""
    return isinstance(index, pd.RangeIndex) or index.equals(pd.RangeIndex(len(index)))


def _names_of(column: Any) -> Any:
    """Return a column of names; one that is numbered, or that pandas keeps as text or categories, as it is."""
    if isinstance(column, Numbered):
        return column
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype):
        return column.array
    return np.asarray(column)


def _located(index: pd.Index, values: Any, **words: str) -> np.ndarray:
    """Return the position of each name in an index."""
    if isinstance(values, Numbered):
        return locate(index, values.names, **words)[values.codes]
    return locate(index, values, **words)


def _codes(values: Any, *, column: str, of: str) -> tuple[np.ndarray, pd.Index]:
    """Number names by first appearance, refusing missing and unhashable ones."""
    try:
        codes, uniques = _factorised(values)
    except TypeError as error:
        raise TypeError(f"`{of}` must be hashable names such as text, numbers or tuples. Got {error}.") from error
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise ValueError(
            f"`{column}` must have a name in each row. Row {missing[0]}{_checks.others(len(missing) - 1)} has none. "
            "Drop those rows first."
        )
    return codes, distinct_index(uniques, of=of)


def _factorised(values: Any) -> tuple[np.ndarray, Any]:
    """Return the number of each name and the different names; categories without a row are left out."""
    if isinstance(values, Numbered):
        return values.codes, values.names
    if not isinstance(values, pd.Categorical):
        return _factorised_integers(values) if _is_dense(values) else pd.factorize(values)
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    if counts.all():
        return values.codes, values.categories
    return _factorised(values.remove_unused_categories())


def _is_dense(values: object) -> bool:
    """Tell whether names are numbers from 0 that leave few gaps, as numbers of rows do."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype.kind in "iu"
        and 0 < len(values) < np.iinfo(np.int32).max
        and values.min() >= 0
        and values.max() < _GAPS * len(values)
    )


def _factorised_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Do what `pandas.factorize` does by tables in place of hashing, in a third of the time."""
    first = np.full(int(values.max()) + 1, -1, dtype=np.int32)
    # Of several assignments to one place the last stays: backwards, that is the first appearance.
    first[values[::-1]] = np.arange(len(values) - 1, -1, -1, dtype=np.int32)
    names = np.flatnonzero(first >= 0)
    names = names[np.argsort(first[names])]
    number = np.empty(len(first), dtype=np.int32)
    number[names] = np.arange(len(names), dtype=np.int32)
    return number[values], names.astype(values.dtype)


def _object_array(values: list[Any]) -> np.ndarray:
    """Hold names as objects, so that tuples stay names and 1 and "1" stay different."""
    if all(type(value) is int for value in values):
        return np.asarray(values, dtype=np.int64)
    return np.fromiter(values, dtype=object, count=len(values))
