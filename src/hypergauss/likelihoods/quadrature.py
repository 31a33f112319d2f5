"""Expectations under one Gaussian, by quadrature with fixed nodes: deterministic, smooth, differentiable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

#: Gauss-Hermite nodes, for products over classes, where each node costs. GPflow uses as many.
NUM_NODES = 20
#: Points of the trapezoidal rule.
NUM_POINTS = 81
#: How far a logarithm falls until nothing of its exponential counts.
DROP = 37.0
#: How exactly the top of a concave function is found, in at most so many halvings, and its reach in how many.
_MODE, _MOST_HALVINGS, _END_HALVINGS = 1e-7, 200, 26
#: Rows whose integrands are held at once; those of a million would not fit in memory.
ROWS_AT_ONCE = 2048


@lru_cache
def hermite() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes z and weights w such that sum of w g(z) approximates E g(Z), Z standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NUM_NODES)
    return nodes, weights / np.sqrt(2 * np.pi)


@lru_cache
def trapezoid() -> tuple[np.ndarray, np.ndarray]:
    r"""Return nodes and weights of the trapezoidal rule on [-8, 8], beyond which there are 1e-15 of a Gaussian.

    With spacing h its error is about exp(-2 pi d / h) for a function that is analytic within d of the real line. Link
    functions and their logarithms are so for d of 2 to 3, that is d / std in z: against adaptive quadrature the errors
    are 1e-13, 4e-9 and 2e-5 at a std of 2, 5 and 10. Gauss-Hermite quadrature spends its outer nodes where nothing
    counts: 2e-6, 4e-3 and 5e-2 with 20 nodes, and still 3e-3 at a std of 10 with 64.
    """
    nodes = np.linspace(-8.0, 8.0, NUM_POINTS)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


def concave_nodes(
    value: Callable[[np.ndarray], np.ndarray], slope: Callable[[np.ndarray], np.ndarray], size: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return nodes z, shape (size, 81), and spacings, shape (size, 1), for integrals of exp(g), g concave, g'' <= -1.

    A density may be far narrower than the Gaussian that it is multiplied by, and far out in its tail, where nodes for
    the Gaussian alone step over it. These lie between the two points at which the product is exp(-37) of its largest.

    Parameters
    ----------
    value, slope : callable
        g and g' of arrays of shape (size,), elementwise.
    size : int
        How many integrals.
    """
    with np.errstate(all="ignore"):  # where g is -inf, or its slope no number, is outside
        start = slope(np.zeros(size))
        towards, low, high = np.sign(start), np.zeros(size), np.abs(start)  # g' falls by one a unit at least
        for _ in range(_MOST_HALVINGS):
            if (high - low).max(initial=0.0) <= _MODE:
                break
            middle = (low + high) / 2
            is_uphill = towards * slope(towards * middle) > 0
            low, high = np.where(is_uphill, middle, low), np.where(is_uphill, high, middle)
        mode = towards * low
        left, right = (_reach(value, mode, side) for side in (-1, 1))
    spacing = (left + right)[:, None] / (NUM_POINTS - 1)
    return (mode - left)[:, None] + spacing * np.arange(NUM_POINTS), spacing


def _reach(value: Callable[[np.ndarray], np.ndarray], mode: np.ndarray, side: int) -> np.ndarray:
    """Return how far from its top a concave function has fallen, by t^2 / 2 at least, to what rounding does not see."""
    top = value(mode)
    low, high = np.zeros(len(mode)), np.full(len(mode), np.sqrt(2 * DROP))
    for _ in range(_END_HALVINGS):
        middle = (low + high) / 2
        is_inside = top - value(mode + side * middle) < DROP
        low, high = np.where(is_inside, middle, low), np.where(is_inside, high, middle)
    return high


def gaussian_nodes(mean: np.ndarray, variance: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return mean + std * z for each Gaussian, a new last axis for the nodes z."""
    return mean[..., None] + np.sqrt(variance)[..., None] * z


def expectation(g: Callable[[np.ndarray], np.ndarray], mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return E g(f) for f ~ N(mean, variance), elementwise; g acts on arrays with a last axis of nodes."""
    z, weights = trapezoid()
    return g(gaussian_nodes(mean, variance, z)) @ weights


def row_blocks(size: int) -> Iterator[slice]:
    """Yield slices of so many rows that their integrands fit in memory."""
    for start in range(0, size, ROWS_AT_ONCE):
        yield slice(start, start + ROWS_AT_ONCE)
