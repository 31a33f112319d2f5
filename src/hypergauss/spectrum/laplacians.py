"""Laplacians: which matrix's eigenvalues a spectral kernel filters.

Three are here, others of a hypergraph in `factored`, one's own in `given`. All are symmetric and positive semidefinite,
and constant-like functions (those that do not change along hyperedges) sit at eigenvalue 0.

=================  =========================================  ====================================================
name               matrix                                     what it is
=================  =========================================  ====================================================
``zhou``           I - A A', A the normalised incidence       Zhou et al. (2006), the paper's; eigenvalues in [0, 1]
``normalised``     I - D^-1/2 W D^-1/2                        of a graph, W its adjacency; eigenvalues in [0, 2]
``unnormalised``   D - W                                      of a graph; eigenvalues in [0, 2 max degree]
=================  =========================================  ====================================================

For a graph seen as a hypergraph of pairs, ``zhou`` is exactly half of ``normalised``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.frozen import freeze
from hypergauss.operators import LaplacianOperator, LocalLaplacian


class SparseMatrix(NamedTuple):
    """A CSR matrix that cannot be changed: three frozen arrays and a shape."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: sp.csr_array) -> SparseMatrix:
        """Take over a SciPy matrix, without copying: columns in order within each row, and frozen."""
        matrix.sort_indices()
        rows, columns = matrix.shape
        return cls(freeze(matrix.data), freeze(matrix.indices), freeze(matrix.indptr), (int(rows), int(columns)))

    def scipy(self) -> sp.csr_array:
        """Return the SciPy matrix on the same arrays."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)


class Laplacian(ABC):
    """A symmetric positive semidefinite N x N matrix, as a sparse operator or dense."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> int:
        """N, the number of rows."""

    @property
    @abstractmethod
    def upper(self) -> float:
        """A number that no eigenvalue exceeds."""

    @abstractmethod
    def operator(self) -> LinearOperator:
        """Return the matrix as a SciPy operator whose product costs one pass over the sparse data."""

    @abstractmethod
    def dense(self) -> np.ndarray:
        """Return the matrix in full, shape (N, N)."""

    @abstractmethod
    def multiplier(self) -> LaplacianOperator:
        """Return the matrix as products with blocks of vectors, on all cores."""

    def memberships(self) -> np.ndarray:
        """Return how many hyperedges (of a graph, edges) each vertex is in, shape (N,); 1 where that is not known."""
        return np.ones(self.size)


@dataclass(frozen=True, eq=False)
class ZhouLaplacian(Laplacian):
    """Delta = I - A A' (paper, equation 4), A the normalised incidence."""

    name: ClassVar[str] = "zhou"
    incidence: SparseMatrix
    #: sqrt(degree) of each vertex, up to a factor: what the Laplacian takes to 0.
    null: np.ndarray | None = None

    @property
    def size(self) -> int:  # noqa: D102
        return self.incidence.shape[0]

    @property
    def upper(self) -> float:  # noqa: D102
        return 1.0

    def operator(self) -> LinearOperator:  # noqa: D102
        A = self.incidence.scipy()

        def product(x: np.ndarray) -> np.ndarray:
            return x - A @ (A.T @ x)

        return LinearOperator((self.size, self.size), matvec=product, rmatvec=product, matmat=product, dtype=float)

    def dense(self) -> np.ndarray:  # noqa: D102
        A = self.incidence.scipy()
        return np.eye(self.size) - (A @ A.T).toarray()

    def multiplier(self) -> LaplacianOperator:  # noqa: D102
        return LocalLaplacian.of_incidence(self.incidence.scipy(), null=self.null)

    def memberships(self) -> np.ndarray:  # noqa: D102
        return np.diff(self.incidence.indptr).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GraphLaplacian(Laplacian):
    """A graph's Laplacian, or one that was given: stored as the sparse matrix itself."""

    name: ClassVar[str] = "graph"
    matrix: SparseMatrix
    bound: float

    @property
    def size(self) -> int:  # noqa: D102
        return self.matrix.shape[0]

    @property
    def upper(self) -> float:  # noqa: D102
        return self.bound

    def operator(self) -> LinearOperator:  # noqa: D102
        return aslinearoperator(self.matrix.scipy())

    def dense(self) -> np.ndarray:  # noqa: D102
        return self.matrix.scipy().toarray()

    def multiplier(self) -> LaplacianOperator:  # noqa: D102
        return LocalLaplacian.of_matrix(self.matrix.scipy(), self.bound)

    def memberships(self) -> np.ndarray:  # noqa: D102
        matrix = self.matrix.scipy()
        own = matrix.diagonal() != 0
        return np.diff(matrix.indptr).astype(np.float64) - own


