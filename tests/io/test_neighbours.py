"""Objects of other packages come and go with names, weights, isolated vertices and attributes."""

import numpy as np
import pytest
from hypothesis import given

from hypergauss import (
    Hypergraph,
    Spectrum,
    from_hyperedge_index,
    from_hypernetx,
    from_networkx,
    from_xgi,
    to_hyperedge_index,
    to_hypernetx,
    to_networkx,
    to_xgi,
)
from tests.hypergraphs import hypergraphs, random_hypergraph
from tests.io.awkward import noted, plain, same

BACK = {
    "xgi": (to_xgi, from_xgi),
    "hypernetx": (to_hypernetx, from_hypernetx),
    "networkx": (to_networkx, from_networkx),
}


@pytest.mark.parametrize("package", BACK)
def test_a_hypergraph_goes_and_comes_back(package):
    pytest.importorskip(package)
    to, back = BACK[package]
    assert same(plain(), back(to(plain())))


@pytest.mark.parametrize("package", ["hypernetx", "networkx"])
@given(H=hypergraphs())
def test_any_weights_survive(package, H):
    pytest.importorskip(package)
    to, back = BACK[package]
    again = back(to(H))
    assert H.equals(again.subhypergraph(vertices=H.vertices, edges=H.edges))


def test_xgi_objects_round_trip():
    xgi = pytest.importorskip("xgi")
    network = xgi.Hypergraph(name="small")
    network.add_nodes_from([("ana", {"age": 3}), 2, "lonely"])
    network.add_edge(["ana", 2], idx="e", weight=2.0, topic="water")
    network.add_edge([2])
    H = from_xgi(network)
    assert H.weights.tolist() == [2, 1]
    assert H.isolated_vertices.tolist() == ["lonely"]
    again = to_xgi(H)
    assert list(again.nodes) == list(network.nodes)
    assert again.edges.members(dtype=dict) == network.edges.members(dtype=dict)
    assert dict(again.edges["e"]) == {"weight": 2.0, "topic": "water"}
    assert dict(again.nodes["ana"]) == {"age": 3}
    assert again["name"] == "small"


def test_weights_of_vertices_go_to_xgi_and_come_back():
    pytest.importorskip("xgi")
    H = Hypergraph.from_edges({"e": ["a", "b"]}).with_attributes(vertices={"a": {"age": 41}}, vertex_weights={"a": 2.5})
    network = to_xgi(H)
    assert dict(network.nodes["a"]) == {"age": 41, "weight": 2.5}
    assert dict(network.nodes["b"]) == {}
    again = from_xgi(network)
    assert dict(again.attributes.vertex_weights) == {"a": 2.5}
    assert dict(again.attributes.vertices["a"]) == {"age": 41}


def test_xgi_has_no_weights_of_memberships_nor_directions_of_some():
    pytest.importorskip("xgi")
    with pytest.raises(ValueError, match="no weights of memberships"):
        to_xgi(noted())
    directed = plain().with_attributes(directions={("a", "first"): ("head",)}, network_type="directed")
    with pytest.raises(ValueError, match=r"3 memberships.*no direction.*write_hif"):
        to_xgi(directed)
    assert set(to_xgi(directed.with_attributes(directions={}, network_type=None)).nodes) == set(directed.vertices)


def test_a_directed_hypergraph_of_xgi_comes_and_goes_without_loss():
    xgi = pytest.importorskip("xgi")
    network = xgi.DiHypergraph(name="small")
    network.add_node("lonely")
    network.add_edge(({"a", "b"}, {"c"}), idx="flow", topic="water")
    network.add_edge(({"c"}, {"c", "a"}), idx="back", weight=2.0)
    H = from_xgi(network)
    assert H.attributes.directions["c", "back"] == ("tail", "head")
    assert H.attributes.network_type == "directed"
    again = to_xgi(H)
    assert isinstance(again, xgi.DiHypergraph)
    assert again.edges.dimembers(dtype=dict) == network.edges.dimembers(dtype=dict)
    assert dict(again.edges["back"]) == {"weight": 2.0}
    assert list(again.nodes) == list(network.nodes)


