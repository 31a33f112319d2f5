r"""The posterior of hyperparameters around its top: curvature, and a few well-spread points to average over.

With theta the coordinates at the top and H minus the Hessian of objective plus log prior there, hyperparameters are
roughly N(theta, H^-1). Averages over them are taken by importance sampling: at points theta + L z, with L L' = H^-1
and z a low-discrepancy sequence of normal variables, each weighted by what it really reaches over what that normal
says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

#: The step of differences of gradients, in coordinates: hyperparameters are known to some tenths.
_STEP = 0.03
#: Coordinates nearer to a bound than this are held there.
_AT_BOUND = 0.01
#: The same for standard errors, which say how flat the top is, and are compared with the priors' own.
_FLATTEST = 10.0


class Curvature(NamedTuple):
    """A normal approximation: centre (p,), and a root of the covariance (p, k), for the k coordinates that move."""

    centre: np.ndarray
    root: np.ndarray
    #: H, shape (p, p); zero for coordinates that are held.
    bend: np.ndarray | None = None

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the coordinates, shape (p, p); zero for those that are held."""
        return self.root @ self.root.T

    def standard_covariance(self) -> np.ndarray:
        """Return H^-1, shape (p, p): as `covariance`, but as wide as the top is flat; zero for those that are held."""
        if self.bend is None:
            return self.covariance
        free = np.flatnonzero(self.bend.any(axis=1))
        found = np.zeros_like(self.bend)
        if len(free):
            values, vectors = np.linalg.eigh(self.bend[np.ix_(free, free)])
            found[np.ix_(free, free)] = (vectors / np.maximum(values, _FLATTEST**-2)) @ vectors.T
        return found

    def points(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets from the centre, shape (count, p), and the log density of each, up to a constant."""
        z = normal_sequence(count, self.root.shape[1])
        return z @ self.root.T, -(z**2).sum(axis=1) / 2


def curvature_at(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    centre: np.ndarray,
    limits: np.ndarray,
    *,
    widest: float,
) -> Curvature:
    """Return the normal approximation of exp(value) around its top, from differences of gradients.

    Parameters
    ----------
    value_and_gradient : callable
        Objective plus log prior, and its gradient, at coordinates.
    centre : array, shape (p,)
        The top.
    limits : array, shape (p, 2)
        The range of each coordinate; one that is at its bound is held.
    widest : float
        The largest standard deviation of a direction, also where the top is flat or rounding made a saddle of it.
    """
    size = len(centre)
    free = np.flatnonzero((centre - limits[:, 0] > _AT_BOUND) & (limits[:, 1] - centre > _AT_BOUND))
    H = np.zeros((len(free), len(free)))
    here = value_and_gradient(centre)[1][free]
    for row, j in enumerate(free):
        step = np.zeros(size)
        step[j] = _STEP if limits[j, 1] - centre[j] > _STEP else -_STEP
        H[row] = (here - value_and_gradient(centre + step)[1][free]) / step[j]
    root, bend = np.zeros((size, len(free))), np.zeros((size, size))
    if np.isfinite(H).all() and len(free):
        bend[np.ix_(free, free)] = (H + H.T) / 2
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        covariance = (vectors / np.maximum(values, widest**-2)) @ vectors.T
        # Cholesky's root: eigenvectors come with signs, and those of equal values with turns, that rounding decides,
        # so that points, and predictions, would depend on the order in which observations are given.
        root[free] = np.linalg.cholesky(covariance)
    return Curvature(centre, root, bend)


def normal_sequence(count: int, dimensions: int) -> np.ndarray:
    """Return well-spread normal variables, shape (count, dimensions): Kronecker's sequence, and its mirror image.

    Its steps are the powers of 1 / g, g the root of g^(d + 1) = g + 1 (the golden ratio for d = 1). Half the points are
    the others' mirror images, so that means of odd functions are exact.
    """
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (dimensions + 1))
    half = (count + 1) // 2
    steps = g ** -np.arange(1.0, dimensions + 1)
    z = ndtri((0.5 + np.arange(1, half + 1)[:, None] * steps) % 1.0)
    return np.concatenate([z, -z])[:count]
