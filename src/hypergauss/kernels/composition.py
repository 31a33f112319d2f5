"""Sums and products of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Self

import numpy as np

from hypergauss import parameters
from hypergauss.kernels.base import Inputs, Kernel, Slopes, Structure
from hypergauss.parameters import Number


class Sum(Kernel):
    """k = k_1 + k_2 + ...: independent effects that add up. Write it ``k_1 + k_2``.

    Parts on the same spectrum share their features, so adding filters of one hypergraph does not raise the rank.
    """

    def __init__(self, terms: Sequence[Kernel], labels: Sequence[str] | None = None) -> None:
        self.terms = tuple(terms)
        _check_same_vertices(self.terms)
        self.labels = _distinct([type(term).__name__.lower() for term in terms] if labels is None else labels)

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
        """Return each term's share of the mean prior variance, levels aside: how much it explains a priori."""
        means = np.array([term.varying_variance() for term in self.terms])
        return dict(zip(self.labels, (means / means.sum()).tolist(), strict=True))

    def mean_variance(self) -> float:
        """Add those of the terms, which a matrix-free spectrum knows without covariances of single vertices."""
        return sum(term.mean_variance() for term in self.terms)

    def varying_variance(self) -> float:  # noqa: D102
        return sum(term.varying_variance() for term in self.terms)

    @property
    def level_variance(self) -> Number:  # noqa: D102
        return sum(term.level_variance for term in self.terms)

    def own_shares(self, rows: np.ndarray) -> np.ndarray:
        """Return those of the terms, averaged by their variances."""
        shares = self.shares()
        found = [shares[label] * term.own_shares(rows) for label, term in zip(self.labels, self.terms, strict=True)]
        return np.sum(found, axis=0)

    @property
    def blocks(self) -> tuple[int, ...]:
        """For each term, the number of the block of features it uses: terms with one basis share a block."""
        bases: list[object] = []
        for term in self.terms:
            if not any(basis is term.basis for basis in bases):
                bases.append(term.basis)
        return tuple(next(i for i, basis in enumerate(bases) if basis is term.basis) for term in self.terms)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.terms[0].num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        ranks = dict(zip(self.blocks, (term.rank for term in self.terms), strict=True))
        return None if None in ranks.values() else sum(rank or 0 for rank in ranks.values())

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
    def features_move(self) -> bool:
        """Whether those of a term do."""
        return any(term.features_move for term in self.terms)

    def inputs(self, rows: np.ndarray) -> tuple[Inputs, ...]:  # noqa: D102
        gathered: dict[int, Inputs] = {}
        for block, term in zip(self.blocks, self.terms, strict=True):
            if block not in gathered:
                gathered[block] = term.inputs(rows)
        return tuple(gathered[block] for block in self.blocks)

    def features(self, inputs: tuple[Inputs, ...]) -> np.ndarray:  # noqa: D102
        parts: dict[int, np.ndarray] = {}
        for block, term, own in zip(self.blocks, self.terms, inputs, strict=True):
            if block not in parts:
                parts[block] = term.features(own)
        arrays = list(parts.values())
        return arrays[0] if len(arrays) == 1 else np.hstack(arrays)

    def weights(self) -> np.ndarray:  # noqa: D102
        parts: dict[int, Number] = {}
        for block, term in zip(self.blocks, self.terms, strict=True):
            parts[block] = parts.get(block, 0.0) + term.weights()
        return np.concatenate(list(parts.values()))

    def structure(self, inputs: tuple[Inputs, ...] | None) -> Structure:  # noqa: D102
        inputs = (None,) * len(self.terms) if inputs is None else inputs
        parts: dict[int, Number] = {}
        remainder: Any = 0.0
        for block, term, own in zip(self.blocks, self.terms, inputs, strict=True):
            found = term.structure(own)
            parts[block] = parts.get(block, 0.0) + found.weights
            remainder = remainder + found.remainder
        return Structure(np.concatenate(list(parts.values())), remainder)

    def pull_back_structure(self, adjoint: Slopes | Structure, inputs: tuple[Inputs, ...] | None) -> np.ndarray:
        """Return the terms' gradients one after another: each has the slopes of its block, and of the remainder."""
        inputs = (None,) * len(self.terms) if inputs is None else inputs
        blocks = self.blocks
        ranks = dict(zip(blocks, (term.rank or 0 for term in self.terms), strict=True))
        edges = np.cumsum(list(ranks.values()))[:-1]
        parts = np.split(adjoint.weights, edges)
        of_features = getattr(adjoint, "features", None)
        columns = [None] * len(parts) if of_features is None else np.split(of_features, edges, axis=1)
        total = np.asarray(adjoint.remainder.sum())
        found = []
        for block, term, own in zip(blocks, self.terms, inputs, strict=True):
            remainder = total if term.has_uniform_remainder else adjoint.remainder
            found.append(term.pull_back_structure(Slopes(parts[block], remainder, columns[block]), own))
        return np.concatenate(found)

    def cross(self, left: tuple[Inputs, ...], right: tuple[Inputs, ...]) -> np.ndarray:  # noqa: D102
        return sum(term.cross(a, b) for term, a, b in zip(self.terms, left, right, strict=True))  # type: ignore[return-value]

    def variances(self, inputs: tuple[Inputs, ...]) -> np.ndarray:  # noqa: D102
        return sum(term.variances(own) for term, own in zip(self.terms, inputs, strict=True))  # type: ignore[return-value]

    def pull_back(self, left: tuple[Inputs, ...], right: tuple[Inputs, ...], adjoint: np.ndarray) -> np.ndarray:
        """Return the terms' gradients one after another: each has the whole slope."""
        parts = zip(self.terms, left, right, strict=True)
        return np.concatenate([term.pull_back(a, b, adjoint) for term, a, b in parts])

    def pull_back_variances(self, inputs: tuple[Inputs, ...], adjoint: np.ndarray) -> np.ndarray:  # noqa: D102
        parts = zip(self.terms, inputs, strict=True)
        return np.concatenate([term.pull_back_variances(own, adjoint) for term, own in parts])

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return parameters.with_value(self, ("terms",), tuple(term.scaled(factor) for term in self.terms))

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
        if any(factor.features_move for factor in self.factors):
            return None  # slopes in products of features are not worth their algebra: solved densely
        return None if first is None or second is None else first * second

    @property
    def has_eigenvectors(self) -> bool:  # noqa: D102
        return all(factor.has_eigenvectors for factor in self.factors)

    def inputs(self, rows: np.ndarray) -> tuple[Inputs, ...]:  # noqa: D102
        return tuple(factor.inputs(rows) for factor in self.factors)

    def features(self, inputs: tuple[Inputs, ...]) -> np.ndarray:  # noqa: D102
        first, second = (factor.features(own) for factor, own in zip(self.factors, inputs, strict=True))
        return (first[:, :, None] * second[:, None, :]).reshape(first.shape[0], -1)

    def structure(self, inputs: tuple[Inputs, ...]) -> Structure:
        """Return products of weights, and all that is diagonal in (L_1 + D_1) o (L_2 + D_2).

        That is D_1 D_2 + D_1 diag L_2 + D_2 diag L_1.
        """
        first, second = (factor.structure(own) for factor, own in zip(self.factors, inputs, strict=True))
        v1, v2 = (factor.variances(own) for factor, own in zip(self.factors, inputs, strict=True))
        remainder = first.remainder * v2 + second.remainder * (v1 - first.remainder)
        return Structure(np.kron(first.weights, second.weights), remainder)

    def weights(self) -> np.ndarray:  # noqa: D102
        return np.kron(*(factor.weights() for factor in self.factors))

    def cross(self, left: tuple[Inputs, ...], right: tuple[Inputs, ...]) -> np.ndarray:  # noqa: D102
        first, second = self.factors
        return first.cross(left[0], right[0]) * second.cross(left[1], right[1])

    def variances(self, inputs: tuple[Inputs, ...]) -> np.ndarray:  # noqa: D102
        first, second = self.factors
        return first.variances(inputs[0]) * second.variances(inputs[1])

    def pull_back(self, left: tuple[Inputs, ...], right: tuple[Inputs, ...], adjoint: np.ndarray) -> np.ndarray:
        """Return the factors' gradients one after another: each has the slope times the other factor."""
        first, second = self.factors
        of_first = first.pull_back(left[0], right[0], adjoint * second.cross(left[1], right[1]))
        of_second = second.pull_back(left[1], right[1], adjoint * first.cross(left[0], right[0]))
        return np.concatenate([of_first, of_second])

    def pull_back_variances(self, inputs: tuple[Inputs, ...], adjoint: np.ndarray) -> np.ndarray:  # noqa: D102
        first, second = self.factors
        of_first = first.pull_back_variances(inputs[0], adjoint * second.variances(inputs[1]))
        of_second = second.pull_back_variances(inputs[1], adjoint * first.variances(inputs[0]))
        return np.concatenate([of_first, of_second])

    def scaled(self, factor: float) -> Self:  # noqa: D102
        return parameters.with_value(self, ("factors", 0), self.factors[0].scaled(factor))

    def error_bound(self) -> float:
        """Return the bound from ``|X o P| <= |X| max diag(P)`` for positive semidefinite P."""
        first, second = self.factors
        e1, e2 = first.error_bound(), second.error_bound()
        v1, v2 = (float(np.max(factor.diagonal())) for factor in self.factors)
        return e1 * (v2 + e2) + v1 * e2


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Number the labels that occur more than once, passing over numbered labels that are taken."""
    result: list[str] = []
    for label in labels:
        numbered = (f"{label}{number}" for number in count(1))
        free = label if list(labels).count(label) == 1 else next(n for n in numbered if n not in {*result, *labels})
        result.append(free)
    return tuple(result)


def _check_same_vertices(kernels: Sequence[Kernel]) -> None:
    sizes = [kernel.num_vertices for kernel in kernels]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"Kernels can be combined only on the same vertices. Got kernels on {sizes} vertices. "
            "Align hypergraphs with `with_vertices`, and give covariates one row a vertex."
        )
