"""JaxLaplacian: products on whatever JAX computes with: a GPU, a TPU, or this machine's cores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.operators.base import Block, LaplacianOperator, Promise

if TYPE_CHECKING:
    from jax import Array


class JaxLaplacian(LaplacianOperator):
    """Delta = I - A A' for a normalised incidence A, or a graph's Laplacian, on the default JAX device.

    Make one with `of_incidence` or `of_matrix`, and a spectrum of it with ``Spectrum.matrix_free``. Blocks outside are
    NumPy's: they cross to the device and back once for each function of Delta, not for each of its products.

    JAX is an optional dependency: ``pip install hypergauss[jax]``. The first operator of a process turns on its double
    precision.

    Examples
    --------
    >>> from hypergauss import Hypergraph, Spectrum
    >>> from hypergauss.spectrum import normalised_incidence
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> Spectrum.matrix_free(JaxLaplacian.of_incidence(normalised_incidence(H)))
    Spectrum(3 vertices, matrix-free, size_exponent=0)
    """

    def __init__(self, matrices: tuple[sp.csr_array, ...], upper: float, dtype: type[np.floating] = np.float64) -> None:
        self._sources, self._upper, self._dtype = matrices, upper, dtype
        self._triplets = tuple(Triplets.of(matrix, dtype) for matrix in matrices)
        self.num_products = 0

    @classmethod
    def of_incidence(cls, A: sp.csr_array) -> Self:
        """Return I - A A'."""
        return cls((sp.csr_array(A), sp.csr_array(A.T)), 1.0)

    @classmethod
    def of_matrix(cls, matrix: sp.csr_array, upper: float) -> Self:
        """Return a symmetric matrix whose eigenvalues lie in [0, upper]."""
        return cls((sp.csr_array(matrix),), upper)

    def memberships(self) -> np.ndarray | None:  # noqa: D102
        return np.diff(self._sources[0].indptr).astype(np.float64) if len(self._sources) == 2 else None

    @property
    def size(self) -> int:  # noqa: D102
        return int(self._sources[0].shape[0])

    @property
    def upper(self) -> float:  # noqa: D102
        return self._upper

    @property
    def num_incidences(self) -> int:  # noqa: D102
        return int(self._sources[0].nnz)

    @property
    def precision(self) -> float:  # noqa: D102
        return float(np.finfo(self._dtype).eps)

    def in_single(self) -> Self:  # noqa: D102
        return type(self)(self._sources, self._upper, np.float32)

    def enter(self, X: Block) -> Block:  # noqa: D102
        return _programs().jax.numpy.asarray(X, dtype=self._dtype)

    def leave(self, X: Block) -> Block:  # noqa: D102
        return np.array(X, dtype=np.float64)

    def affine(  # noqa: D102
        self,
        X: Block,
        a: float,
        b: float,
        *addends: tuple[float, Block],
        out: Block | None = None,  # noqa: ARG002
    ) -> Block:
        self.num_products += X.shape[1]
        numbers = np.array([a, b, *(factor for factor, _ in addends)], dtype=self._dtype)
        blocks = tuple(block for _, block in addends)
        num_rows = tuple(int(matrix.shape[0]) for matrix in self._sources)
        return _programs().affine(self._triplets, num_rows, X, numbers, blocks)

    def dot(self, X: Block, Y: Block) -> Promise:  # noqa: D102
        return super().dot(X, Y) if isinstance(X, np.ndarray) else _programs().dot(X, Y)


class Triplets(NamedTuple):
    """A sparse matrix as entries in the order of its rows: the form whose product is a gather and a sorted sum."""

    rows: Array
    columns: Array
    entries: Array

    @classmethod
    def of(cls, matrix: sp.csr_array, dtype: type[np.floating]) -> Triplets:
        """Move a SciPy matrix to the device."""
        csr = sp.csr_array(matrix)
        index = np.int32 if max(csr.shape) < 2**31 else np.int64
        rows = np.repeat(np.arange(csr.shape[0], dtype=index), np.diff(csr.indptr))
        moved = _programs().jax.numpy.asarray
        return cls(moved(rows), moved(csr.indices.astype(index)), moved(csr.data.astype(dtype)))


class _Programs(NamedTuple):
    """JAX itself, and what it compiles."""

    jax: ModuleType
    affine: Callable[..., Block]
    dot: Callable[[Block, Block], Promise]


@cache
def _programs() -> _Programs:
    """Import JAX, and return what is computed with it."""
    jax = _checks.optional("jax", "jax")
    # Without it JAX would make single precision of all that is asked of it in double.
    jax.config.update("jax_enable_x64", True)

    @partial(jax.jit, static_argnums=1)
    def affine(
        triplets: tuple[Triplets, ...], num_rows: tuple[int, ...], X: Array, numbers: Array, addends: tuple[Array, ...]
    ) -> Array:
        a, b, *factors = numbers
        image = X
        for matrix, number in zip(reversed(triplets), reversed(num_rows), strict=True):
            terms = matrix.entries[:, None] * image[matrix.columns]
            image = jax.ops.segment_sum(terms, matrix.rows, number, indices_are_sorted=True)
        if len(triplets) == 2:  # A and A', of which Delta is what they leave of the identity
            image = X - image
        return sum((c * Y for c, Y in zip(factors, addends, strict=True)), a * image + b * X)

    @jax.jit
    def dot(X: Array, Y: Array) -> Array:
        return jax.numpy.einsum("ij,ij->j", X.astype(np.float64), Y.astype(np.float64))

    return _Programs(jax, affine, dot)
