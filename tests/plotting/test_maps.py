"""Maps show what they are given, and no label covers another or a point."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.patches import Ellipse, Polygon

from hypergauss import SpectralEmbedding
from hypergauss.datasets import load_zoo
from hypergauss.plotting.maps import STYLES, draw_map, place_labels

ZOO = load_zoo()
X = SpectralEmbedding().fit_transform(ZOO.hypergraph)
TYPES = ZOO.target.to_numpy()


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(12, 9), layout="constrained")
    yield axes
    plt.close(figure)


def test_every_class_has_its_colour_marker_and_hull(ax):
    assert draw_map(X, TYPES, ax=ax) is ax
    assert len(ax.collections) == 7
    assert sum(len(collection.get_offsets()) for collection in ax.collections) == 101
    assert len({tuple(collection.get_facecolor()[0]) for collection in ax.collections}) == 7
    assert sum(isinstance(patch, Polygon) for patch in ax.patches) == 7
    assert len(ax.get_legend().get_texts()) == 7


def test_a_class_of_one_or_two_or_in_line_has_a_hull_too(ax):
    draw_map([[0, 0], [1, 0], [1, 1], [2, 0], [3, 0], [4, 0]], list("abbccc"), ax=ax)
    assert sum(isinstance(patch, Polygon) for patch in ax.patches) == 3


def test_an_ellipse_holds_its_share_of_the_probability(ax, rng):
    covariance = np.array([[2.0, 0.8], [0.8, 0.5]])
    draw_map([[1.0, 2.0], [0.0, 0.0]], [0, 1], covariances=[covariance, np.eye(2)], level=0.7, ax=ax)
    ellipse = next(patch for patch in ax.patches if isinstance(patch, Ellipse))
    draws = rng.multivariate_normal([1.0, 2.0], covariance, 20_000)
    inside = ellipse.get_patch_transform().inverted().transform(draws)
    assert ((inside**2).sum(axis=1) <= 1).mean() == pytest.approx(0.7, abs=0.015)


def test_labels_cover_neither_points_nor_one_another(ax):
    draw_map(X, TYPES, names=[str(name) for name in ZOO.hypergraph.vertices], ax=ax)
    renderer = ax.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in ax.texts]
    assert len(boxes) == 59  # animals with the same traits share a place and a label
    points = ax.transData.transform(X)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.contains(*point) for point in points)
    assert sum(len(text.get_text().replace("\n", " ").split(", ")) for text in ax.texts) == 101


def test_labels_without_room_are_returned_and_not_drawn():
    figure, axes = plt.subplots(figsize=(0.6, 0.6))
    axes.plot([0, 1], [0, 1], ".")
    left_out = place_labels(np.array([[0.5, 0.5]]), {0: "a name too long for so small a map"}, fontsize=12, ax=axes)
    assert left_out == ["a name too long for so small a map"]
    assert not axes.texts
    plt.close(figure)


def test_too_many_classes_are_refused():
    many = range(len(STYLES) + 1)
    with pytest.raises(ValueError, match=r"at most 8 classes to be told apart\. Got 9"):
        draw_map(np.zeros((9, 2)), many)
    plt.close("all")
