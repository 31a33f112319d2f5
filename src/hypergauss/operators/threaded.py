"""A sparse matrix whose products use all cores: blocks of rows, each multiplied by SciPy in a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

#: Entries of a block of rows, at most and at least: its results stay in a core's cache while they are worked on.
_BLOCK_ENTRIES, _FEWEST_ENTRIES = 250_000, 50_000
#: So many blocks are not worth a pass that puts them together.
_FEW_BLOCKS = 4
#: Products with fewer multiplications than this are done before two threads have woken up and met again.
_WORTH_A_THREAD = 750_000

#: Works on rows start..stop of a product in place.
Finish = Callable[[np.ndarray, slice], None]


class ThreadedMatrix:
    """A SciPy CSR matrix cut into blocks of rows with about equally many entries.

    SciPy's products release the interpreter's lock, so blocks in threads run side by side. What follows a product
    elementwise is done on each block while it is in the cache.

    Parameters
    ----------
    matrix : SciPy sparse array
        Its entries are kept in the given precision, copied only if they have another; indices in 32 bits where they
        fit.
    dtype : float type
        Precision.
    """

    def __init__(self, matrix: sp.csr_array, dtype: type[np.floating] = np.float64) -> None:
        csr = narrow(sp.csr_array(matrix, dtype=dtype))
        self.shape: tuple[int, int] = (int(csr.shape[0]), int(csr.shape[1]))
        self.nnz = int(csr.nnz)
        self.dtype = np.dtype(dtype)
        self._whole = csr
        share = max(-(-self.nnz // num_cores()), _FEWEST_ENTRIES)  # so that no core is without a block
        cuts = np.searchsorted(csr.indptr, np.arange(0, self.nnz, min(_BLOCK_ENTRIES, share))[1:])
        edges = np.unique(np.concatenate([[0], cuts, [self.shape[0]]]))
        self._blocks = [
            (slice(int(start), int(stop)), _rows(csr, int(start), int(stop))) for start, stop in pairwise(edges)
        ]

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        """Return the product with a block of vectors, shape (columns, m)."""
        return self.product(X)

    def astype(self, dtype: type[np.floating]) -> Self:
        """Return the matrix in another precision."""
        other = copy(self)
        other.dtype = np.dtype(dtype)
        other._whole = self._whole.astype(dtype)
        other._blocks = [(rows, _rows(other._whole, rows.start, rows.stop)) for rows, _ in self._blocks]
        return other

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_blocks": [rows for rows, _ in self._blocks]}  # which share the memory of the whole

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._blocks = [(rows, _rows(self._whole, rows.start, rows.stop)) for rows in state["_blocks"]]

    def row_lengths(self) -> np.ndarray:
        """Return the number of entries of each row."""
        return np.concatenate([np.diff(block.indptr) for _, block in self._blocks])

    def __sizeof__(self) -> int:
        """Count its arrays: what schedules work by the bytes that would have to move asks here."""
        arrays = (array for _, block in self._blocks for array in (block.data, block.indices, block.indptr))
        return sum(int(array.nbytes) for array in arrays)

    def product(
        self, X: np.ndarray, finish: Finish | None = None, *, cores: int | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the product with a block of vectors, each block of rows finished in place, on all cores or some.

        It is put into ``out``, if that has the right shape and precision; the rows of it that ``finish`` reads are
        those that it is about to write.
        """
        shape = (self.shape[0], X.shape[1])
        in_threads = len(self._blocks) > 1 and cores != 1 and self.nnz * X.shape[1] >= _WORTH_A_THREAD
        fits = out is not None and out.shape == shape and out.dtype == self.dtype
        if not (in_threads or fits) and self.nnz <= _BLOCK_ENTRIES * _FEW_BLOCKS:
            return _finished(self._whole, X, finish, slice(0, self.shape[0]))
        if out is None or not fits:
            out = np.empty(shape, dtype=self.dtype)

        def work(block: tuple[slice, sp.csr_array]) -> None:
            rows, matrix = block
            out[rows] = _finished(matrix, X, finish, rows)

        if in_threads:
            list(threads(cores or num_cores()).map(work, self._blocks))
        else:
            for block in self._blocks:
                work(block)
        return out


def _finished(matrix: sp.csr_array, X: np.ndarray, finish: Finish | None, rows: slice) -> np.ndarray:
    """Return some rows of a product."""
    # SciPy's kernel for one vector is quicker than its kernel for a block of one.
    part = (matrix @ X[:, 0])[:, None] if X.shape[1] == 1 else matrix @ X
    if finish is not None:
        finish(part, rows)
    return part


def scaled_sum(scale: float, addends: Sequence[tuple[float, np.ndarray]]) -> Finish:
    """Return what makes of a part P of a product scale P + c Y + ..., with addends (c, Y)."""

    def finish(part: np.ndarray, rows: slice) -> None:
        if scale != 1.0:
            part *= scale
        for factor, block in addends:
            if factor == 1.0:
                part += block[rows]
            elif factor == -1.0:
                part -= block[rows]
            elif factor:
                part += part.dtype.type(factor) * block[rows]

    return finish


@cache
def threads(number: int) -> ThreadPoolExecutor:
    """Return the pool of so many threads that all products share."""
    return ThreadPoolExecutor(number, thread_name_prefix="hypergauss")


if hasattr(os, "register_at_fork"):
    # A forked process inherits the pool without its threads, and would wait for them for ever.
    os.register_at_fork(after_in_child=threads.cache_clear)


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def narrow(csr: sp.csr_array) -> sp.csr_array:
    """Return a matrix with 32-bit indices where they fit: a quarter less to read. The entries are the same memory."""
    index = np.int32 if max(csr.shape[1], csr.nnz) < 2**31 else np.int64
    indices, indptr = (array.astype(index, copy=False) for array in (csr.indices, csr.indptr))
    return sp.csr_array((csr.data, indices, indptr), shape=csr.shape)


def _rows(csr: sp.csr_array, start: int, stop: int) -> sp.csr_array:
    """Return some rows, in the same memory."""
    first, last = int(csr.indptr[start]), int(csr.indptr[stop])
    indptr = csr.indptr[start : stop + 1] - csr.indptr[start]
    return sp.csr_array((csr.data[first:last], csr.indices[first:last], indptr), shape=(stop - start, csr.shape[1]))
