import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, completeness_score, homogeneity_score

from hypergauss.metrics import (
    agreement,
    hull_agreement,
    hull_labels,
    kmeans_agreement,
    nearest_neighbour_accuracy,
)

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


def test_agreement_is_scikit_learns():
    classes, labels = [0, 0, 1, 1, 2], ["x", "x", "y", "x", "y"]
    found = agreement(classes, labels)
    measures = (adjusted_mutual_info_score, homogeneity_score, completeness_score)
    assert found == tuple(measure(classes, labels) for measure in measures)


def test_points_in_one_hull_only_keep_their_class():
    X = np.vstack([SQUARE, SQUARE + 5.0])
    assert hull_labels(X, [0] * 4 + [1] * 4).tolist() == [0] * 4 + [1] * 4
    assert hull_agreement(X, [0] * 4 + [1] * 4) == pytest.approx((1.0, 1.0, 1.0))


def test_a_point_in_several_hulls_goes_to_the_nearest_class_mean():
    # The class "b" reaches into the square of "a"; its own mean is far away.
    X = np.vstack([SQUARE, [[1.0, 1.0], [9.0, 1.0]]])
    assert hull_labels(X, list("aaaabb")).tolist() == list("aaaaab")


def test_points_on_the_boundary_of_a_hull_are_in_it():
    X = np.vstack([SQUARE, [[1.0, 0.0], [1.0, -9.0]]])
    assert hull_labels(X, list("aaaabb"))[4] == "a"


@pytest.mark.parametrize("Q", [1, 2, 3])
def test_hulls_may_be_points_or_segments_in_any_dimension(Q):
    X = np.array([[0.0], [1.0], [0.6], [3.0]]) * np.ones(Q)
    assert hull_labels(X, ["a", "a", "b", "c"]).tolist() == ["a", "a", "b", "c"]  # "b" is nearest to its own mean
    assert hull_labels(X, ["a", "a", "b", "b"]).tolist() == ["a", "a", "a", "b"]


def test_scores_do_not_change_when_the_map_is_moved_or_scaled(rng):
    X, y = rng.standard_normal((40, 2)), rng.integers(0, 3, 40)
    moved = 1e3 + 50.0 * X @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert (hull_labels(X, y) == hull_labels(moved, y)).all()
    assert nearest_neighbour_accuracy(X, y) == nearest_neighbour_accuracy(moved, y)


def test_kmeans_finds_clusters_without_labels(rng):
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 10, axis=0) + 0.1 * rng.standard_normal((30, 2))
    assert kmeans_agreement(X, np.repeat(["x", "y", "z"], 10)) == pytest.approx((1.0, 1.0, 1.0))


def test_neighbours_at_one_place_count_by_their_shares():
    # The first point has two others at its own place, of which one has its class.
    X = [[0.0], [0.0], [0.0], [5.0], [5.0]]
    shares = [0.5, 0.5, 0.0, 1.0, 1.0]
    assert nearest_neighbour_accuracy(X, list("aabcc")) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([0.0, 1.0], [0, 1], "two dimensions"),
        ([[0.0], [np.nan]], [0, 1], "must not contain NaN"),
        ([[0.0], [1.0]], [0, 1, 1], "the same length. Got 2 and 3"),
        ([[0.0]], [0], "two rows at least"),
    ],
)
def test_maps_and_classes_that_do_not_fit_are_explained(X, y, message):
    for measure in (hull_labels, kmeans_agreement, nearest_neighbour_accuracy):
        with pytest.raises(ValueError, match=message):
            measure(X, y)
