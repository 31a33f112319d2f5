"""Graph: a frozen weighted adjacency matrix with vertex names, the baseline beside a hypergraph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss._checks import Matrix
from hypergauss._views import html_table
from hypergauss.hypergraph.frozen import freeze_sparse
from hypergauss.hypergraph.names import Name, locate, make_index


class Graph:
    """An undirected graph (V, W): vertices and a symmetric matrix W >= 0 of edge weights.

    Hypergraph expansions return one, and every kernel and estimator takes it in place of a hypergraph.

    Parameters
    ----------
    adjacency : array or SciPy sparse matrix, shape (N, N)
        Symmetric, non-negative weights; a diagonal entry is a self-loop.
    vertices : iterable of hashable, optional
        Names of the vertices, 0 to N - 1 if not given.

    Examples
    --------
    >>> Graph([[0, 1], [1, 0]], vertices=["a", "b"])
    Graph(2 vertices, 1 edge)
    """

    __slots__ = ("__weakref__", "_adjacency", "_vertices")

    def __init__(self, adjacency: Matrix, vertices: Iterable[Name] | None = None) -> None:
        matrix = sp.csr_array(adjacency, dtype=np.float64, copy=True)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"`adjacency` must be square. Got shape {matrix.shape}.")
        _checks.non_negative_array("adjacency", matrix.data)
        if abs(matrix - matrix.T).sum() > 1e-12 * max(matrix.sum(), 1.0):
            raise ValueError("`adjacency` must be symmetric. Got a matrix that differs from its transpose.")
        self._adjacency = freeze_sparse(matrix)
        self._vertices = make_index(vertices, matrix.shape[0], of="vertices")

    @property
    def adjacency(self) -> sp.csr_array:
        """The weights W, shape (N, N)."""
        return self._adjacency

    @property
    def vertices(self) -> pd.Index:
        """The vertex names, in the order of the matrix."""
        return self._vertices

    @property
    def num_vertices(self) -> int:
        """N, the number of vertices."""
        return len(self._vertices)

    @property
    def num_edges(self) -> int:
        """The number of vertex pairs (and self-loops) of positive weight."""
        return int(sp.triu(self._adjacency).nnz)

    @property
    def vertex_degrees(self) -> np.ndarray:
        """Row sums of W, shape (N,)."""
        return np.asarray(self._adjacency.sum(axis=1)).ravel()

    def vertex_rows(self, vertices: Iterable[Name], *, argument: str = "vertices") -> np.ndarray:
        """Return the position of each named vertex."""
        return locate(
            self._vertices,
            vertices,
            argument=argument,
            owner=f"the graph ({self.num_vertices:,} vertices)",
            cure="Build the graph from a hypergraph that has them.",
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # frozen: a copy could never differ

    def __reduce__(self) -> tuple[Any, ...]:
        return (Graph, (self._adjacency, self._vertices))  # through the constructor, which freezes

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        weights = self._adjacency.data
        rows = {
            "vertices": f"{self.num_vertices:,}",
            "edges": f"{self.num_edges:,}",
            "weights": f"{weights.min():.4g} to {weights.max():.4g}" if len(weights) else "-",
            "isolated vertices": f"{int((self.vertex_degrees == 0).sum()):,}",
        }
        return html_table("Graph", rows)

    def __repr__(self) -> str:
        edges = self.num_edges
        return f"Graph({self.num_vertices:,} vertices, {edges:,} edge{'s' if edges != 1 else ''})"
