"""Drawings hold what they should: a region a hyperedge, a line a membership, a link a pair."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon

from hypergauss import Hypergraph, Spectrum, drawing, kernels, plotting

H = Hypergraph.from_edges({"x": ["a", "b", "c"], "y": ["c", "d"], "z": ["e"], "none": []}, vertices=list("abcdef"))


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def regions(ax):
    return [patch for patch in ax.patches if isinstance(patch, Polygon)]


def test_a_region_holds_the_members_of_its_hyperedge(ax):
    X = drawing.layout(H)
    assert drawing.draw_hypergraph(H, positions=X, ax=ax) is ax
    found = [
        {v for v, place in zip("abcdef", X, strict=True) if region.get_path().contains_point(place)}
        for region in regions(ax)
    ]
    assert len(found) == 3  # an empty hyperedge has no region
    for members in ("abc", "cd", "e"):
        assert any(set(members) <= inside for inside in found)


def test_members_lie_closer_than_strangers():
    X = drawing.layout(H)
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert apart[0, 1] < apart[0, 3] < apart[0, 4] + apart[0, 5]
    assert np.isfinite(X).all()


def test_twins_do_not_lie_on_one_another():
    X = drawing.layout(Hypergraph.from_edges([["a", "b"], ["a", "b"]]))
    assert np.linalg.norm(X[0] - X[1]) > 0.1


def test_a_line_for_each_membership(ax):
    drawing.draw_bipartite(H, ax=ax)
    assert len(ax.lines) == H.num_incidences
    assert {text.get_text() for text in ax.texts} == {*"abcdef", "x", "y", "z", "none"}


def test_a_link_for_each_pair_thicker_the_more_it_shares(ax):
    shared = Hypergraph.from_edges([["a", "b"], ["a", "b", "c"]])
    drawing.draw_clique_expansion(shared, ax=ax)
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert len(lines.get_segments()) == 3
    assert max(lines.get_linewidths()) == lines.get_linewidths()[0] > lines.get_linewidths()[1]


def test_vertices_are_coloured_by_value_and_sized_by_uncertainty(ax):
    drawing.draw_hypergraph(H, values=np.arange(6.0), sizes=np.arange(1.0, 7.0), labels=False, ax=ax)
    (dots,) = ax.collections
    np.testing.assert_array_equal(dots.get_array(), np.arange(6.0))
    assert np.diff(dots.get_sizes()).min() > 0


def test_a_kernel_is_shown_as_correlation_with_one_vertex(ax):
    kernel = kernels.Matern(Spectrum.of(H))
    drawing.kernel_from_vertex(H, kernel, "a", ax=ax)
    shown = ax.collections[0].get_array()
    K = np.asarray(kernel.gram())
    np.testing.assert_allclose(shown, K[0] / np.sqrt(np.diag(K) * K[0, 0]))
    with pytest.raises(ValueError, match="'nobody'"):
        drawing.kernel_from_vertex(H, kernel, "nobody", ax=ax)


def test_large_hypergraphs_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match="draw_map"):
        drawing.draw_hypergraph(Hypergraph.from_edges([range(300)]))


def test_traces_and_intervals(ax):
    plotting.learning_trace([-5.0, -3.0, -2.5], label="ELBO", ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [-5.0, -3.0, -2.5])
    ax.clear()
    plotting.posterior_intervals(["a", "b"], [2.0, 1.0], [0.1, 0.2], observed=[np.nan, 1.1], ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]


def test_a_hundred_names_overlap_neither_each_other_nor_the_dots():
    rng = np.random.default_rng(0)
    names = [f"senator {number}" for number in range(100)]
    groups = [rng.choice(np.arange(10 * (g % 10), 10 * (g % 10) + 12) % 100, 4, replace=False) for g in range(40)]
    crowd = Hypergraph.from_edges([[names[v] for v in group] for group in groups], vertices=names)
    X = drawing.layout(crowd)
    ax = drawing.draw_hypergraph(crowd, positions=X)
    ax.figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_text()]
    assert sorted(text.get_text() for text in texts) == sorted(names)
    boxes = [text.get_window_extent() for text in texts]
    assert not any(first.overlaps(second) for at, first in enumerate(boxes) for second in boxes[:at])
    assert not any(box.contains(*place) for box in boxes for place in ax.transData.transform(X))
    assert not regions(ax)  # ribbons: a region would cover those who are no members
    plt.close(ax.figure)


def test_names_for_which_there_is_no_place_are_counted():
    figure, small = plt.subplots(figsize=(1, 1))
    drawing.draw_hypergraph(Hypergraph.from_edges([[f"a name of some length {v}" for v in range(6)]]), ax=small)
    assert "names without a place" in small.texts[-1].get_text()
    plt.close(figure)
