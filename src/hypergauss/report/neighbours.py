r"""A map that keeps neighbours together: points in many dimensions are placed in two.

Each point is drawn to its k nearest, and pushed away by others drawn at random, with the forces of a Student t kernel,

    pull = (y_j - y_i) / (1 + d^2),    push = (y_i - y_j) / ((0.01 + d^2) (1 + d^2)),    d = |y_i - y_j|,

in steps that shorten to nothing, from the first two coordinates (McInnes, Healy and Melville's UMAP in its simplest
form). Two coordinates alone bend a chain into a horseshoe, and lay apart what only the third would.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

#: Neighbours that pull, points that push, and the most steps; the side of the map where they begin.
_NEAREST, _PUSHING, _STEPS, _SIDE = 10, 5, 200, 20.0
#: Points that are placed by forces; of more, so many are drawn to stand for all.
_MOST = 4000
#: No force moves a point by more than this in a step.
_FURTHEST = 4.0


def placed(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a place in the plane for each point, shape (n, 2), from coordinates of shape (n, d), largest spread first.

    Beyond 4,000 points, others lie between the three that are nearest to them among those that were placed.
    """
    n = len(points)
    if n <= _MOST:
        return _moved(points, rng)
    some = rng.choice(n, _MOST, replace=False)
    places = _moved(points[some], rng)
    distances, nearest = cKDTree(points[some]).query(points, k=3)
    weights = 1.0 / (distances + 1e-3 * (distances.mean() or 1.0))
    weights /= weights.sum(axis=1, keepdims=True)
    spread = 0.15 * rng.standard_normal((n, 2))  # so that equals are seen to be many
    return (weights[:, :, None] * places[nearest]).sum(axis=1) + spread


def _moved(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(points)
    places = _start(points, rng)
    if n < 4:
        return places
    rows, columns = _pairs(points, min(_NEAREST, n - 1))
    starts = np.searchsorted(rows, np.arange(n))
    for step in range(_STEPS):
        size = 1.0 - step / _STEPS
        apart = places[columns] - places[rows]
        pull = apart / (1.0 + (apart**2).sum(axis=1, keepdims=True))
        move = np.add.reduceat(pull, starts, axis=0)
        for _ in range(_PUSHING):
            apart = places - places[rng.permutation(n)]
            squared = (apart**2).sum(axis=1, keepdims=True)
            move += apart / ((0.01 + squared) * (1.0 + squared)) * 2.0
        places += size * np.clip(move, -_FURTHEST, _FURTHEST)
    return places


def _start(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the first two coordinates as shares of their ranges, with a little noise that tells equals apart."""
    places = np.zeros((len(points), 2))
    kept = points[:, :2]
    spread = np.ptp(kept, axis=0)
    places[:, : kept.shape[1]] = (kept - kept.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return _SIDE * (places + 0.01 * rng.standard_normal(places.shape))


def _pairs(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return who pulls whom, sorted by who is pulled: each point's nearest, and those that it is nearest to."""
    n = len(points)
    _, nearest = cKDTree(points).query(points, k=k + 1)
    rows = np.repeat(np.arange(n), k + 1)
    graph = sp.csr_array((np.ones(n * (k + 1)), (rows, nearest.ravel())), shape=(n, n))
    both = sp.csr_array(graph + graph.T)  # a point is its own nearest: nobody is without any pair
    return np.repeat(np.arange(n), np.diff(both.indptr)), both.indices
