"""How well a map separates classes that it was not told: coordinates and labels in, floats out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, completeness_score, homogeneity_score

from hypergauss import _checks
from hypergauss._checks import Labels, Seed, Values

#: How far outside, relative to the map's size, a point still counts as on a hull.
_TOLERANCE = 1e-9


class Agreement(NamedTuple):
    """How well labels agree with classes, each at most 1 and 1 if perfectly."""

    adjusted_mutual_information: float
    homogeneity: float
    completeness: float


def agreement(classes: Labels, labels: Labels) -> Agreement:
    """Compare labels with classes: adjusted mutual information, homogeneity and completeness (paper, Appendix A.1)."""
    measures = (adjusted_mutual_info_score, homogeneity_score, completeness_score)
    return Agreement(*(float(measure(classes, labels)) for measure in measures))


def hull_labels(coordinates: Values, classes: Labels) -> np.ndarray:
    """Return the class that the convex hulls of the classes give each point.

    A point belongs to the hull of its own class, and maybe to others. **The rule**: among the hulls that contain it
    (boundaries included), the one whose class has the nearest mean; of equally near ones, the first in sorted order.
    The hulls are drawn with the classes known, so agreement with them flatters every map: it measures overlap.

    Parameters
    ----------
    coordinates : array, shape (N, Q)
        The map; hulls may be points or segments.
    classes : array, shape (N,)
        The true classes.

    Examples
    --------
    >>> hull_labels([[0.0], [1.0], [0.9], [3.0]], ["a", "a", "b", "b"]).tolist()
    ['a', 'a', 'a', 'b']
    """
    X, y = _aligned(coordinates, classes)
    names = np.unique(y)
    means = np.stack([X[y == name].mean(axis=0) for name in names])
    size = np.abs(X - X.mean(axis=0)).max() or 1.0
    inside = np.stack([_in_hull(X, X[y == name], _TOLERANCE * size) | (y == name) for name in names], axis=1)
    distances = np.where(inside, ((X[:, None] - means[None]) ** 2).sum(axis=2), np.inf)
    return names[distances.argmin(axis=1)]


def hull_agreement(coordinates: Values, classes: Labels) -> Agreement:
    """Compare classes with the labels that their convex hulls give (`hull_labels`)."""
    return agreement(classes, hull_labels(coordinates, classes))


def kmeans_agreement(coordinates: Values, classes: Labels, *, n_init: int = 50, random_state: Seed = 0) -> Agreement:
    """Compare classes with k-means, as many clusters as classes: no label is used to make them.

    The best of ``n_init`` runs, by k-means' own criterion.
    """
    X, y = _aligned(coordinates, classes)
    means = KMeans(len(np.unique(y)), n_init=n_init, random_state=random_state)
    return agreement(y, means.fit_predict(X))


def nearest_neighbour_accuracy(coordinates: Values, classes: Labels) -> float:
    """Return the share of points whose nearest other point has the same class.

    Of several at the same distance, vertices at one place above all, each counts by its share.

    Examples
    --------
    >>> nearest_neighbour_accuracy([[0.0], [0.1], [1.0], [1.2]], ["a", "a", "b", "a"])
    0.5
    """
    X, y = _aligned(coordinates, classes)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    size = np.abs(X - X.mean(axis=0)).max() or 1.0
    nearest = squares <= (np.sqrt(squares.min(axis=1, keepdims=True)) + _TOLERANCE * size) ** 2
    return float(((nearest & (y[:, None] == y[None])).sum(axis=1) / nearest.sum(axis=1)).mean())


def _in_hull(points: np.ndarray, corners: np.ndarray, tolerance: float) -> np.ndarray:
    """Tell which points are convex combinations of the corners: w >= 0 with sum 1 and w' corners = point.

    Least squares with w >= 0, the sum as one more equation, decide it in any dimension and for flat hulls too.
    """
    scale = np.abs(corners).max() or 1.0
    system = np.vstack([corners.T, np.full(len(corners), scale)])
    return np.array([nnls(system, np.append(point, scale))[1] <= tolerance for point in points])


def _aligned(coordinates: Values, classes: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates of shape (N, Q) and classes of shape (N,)."""
    X = _checks.finite_array("coordinates", coordinates, missing="Score only vertices that were placed.")
    y = np.asarray(classes)
    if X.ndim != 2 or y.ndim != 1 or len(X) < 2:
        raise ValueError(
            f"`coordinates` must have two dimensions and two rows at least, `classes` one. Got {X.shape} and {y.shape}."
        )
    _checks.same_length("coordinates", len(X), "classes", len(y))
    return X, y
