"""Sums and products of kernels, which keep the low-rank structure of their parts where there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss.kernels.base import Kernel
from hypergauss.kernels.spectral import Matern, SpectralKernel
from hypergauss.spectrum import Spectrum


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

    def shares(self) -> dict[str, float]:
        """Return each term's share of the mean prior variance: how much of the whole it explains a priori."""
        means = np.array([float(jnp.mean(term.diagonal())) for term in self.terms])
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
    def has_uniform_remainder(self) -> bool:  # noqa: D102
        return all(term.has_uniform_remainder for term in self.terms)

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

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.factors = (first, second)
        _check_same_vertices(self.factors)
        self.labels = _distinct([type(factor).__name__.lower() for factor in self.factors])

    @classmethod
    def of(cls, first: Kernel, second: Kernel) -> Product:
        """Multiply two kernels."""
        return cls(first, second)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return self.factors[0].num_vertices

    @property
    def rank(self) -> int | None:  # noqa: D102
        first, second = (factor.rank for factor in self.factors)
        return None if first is None or second is None else first * second

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
        """Return the bound from |X o P| <= |X| max diag(P) for positive semidefinite P."""
        first, second = self.factors
        e1, e2 = first.error_bound(), second.error_bound()
        v1, v2 = (float(jnp.max(factor.diagonal())) for factor in self.factors)
        return e1 * (v2 + e2) + v1 * e2


def relations(
    spectra: Mapping[str, Spectrum], kernel: type[SpectralKernel] = Matern, **parameters: Any
) -> Sum:
    """Return the sum of one kernel a relation, each with a variance of its own that tells how much it matters.

    Parameters
    ----------
    spectra : dict of name to Spectrum
        One for each relation, all on the same vertices in the same order.
    kernel : class
        Which spectral kernel.
    **parameters
        Its starting values; the variances are divided by the number of relations.
    """
    if not spectra:
        raise ValueError("`spectra` must hold at least one relation. Got none.")
    terms = [kernel(spectrum, **parameters).scaled(1.0 / len(spectra)) for spectrum in spectra.values()]
    return Sum(terms, [str(name) for name in spectra])


def _add(parts: Any) -> Any:
    """Add arrays that broadcast."""
    total: Any = 0.0
    for part in parts:
        total = total + part
    return total


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Number the labels that occur more than once."""
    seen: dict[str, int] = {}
    result = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        result.append(label if list(labels).count(label) == 1 else f"{label}{seen[label]}")
    return tuple(result)


def _check_same_vertices(kernels: Sequence[Kernel]) -> None:
    sizes = [kernel.num_vertices for kernel in kernels]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"Kernels can be combined only on the same vertices. Got kernels on {sizes} vertices. "
            "Align hypergraphs with `with_vertices`, and give covariates one row a vertex."
        )
