"""Kernel: a covariance between the vertices of one hypergraph.

A kernel works on *inputs*, arrays gathered once for some vertices (`Kernel.inputs`), so that everything after is a
pure function of the hyperparameters. Many kernels have more structure than a matrix of covariances:

    K = F diag(weights) F' + diag(remainder),

with features F (n x r) that no hyperparameter touches. Then ``rank`` is r, and inference costs O(n r^2), not O(n^3).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import _checks

if TYPE_CHECKING:
    from hypergauss.kernels.composition import Product, Sum

#: Added to a covariance, relative to its largest variance, before a prior draw's Cholesky factorisation.
_JITTER = 1e-10


class Kernel(eqx.Module):
    """A symmetric positive semidefinite function of two vertices."""

    @property
    @abstractmethod
    def num_vertices(self) -> int:
        """N, the number of vertices it is defined on."""

    @abstractmethod
    def inputs(self, rows: np.ndarray) -> Any:
        """Gather the arrays that evaluation at these vertices needs, leaves with n rows each."""

    @abstractmethod
    def cross(self, left: Any, right: Any) -> Float[Array, "n m"]:
        """Return the covariances between two sets of inputs."""

    @abstractmethod
    def variances(self, inputs: Any) -> Float[Array, " n"]:
        """Return the prior variance of each input."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return the kernel times a positive number."""

    # ------------------------------------------------ structure; a kernel without it keeps these defaults

    @property
    def rank(self) -> int | None:
        """The number r of features, or None for a kernel without low-rank structure."""
        return None

    @property
    def basis(self) -> object:
        """What the features are made of: kernels with the same basis object share their features."""
        return self

    @property
    def has_uniform_remainder(self) -> bool:
        """Whether the remainder is one number for all vertices."""
        return False

    def features(self, inputs: Any) -> Any:
        """Return F, shape (n, r), of the array type of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} has no features")

    def weights(self) -> Float[Array, " r"]:
        """Return the weight of each feature."""
        raise NotImplementedError(f"{type(self).__name__} has no feature weights")

    def remainder(self, inputs: Any) -> Float[Array, "*n"]:
        """Return what F diag(weights) F' leaves on the diagonal: shape (n,), or () if uniform (inputs may be None)."""
        raise NotImplementedError(f"{type(self).__name__} has no remainder")

    # ------------------------------------------------ what users call

    def gram(self, rows: Iterable[int] | None = None, columns: Iterable[int] | None = None) -> Float[Array, "n m"]:
        """Return the covariance matrix between vertices given by index; all of them if not given."""
        left = self.inputs(self.check_rows("rows", rows))
        right = left if columns is None and rows is None else self.inputs(self.check_rows("columns", columns))
        return self.cross(left, right)

    def diagonal(self, rows: Iterable[int] | None = None) -> Float[Array, " n"]:
        """Return the prior variances of vertices given by index; all of them if not given."""
        return self.variances(self.inputs(self.check_rows("rows", rows)))

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws of the zero-mean prior at some vertices, shape (n, size)."""
        distinct, back = np.unique(rows, return_inverse=True)  # a vertex named twice has one value
        covariance = np.array(self.gram(distinct, distinct))
        covariance[np.diag_indices_from(covariance)] += _JITTER * covariance.diagonal().max(initial=0.0)
        return (np.linalg.cholesky(covariance) @ rng.standard_normal((len(distinct), size)))[back]

    def error_bound(self) -> float:
        """Return a bound on the operator-norm error that a truncated spectrum leaves; 0 if none is truncated."""
        return 0.0

    def check_rows(self, argument: str, rows: Iterable[int] | None) -> np.ndarray:
        """Return vertex indices as an array, refusing those out of range (JAX would clip them silently)."""
        if rows is None:
            return np.arange(self.num_vertices)
        array = np.asarray(rows if isinstance(rows, np.ndarray | Array) else list(rows))
        if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
            raise TypeError(f"`{argument}` must be a 1-D array of vertex indices. Got {array.dtype}, shape {array.shape}.")
        bad = array[(array < 0) | (array >= self.num_vertices)]
        if len(bad):
            raise ValueError(
                f"`{argument}` must lie in 0..{self.num_vertices - 1}. Got {bad[0]}{_checks.others(len(bad) - 1)}. "
                "Names become indices with `H.vertex_rows(names)`."
            )
        return array.astype(np.int64)

    def __add__(self, other: Kernel) -> Sum:
        from hypergauss.kernels.composition import Sum

        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Self:
        from hypergauss.kernels.composition import Product

        if isinstance(other, Kernel):
            return Product.of(self, other)
        return self.scaled(_checks.positive("factor", other))

    def __rmul__(self, other: float) -> Self:
        return self.scaled(_checks.positive("factor", other))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # immutable: cloning an estimator must not copy eigenvectors


def scale_field(kernel: Any, factor: Any) -> Any:
    """Return a kernel with its ``variance`` field multiplied."""
    return eqx.tree_at(lambda k: k.variance, kernel, jnp.asarray(kernel.variance * factor))
