"""Kernel: a covariance between the vertices of one hypergraph; and sums and products of kernels.

A kernel works on *inputs*, arrays gathered once for some vertices (`Kernel.inputs`), so that everything after is a
pure function of the hyperparameters. Many kernels have more structure than a matrix of covariances:

    K = F diag(weights) F' + diag(remainder),

with features F (n x r) that no hyperparameter touches. Then ``rank`` is r, and inference costs O(n r^2), not O(n^3).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import _checks, parameters

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
    def has_eigenvectors(self) -> bool:
        """Whether covariances between single vertices can be computed; not on a matrix-free spectrum."""
        return True

    @property
    def basis(self) -> object:
        """What the features are made of: kernels with the same basis object share their features."""
        return self

    @property
    def has_uniform_remainder(self) -> bool:
        """Whether the remainder is one number for all vertices."""
        return False

    @property
    def has_positive_weights(self) -> bool:
        """Whether no weight can be negative, whatever the hyperparameters."""
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
        return _cross(self, left, right)

    def diagonal(self, rows: Iterable[int] | None = None) -> Float[Array, " n"]:
        """Return the prior variances of vertices given by index; all of them if not given."""
        return _variances(self, self.inputs(self.check_rows("rows", rows)))

    def mean_variance(self) -> float:
        """Return the mean prior variance over all vertices."""
        return float(jnp.mean(self.diagonal()))

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
            raise TypeError(
                f"`{argument}` must be a 1-D array of vertex indices. Got {array.dtype}, shape {array.shape}."
            )
        bad = array[(array < 0) | (array >= self.num_vertices)]
        if len(bad):
            raise ValueError(
                f"`{argument}` must lie in 0..{self.num_vertices - 1}. Got {bad[0]}{_checks.others(len(bad) - 1)}. "
                "Names become indices with `H.vertex_rows(names)`."
            )
        return array.astype(np.int64)

    def __add__(self, other: Kernel) -> Sum:
        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Self:
        if isinstance(other, Kernel):
            return Product(self, other)
        return self.scaled(_checks.positive("factor", other))

    def __rmul__(self, other: float) -> Self:
        return self.scaled(_checks.positive("factor", other))

    def __repr__(self) -> str:
        found = parameters.values(self, free_only=False)
        return f"{type(self).__name__}({', '.join(f'{name}={_brief(value)}' for name, value in found.items())})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # immutable: cloning an estimator must not copy eigenvectors


class Sum(Kernel):
    """k = k_1 + k_2 + ...: independent effects that add up. Write it ``k_1 + k_2``.

    Parts on the same spectrum share their features, so adding filters of one hypergraph does not raise the rank.
    """

    terms: tuple[Kernel, ...]
    labels: tuple[str, ...] = eqx.field(static=True)
    #: For each term, the number of the feature block it uses. Static, since identity does not survive tracing.
    blocks: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, terms: Sequence[Kernel], labels: Sequence[str] | None = None) -> None:
        self.terms = tuple(terms)
        _check_same_vertices(self.terms)
        self.labels = _distinct([type(term).__name__.lower() for term in terms] if labels is None else labels)
        bases: list[object] = []
        blocks = []
        for term in self.terms:
            known = [number for number, basis in enumerate(bases) if basis is term.basis]
            blocks.append(known[0] if known else len(bases))
            if not known:
                bases.append(term.basis)
        self.blocks = tuple(blocks)

    @classmethod
    def of(cls, *kernels: Kernel) -> Sum:
        """Add kernels, opening up sums among them."""
        terms: list[Kernel] = []
        labels: list[str] = []
        for kernel in kernels:
            terms += kernel.terms if isinstance(kernel, Sum) else (kernel,)
            labels += kernel.labels if isinstance(kernel, Sum) else (type(kernel).__name__.lower(),)
        return cls(terms, labels)

    @classmethod
    def of_equal_shares(cls, terms: Mapping[str, Kernel]) -> Sum:
        """Add named kernels, each scaled so that together they have the variance that one had."""
        return cls([term.scaled(1.0 / len(terms)) for term in terms.values()], list(terms))

    def shares(self) -> dict[str, float]:
        """Return each term's share of the mean prior variance: how much of the whole it explains a priori."""
        means = np.array([term.mean_variance() for term in self.terms])
        return dict(zip(self.labels, (means / means.sum()).tolist(), strict=True))

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.terms[0].num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        ranks = {block: term.rank for block, term in zip(self.blocks, self.terms, strict=True)}
        total = 0
        for rank in ranks.values():
            if rank is None:
                return None
            total += rank
        return total

    @property
    def basis(self) -> object:
        """The terms' own basis, if they share one."""
        return self.terms[0].basis if set(self.blocks) == {0} else self

    @property
    def has_eigenvectors(self) -> bool:  # noqa: D102
        return all(term.has_eigenvectors for term in self.terms)

    @property
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return all(term.has_uniform_remainder for term in self.terms)

    @property
    def has_positive_weights(self) -> bool:  # noqa: D102
        return all(term.has_positive_weights for term in self.terms)

    def inputs(self, rows: np.ndarray) -> tuple[Any, ...]:  # noqa: D102
        gathered: dict[int, Any] = {}
        for block, term in zip(self.blocks, self.terms, strict=True):
            if block not in gathered:
                gathered[block] = term.inputs(rows)
        return tuple(gathered[block] for block in self.blocks)

    def features(self, inputs: tuple[Any, ...]) -> Any:  # noqa: D102
        parts: dict[int, Any] = {}
        for block, term, own in zip(self.blocks, self.terms, inputs, strict=True):
            if block not in parts:
                parts[block] = term.features(own)
        arrays = list(parts.values())
        stack = np.hstack if all(isinstance(array, np.ndarray) for array in arrays) else jnp.hstack
        return arrays[0] if len(arrays) == 1 else stack(arrays)

    def weights(self) -> Float[Array, " r"]:  # noqa: D102
        parts: dict[int, Array] = {}
        for block, term in zip(self.blocks, self.terms, strict=True):
            parts[block] = parts.get(block, 0.0) + term.weights()
        return jnp.concatenate(list(parts.values()))

    def remainder(self, inputs: tuple[Any, ...] | None) -> Float[Array, "*n"]:  # noqa: D102
        inputs = (None,) * len(self.terms) if inputs is None else inputs
        return _add(term.remainder(own) for term, own in zip(self.terms, inputs, strict=True))

    def cross(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> Float[Array, "n m"]:  # noqa: D102
        return _add(term.cross(a, b) for term, a, b in zip(self.terms, left, right, strict=True))

    def variances(self, inputs: tuple[Any, ...]) -> Float[Array, " n"]:  # noqa: D102
        return _add(term.variances(own) for term, own in zip(self.terms, inputs, strict=True))

    def scaled(self, factor: float) -> Self:  # noqa: D102
        scaled = tuple(term.scaled(factor) for term in self.terms)
        return eqx.tree_at(lambda k: k.terms, self, scaled)

    def prior_draws(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Add independent draws of the terms."""
        return sum((term.prior_draws(rows, size, rng) for term in self.terms), np.zeros((len(rows), size)))

    def error_bound(self) -> float:
        """Add the terms' bounds."""
        return sum(term.error_bound() for term in self.terms)


class Product(Kernel):
    """k = k_1 k_2, elementwise: vertices are alike only if both kernels say so (paper, section 3.2).

    Write it ``k_1 * k_2``. If both parts have features, so does the product: all products of a feature of one with a
    feature of the other.
    """

    factors: tuple[Kernel, Kernel]
    labels: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, first: Kernel, second: Kernel, labels: Sequence[str] | None = None) -> None:
        self.factors = (first, second)
        _check_same_vertices(self.factors)
        self.labels = _distinct([type(k).__name__.lower() for k in self.factors] if labels is None else labels)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.factors[0].num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        first, second = (factor.rank for factor in self.factors)
        return None if first is None or second is None else first * second

    @property
    def has_eigenvectors(self) -> bool:  # noqa: D102
        return all(factor.has_eigenvectors for factor in self.factors)

    @property
    def has_positive_weights(self) -> bool:  # noqa: D102
        return all(factor.has_positive_weights for factor in self.factors)

    def inputs(self, rows: np.ndarray) -> tuple[Any, ...]:  # noqa: D102
        return tuple(factor.inputs(rows) for factor in self.factors)

    def features(self, inputs: tuple[Any, ...]) -> Any:  # noqa: D102
        first, second = (factor.features(own) for factor, own in zip(self.factors, inputs, strict=True))
        return (first[:, :, None] * second[:, None, :]).reshape(first.shape[0], -1)

    def weights(self) -> Float[Array, " r"]:  # noqa: D102
        first, second = self.factors
        return jnp.kron(first.weights(), second.weights())

    def remainder(self, inputs: tuple[Any, ...]) -> Float[Array, " n"]:
        """Return all that is diagonal in (L_1 + D_1) o (L_2 + D_2): D_1 D_2 + D_1 diag L_2 + D_2 diag L_1."""
        (first, second), (a, b) = self.factors, inputs
        d1, d2 = first.remainder(a), second.remainder(b)
        return d1 * second.variances(b) + d2 * (first.variances(a) - d1)

    def cross(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> Float[Array, "n m"]:  # noqa: D102
        first, second = self.factors
        return first.cross(left[0], right[0]) * second.cross(left[1], right[1])

    def variances(self, inputs: tuple[Any, ...]) -> Float[Array, " n"]:  # noqa: D102
        first, second = self.factors
        return first.variances(inputs[0]) * second.variances(inputs[1])

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return eqx.tree_at(lambda k: k.factors[0], self, self.factors[0].scaled(factor))

    def error_bound(self) -> float:
        """Return the bound from ``|X o P| <= |X| max diag(P)`` for positive semidefinite P."""
        first, second = self.factors
        e1, e2 = first.error_bound(), second.error_bound()
        v1, v2 = (float(jnp.max(factor.diagonal())) for factor in self.factors)
        return e1 * (v2 + e2) + v1 * e2


@eqx.filter_jit
def _cross(kernel: Kernel, left: Any, right: Any) -> Float[Array, "n m"]:
    return kernel.cross(left, right)


@eqx.filter_jit
def _variances(kernel: Kernel, inputs: Any) -> Float[Array, " n"]:
    return kernel.variances(inputs)


@eqx.filter_jit
def feature_weights(kernel: Kernel) -> Float[Array, " r"]:
    """Return ``kernel.weights()``, compiled as one program: operation by operation takes seconds."""
    return kernel.weights()


@eqx.filter_jit
def remainder(kernel: Kernel, inputs: Any) -> Float[Array, "*n"]:
    """Return ``kernel.remainder(inputs)``, compiled as one program."""
    return kernel.remainder(inputs)


def scale_field(kernel: Any, factor: Any) -> Any:
    """Return a kernel with its ``variance`` field multiplied."""
    return eqx.tree_at(lambda k: k.variance, kernel, jnp.asarray(kernel.variance * factor))


def _add(parts: Any) -> Any:
    """Add arrays that broadcast."""
    total: Any = 0.0
    for part in parts:
        total = total + part
    return total


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Number the labels that occur more than once, passing over numbered labels that are taken."""
    result: list[str] = []
    for label in labels:
        numbered = (f"{label}{number}" for number in count(1))
        free = label if list(labels).count(label) == 1 else next(n for n in numbered if n not in {*result, *labels})
        result.append(free)
    return tuple(result)


def _brief(value: float | np.ndarray) -> str:
    """Show a number, or a few of them, to four digits."""
    return f"{value:.4g}" if np.ndim(value) == 0 else np.array2string(np.asarray(value), precision=4, threshold=6)


def _check_same_vertices(kernels: Sequence[Kernel]) -> None:
    sizes = [kernel.num_vertices for kernel in kernels]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"Kernels can be combined only on the same vertices. Got kernels on {sizes} vertices. "
            "Align hypergraphs with `with_vertices`, and give covariates one row a vertex."
        )
