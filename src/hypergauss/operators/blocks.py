"""Blocks of vectors, whichever operator they belong to: some columns after others, and numbers at some rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hypergauss.operators.base import Block, LaplacianOperator

#: Vectors that are multiplied at once where no more than sums, or some rows, are kept of them: an entry that is read
#: serves all of them, and their blocks still fit beside the data.
COLUMNS_AT_ONCE = 16


def column_slices(number: int, at_once: int = COLUMNS_AT_ONCE) -> Iterator[slice]:
    """Yield slices of at most ``at_once`` columns that make up all of ``number``, in order.

    Examples
    --------
    >>> list(column_slices(40))
    [slice(0, 16, None), slice(16, 32, None), slice(32, 40, None)]
    """
    for start in range(0, number, at_once):
        yield slice(start, min(start + at_once, number))


def scattered(operator: LaplacianOperator, rows: np.ndarray, values: np.ndarray) -> Block:
    """Return the operator's outside block, shape (N, m), that has values at some rows and zeros elsewhere.

    Parameters
    ----------
    operator : LaplacianOperator
        Of N vertices.
    rows : array of int, shape (n,)
        Different vertices.
    values : array, shape (n,) or (n, m)
        One column if it has one dimension.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from hypergauss.operators import LocalLaplacian
    >>> operator = LocalLaplacian.of_incidence(sp.csr_array((3, 2)))
    >>> scattered(operator, np.array([2, 0]), np.array([5.0, 7.0])).ravel()
    array([7., 0., 5.])
    """
    columns = np.asarray(values, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    whole = np.zeros((operator.size, columns.shape[1]))
    whole[rows] = columns
    return operator.vector(whole)
