r"""Functions of a Laplacian without its eigenvectors: Chebyshev expansions, their degree taken from a bound.

With t_k the Chebyshev polynomials moved to [0, u], u no less than any eigenvalue,

    phi(Delta) ~ sum over k <= d of c_k t_k(Delta),    t_(k+1) = 2 (2 Delta / u - 1) t_k - t_(k-1),

costs d products. A filter that is analytic inside an ellipse with foci 0 and u, half axes (rho + 1/rho) u / 4 and
(rho - 1/rho) u / 4, and at most M there, is met on [0, u] to

    |phi - p_d| <= 4 M rho^-d / (rho - 1)                                     (Trefethen, 2013, theorem 8.2),

and the operator norm of phi(Delta) - p_d(Delta) is no larger. Half of the bound is for the terms left out, half for
coefficients found from values at points. The best rho gives a degree; of its coefficients the last are dropped as long
as the bound plus what they add up to meets the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.fft

from hypergauss.exceptions import NumericalError
from hypergauss.operators import Block, LaplacianOperator, column_slices

#: A filter on an array of eigenvalues.
Filter = Callable[[np.ndarray], np.ndarray]
#: The largest modulus of a filter over the ellipse with foci 0 and u that reaches down to ``left`` < 0.
EllipseBound = Callable[[np.ndarray], np.ndarray]

#: Beyond this degree a filter is so steep that eigenvectors serve better.
MOST_DEGREE = 4096
#: The share of a tolerance that the proven bound may take; the rest is for coefficients that are dropped.
_SHARE = 0.1
#: Points at which a filter is first looked at if nothing is known of it: a bump narrower than that may be missed.
_FIRST_NODES = 128
#: What rounding may leave in coefficients, relative to the filter's largest value.
_ROUNDING = 1e-13
#: Terms of a sum after which it is settled: one that is only promised keeps all of its terms.
_SETTLED_EVERY = 8
#: Ellipses looked at, by how far rho exceeds 1.
_ELLIPSES = np.geomspace(1e-4, 1e3, 600)


class Expansion(NamedTuple):
    """Coefficients c_0 ... c_d on [0, upper], and a bound on the error anywhere there, rounding aside."""

    coefficients: np.ndarray
    upper: float
    bound: float

    @property
    def degree(self) -> int:
        """The number d of products that one application takes."""
        return len(self.coefficients) - 1

    def __call__(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Evaluate the polynomial."""
        x = 2 * np.asarray(eigenvalues) / self.upper - 1
        return np.polynomial.chebyshev.chebval(x, self.coefficients)


def expand(phi: Filter, upper: float, tolerance: float, ellipse_bound: EllipseBound | None = None) -> Expansion:
    """Return an expansion that is known to meet a filter to a tolerance, of as low a degree as its coefficients allow.

    Parameters
    ----------
    phi : callable
        The filter, finite on [0, upper].
    upper : float
        End of the interval.
    tolerance : float
        Largest error allowed, relative to the filter's largest value.
    ellipse_bound : callable, optional
        (left) -> M. Without one the degree is where coefficients have become small, and the bound is the larger of
        what is left of them and the error on a fine grid: measured, not proved.
    """
    upper = upper or 1.0  # of a graph without edges
    height = float(np.max(np.abs(_checked(phi, np.linspace(0.0, upper, 257)))))
    wanted = tolerance * height
    if height == 0.0:
        return Expansion(np.zeros(1), upper, 0.0)
    if ellipse_bound is None:
        return _expand_by_decay(phi, upper, max(wanted, _ROUNDING * height))
    degree, bound = degree_for(ellipse_bound, upper, _SHARE * wanted)
    # Twice the nodes: only terms beyond 3 d fold back onto the kept coefficients, far below the bound.
    coefficients = chebyshev_coefficients(_checked(phi, nodes(2 * degree + 2, upper)))[: degree + 1]
    return _trimmed(coefficients, upper, bound, wanted)


def degree_for(ellipse_bound: EllipseBound, upper: float, tolerance: float) -> tuple[int, float]:
    """Return the least degree whose bound is within an absolute tolerance, and that bound."""
    rho = 1 + _ELLIPSES
    left = upper / 2 * (1 - (rho + 1 / rho) / 2)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        log_m = np.log(ellipse_bound(left))
        log_front = np.log(4 / (rho - 1)) + log_m
        needed = (log_front - np.log(tolerance)) / np.log(rho)
    needed = np.where(np.isfinite(needed), np.maximum(needed, 0.0), np.inf)
    best = int(np.argmin(needed))
    if needed[best] > MOST_DEGREE:
        raise NumericalError(
            f"No polynomial of degree {MOST_DEGREE:,} or less is known to meet this filter to {tolerance:.1e}. Likely "
            "causes: a singularity inside or next to the range of the eigenvalues, or a lengthscale of hundreds. "
            "Lower the lengthscale, or give the spectrum a `rank` and use the low-rank solver."
        )
    degree = int(np.ceil(needed[best]))
    return degree, float(np.exp(log_front[best] - degree * np.log(rho[best])))


