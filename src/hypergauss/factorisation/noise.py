r"""Noise of ratings: one variance for all, and how much each user's and each item's differ from it.

A rating of item j by user i has the noise's precision tau g_i h_j, with

    g_i ~ Gamma(a, a),      h_j ~ Gamma(b, b),

both of mean 1: some people rate carelessly, and opinions of some films differ more than those of others. Where this is
not told, rough factors make up for it: u_i . w_j with a long u_i is noise of a large variance for user i, and fits
chance. Given residuals r, g_i is again gamma,

    g_i ~ Gamma(a + n_i / 2, a + tau sum_j h_j r_ij^2 / 2),

and a, on a grid of shapes, has probability in proportion to the product of the g's densities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

#: Inverse gamma prior of the noise's variance, on the scale of ratings of variance 1.
NOISE_SHAPE, NOISE_RATE = 1.0, 1.0
#: What a and b may be, all alike a priori: standard deviations of g from 0.71 to 0.07.
SHAPES = np.geomspace(2.0, 200.0, 48)
_START_SHAPE = 10.0


class Precisions(NamedTuple):
    """The g of one side, shape (N,), and the shape a of their prior; infinite where all are 1."""

    each: np.ndarray
    shape: float

    @property
    def lone_variance(self) -> float:
        """The prior mean of 1 / g, a / (a - 1): what stands for someone not seen."""
        return 1.0 if np.isinf(self.shape) else self.shape / (self.shape - 1.0)

    def draw(self, counts: np.ndarray, squares: np.ndarray, rng: np.random.Generator) -> Precisions:
        """Draw g, then a, given numbers of ratings and sums of squared residuals over the rest of their variance."""
        each = rng.gamma(self.shape + 0.5 * counts) / (self.shape + 0.5 * squares)
        each = np.maximum(each, np.finfo(float).tiny)
        log_p = len(each) * (SHAPES * np.log(SHAPES) - gammaln(SHAPES)) + SHAPES * (np.log(each) - each).sum()
        return Precisions(each, float(SHAPES[(log_p + rng.gumbel(size=len(log_p))).argmax()]))


def start_precisions(size: int, *, individual: bool) -> Precisions:
    """Return precisions that are all 1, to begin with or for good."""
    return Precisions(np.ones(size), _START_SHAPE if individual else np.inf)


def draw_precision(size: int, squares: float, rng: np.random.Generator) -> float:
    """Draw tau given the number of ratings and the sum of their squared residuals, weighed by g and h."""
    return float(rng.gamma(NOISE_SHAPE + 0.5 * size) / (NOISE_RATE + 0.5 * max(squares, 0.0)))


def drawn_variances(lone: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw 1 / g of so many of whom nothing is known, shape (S, size), given its mean a / (a - 1) under each draw."""
    shape = np.divide(lone, lone - 1.0, out=np.full(len(lone), np.inf), where=lone > 1.0)[:, None]
    is_drawn = np.isfinite(shape)
    a = np.where(is_drawn, shape, 1.0)
    return np.where(is_drawn, a / rng.gamma(a, size=(len(lone), size)), 1.0)
