"""Where vertices lie on the report's map."""

import numpy as np

import hypergauss as hg
from hypergauss.estimators.domain import Domain
from hypergauss.report import layout
from hypergauss.report.layout import vertex_map


def chain(n, start=0):
    return [[start + i, start + i + 1, start + i + 2] for i in range(n - 2)]


def test_separate_parts_have_places_of_their_own_that_do_not_overlap():
    edges = chain(40) + chain(40, 40) + chain(40, 80)
    places = vertex_map(Domain.of(hg.Hypergraph.from_edges(edges, vertices=range(120))))
    parts = [slice(start, start + 40) for start in (0, 40, 80)]
    boxes = [(places.x[p].min(), places.x[p].max(), places.y[p].min(), places.y[p].max()) for p in parts]
    for at, (left, right, low, high) in enumerate(boxes):
        assert right - left > 0.1
        assert high - low > 0.1
        for other_left, other_right, other_low, other_high in boxes[:at]:
            assert right < other_left or other_right < left or high < other_low or other_high < low
    assert "3 separate parts" in places.text


def test_vertices_in_no_hyperedge_lie_apart_and_apart_from_one_another():
    H = hg.Hypergraph.from_edges(chain(30), vertices=range(40))
    places = vertex_map(Domain.of(H))
    assert places.y[30:].max() < places.y[:30].min()
    assert len({(x, y) for x, y in zip(places.x, places.y, strict=True)}) == 40
    assert "10 vertices that are in no hyperedge with others lie apart" in places.text


def test_neighbours_along_hyperedges_lie_nearer_than_others():
    H = hg.Hypergraph.from_edges(chain(100))
    places = vertex_map(Domain.of(H))
    both = np.column_stack([places.x, places.y])
    steps = np.linalg.norm(np.diff(both, axis=0), axis=1)
    anyone = np.linalg.norm(both - np.random.default_rng(0).permutation(both), axis=1)
    assert np.median(steps) < np.median(anyone) / 5


def test_a_large_part_is_laid_out_by_approximate_eigenvectors(monkeypatch):
    monkeypatch.setattr(layout, "_LARGE", 50)
    places = vertex_map(Domain.of(hg.Hypergraph.from_edges(chain(120))))
    both = np.column_stack([places.x, places.y])
    near, far = np.linalg.norm(both[1:] - both[:-1], axis=1), np.linalg.norm(both[60:] - both[:-60], axis=1)
    assert np.median(near) < np.median(far) / 5


def test_all_relations_join_vertices_and_places_do_not_change_from_run_to_run():
    vertices = list(range(30))
    H = hg.Hypergraph.from_edges(chain(15), vertices=vertices)
    links = np.zeros((30, 30))
    for i in range(14, 29):
        links[i, i + 1] = links[i + 1, i] = 1.0
    domain = Domain.of({"groups": H, "roads": hg.Graph(links, vertices)})
    places, again = vertex_map(domain), vertex_map(domain)
    assert "separate parts" not in places.text
    np.testing.assert_array_equal(places.x, again.x)
    assert ((places.x >= 0) & (places.x <= 1) & (places.y >= 0) & (places.y <= 1)).all()


def test_a_hypergraph_without_any_shared_hyperedge_is_still_a_map():
    places = vertex_map(Domain.of(hg.Hypergraph.from_edges([["a"], ["b"]], vertices=["a", "b", "c"])))
    assert np.isfinite(places.x).all()
    assert np.isfinite(places.y).all()
