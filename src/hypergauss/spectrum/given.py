"""A Laplacian of one's own: any symmetric positive semidefinite matrix or operator on the vertices, checked."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from hypergauss.operators import LaplacianOperator, column_slices
from hypergauss.spectrum.decomposition import leading_eigen, symmetric_operator
from hypergauss.spectrum.laplacians import GraphLaplacian, MatrixFreeLaplacian, SparseMatrix

#: A Laplacian that users pass; its shape is (N, N).
LaplacianMatrix: TypeAlias = np.ndarray | sp.sparray | sp.spmatrix | LinearOperator | LaplacianOperator
#: How far from symmetric a matrix may be, relative to its largest entry.
_ASYMMETRY = 1e-8


def given_laplacian(matrix: LaplacianMatrix, num_vertices: int) -> GraphLaplacian:
    """Return a matrix that was given as a Laplacian, or refuse one that is none.

    That it is positive semidefinite is seen when it is decomposed.

    Parameters
    ----------
    matrix : array, SciPy sparse matrix, LinearOperator or LaplacianOperator, shape (N, N)
        An operator is multiplied out, some columns after others.
    num_vertices : int
        N.
    """
    shape = (matrix.size,) * 2 if isinstance(matrix, LaplacianOperator) else np.shape(matrix)
    if shape != (num_vertices, num_vertices):
        raise ValueError(
            f"`laplacian` must have a row and a column for each of the {num_vertices:,} vertices. Got shape {shape}. "
            "Order both as `H.vertices`."
        )
    sparse = _as_sparse(matrix, num_vertices)
    if not np.isfinite(sparse.data).all():
        raise ValueError(
            f"`laplacian` must be finite. Got {int((~np.isfinite(sparse.data)).sum()):,} entries that are not. Look for"
            " vertices of degree 0 where it was divided by degrees."
        )
    largest = float(np.abs(sparse.data).max(initial=0.0))
    off = sp.coo_array(sparse - sparse.T)
    worst = int(np.abs(off.data).argmax()) if off.nnz else -1
    if worst >= 0 and abs(off.data[worst]) > _ASYMMETRY * largest:
        row, column = int(off.row[worst]), int(off.col[worst])
        raise ValueError(
            f"`laplacian` must be symmetric. Got entries that differ from those across the diagonal, as {row}, {column}"
            f" by {abs(off.data[worst]):.3g}. Symmetrise it: (L + L.T) / 2, or for a random walk "
            "`laplacian='chung'`."
        )
    symmetric = sp.csr_array((sparse + sparse.T) / 2)
    return GraphLaplacian(SparseMatrix.of(symmetric), _largest_eigenvalue(symmetric))


def _as_sparse(matrix: LaplacianMatrix, size: int) -> sp.csr_array:
    """Return any kind of matrix as a sparse one of floats, of its own."""
    if isinstance(matrix, LaplacianOperator):
        matrix = MatrixFreeLaplacian(matrix).operator()
    if isinstance(matrix, LinearOperator):
        columns = [
            sp.csc_array(np.asarray(matrix @ np.eye(size, part.stop - part.start, k=-part.start)))
            for part in column_slices(size)
        ]
        matrix = sp.hstack(columns)
    elif not sp.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"`laplacian` must hold real numbers. Got {matrix.dtype}. Pass its real part, if that is meant."
        )
    return sp.csr_array(matrix, dtype=np.float64, copy=True)


def _largest_eigenvalue(matrix: sp.csr_array) -> float:
    """Return a number just above the largest eigenvalue, 0 at least.

    No eigenvalue is further from 0 than the largest sum of a row (Gershgorin): with that added to the diagonal, none is
    negative.
    """
    if not matrix.nnz:
        return 0.0
    shift = float(np.abs(matrix).sum(axis=1).max())
    values, _, _ = leading_eigen(symmetric_operator(matrix.shape[0], lambda x: matrix @ x + shift * x), 1)
    return max(float(values[0]) - shift, 0.0) * (1 + 1e-12)
