import networkx
import numpy as np
import pytest

from hypergauss import Hypergraph, centrality
from hypergauss.inference.selection import eigencentrality
from tests.hypergraphs import random_hypergraph


def test_the_degree_is_the_share_of_hyperedges_that_a_vertex_is_in():
    H = Hypergraph.from_edges({"x": ["a", "b"], "y": ["b", "c"]}, weights={"x": 3.0, "y": 1.0})
    assert centrality(H).to_dict() == {"a": 0.75, "b": 1.0, "c": 0.25}


def test_the_eigenvector_is_that_by_which_inducing_vertices_are_selected():
    H = random_hypergraph(12, 8, seed=0)
    np.testing.assert_array_equal(centrality(H, "eigenvector"), eigencentrality(H))


def test_the_random_walk_is_pagerank_of_its_own_graph():
    H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f", "a"], ["g"]], weights=[2.0, 1.0, 0.5, 1.0])
    R = H.incidence.toarray()
    steps = R @ np.diag(H.weights / H.edge_degrees) @ R.T  # D_v P, self-loops included
    expected = networkx.pagerank(networkx.from_numpy_array(steps), alpha=0.8, tol=1e-14, max_iter=1000)
    np.testing.assert_allclose(centrality(H, "random-walk", restart=0.2), list(expected.values()), rtol=1e-9)


def test_isolated_vertices_and_empty_hyperedges_are_legal_and_the_walk_sums_to_one():
    H = Hypergraph.from_edges({"x": ["a", "b"], "none": []}, vertices=["lonely", "a", "b"])
    for kind in ("degree", "eigenvector", "random-walk"):
        values = centrality(H, kind)
        assert np.isfinite(values).all()
        assert values["lonely"] < values["a"]
        assert centrality(Hypergraph.from_edges([]), kind).empty
    assert centrality(H, "random-walk").sum() == pytest.approx(1.0, abs=1e-12)


def test_a_kind_that_there_is_not_and_a_walk_without_end_are_refused():
    H = Hypergraph.from_edges([["a", "b"]])
    with pytest.raises(ValueError, match=r"Got 'eigenvektor'. Did you mean 'eigenvector'"):
        centrality(H, "eigenvektor")
    with pytest.raises(ValueError, match=r"`restart` must be between 0 and 1. Got 1"):
        centrality(H, "random-walk", restart=1)
    with pytest.raises(TypeError, match=r"must be a Hypergraph. Got list"):
        centrality([["a"]])
