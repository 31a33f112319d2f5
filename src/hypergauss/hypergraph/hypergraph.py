"""Hypergraph: a frozen incidence matrix, hyperedge weights, and the names of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss._checks import Matrix
from hypergauss.hypergraph import assembly, expansions, growth, views
from hypergauss.hypergraph.attributes import Attributes, copied
from hypergauss.hypergraph.frozen import freeze, freeze_sparse
from hypergauss.hypergraph.graph import Graph
from hypergauss.hypergraph.memberships import Memberships
from hypergauss.hypergraph.names import ByName, Name, locate, locate_vertices


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

    __slots__ = ("__weakref__", "_attributes", "_edges", "_incidence", "_memberships", "_vertices", "_weights")

    def __init__(
        self,
        incidence: sp.csr_array,
        *,
        vertices: pd.Index,
        edges: pd.Index,
        weights: np.ndarray,
        attributes: Attributes | None = None,
    ) -> None:
        self._incidence = freeze_sparse(incidence)
        self._vertices = vertices
        self._edges = edges
        self._weights = freeze(weights)
        self._memberships = Memberships(self._incidence)
        self._attributes = Attributes() if attributes is None else attributes

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_edges(
        cls,
        edges: ByName[Iterable[Name]] | Sequence[Iterable[Name]],
        vertices: Iterable[Name] | None = None,
        weights: Iterable[float] | ByName[float] | None = None,
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
        return cls._assembled(assembly.of_members(edges, vertices), weights)

    @classmethod
    def from_incidence(
        cls,
        matrix: Matrix,
        vertices: Iterable[Name] | None = None,
        edges: Iterable[Name] | None = None,
        weights: Iterable[float] | ByName[float] | None = None,
    ) -> Self:
        """Build from an N x M incidence matrix, dense or SciPy sparse, with entries >= 0.

        A pandas DataFrame gives its index and columns as names unless others are passed.
        """
        return cls._assembled(assembly.of_matrix(matrix, vertices, edges), weights)

    @classmethod
    def from_table(
        cls,
        frame: pd.DataFrame | Mapping[str, Any],
        *,
        vertex: str,
        edge: str,
        weight: str | None = None,
        vertices: Iterable[Name] | None = None,
        edges: Iterable[Name] | None = None,
        weights: Iterable[float] | ByName[float] | None = None,
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
        return cls._assembled(assembly.of_table(frame, vertex, edge, weight, vertices, edges), weights)

    @classmethod
    def from_attributes(cls, frame: pd.DataFrame) -> Self:
        """Build from a table with one row a vertex: each value of each column is a hyperedge, named (column, value).

        A missing value joins no hyperedge. A column of measurements or of names, most of whose many values belong to
        one vertex each, gives hyperedges that relate nothing: there is a `DataWarning`.

        Examples
        --------
        >>> animals = pd.DataFrame({"legs": [4, 2, 2], "milk": [True, False, None]}, index=["cat", "hen", "emu"])
        >>> list(Hypergraph.from_attributes(animals).edges)
        [('legs', 2), ('legs', 4), ('milk', False), ('milk', True)]
        """
        return cls._assembled(assembly.of_attributes(frame), None)

    @classmethod
    def _assembled(cls, parts: assembly.Parts, weights: Iterable[float] | ByName[float] | None) -> Self:
        return cls(
            parts.incidence,
            vertices=parts.vertices,
            edges=parts.edges,
            weights=assembly.edge_weights(weights, parts.edges),
        )

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
    def attributes(self) -> Attributes:
        """What else is noted of vertices, hyperedges and memberships; no computation looks at it."""
        return self._attributes

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
        # By its entries: SciPy's sum is a product with a vector of ones, and many times slower on small hypergraphs.
        counted = np.bincount(self._incidence.indices, self._incidence.data, minlength=self.num_edges)
        return counted.astype(np.float64, copy=False)  # without entries NumPy makes whole numbers of it

    @property
    def isolated_vertices(self) -> pd.Index:
        """The vertices that belong to no hyperedge."""
        return self._vertices[np.diff(self._incidence.indptr) == 0]

    def vertex_rows(self, vertices: Iterable[Name], *, argument: str = "vertices") -> np.ndarray:
        """Return the row of each named vertex; an unknown name is a `ValueError`."""
        return locate_vertices(self._vertices, vertices, argument=argument)

    # ---------------------------------------------------------------- as a container: vertices, as in a graph

    def __len__(self) -> int:
        return self.num_vertices

    def __bool__(self) -> bool:
        return True  # one without vertices is a hypergraph too: only `None` is none

    def __contains__(self, vertex: Name) -> bool:
        try:
            return vertex in self._vertices
        except TypeError:  # a list, say: unhashable, so no name
            return False

    def __iter__(self) -> Iterator[Any]:
        return iter(self._vertices.tolist())

    def members(self, edge: Name) -> list[Any]:
        """Return the names of the vertices in one hyperedge, in the order of the vertices."""
        return self._vertices[self._memberships.members_at(self._edge_columns([edge], "edge")[0])].tolist()

    def edges_of(self, vertex: Name) -> list[Any]:
        """Return the names of the hyperedges that a vertex is in, in the order of the hyperedges."""
        return self._edges[self._memberships.edges_at(self.vertex_rows([vertex], argument="vertex")[0])].tolist()

    def neighbors(self, vertex: Name) -> list[Any]:
        """Return the names of all other vertices that share a hyperedge with this one, in the order of the vertices.

        Examples
        --------
        >>> H = Hypergraph.from_edges({"bill 1": ["ana", "luis"], "bill 2": ["luis", "rosa", "juan"]})
        >>> H.neighbors("luis"), H.edges_of("luis"), "eva" in H, len(H)
        (['ana', 'rosa', 'juan'], ['bill 1', 'bill 2'], False, 4)
        """
        row = self.vertex_rows([vertex], argument="vertex")[0]
        return self._vertices[self._memberships.neighbors_at(row)].tolist()

    def to_frame(self, *, vertex: str = "vertex", edge: str = "edge", weight: str = "weight") -> pd.DataFrame:
        """Return a table with one row a membership, (vertex, edge, weight r(v, e)), which `from_table` takes back."""
        return views.membership_frame(self, vertex, edge, weight)

    def _edge_columns(self, edges: Iterable[Name], argument: str) -> np.ndarray:
        owner = f"the {self.num_edges:,} hyperedges"
        return locate(self._edges, edges, argument=argument, owner=owner, cure="See `edges`.")

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
            attributes=self._attributes.swapped(),
        )

    def clique_expansion(self, weighted: bool = True) -> Graph:
        """Return the graph that joins each pair of vertices sharing a hyperedge (paper, Appendix A.2).

        ``weighted``: the pair's weight is the number of hyperedges that it shares, sum over e of
        w(e) r(u, e) r(v, e) in general; otherwise every such weight is 1. There are no self-loops.
        """
        is_weighted = _checks.flag("weighted", weighted)
        return Graph(expansions.clique(self._incidence, self._weights, weighted=is_weighted), vertices=self._vertices)

    def star_expansion(self) -> Graph:
        """Return the bipartite graph of vertices and hyperedges, named ("vertex", v) and ("edge", e)."""
        names = [("vertex", v) for v in self._vertices] + [("edge", e) for e in self._edges]
        return Graph(expansions.star(self._incidence * self._weights), vertices=names)

    def subhypergraph(self, vertices: Iterable[Name] | None = None, edges: Iterable[Name] | None = None) -> Hypergraph:
        """Return the part on the given vertices and hyperedges, in the order given (all of a side if ``None``).

        A hyperedge keeps those of its members that stay; one that loses all is kept, empty.
        """
        rows = None if vertices is None else self.vertex_rows(vertices)
        columns = None if edges is None else self._edge_columns(edges, "edges")
        incidence, held, kept, weights = growth.restricted(self._parts, rows, columns)
        notes = self._attributes.restricted(held, kept)
        return Hypergraph(incidence, vertices=held, edges=kept, weights=weights, attributes=notes)

    def with_vertices(self, vertices: Iterable[Name]) -> Hypergraph:
        """Return the same hyperedges on the given vertices, in that order; new vertices are isolated.

        This aligns several relations, each known for some of the vertices, on one vertex set.
        """
        return self._grown(growth.on_vertices(self._parts, vertices))

    def with_edges(
        self,
        edges: ByName[growth.Members] | Sequence[growth.Members],
        weights: Iterable[float] | ByName[float] | None = None,
    ) -> Hypergraph:
        """Return the hypergraph with further hyperedges, as `from_edges` takes them; unknown members are new vertices.

        What was there keeps its place, names, weights and attributes; new vertices and hyperedges come last.

        Examples
        --------
        >>> H = Hypergraph.from_edges({"bill 1": ["ana", "luis"]})
        >>> H.with_edges({"bill 2": ["luis", "eva"]}).vertices.tolist()
        ['ana', 'luis', 'eva']
        """
        return self._grown(growth.with_edges(self._parts, edges, weights))

    def with_members(self, members: ByName[growth.Members]) -> Hypergraph:
        """Return the hypergraph with further members of its hyperedges, ``{hyperedge: members}``.

        Members that are not known yet are new vertices, and come last; a dict ``{vertex: number}`` says how strongly
        each takes part.

        Examples
        --------
        >>> H = Hypergraph.from_edges({"bill 1": ["ana", "luis"], "bill 2": ["luis"]})
        >>> H.with_members({"bill 1": ["eva"], "bill 2": ["eva", "ana"]})
        Hypergraph(3 vertices, 2 hyperedges, 6 incidences)
        """
        return self._grown(growth.with_members(self._parts, members))

    def without(self, vertices: Iterable[Name] = (), edges: Iterable[Name] = ()) -> Hypergraph:
        """Return the hypergraph without some vertices and hyperedges; one that loses all its members stays, empty."""
        return self.subhypergraph(
            growth.others(self._vertices, vertices, of="vertices"), growth.others(self._edges, edges, of="edges")
        )

    @property
    def _parts(self) -> growth.Grown:
        return growth.Grown(self._incidence, self._vertices, self._edges, self._weights)

    def _grown(self, parts: growth.Grown) -> Hypergraph:
        incidence, vertices, edges, weights = parts
        notes = self._attributes._replace(absent=growth.still_absent(self._attributes.absent, parts))
        return Hypergraph(incidence, vertices=vertices, edges=edges, weights=weights, attributes=notes)

    def with_attributes(self, **attributes: ByName[Any] | str | None) -> Hypergraph:
        """Return the same hypergraph with some `Attributes` replaced, by field: ``vertices``, ``edges``, ...

        They are copied: what was given may change later, and the hypergraph does not.
        """
        unknown = [name for name in attributes if name not in Attributes._fields]
        if unknown:
            raise TypeError(f"Attributes are {', '.join(Attributes._fields)}. Got {unknown[0]!r}.")
        replaced = self._attributes._replace(**{name: copied(part) for name, part in attributes.items()})
        replaced.check(self._vertices, self._edges)
        return Hypergraph(
            self._incidence, vertices=self._vertices, edges=self._edges, weights=self._weights, attributes=replaced
        )

    def connected_components(self) -> np.ndarray:
        """Return the number of the connected component of each vertex, shape (N,); 0, 1, ... by first vertex."""
        return expansions.components(self._incidence)

    def equals(self, other: Hypergraph) -> bool:
        """Tell whether names, incidence and weights are all the same, in the same order; attributes do not matter."""
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
        return (_restore, (self._incidence, self._vertices, self._edges, self._weights, self._attributes))

    def __repr__(self) -> str:
        return views.as_text(self)

    def _repr_html_(self) -> str:
        return views.as_html(self)


def _restore(
    incidence: sp.csr_array, vertices: pd.Index, edges: pd.Index, weights: np.ndarray, attributes: Attributes
) -> Hypergraph:
    return Hypergraph(incidence, vertices=vertices, edges=edges, weights=weights, attributes=attributes)
