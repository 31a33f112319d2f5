import copy
import pickle

import numpy as np
import pytest

from hypergauss import Graph

PATH = [[0, 2, 0], [2, 1, 3], [0, 3, 0]]


def test_a_graph_knows_its_degrees_and_counts_self_loops_as_edges():
    G = Graph(PATH, vertices=["a", "b", "c"])
    assert G.vertex_degrees.tolist() == [2, 6, 3]
    assert (G.num_vertices, G.num_edges) == (3, 3)
    assert G.vertex_rows(["c", "a"]).tolist() == [2, 0]
    assert repr(G) == "Graph(3 vertices, 3 edges)"


def test_a_graph_cannot_be_changed_even_after_pickling():
    G = Graph(PATH)
    assert copy.deepcopy(G) is G
    for graph in (G, pickle.loads(pickle.dumps(G))):
        assert np.array_equal(graph.adjacency.toarray(), PATH)
        with pytest.raises(ValueError, match="read-only"):
            graph.adjacency.data[0] = 9.0


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        ([[0, 1]], r"square. Got shape \(1, 2\)"),
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, -1], [-1, 0]], "must not be negative. Got -1"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
    ],
)
def test_bad_adjacency_is_named_with_its_rule(adjacency, message):
    with pytest.raises(ValueError, match=message):
        Graph(adjacency)


def test_unknown_vertices_are_told():
    with pytest.raises(ValueError, match=r"must belong to the graph \(3 vertices\). Got 7"):
        Graph(PATH).vertex_rows([7])


def test_a_notebook_shows_what_it_counts():
    shown = Graph([[0, 2.0, 0], [2.0, 0, 0], [0, 0, 0]])._repr_html_()
    for text in ("<caption>Graph</caption>", ">vertices<", ">3<", ">edges<", ">1<", ">2 to 2<", ">isolated vertices<"):
        assert text in shown
    assert ">-<" in Graph([[0.0]])._repr_html_()
