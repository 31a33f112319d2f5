r"""The few numbers through which hyperparameters reach a kernel's products.

A bilinear form is linear in them,

    x' K y = sum over terms and k of c_k(theta) (f o x)' t_k(Delta) (f o y) + sum over j of w_j(theta) (F'x)_j (F'y)_j,

so that one pass over the Laplacian gives its derivatives in all hyperparameters. The numbers' own derivatives are those
of formulas, by complex steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.kernels import Kernel
from hypergauss.solvers.iterative.terms import Terms
from hypergauss.spectrum import chebyshev

#: The least background, as a share of the filter's mean.
_LEAST_BACKGROUND = 1e-3
#: Filters are looked at in a multiple of so many points, at least two for each coefficient.
_POINTS = 64


class Forms(NamedTuple):
    """What x' K y, summed over columns, needs: for each spectral term its moments, for each feature term products.

    Shapes are (factors, moments), and (r + 1,): products of each feature, and x'y for the remainder.
    """

    spectral: tuple[np.ndarray, ...]
    features: tuple[np.ndarray, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many moments there are of each spectral term."""
        return tuple(moments.shape[1] for moments in self.spectral)

    def times(self, factor: float) -> Forms:
        """Return all of them times a number."""
        return Forms(*(tuple(factor * array for array in arrays) for arrays in self))


class Deflated(NamedTuple):
    """What a preconditioner takes K for: a background b, and gains D, K's filter at some eigenvalues less b."""

    background: np.ndarray
    gains: np.ndarray


class Layout:
    """Where the numbers stand in one vector of length q: c_k and w of all terms as in `Forms`, then b and D.

    Parameters
    ----------
    terms : Terms
        The kernel's.
    lengths : sequence of int
        How many coefficients each spectral term has.
    eigenvalues : array, shape (k,)
        Of the first Laplacian, for D.
    """

    def __init__(self, terms: Terms, lengths: Sequence[int], eigenvalues: np.ndarray) -> None:
        self.terms, self.lengths, self.eigenvalues = terms, tuple(lengths), eigenvalues
        self._points = [
            chebyshev.nodes(_POINTS * -(-2 * length // _POINTS), term.operator.upper or 1.0)
            for term, length in zip(terms.spectral, self.lengths, strict=True)
        ]
        sizes = [term.num_factors * length for term, length in zip(terms.spectral, self.lengths, strict=True)]
        sizes += [term.features.shape[1] + 1 for term in terms.features]
        self._ends = np.cumsum(sizes)
        #: q.
        self.size = int(self._ends[-1]) + 1 + len(eigenvalues)

    def numbers(self, kernel: Kernel) -> np.ndarray:
        """Return the numbers at a kernel's hyperparameters, shape (q,)."""
        found = []
        for term, points, length in zip(self.terms.spectral, self._points, self.lengths, strict=True):
            part = term.filter_of(kernel)
            coefficients = chebyshev.chebyshev_coefficients(part.density().scale * part.filter(points))[:length]
            found.append(np.outer(term.weights(kernel), coefficients).ravel())
        for feature_term in self.terms.features:
            found += [feature_term.weights(kernel), np.atleast_1d(feature_term.remainder(kernel))]
        background, gains = deflated(self.terms, kernel, self.eigenvalues)
        return np.concatenate([*found, [background], gains])

    def tangents(self, kernel: Kernel) -> np.ndarray:
        """Return their derivatives in each coordinate of the kernel, shape (p, q)."""
        return np.array(parameters.tangents(kernel, self.numbers)).reshape(-1, self.size)

    def slopes(self, forms: Forms, deflation: Deflated | None = None) -> np.ndarray:
        """Return slopes in all numbers, shape (q,): those in the terms' numbers, and in b and D if there are any."""
        parts = [
            np.pad(moments, ((0, 0), (0, length - moments.shape[1]))).ravel()
            for moments, length in zip(forms.spectral, self.lengths, strict=True)
        ]
        found = np.zeros(self.size)
        found[: self._ends[-1]] = np.concatenate([*parts, *forms.features])
        if deflation is not None:
            found[self._ends[-1] :] = [deflation.background, *deflation.gains]
        return found

    def by_term(self, vectors: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the parts of vectors, shape (p, q), of each spectral and each feature term.

        Their shapes are (p, factors, length) and (p, r + 1).
        """
        pieces = np.split(vectors, self._ends, axis=1)
        count = len(self.terms.spectral)
        shapes = [
            (len(vectors), term.num_factors, length)
            for term, length in zip(self.terms.spectral, self.lengths, strict=True)
        ]
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=False)], pieces[count:-1]


def deflated(terms: Terms, kernel: Kernel, eigenvalues: np.ndarray) -> Deflated:
    """Return b and D at eigenvalues of the first Laplacian.

    Only plain terms on that Laplacian count; features and other relations are left to the iteration. b is the
    filter's mean over all larger eigenvalues, and not far below that over all, since eigenvectors are not exact.
    """
    background, filtered = np.zeros(()), np.zeros(len(eigenvalues))
    edge = float(np.max(eigenvalues, initial=-1.0))
    for term in terms.plain:
        part = term.filter_of(kernel)
        scale = part.density().scale
        filtered = filtered + scale * part.filter(eigenvalues)
        above, least = part.mean_above(edge), _LEAST_BACKGROUND * part.mean_above(-1.0)
        # Comparisons are of real parts: derivatives are taken by complex steps.
        background = background + scale * (above if above.real >= least.real else least)
    gains = filtered - background
    return Deflated(background, np.where(gains.real > 0, gains, 0.0))
