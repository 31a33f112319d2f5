"""Hypergraph: a frozen incidence matrix, hyperedge weights, and the names of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hypergauss import _checks
from hypergauss.frozen import freeze, freeze_sparse
from hypergauss.graph import Graph
from hypergauss.names import locate, make_index, unique_index


class Hypergraph:
    """A hypergraph (V, E): vertices V, hyperedges E that are subsets of V, and weights w(e) > 0.

    It is held as the N x M incidence matrix R, where R[v, e] = 1 if v is in e and 0 otherwise, or any number
    r(v, e) >= 0 that says how strongly v takes part in e. Isolated vertices, empty, singleton and repeated
    hyperedges are all legal. A hypergraph never changes after it is made.

    Build one with `from_edges`, `from_incidence` or `from_table`.

    Examples
    --------
    >>> H = Hypergraph.from_edges({"bill 1": ["ana", "luis"], "bill 2": ["luis", "rosa", "juan"]})
    >>> H
    Hypergraph(4 vertices, 2 hyperedges, 5 incidences)
    >>> H.vertex_degrees
    array([1., 2., 1., 1.])
    """

    __slots__ = ("__weakref__", "_edges", "_incidence", "_vertices", "_weights")

    def __init__(
        self, incidence: sp.csr_array, *, vertices: pd.Index, edges: pd.Index, weights: np.ndarray
    ) -> None:
        self._incidence = freeze_sparse(incidence)
        self._vertices = vertices
        self._edges = edges
        self._weights = freeze(weights)

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_edges(
        cls,
        edges: Mapping[Any, Iterable[Any]] | Sequence[Iterable[Any]],
        vertices: Iterable[Any] | None = None,
        weights: Iterable[float] | Mapping[Any, float] | None = None,
    ) -> Self:
        """Build from hyperedges given as lists of their members.

        Parameters
        ----------
        edges : dict of name to members, or sequence of members
            Members are vertex names; a name repeated inside one hyperedge counts once. Members given as a dict
            ``{vertex: number}`` make the incidence weighted.
        vertices : iterable of hashable, optional
            All vertices, in the wanted order; those in no hyperedge are isolated. If not given, the members in
            order of first appearance.
        weights : iterable of float or dict, optional
            w(e) > 0, in the order of ``edges`` or by hyperedge name; 1 if not given.
        """
        if isinstance(edges, Mapping):
            edge_names: Iterable[Any] | None = list(edges)
            members: list[Any] = list(edges.values())
        else:
            edge_names, members = None, list(edges)
        for position, group in enumerate(members):
            if isinstance(group, str | bytes) or not isinstance(group, Iterable):
                raise TypeError(
                    f"A hyperedge must be a list of vertex names. Got {group!r} at position {position}: "
                    f"pass [{group!r}] for a hyperedge of one vertex."
                )
        weighted = any(isinstance(group, Mapping) for group in members)
        strengths = (
            [group.values() if isinstance(group, Mapping) else [1.0] * len(group) for group in members]
            if weighted
            else None
        )
        members = [list(group) for group in members]
        edge_rows = np.repeat(np.arange(len(members)), [len(group) for group in members])
        return cls._from_pairs(
            list(chain.from_iterable(members)),
            edge_rows,
            None if strengths is None else np.array(list(chain.from_iterable(strengths))),
            vertices=vertices,
            edges=make_index(edge_names, len(members), of="edges"),
            weights=weights,
        )

    @classmethod
    def from_incidence(
        cls,
        matrix: Any,
        vertices: Iterable[Any] | None = None,
        edges: Iterable[Any] | None = None,
        weights: Iterable[float] | Mapping[Any, float] | None = None,
    ) -> Self:
        """Build from an N x M incidence matrix, dense or SciPy sparse, with entries >= 0.

        A pandas DataFrame gives its index and columns as names unless others are passed.
        """
        if isinstance(matrix, pd.DataFrame):
            vertices = matrix.index if vertices is None else vertices
            edges = matrix.columns if edges is None else edges
            matrix = matrix.to_numpy()
        if not sp.issparse(matrix):
            matrix = _checks.finite_array("matrix", matrix, missing="Write 0 where a vertex is not in a hyperedge.")
            if matrix.ndim != 2:
                raise ValueError(f"`matrix` must have two dimensions, vertices x hyperedges. Got shape {matrix.shape}.")
        incidence = sp.csr_array(matrix, dtype=np.float64, copy=True)
        _checks.non_negative_array("matrix", incidence.data)
        edge_index = make_index(edges, incidence.shape[1], of="edges")
        return cls(
            incidence,
            vertices=make_index(vertices, incidence.shape[0], of="vertices"),
            edges=edge_index,
            weights=_edge_weights(weights, edge_index),
        )

    @classmethod
    def from_table(
        cls,
        frame: pd.DataFrame | Mapping[str, Any],
        *,
        vertex: str,
        edge: str,
        weight: str | None = None,
        vertices: Iterable[Any] | None = None,
        edges: Iterable[Any] | None = None,
        weights: Iterable[float] | Mapping[Any, float] | None = None,
    ) -> Self:
        """Build from a long table with one row an incidence.

        Parameters
        ----------
        frame : DataFrame or mapping of column name to array
            The table. A (vertex, edge) pair that occurs twice counts once, or adds up if ``weight`` is given.
        vertex, edge : str
            The columns that name the vertex and the hyperedge of each row.
        weight : str, optional
            The column of incidence weights r(v, e) >= 0.
        vertices, edges : iterable of hashable, optional
            All vertices and hyperedges, for those that have no row, and to fix an order. Integer columns with
            ``range(N)`` here take the fast path: millions of rows a second.
        weights : iterable of float or dict, optional
            Hyperedge weights w(e) > 0, in the order of the hyperedges or by name.
        """
        columns = list(frame.keys())
        for column in [vertex, edge, weight]:
            if column is not None and column not in columns:
                raise ValueError(f"`frame` must have a column {column!r}. Got the columns {columns}.")
        lengths = {column: len(frame[column]) for column in (vertex, edge, *([weight] if weight else []))}
        for column, length in lengths.items():
            _checks.same_length(vertex, lengths[vertex], column, length)
        edge_values = pd.Series(np.asarray(frame[edge]), name=edge)
        if edges is None:
            codes, uniques = pd.factorize(edge_values)
            _no_missing(codes, column=edge)
            edge_index = unique_index(uniques, of="edges")
        else:
            edge_index = unique_index(edges, of="edges")
            codes = locate(
                edge_index,
                edge_values,
                argument=edge,
                owner=f"the {len(edge_index):,} given `edges`",
                cure="Add them to `edges`, or leave it out.",
            )
        return cls._from_pairs(
            np.asarray(frame[vertex]),
            codes,
            None if weight is None else np.asarray(frame[weight]),
            vertices=vertices,
            edges=edge_index,
            weights=weights,
        )

    @classmethod
    def _from_pairs(
        cls,
        members: Any,
        edge_rows: np.ndarray,
        strengths: np.ndarray | None,
        *,
        vertices: Iterable[Any] | None,
        edges: pd.Index,
        weights: Iterable[float] | Mapping[Any, float] | None,
    ) -> Self:
        """Build from one (vertex name, hyperedge index, strength) triple an incidence."""
        if vertices is None:
            values = members if isinstance(members, np.ndarray) else _object_array(members)
            rows, uniques = pd.factorize(values)
            _no_missing(rows, column="vertices")
            vertex_index = unique_index(uniques, of="vertices")
        else:
            vertex_index = unique_index(vertices, of="vertices")
            rows = locate(
                vertex_index,
                members,
                argument="edges",
                owner=f"the {len(vertex_index):,} given `vertices`",
                cure="Add them to `vertices`, or leave it out.",
            )
        data = np.ones(len(rows)) if strengths is None else _checks.non_negative_array("weight", strengths)
        shape = (len(vertex_index), len(edges))
        incidence = sp.coo_array((data, (rows, edge_rows)), shape=shape).tocsr()
        if strengths is None:
            incidence.data[:] = 1.0  # a member named twice is still one member
        return cls(incidence, vertices=vertex_index, edges=edges, weights=_edge_weights(weights, edges))

    # ---------------------------------------------------------------- what it holds

    @property
    def incidence(self) -> sp.csr_array:
        """The incidence matrix R, shape (N, M), read-only CSR."""
        return self._incidence

    @property
    def vertices(self) -> pd.Index:
        """The vertex names, in the order of the rows."""
        return self._vertices

    @property
    def edges(self) -> pd.Index:
        """The hyperedge names, in the order of the columns."""
        return self._edges

    @property
    def weights(self) -> np.ndarray:
        """The hyperedge weights w(e), shape (M,)."""
        return self._weights

    @property
    def num_vertices(self) -> int:
        """N, the number of vertices."""
        return len(self._vertices)

    @property
    def num_edges(self) -> int:
        """M, the number of hyperedges."""
        return len(self._edges)

    @property
    def num_incidences(self) -> int:
        """The number of (vertex, hyperedge) memberships."""
        return int(self._incidence.nnz)

    @property
    def vertex_degrees(self) -> np.ndarray:
        """The diagonal of D_v: sum over e of w(e) r(v, e), shape (N,)."""
        return self._incidence @ self._weights

    @property
    def edge_degrees(self) -> np.ndarray:
        """The diagonal of D_e: sum over v of r(v, e), the size of e when unweighted, shape (M,)."""
        return np.asarray(self._incidence.sum(axis=0)).ravel()

    @property
    def isolated_vertices(self) -> pd.Index:
        """The vertices that belong to no hyperedge."""
        return self._vertices[np.diff(self._incidence.indptr) == 0]

    def vertex_rows(self, vertices: Iterable[Any], *, argument: str = "vertices") -> np.ndarray:
        """Return the row of each named vertex; an unknown name is a `ValueError`."""
        return locate(
            self._vertices,
            vertices,
            argument=argument,
            owner=f"the hypergraph ({self.num_vertices:,} vertices)",
            cure="Add them with `Hypergraph.from_edges(..., vertices=...)`.",
        )

    def members(self, edge: Any) -> list[Any]:
        """Return the names of the vertices in one hyperedge."""
        column = locate(
            self._edges, [edge], argument="edge", owner=f"the {self.num_edges:,} hyperedges", cure="See `edges`."
        )[0]
        return list(self._vertices[np.sort(self._incidence[:, [column]].nonzero()[0])])

    # ---------------------------------------------------------------- what it gives

    def dual(self) -> Hypergraph:
        """Return the dual: hyperedges become vertices, and each vertex the hyperedge of those it was in.

        The incidence is diag(w) R', with unit weights, so that the normalised incidence of the dual is exactly
        the transpose of this one's: one decomposition serves both. Without weights the dual's dual is the original.
        """
        return Hypergraph(
            sp.csr_array((self._incidence * self._weights).T),
            vertices=self._edges,
            edges=self._vertices,
            weights=np.ones(self.num_vertices),
        )

    def clique_expansion(self, weighted: bool = True) -> Graph:
        """Return the graph that joins each pair of vertices sharing a hyperedge (paper, Appendix A.2).

        ``weighted``: the pair's weight is the number of hyperedges that it shares, sum over e of
        w(e) r(u, e) r(v, e) in general; otherwise every such weight is 1. There are no self-loops.
        """
        joint = sp.csr_array((self._incidence * self._weights) @ self._incidence.T)
        joint = sp.csr_array(joint - sp.diags_array(joint.diagonal()))
        joint.eliminate_zeros()
        if not weighted:
            joint.data[:] = 1.0
        return Graph(joint, vertices=self._vertices)

    def star_expansion(self) -> Graph:
        """Return the bipartite graph of vertices and hyperedges, named ("vertex", v) and ("edge", e)."""
        block = self._incidence * self._weights
        adjacency = sp.block_array([[None, block], [block.T, None]], format="csr")
        names = [("vertex", v) for v in self._vertices] + [("edge", e) for e in self._edges]
        return Graph(adjacency, vertices=names)

    def subhypergraph(
        self, vertices: Iterable[Any] | None = None, edges: Iterable[Any] | None = None
    ) -> Hypergraph:
        """Return the part on the given vertices and hyperedges, in the order given (all of a side if ``None``).

        A hyperedge keeps those of its members that stay; one that loses all is kept, empty.
        """
        incidence, vertex_index, edge_index, weights = self._incidence, self._vertices, self._edges, self._weights
        if vertices is not None:
            rows = self.vertex_rows(vertices)
            incidence, vertex_index = incidence[rows], unique_index(vertex_index[rows], of="vertices")
        if edges is not None:
            columns = locate(
                edge_index, edges, argument="edges", owner=f"the {self.num_edges:,} hyperedges", cure="See `edges`."
            )
            incidence, weights = incidence[:, columns], weights[columns]
            edge_index = unique_index(edge_index[columns], of="edges")
        return Hypergraph(sp.csr_array(incidence, copy=True), vertices=vertex_index, edges=edge_index, weights=weights.copy())

    def with_vertices(self, vertices: Iterable[Any]) -> Hypergraph:
        """Return the same hyperedges on the given vertices, in that order; new vertices are isolated.

        This aligns several relations, each known for some of the vertices, on one vertex set.
        """
        index = unique_index(vertices, of="vertices")
        rows = locate(
            index,
            self._vertices,
            argument="vertices",
            owner=f"the {len(index):,} given names",
            cure="Name every vertex of the hypergraph, or take a `subhypergraph` first.",
        )
        moved = sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(len(index), len(rows)))
        return Hypergraph(
            sp.csr_array(moved @ self._incidence), vertices=index, edges=self._edges, weights=self._weights.copy()
        )

    def connected_components(self) -> np.ndarray:
        """Return the number of the connected component of each vertex, shape (N,); 0, 1, ... by first vertex."""
        bipartite = sp.block_array([[None, self._incidence], [self._incidence.T, None]], format="csr")
        _, labels = connected_components(bipartite, directed=False)
        return pd.factorize(labels[: self.num_vertices])[0]

    def equals(self, other: Hypergraph) -> bool:
        """Tell whether names, incidence and weights are all the same, in the same order."""
        return (
            self._vertices.equals(other._vertices)
            and self._edges.equals(other._edges)
            and np.array_equal(self._weights, other._weights)
            and (self._incidence != other._incidence).nnz == 0
        )

    # ---------------------------------------------------------------- how it shows and travels

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # frozen: a copy could never differ, and cloning an estimator must not copy it

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self._incidence, self._vertices, self._edges, self._weights))

    def __repr__(self) -> str:
        return (
            f"Hypergraph({_plural(self.num_vertices, 'vertex', 'vertices')}, "
            f"{_plural(self.num_edges, 'hyperedge', 'hyperedges')}, "
            f"{_plural(self.num_incidences, 'incidence', 'incidences')})"
        )

    def _repr_html_(self) -> str:
        sizes = np.diff(sp.csc_array(self._incidence).indptr)
        rows = {
            "vertices": f"{self.num_vertices:,}",
            "hyperedges": f"{self.num_edges:,}",
            "incidences": f"{self.num_incidences:,}",
            "isolated vertices": f"{len(self.isolated_vertices):,}",
            "hyperedge sizes": f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}" if len(sizes) else "-",
            "first vertices": ", ".join(str(v) for v in self._vertices[:4]),
            "first hyperedges": ", ".join(str(e) for e in self._edges[:4]),
        }
        body = "".join(f"<tr><th style='text-align:left'>{k}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
        return f"<table><caption>Hypergraph</caption><tbody>{body}</tbody></table>"


def _restore(incidence: sp.csr_array, vertices: pd.Index, edges: pd.Index, weights: np.ndarray) -> Hypergraph:
    return Hypergraph(incidence, vertices=vertices, edges=edges, weights=weights)


def _plural(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _object_array(values: list[Any]) -> np.ndarray:
    """Hold names as objects, so that tuples stay names and 1 and "1" stay different."""
    if all(type(value) is int for value in values):
        return np.asarray(values, dtype=np.int64)
    return np.fromiter(values, dtype=object, count=len(values))


def _no_missing(codes: np.ndarray, *, column: str) -> None:
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise ValueError(
            f"`{column}` must have a name in each row. Row {missing[0]}{_checks.others(len(missing) - 1)} has none. "
            f"Drop those rows first."
        )


def _edge_weights(weights: Iterable[float] | Mapping[Any, float] | None, edges: pd.Index) -> np.ndarray:
    """Return w(e) for each hyperedge, checked to be positive."""
    if weights is None:
        return np.ones(len(edges))
    if isinstance(weights, Mapping):
        absent = [edge for edge in edges if edge not in weights]
        if absent:
            raise ValueError(
                f"`weights` must name every hyperedge. {absent[0]!r}{_checks.others(len(absent) - 1)} has none."
            )
        weights = [weights[edge] for edge in edges]
    array = _checks.finite_array("weights", list(weights), missing="Give every hyperedge a weight.")
    _checks.same_length("edges", len(edges), "weights", len(array))
    bad = np.flatnonzero(array <= 0)
    if len(bad):
        raise ValueError(
            f"`weights` must be positive. Got {array[bad[0]]:g} for hyperedge {edges[bad[0]]!r}"
            f"{_checks.others(len(bad) - 1)}. Leave a hyperedge out instead of giving it weight 0."
        )
    return array
