"""LocalLaplacian: products on this machine, in threads, in either precision, with vertices in a local order."""

from __future__ import annotations

from typing import Self

import numpy as np
import scipy.sparse as sp

from hypergauss.operators.base import LaplacianOperator
from hypergauss.operators.ordering import edge_order, order_of
from hypergauss.operators.threaded import ThreadedMatrix, narrow, scaled_sum


class LocalLaplacian(LaplacianOperator):
    """Delta = I - A A' for a normalised incidence A, or a graph's Laplacian, as products in threads.

    Make one with `of_incidence` or `of_matrix`.
    """

    def __init__(
        self,
        matrices: tuple[sp.csr_array, ...],
        upper: float,
        order: np.ndarray | None,
        edges: np.ndarray | None = None,
        null: np.ndarray | None = None,
        *,
        dtype: type[np.floating] = np.float64,
    ) -> None:
        self._sources = tuple(narrow(matrix) for matrix in matrices)
        self._upper, self._order, self._edges, self._dtype, self._null = upper, order, edges, dtype, null
        self._matrices = tuple(ThreadedMatrix(matrix, dtype) for matrix in self._sources)
        self._back = None if order is None else np.argsort(order)
        self._edges_back = None if edges is None else np.argsort(edges)
        # What the last product had between A' and A.
        self._spare: list[np.ndarray] = []
        self.num_products = 0

    @classmethod
    def of_incidence(cls, A: sp.csr_array, *, null: np.ndarray | None = None, reorder: bool = True) -> Self:
        """Return I - A A', with vertices and hyperedges in a local order where that pays.

        ``null``, shape (N,), is a function with A A' null = null, positive where A has entries: sqrt(degree).
        """
        plain = cls((A, sp.csr_array(A.T)), 1.0, None, None, null)
        order = order_of(plain, np.diff(A.indptr)) if reorder else None
        if order is None:
            return plain
        del plain  # copies of A, of which there would be as many again
        A = A[order]
        edges = edge_order(A)
        A = sp.csr_array(A[:, edges])
        return cls((A, sp.csr_array(A.T)), 1.0, order, edges, null)

    def grown(self, A: sp.csr_array, moved: np.ndarray, *, null: np.ndarray) -> Self:
        """Return I - A A' of a hypergraph that has grown, vertices in the order of this one, and new ones last.

        ``moved``, shape (N,), is where each vertex of this one stands in A.
        """
        if self._order is None:
            return type(self)((A, sp.csr_array(A.T)), 1.0, None, None, null)
        is_new = np.ones(A.shape[0], dtype=bool)
        is_new[moved] = False
        order = np.concatenate([moved[self._order], np.flatnonzero(is_new)])
        A = A[order]
        edges = edge_order(A)
        A = sp.csr_array(A[:, edges])
        return type(self)((A, sp.csr_array(A.T)), 1.0, order, edges, null)

    @classmethod
    def of_matrix(cls, matrix: sp.csr_array, upper: float) -> Self:
        """Return a symmetric matrix whose eigenvalues lie in [0, upper]."""
        return cls((matrix,), upper, None)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_spare": []}

    @property
    def parts(
        self,
    ) -> tuple[tuple[sp.csr_array, ...], float, np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        """What it is made of: matrices, the largest possible eigenvalue, orders of vertices and hyperedges, `null`."""
        return self._sources, self._upper, self._order, self._edges, self._null

    @property
    def null(self) -> np.ndarray | None:
        """A function with Delta null = 0, positive at every vertex with a hyperedge, shape (N,), if one is known."""
        return self._null

    @property
    def has_incidence(self) -> bool:
        """Whether it is a hypergraph's, with an `incidence`."""
        return len(self._sources) == 2

    @property
    def incidence(self) -> sp.csr_array:
        """A, its vertices and hyperedges in their own order."""
        A = self._sources[0]
        return A if self._back is None else sp.csr_array(A[self._back][:, self._edges_back])

    def edges_inside(self, edges: np.ndarray) -> np.ndarray:
        """Return where some hyperedges stand inside."""
        return edges if self._edges_back is None else self._edges_back[edges]

    def memberships(self) -> np.ndarray | None:  # noqa: D102
        if not self.has_incidence:
            return None
        counts = np.diff(self._sources[0].indptr).astype(np.float64)
        return counts if self._back is None else counts[self._back]

    @property
    def size(self) -> int:  # noqa: D102
        return self._matrices[0].shape[0]

    @property
    def upper(self) -> float:  # noqa: D102
        return self._upper

    @property
    def num_incidences(self) -> int:  # noqa: D102
        return self._matrices[0].nnz

    @property
    def dtype(self) -> np.dtype:
        """Of inside blocks."""
        return np.dtype(self._dtype)

    @property
    def precision(self) -> float:  # noqa: D102
        return float(np.finfo(self._dtype).eps)

    def in_single(self) -> Self:  # noqa: D102
        return type(self)(*self.parts, dtype=np.float32)

    def enter(self, X: np.ndarray) -> np.ndarray:  # noqa: D102
        ordered = X if self._order is None else X[self._order]
        return np.ascontiguousarray(ordered, dtype=self._dtype)

    def leave(self, X: np.ndarray) -> np.ndarray:  # noqa: D102
        return (X if self._back is None else X[self._back]).astype(np.float64, copy=False)

    def onto_edges(self, X: np.ndarray) -> np.ndarray:
        """Return A' X for an inside block: a product is this and `from_edges`."""
        return self._matrices[1].product(X)

    def from_edges(self, Z: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return A Z, an inside block, put into ``out`` if that is given."""
        self.num_products += Z.shape[1]
        return self._matrices[0].product(Z, out=out)

    def affine(  # noqa: D102
        self, X: np.ndarray, a: float, b: float, *addends: tuple[float, np.ndarray], out: np.ndarray | None = None
    ) -> np.ndarray:
        self.num_products += X.shape[1]
        if len(self._matrices) == 1:
            (matrix,) = self._matrices
            return matrix.product(X, scaled_sum(a, [(b, X), *addends]), out=out)
        A, transpose = self._matrices
        # A recurrence goes through here a hundred times: getting memory anew would take as long as the product.
        try:
            spare = self._spare.pop()
        except IndexError:
            spare = None
        inner = transpose.product(X, out=spare)
        image = A.product(inner, scaled_sum(-a, [(a + b, X), *addends]), out=out)
        self._spare[:] = [inner]
        return image


def local_order(A: sp.csr_array, seed: int = 0) -> np.ndarray | None:
    """Return a permutation of the rows of a normalised incidence, or None where it would not pay; see `order_of`."""
    return order_of(LocalLaplacian.of_incidence(A, reorder=False), np.diff(A.indptr), seed)