def test_xgi_has_our_laplacian_where_hyperedges_weigh_the_same():
    xgi = pytest.importorskip("xgi")
    R = random_hypergraph(12, 20, seed=3, awkward=False).incidence > 0
    H = Hypergraph.from_incidence(R, vertices=[f"v{i}" for i in range(12)])
    theirs, order = xgi.normalized_hypergraph_laplacian(to_xgi(H), sparse=False, index=True)
    rows = H.vertex_rows([order[i] for i in range(12)])
    np.testing.assert_allclose(theirs, Spectrum.of(H).laplacian()[np.ix_(rows, rows)], atol=1e-12)


def test_hypernetx_objects_round_trip():
    hypernetx = pytest.importorskip("hypernetx")
    network = hypernetx.Hypergraph(
        {"e": {"a": {"weight": 2.0, "since": 1990}, "b": {}}, "f": ["b", "c"]},
        edge_properties={"e": {"weight": 3.0, "kind": "x"}, "empty": {}},
        node_properties={"a": {"age": 4, "weight": 2}, "lonely": {}},
        name="small",
    )
    H = from_hypernetx(network)
    assert H.isolated_vertices.tolist() == ["lonely"]
    assert dict(zip(H.edges, H.weights, strict=True)) == {"e": 3.0, "f": 1.0, "empty": 1.0}
    assert H.attributes.vertex_weights == {"a": 2.0}
    assert H.attributes.incidences == {("a", "e"): {"since": 1990}}
    assert same(H, from_hypernetx(to_hypernetx(H)))
    again = to_hypernetx(H)
    assert again.incidence_dict == network.incidence_dict
    assert again.get_cell_properties("e", "a")["weight"] == 2.0


def test_hypernetx_has_our_laplacian_on_a_connected_hypergraph_without_weights():
    pytest.importorskip("hypernetx")
    from hypernetx.algorithms import norm_lap

    R = random_hypergraph(12, 20, seed=3, awkward=False).incidence > 0
    H = Hypergraph.from_incidence(R, vertices=[f"v{i}" for i in range(12)], edges=[f"e{j}" for j in range(20)])
    theirs, order = norm_lap(to_hypernetx(H), index=True)
    rows = H.vertex_rows(list(order))
    np.testing.assert_allclose(theirs.toarray(), Spectrum.of(H).laplacian()[np.ix_(rows, rows)], atol=1e-8)


def test_networkx_keeps_sides_apart_when_they_share_a_name():
    pytest.importorskip("networkx")
    H = Hypergraph.from_edges({"a": ["a", "b"], "c": ["b"]}, vertices=["a", "b", "c"])
    graph = to_networkx(H)
    assert ("vertex", "a") in graph
    assert ("edge", "a") in graph
    assert from_networkx(graph).equals(H)


def test_networkx_graphs_without_two_sides_are_refused():
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match="0 for a vertex and 1 for a hyperedge"):
        from_networkx(networkx.path_graph(3))
    graph = networkx.Graph()
    graph.add_nodes_from([1, 2], bipartite=0)
    graph.add_edge(1, 2)
    with pytest.raises(ValueError, match="inside a side"):
        from_networkx(graph)
    with pytest.raises(TypeError, match="undirected"):
        from_networkx(networkx.DiGraph())


@given(hypergraphs())
def test_hyperedge_indices_come_back_by_number(H):
    index, weights, strengths = to_hyperedge_index(H)
    again = from_hyperedge_index(index, num_vertices=H.num_vertices, num_edges=H.num_edges, weights=weights)
    assert ((again.incidence > 0) != (H.incidence > 0)).nnz == 0
    np.testing.assert_array_equal(again.weights, H.weights)
    assert strengths.sum() == pytest.approx(H.incidence.sum())


def test_tensors_are_taken_as_they_are():
    torch = pytest.importorskip("torch")
    H = from_hyperedge_index(torch.tensor([[0, 1, 2], [0, 0, 1]]), weights=torch.tensor([2.0, 1.0]))
    assert H.weights.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("index", "options", "message"),
    [
        ([[0, 1]], {}, "shape"),
        ([[0.5], [1.0]], {}, "whole numbers"),
        ([[0, -1], [0, 0]], {}, "count from 0"),
        ([[0, 5], [0, 0]], {"num_vertices": 3}, "at least 6"),
    ],
)
def test_indices_that_are_none_are_refused(index, options, message):
    with pytest.raises(ValueError, match=message):
        from_hyperedge_index(index, **options)


def test_without_its_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xgi", None)
    with pytest.raises(ImportError, match=r"hypergauss\[xgi\]"):
        to_xgi(plain())