@dataclass(frozen=True, eq=False)
class MatrixFreeLaplacian(Laplacian):
    """A Laplacian known by its products alone."""

    name: ClassVar[str] = "matrix-free"
    products: LaplacianOperator
    #: Memberships of each vertex, where products do not tell them.
    counts: np.ndarray | None = None

    @property
    def size(self) -> int:  # noqa: D102
        return self.products.size

    @property
    def upper(self) -> float:  # noqa: D102
        return self.products.upper

    def operator(self) -> LinearOperator:  # noqa: D102
        def product(x: np.ndarray) -> np.ndarray:
            block = self.products.vector(x.reshape(self.size, -1))
            return self.products.array(self.products @ block).reshape(x.shape)

        return LinearOperator((self.size, self.size), matvec=product, rmatvec=product, matmat=product, dtype=float)

    def dense(self) -> np.ndarray:  # noqa: D102
        return np.asarray(self.operator() @ np.eye(self.size))

    def multiplier(self) -> LaplacianOperator:  # noqa: D102
        return self.products

    def memberships(self) -> np.ndarray:  # noqa: D102
        counts = self.products.memberships() if self.counts is None else self.counts
        return super().memberships() if counts is None else counts


def normalised_incidence(hypergraph: Hypergraph, size_exponent: float = 0.0) -> sp.csr_array:
    """Return A = D_v^-1/2 R diag(w)^1/2 D_e^-1/2, where ``w(e) |e|^a`` stands for w(e).

    A vertex or hyperedge of degree 0 gives a row or column of zeros.

    Parameters
    ----------
    hypergraph : Hypergraph
        With incidence R, weights w, and |e| = D_e(e).
    size_exponent : float
        a. At 0 the weights are as given, and I - A A' is Zhou's Laplacian. At 1 the |e| cancels D_e, and A A' is
        the normalised adjacency of the weighted clique graph with self-loops: small and large hyperedges then
        speak with a voice for each of their members, instead of one voice shared among them.

    Returns
    -------
    SciPy CSR array, shape (N, M)
        Its singular values lie in [0, 1].
    """
    return normalised_rows(hypergraph, hypergraph.incidence, size_exponent)


def normalised_rows(hypergraph: Hypergraph, rows: sp.csr_array, size_exponent: float = 0.0) -> sp.csr_array:
    """Return what `normalised_incidence` makes of rows r(v, .), own or new, at the hypergraph's hyperedge sizes."""
    weights = relative_weights(hypergraph, size_exponent)
    left, right = inverse_root(rows @ weights), np.sqrt(weights) * inverse_root(hypergraph.edge_degrees)
    # By its entries: products with diagonal matrices would take longer than the decomposition of a small one.
    entries = np.repeat(left, np.diff(rows.indptr)) * rows.data * right[rows.indices]
    return sp.csr_array((entries, rows.indices, rows.indptr), shape=rows.shape)


def relative_weights(hypergraph: Hypergraph, size_exponent: float) -> np.ndarray:
    """Return w(e) |e|^a relative to the largest |e|^a, shape (M,).

    A common factor of all weights cancels in whatever is normalised, and so |e|^a cannot overflow.
    """
    edge_degrees = hypergraph.edge_degrees
    log_factors = size_exponent * np.log(edge_degrees, out=np.zeros_like(edge_degrees), where=edge_degrees > 0)
    return hypergraph.weights * np.exp(log_factors - log_factors.max(initial=0.0 if not len(log_factors) else -np.inf))


def zhou_laplacian(hypergraph: Hypergraph, size_exponent: float = 0.0) -> ZhouLaplacian:
    """Return Zhou's Laplacian of a hypergraph whose weights are multiplied by |e|^size_exponent."""
    null = np.sqrt(hypergraph.incidence @ relative_weights(hypergraph, size_exponent))
    return ZhouLaplacian(SparseMatrix.of(normalised_incidence(hypergraph, size_exponent)), freeze(null))


def graph_laplacian(graph: Graph, *, normalised: bool = True) -> GraphLaplacian:
    """Return I - D^-1/2 W D^-1/2, or D - W, of a graph. An isolated vertex has eigenvalue 1, or 0."""
    degrees = graph.vertex_degrees
    if normalised:
        scale = sp.diags_array(inverse_root(degrees))
        matrix = sp.csr_array(sp.eye_array(graph.num_vertices) - scale @ graph.adjacency @ scale)
        return GraphLaplacian(SparseMatrix.of(matrix), 2.0)
    matrix = sp.csr_array(sp.diags_array(degrees) - graph.adjacency)
    # Gershgorin: each eigenvalue lies within a row's off-diagonal sum of its diagonal entry.
    return GraphLaplacian(SparseMatrix.of(matrix), 2.0 * float(degrees.max(initial=0.0)))


def inverse_root(degrees: np.ndarray) -> np.ndarray:
    """Return degrees^-1/2, and 0 for degree 0."""
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
