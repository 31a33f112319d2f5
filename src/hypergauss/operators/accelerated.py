"""JaxLaplacian: products on whatever JAX computes with: a GPU, a TPU, or this machine's cores."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float

from hypergauss.operators.base import LaplacianOperator

# Without it JAX would make single precision of all that is asked of it in double.
jax.config.update("jax_enable_x64", True)


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
        return cls(jnp.asarray(rows), jnp.asarray(csr.indices.astype(index)), jnp.asarray(csr.data.astype(dtype)))

    def product(self, X: Array, num_rows: int) -> Array:
        """Return the product with a block, traced."""
        terms = self.entries[:, None] * X[self.columns]
        return jax.ops.segment_sum(terms, self.rows, num_rows, indices_are_sorted=True)


class JaxLaplacian(LaplacianOperator):
    """Delta = I - A A' for a normalised incidence A, or a graph's Laplacian, on the default JAX device.

    Make one with `of_incidence` or `of_matrix`, and a spectrum of it with ``Spectrum.matrix_free``. Blocks outside are
    NumPy's: they cross to the device and back once for each function of Delta, not for each of its products.

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

    def enter(self, X: Any) -> Array:  # noqa: D102
        return jnp.asarray(X, dtype=self._dtype)

    def leave(self, X: Array) -> np.ndarray:  # noqa: D102
        return np.array(X, dtype=np.float64)

    def affine(self, X: Array, a: float, b: float, *addends: tuple[float, Array], out: Any = None) -> Array:  # noqa: ARG002, D102
        self.num_products += X.shape[1]
        numbers = jnp.asarray([a, b, *(factor for factor, _ in addends)], dtype=self._dtype)
        blocks = tuple(block for _, block in addends)
        return _affine(self._triplets, tuple(matrix.shape[0] for matrix in self._sources), X, numbers, blocks)

    def dot(self, X: Any, Y: Any) -> Any:  # noqa: D102
        return _dot(X, Y) if isinstance(X, jax.Array) else super().dot(X, Y)


@partial(jax.jit, static_argnums=1)
def _affine(
    triplets: tuple[Triplets, ...],
    num_rows: tuple[int, ...],
    X: Float[Array, "N m"],
    numbers: Float[Array, " c"],
    addends: tuple[Float[Array, "N m"], ...],
) -> Float[Array, "N m"]:
    a, b, *factors = numbers
    image = X
    for matrix, number in zip(reversed(triplets), reversed(num_rows), strict=True):
        image = matrix.product(image, number)
    if len(triplets) == 2:  # A and A', of which Delta is what they leave of the identity
        image = X - image
    return sum((c * Y for c, Y in zip(factors, addends, strict=True)), a * image + b * X)


@jax.jit
def _dot(X: Float[Array, "N m"], Y: Float[Array, "N m"]) -> Float[Array, " m"]:
    return jnp.einsum("ij,ij->j", X.astype(jnp.float64), Y.astype(jnp.float64))
