"""Arrays that cannot be changed any more, so that objects sharing them stay true."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def freeze(array: np.ndarray) -> np.ndarray:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


def freeze_sparse(matrix: sp.csr_array) -> sp.csr_array:
    """Return the matrix in canonical form (sorted, duplicates added, no stored zeros), made read-only."""
    matrix.sum_duplicates()
    if not matrix.data.all():  # elsewhere it writes even where there is nothing to do, and data may be memory-mapped
        matrix.eliminate_zeros()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        freeze(part)
    return matrix
