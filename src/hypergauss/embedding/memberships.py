"""Memberships: the incidence matrix as data, column by column, with entries that may be unknown.

Columns are independent given the coordinates, each normal with one common covariance C. Those known at the same
vertices need C's block there, one factorisation for all of them, and nothing but their Gram matrix: so they are grouped
by pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.sparse as sp

from hypergauss.estimators.grown_relations import Cures, newcomers_rows
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import locate

_CURES = Cures("See `embedding_` for its place.", "Leave out hyperedges that the model has not seen.")


class Pattern(NamedTuple):
    """A pattern of known entries, and the Gram root of the columns that have it: root root' = Y Y'.

    Attributes
    ----------
    known : array of int, shape (n,)
        The vertices where the pattern's columns are known.
    root : array, shape (n, k)
        At these vertices; k <= n.
    columns : int
        How many columns have the pattern.
    """

    known: np.ndarray
    root: np.ndarray
    columns: int


class Memberships(NamedTuple):
    """The columns of the incidence matrix that say something, and what is known of them.

    Attributes
    ----------
    values : array, shape (N, m)
        Incidence of the hyperedges that have a known member; 0 where unknown.
    edges : array, shape (m,)
        Which hyperedges those are. One without members is left out: it says nothing of how vertices relate.
    patterns : bool array, shape (P, N)
        The different patterns of known entries.
    pattern_of : array, shape (m,)
        Which pattern each column has.
    """

    values: np.ndarray
    edges: np.ndarray
    patterns: np.ndarray
    pattern_of: np.ndarray

    @classmethod
    def of(cls, H: Hypergraph, missing: np.ndarray | None) -> Self:
        """Gather the columns of a hypergraph, some entries of which may be missing."""
        edges = np.flatnonzero(H.edge_degrees > 0)
        values = H.incidence[:, edges].toarray()
        if missing is None:
            return cls(values, edges, np.ones((1, H.num_vertices), dtype=bool), np.zeros(len(edges), dtype=int))
        known = ~missing[:, edges]
        values = np.where(known, values, 0.0)
        telling = values.any(axis=0)
        patterns, pattern_of = np.unique(known[:, telling].T, axis=0, return_inverse=True)
        return cls(values[:, telling], edges[telling], patterns, pattern_of.ravel())

    @property
    def num_known(self) -> int:
        """The number of known entries."""
        return int(self.patterns.sum(axis=1)[self.pattern_of].sum())

    def by_pattern(self) -> tuple[Pattern, ...]:
        """Return the patterns with the Gram roots of their columns."""
        parts = ((np.flatnonzero(known), self.pattern_of == p) for p, known in enumerate(self.patterns))
        return tuple(
            Pattern(known, _gram_root(self.values[np.ix_(known, columns)]), int(columns.sum()))
            for known, columns in parts
        )


def _gram_root(Y: np.ndarray) -> np.ndarray:
    """Return a matrix with no more columns than rows and the same Y Y'."""
    return Y if Y.shape[1] <= Y.shape[0] else scipy.linalg.qr(Y.T, mode="r")[0][: Y.shape[0]].T


def check_missing(H: Hypergraph, missing: Any) -> np.ndarray | None:
    """Return which incidence entries are unknown, shape (N, M), or None if all are known."""
    if missing is None:
        return None
    if isinstance(missing, pd.DataFrame):
        missing = missing.reindex(index=H.vertices, columns=H.edges, fill_value=False)
    array = missing.toarray() if sp.issparse(missing) else np.asarray(missing)
    if array.shape != H.incidence.shape or array.dtype.kind != "b":
        raise ValueError(
            f"`missing` must be a boolean array with a row a vertex and a column a hyperedge, {H.incidence.shape}. Got "
            f"{array.dtype}, shape {array.shape}. Mark unknown memberships with True."
        )
    return array if array.any() else None


def expected(H: Hypergraph, missing: np.ndarray | None) -> Hypergraph:
    """Return the hypergraph with each unknown membership at its hyperedge's mean over the known ones."""
    if missing is None:
        return H
    known = np.where(missing, 0.0, H.incidence.toarray())
    shares = known.sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return Hypergraph.from_incidence(np.where(missing, shares, known), H.vertices, H.edges, weights=H.weights)


def membership_rows(H: Hypergraph, memberships: Any) -> np.ndarray:
    """Return memberships of new vertices in the order of the hypergraph's hyperedges, NaN where unknown."""
    if isinstance(memberships, Mapping):
        return newcomers_rows(H, memberships, _CURES).toarray()
    if isinstance(memberships, Hypergraph):
        edges = pd.Index(memberships.edges, tupleize_cols=False)
        memberships = pd.DataFrame(memberships.incidence.toarray(), columns=edges)
    if isinstance(memberships, pd.DataFrame):
        columns = locate(
            H.edges,
            list(memberships.columns),
            argument="memberships",
            owner=f"the {H.num_edges:,} hyperedges fitted",
            cure=_CURES.edge,
        )
        rows = np.zeros((len(memberships), H.num_edges))
        rows[:, columns] = memberships.to_numpy(dtype=float)
    else:
        rows = np.array(memberships.toarray() if sp.issparse(memberships) else memberships, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != H.num_edges or len(rows) == 0:
        raise ValueError(
            f"`memberships` must have a row a new vertex and a column for each of the {H.num_edges:,} hyperedges. "
            f"Got shape {rows.shape}."
        )
    if (rows < 0).any() or np.isinf(rows).any():
        raise ValueError("`memberships` must be finite and not negative. Write NaN where one is unknown.")
    return rows