def nodes(number: int, upper: float) -> np.ndarray:
    """Return the Chebyshev points of [0, upper]."""
    return upper / 2 * (1 + np.cos(np.pi * (np.arange(number) + 0.5) / number))


def chebyshev_coefficients(values: np.ndarray) -> np.ndarray:
    """Return the coefficients of the polynomial through values at `nodes`, a cosine transform away."""
    coefficients = scipy.fft.dct(values, axis=0) / len(values)
    coefficients[0] /= 2
    return coefficients


def coefficient_matrix(degree: int, number: int) -> np.ndarray:
    """Return the matrix that takes values at ``number`` nodes to coefficients 0 to ``degree``: linear, so it is."""
    k = np.arange(degree + 1)[:, None]
    matrix = 2 / number * np.cos(np.pi * k * (np.arange(number) + 0.5) / number)
    matrix[0] /= 2
    return matrix


def apply(operator: LaplacianOperator, expansion: Expansion, X: Block) -> Block:
    """Return p(Delta) X for a block: one product and one sweep a degree."""
    return operator.leave(operator.clenshaw(operator.enter(X), expansion.coefficients, 2.0 / expansion.upper))


def apply_all(operator: LaplacianOperator, coefficients: np.ndarray, X: Block) -> list[Block]:
    """Return p(Delta) X for several polynomials, coefficients of shape (p, degree + 1), at the price of one."""
    images = terms(operator, operator.enter(X), coefficients.shape[1] - 1)
    first = next(images)
    number = first.dtype.type
    totals = [number(c) * first for c in coefficients[:, 0]]
    for k, (by_polynomial, term) in enumerate(zip(coefficients[:, 1:].T, images, strict=True)):
        totals = [total + number(c) * term for total, c in zip(totals, by_polynomial, strict=True)]
        if k % _SETTLED_EVERY == 0:
            totals = [operator.settle(total) for total in totals]
    return [operator.leave(total) for total in totals]


def moments(operator: LaplacianOperator, X: Block, Y: Block, degree: int) -> np.ndarray:
    """Return x' t_k(Delta) y for each column and k up to ``degree``, shape (degree + 1, m).

    Every filter's x' phi(Delta) y, and its derivative in any hyperparameter, is a sum of these times numbers.
    """
    parts = []
    for some in column_slices(X.shape[1]):
        x, y = (operator.enter(block[:, some]) for block in (X, Y))
        parts.append(operator.fetch([operator.dot(x, term) for term in terms(operator, y, degree)]))
    return np.hstack(parts)


def terms(operator: LaplacianOperator, X: Block, degree: int) -> Iterator[Block]:
    """Yield t_k(Delta) X of an inside block for k = 0 to ``degree``; the next but one may be put in a term's place."""
    slope = 2.0 / (operator.upper or 1.0)
    yield X
    if degree == 0:
        return
    here, before = operator.affine(X, slope, -1.0), X
    yield here
    for _ in range(2, degree + 1):
        spare = None if before is X else before
        here, before = operator.affine(here, 2.0 * slope, -2.0, (-1.0, before), out=spare), here
        yield here


def _trimmed(coefficients: np.ndarray, upper: float, bound: float, wanted: float) -> Expansion:
    """Drop the last coefficients while the bound, which grows by their sizes, is within what is wanted."""
    bounds = bound + np.append(np.cumsum(np.abs(coefficients[::-1]))[::-1][1:], 0.0)  # if k is the last that is kept
    degree = int(np.argmax(bounds <= wanted))
    return Expansion(coefficients[: degree + 1], upper, float(bounds[degree]))


def _expand_by_decay(phi: Filter, upper: float, wanted: float) -> Expansion:
    """Double the number of nodes until the last coefficients are small and a grid agrees, then drop them."""
    number = _FIRST_NODES
    while number <= 2 * MOST_DEGREE:
        coefficients = chebyshev_coefficients(_checked(phi, nodes(number, upper)))
        tails = np.cumsum(np.abs(coefficients[::-1]))[::-1]
        if tails[number // 2] <= wanted / 4:
            expansion = _trimmed(coefficients, upper, 0.0, wanted / 2)
            grid = np.linspace(0.0, upper, 8 * number)
            error = float(np.max(np.abs(expansion(grid) - _checked(phi, grid))))
            if error <= wanted:
                return expansion._replace(bound=max(error, expansion.bound))
        number *= 2
    raise NumericalError(
        f"The filter's Chebyshev coefficients do not fall to {wanted:.1e} within degree {MOST_DEGREE:,}. Likely cause: "
        "a singularity or a kink inside the range of the eigenvalues. Use a smooth filter, or the low-rank solver."
    )


def _checked(phi: Filter, eigenvalues: np.ndarray) -> np.ndarray:
    values = np.asarray(phi(eigenvalues), dtype=np.float64)
    if not np.isfinite(values).all():
        at = eigenvalues[~np.isfinite(values)][0]
        raise NumericalError(
            f"The filter is not finite at the eigenvalue {at:.4g}. Likely cause: a singularity inside "
            f"[0, {eigenvalues.max():.3g}]. A kernel's filter must be finite there."
        )
    return values
