"""A kernel as products: at each value of the hyperparameters, filters become Chebyshev expansions of a Laplacian."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.operators import Block, LaplacianOperator
from hypergauss.solvers.iterative.numbers import Forms, Layout
from hypergauss.solvers.iterative.terms import Terms
from hypergauss.spectrum import chebyshev


class Covariance:
    """K at given hyperparameters, to a relative tolerance of its largest eigenvalue.

    Parameters
    ----------
    terms : Terms
        The kernel's.
    kernel : Kernel
        At the hyperparameters wanted.
    tolerance : float
        Error of each filter relative to its largest value.
    """

    def __init__(self, terms: Terms, kernel: Kernel, tolerance: float) -> None:
        self.terms, self.kernel, self.tolerance = terms, kernel, tolerance
        self._filters = [term.filter_of(kernel) for term in terms.spectral]
        self._scales = [float(part.density().scale) for part in self._filters]
        self._expansions = [filter_expansion(part, tolerance) for part in self._filters]

    @property
    def operator(self) -> LaplacianOperator:
        """Whose vectors this multiplies."""
        return self.terms.operator

    @property
    def degree(self) -> int:
        """Products with a Laplacian that one product with K takes."""
        return sum(
            expansion.degree * term.num_factors
            for expansion, term in zip(self._expansions, self.terms.spectral, strict=True)
        )

    @property
    def error_bound(self) -> float:
        """A bound on the operator-norm error of K that the polynomials leave, without features."""
        return sum(scale * expansion.bound for scale, expansion in zip(self._scales, self._expansions, strict=True))

    def largest(self) -> float:
        """Return a bound on K's largest eigenvalue."""
        total = 0.0
        for scale, expansion, term in zip(self._scales, self._expansions, self.terms.spectral, strict=True):
            grid = np.linspace(0.0, expansion.upper, 513)
            height = scale * (float(np.abs(expansion(grid)).max()) + expansion.bound)
            total += height * sum(
                abs(w) * (1.0 if f is None else float(self.operator.fetch((f**2).max())))
                for w, f in term.factors(self.kernel)
            )
        for feature_term in self.terms.features:
            squares = self.operator.fetch((feature_term.features**2).sum(axis=0))
            total += float(np.abs(feature_term.weights(self.kernel)) @ squares)
            total += float(feature_term.remainder(self.kernel))
        return total

    def __matmul__(self, X: Block) -> Block:
        """Return K X."""
        return _sum(self._images(X))

    def _images(self, X: Block) -> Iterator[Block]:
        """Yield what each term adds to K X."""
        for term, scale, expansion in zip(self.terms.spectral, self._scales, self._expansions, strict=True):
            for weight, f in term.factors(self.kernel):
                scaled = expansion._replace(coefficients=scale * weight * expansion.coefficients)
                yield _times(f, chebyshev.apply(term.operator, scaled, _times(f, X)))
        for feature_term in self.terms.features:
            F, weights = feature_term.features, feature_term.weights(self.kernel)
            yield F @ (weights[:, None] * (F.T @ X)) + float(feature_term.remainder(self.kernel)) * X

    def draws(self, size: int, rng: np.random.Generator) -> Block:
        """Return draws of the prior at every vertex, shape (N, size), by the square roots of the filters."""
        return self.operator.settle(_sum(self._independent_draws(size, rng)))

    def _independent_draws(self, size: int, rng: np.random.Generator) -> Iterator[Block]:
        """Yield what each term adds to a draw."""
        operator = self.operator
        for term, part, scale in zip(self.terms.spectral, self._filters, self._scales, strict=True):
            root = filter_expansion(part, self.tolerance, root=True)
            for weight, f in term.factors(self.kernel):
                scaled = root._replace(coefficients=np.sqrt(scale * weight) * root.coefficients)
                yield _times(f, chebyshev.apply(term.operator, scaled, operator.white_noise(size, rng)))
        for feature_term in self.terms.features:
            roots = np.sqrt(feature_term.weights(self.kernel))
            yield feature_term.features @ (roots[:, None] * rng.standard_normal((len(roots), size)))
            rest = float(feature_term.remainder(self.kernel))
            if rest != 0:
                yield np.sqrt(rest) * operator.white_noise(size, rng)

    def derivatives(self, layout: Layout, tangents: np.ndarray, X: Block) -> list[Block]:
        """Return dK X for p directions, from the derivatives of K's numbers in these, shape (p, q)."""
        totals = [X * 0.0] * len(tangents)
        spectral, features = layout.by_term(tangents)
        for term, expansion, by_direction in zip(self.terms.spectral, self._expansions, spectral, strict=True):
            for j, (_, f) in enumerate(term.factors(self.kernel)):
                wanted = by_direction[:, j, : expansion.degree + 1]
                images = chebyshev.apply_all(term.operator, wanted, _times(f, X))
                totals = [total + _times(f, image) for total, image in zip(totals, images, strict=True)]
        for feature_term, by_direction in zip(self.terms.features, features, strict=True):
            F = feature_term.features
            along = F.T @ X
            totals = [
                total + F @ (numbers[:-1, None] * along) + float(numbers[-1]) * X
                for total, numbers in zip(totals, by_direction, strict=True)
            ]
        return totals

    def forms(self, X: Block, Y: Block) -> Forms:
        """Return what x' K y, summed over columns, needs at these hyperparameters and next to them."""
        spectral = []
        for term, expansion in zip(self.terms.spectral, self._expansions, strict=True):
            moments = [
                chebyshev.moments(term.operator, _times(f, X), _times(f, Y), expansion.degree).sum(axis=1)
                for _, f in term.factors(self.kernel)
            ]
            spectral.append(np.array(moments))
        features = []
        for feature_term in self.terms.features:
            F = feature_term.features
            products = (self.operator.fetch(F.T @ X) * self.operator.fetch(F.T @ Y)).sum(axis=1)
            features.append(np.append(products, self.operator.fetch(self.operator.dot(X, Y)).sum()))
        return Forms(tuple(spectral), tuple(features))


def _times(f: Block | None, X: Block) -> Block:
    return X if f is None else f * X


def _sum(blocks: Iterator[Block]) -> Block:
    """Add blocks one by one, so that only two are held at once."""
    total = next(blocks)
    for block in blocks:
        total = total + block
    return total
