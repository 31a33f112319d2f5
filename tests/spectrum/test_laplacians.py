import numpy as np
import pytest
from hypothesis import given

from hypergauss import Graph, Hypergraph, Spectrum
from hypergauss.spectrum import graph_laplacian, normalised_incidence, zhou_laplacian
from tests import oracles
from tests.hypergraphs import hypergraphs


@given(hypergraphs())
def test_zhous_laplacian_is_that_of_the_definition(H):
    for size_exponent in (0.0, 0.7, -1.5):
        laplacian = zhou_laplacian(H, size_exponent).dense()
        assert np.allclose(laplacian, oracles.zhou_laplacian(H, size_exponent), atol=1e-13)


@given(hypergraphs())
def test_singular_values_of_the_normalised_incidence_lie_within_zero_and_one(H):
    s = np.linalg.svd(normalised_incidence(H, 1.3).toarray(), compute_uv=False)
    assert s.max(initial=0.0) <= 1 + 1e-12


@given(hypergraphs())
def test_size_exponent_one_is_the_weighted_clique_graph_with_self_loops(H):
    joint = H.incidence * H.weights @ H.incidence.T  # the clique expansion with its diagonal
    cliques = graph_laplacian(Graph(joint)).dense()
    assert np.allclose(zhou_laplacian(H, 1.0).dense(), cliques, atol=1e-13)


@given(hypergraphs())
def test_graph_laplacians_are_those_of_the_definitions(H):
    G = H.clique_expansion()
    for normalised in (True, False):
        expected = oracles.graph_laplacian(G.adjacency.toarray(), normalised=normalised)
        laplacian = graph_laplacian(G, normalised=normalised)
        assert np.allclose(laplacian.dense(), expected, atol=1e-12)
        assert np.linalg.eigvalsh(expected).max() <= laplacian.upper + 1e-12


@pytest.mark.parametrize("size_exponent", [0.0, 1.0, -2.0])
def test_a_two_uniform_hypergraph_gives_half_the_graphs_normalised_laplacian(size_exponent):
    pairs = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["a", "c"]]
    H = Hypergraph.from_edges(pairs, weights=[1.0, 2.0, 0.5, 3.0, 1.0])
    half = oracles.graph_laplacian(H.clique_expansion().adjacency.toarray(), normalised=True) / 2
    assert np.allclose(zhou_laplacian(H, size_exponent).dense(), half, atol=1e-14)


@given(hypergraphs())
def test_operators_multiply_as_their_dense_matrices_do(H):
    G = H.clique_expansion()
    x = np.linspace(-1, 2, 3 * H.num_vertices).reshape(-1, 3)
    for laplacian in (zhou_laplacian(H, 0.5), graph_laplacian(G), graph_laplacian(G, normalised=False)):
        assert np.allclose(laplacian.operator() @ x, laplacian.dense() @ x, atol=1e-12)
        assert np.allclose(laplacian.operator() @ x[:, 0], laplacian.dense() @ x[:, 0], atol=1e-12)


@pytest.mark.parametrize(("size_exponent", "pair", "singleton"), [(-100.0, 0.5, 1.0), (100.0, 0.02, 0.02)])
def test_at_extreme_size_exponents_one_hyperedge_of_each_vertex_speaks(size_exponent, pair, singleton):
    H = Hypergraph.from_edges([range(50), [0, 1], [2]], vertices=range(51))
    smoothing = np.eye(51) - zhou_laplacian(H, size_exponent).dense()
    assert np.allclose(smoothing[:2, :2], pair)
    assert smoothing[2, 2] == pytest.approx(singleton)
    assert np.allclose(smoothing[3:50, 3:50], 1 / 50)
    assert not smoothing[50].any()


def test_the_dense_laplacian_is_at_hand_on_the_spectrum(hypergraph):
    assert np.allclose(Spectrum.of(hypergraph).laplacian(), oracles.zhou_laplacian(hypergraph), atol=1e-13)


@pytest.mark.parametrize("exponent", [-1e4, 1e4])
def test_no_size_exponent_overflows(exponent):
    A = normalised_incidence(Hypergraph.from_edges([["a", "b"], ["b", "c", "d"]]), exponent)
    assert np.isfinite(A.data).all()
    assert np.linalg.norm(A.toarray(), 2) == pytest.approx(1.0)
