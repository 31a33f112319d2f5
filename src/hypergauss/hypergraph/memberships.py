"""Which hyperedges a vertex is in, and which vertices a hyperedge has, one at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class Memberships:
    """An incidence matrix, shape (N, M), to be looked at row by row and column by column."""

    __slots__ = ("_by_edge", "_incidence")

    def __init__(self, incidence: sp.csr_array) -> None:
        self._incidence = incidence
        self._by_edge: sp.csc_array | None = None

    def edges_at(self, row: int) -> np.ndarray:
        """Return the columns of a vertex's hyperedges."""
        return self._incidence.indices[self._incidence.indptr[row] : self._incidence.indptr[row + 1]]

    def members_at(self, column: int) -> np.ndarray:
        """Return the rows of a hyperedge's members; the matrix is turned once, for all of them."""
        if self._by_edge is None:
            self._by_edge = self._incidence.tocsc()
        return self._by_edge.indices[self._by_edge.indptr[column] : self._by_edge.indptr[column + 1]]

    def neighbors_at(self, row: int) -> np.ndarray:
        """Return the rows of all other vertices that share a hyperedge with one, in order."""
        beside = [self.members_at(column) for column in self.edges_at(row)]
        rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *beside]))
        return rows[rows != row]
