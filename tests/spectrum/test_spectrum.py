import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypergauss import Graph, Hypergraph, Spectrum
from hypergauss.spectrum import EigenSpectrum, MatrixFreeSpectrum, cache, cached_spectrum
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes, hypergraphs, random_hypergraph


def rebuilt(spectrum):
    """The Laplacian, from the known part and the upper end of the rest."""
    U = spectrum.vertex_vectors
    return spectrum.rest[1] * np.eye(len(U)) + U * (spectrum.eigenvalues - spectrum.rest[1]) @ U.T


@given(hypergraphs())
def test_an_exact_spectrum_rebuilds_the_laplacian(H):
    spectrum = Spectrum.of(H)
    assert spectrum.is_exact
    assert np.allclose(rebuilt(spectrum), oracles.zhou_laplacian(H), atol=1e-12)
    assert (np.diff(spectrum.eigenvalues) >= -1e-12).all()
    assert np.allclose(spectrum.eigenvalues, 1 - spectrum.singular_values**2)


@given(hypergraphs())
def test_one_decomposition_serves_vertices_and_hyperedges(H):
    dual = Spectrum.of(H).dual()
    assert np.allclose(rebuilt(dual), oracles.zhou_laplacian(H.dual()), atol=1e-12)
    assert np.allclose(rebuilt(dual), rebuilt(Spectrum.of(H.dual())), atol=1e-12)
    assert np.allclose(dual.laplacian(), oracles.zhou_laplacian(H.dual()), atol=1e-12)
    assert dual.num_vertices == H.num_edges


@given(hypergraphs(), st.sampled_from(["normalised", "unnormalised"]))
def test_an_exact_graph_spectrum_rebuilds_the_laplacian(H, kind):
    G = H.clique_expansion()
    spectrum = Spectrum.of(G, laplacian=kind)
    expected = oracles.graph_laplacian(G.adjacency.toarray(), normalised=kind == "normalised")
    assert spectrum.is_exact
    assert np.allclose(rebuilt(spectrum), expected, atol=1e-11)


@given(hypergraphs(), st.integers(1, 4))
def test_a_truncated_spectrum_keeps_the_smallest_eigenvalues_and_bounds_the_rest(H, rank):
    exact = np.linalg.eigvalsh(oracles.zhou_laplacian(H))
    spectrum = Spectrum.of(H, rank=rank)
    known = spectrum.rank
    assert known <= rank
    assert np.allclose(spectrum.eigenvalues, exact[:known], atol=1e-8)
    if known < H.num_vertices:
        assert spectrum.rest[0] - 1e-8 <= exact[known]
        assert exact[-1] <= spectrum.rest[1] + 1e-12


@pytest.mark.parametrize("laplacian", ["normalised", "unnormalised"])
@pytest.mark.parametrize("rank", [3, 25])
def test_a_truncated_graph_spectrum_bounds_the_rest(laplacian, rank):
    G = hypergraph_of_sizes(40, [3] * 15, seed=4).clique_expansion()  # several components and isolated vertices
    exact = np.linalg.eigvalsh(oracles.graph_laplacian(G.adjacency.toarray(), normalised=laplacian == "normalised"))
    spectrum = Spectrum.of(G, rank=rank, laplacian=laplacian)
    assert np.allclose(spectrum.eigenvalues, exact[:rank], atol=1e-8)
    assert spectrum.rest[0] <= exact[rank] + 1e-8
    assert exact[-1] <= spectrum.rest[1] + 1e-8


def test_a_rank_at_least_the_true_rank_is_exact():
    H = Hypergraph.from_edges([["a", "b", "c"]] * 3, vertices=list("abcdef"))
    assert Spectrum.of(H, rank=3).is_exact


@pytest.mark.parametrize("copies", [10, 150])
@pytest.mark.parametrize("rank", [1, 2, 5, 9])
def test_a_low_rank_incidence_survives_truncation(rank, copies):
    H = Hypergraph.from_edges([range(8)] * copies + [[8, 9]] * copies, vertices=range(2 * copies))
    spectrum = Spectrum.of(H, rank=rank)
    U = spectrum.vertex_vectors
    assert np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-7)
    assert np.allclose(spectrum.laplacian() @ U, U * spectrum.eigenvalues, atol=1e-7)


@pytest.mark.parametrize("rank", [None, 1, 4])
def test_hyperedges_without_members_leave_nothing_to_decompose(rank):
    spectrum = Spectrum.of(Hypergraph.from_edges([[]] * 10, vertices=range(20)), rank=rank)
    assert np.allclose(rebuilt(spectrum), np.eye(20))


@pytest.mark.parametrize("rank", [None, 1])
def test_no_hyperedges_give_the_identity(rank):
    spectrum = Spectrum.of(Hypergraph.from_edges([], vertices=range(3)), rank=rank)
    assert spectrum.rank == 0
    assert np.array_equal(rebuilt(spectrum), np.eye(3))


def test_vertices_and_dual_agree_when_truncated():
    H = random_hypergraph(30, 20, seed=3)
    spectrum = Spectrum.of(H, rank=4)
    dual, direct = spectrum.dual(), Spectrum.of(H.dual(), rank=4)
    assert np.allclose(dual.eigenvalues, direct.eigenvalues, atol=1e-9)
    assert np.allclose(dual.rest, direct.rest, atol=1e-9)
    assert np.allclose(rebuilt(dual), rebuilt(direct), atol=1e-7)


def test_a_spectrum_is_frozen_and_not_copied(hypergraph):
    spectrum = Spectrum.of(hypergraph)
    assert copy.deepcopy(spectrum) is spectrum
    with pytest.raises(ValueError, match="read-only"):
        spectrum.vertex_vectors[0] = 0.0
    with pytest.raises(AttributeError):
        spectrum.rest = np.zeros(2)
    for array in (spectrum.eigenvalues, spectrum.singular_values, spectrum.edge_vectors, spectrum.rest):
        assert not array.flags.writeable
    assert not spectrum.source.incidence.data.flags.writeable


def test_a_spectrum_survives_pickling_frozen_as_it_was(hypergraph):
    for spectrum in (Spectrum.of(hypergraph), Spectrum.of(hypergraph.clique_expansion()), Spectrum.of(hypergraph, 2)):
        restored = pickle.loads(pickle.dumps(spectrum))
        assert np.array_equal(restored.vertex_vectors, spectrum.vertex_vectors)
        assert not restored.vertex_vectors.flags.writeable
        assert repr(restored) == repr(spectrum)
        assert np.array_equal(restored.laplacian(), spectrum.laplacian())


def test_edge_vectors_are_found_when_asked_for_and_once():
    H = random_hypergraph(30, 20, seed=3)
    spectrum = Spectrum.of(H)
    before = cache.num_bytes(spectrum)
    assert "edge_vectors" not in vars(spectrum)
    V = spectrum.edge_vectors
    assert spectrum.edge_vectors is V
    assert cache.num_bytes(spectrum) == before + V.nbytes
    assert "edge_vectors" not in vars(pickle.loads(pickle.dumps(spectrum)))
    dual = spectrum.dual()
    assert dual.vertex_vectors is V
    assert dual.edge_vectors is spectrum.vertex_vectors
    assert Spectrum.of(H.clique_expansion()).edge_vectors is None


@given(hypergraphs(), st.sampled_from([None, 1, 2]))
def test_edge_vectors_are_the_right_singular_vectors(H, rank):
    spectrum = Spectrum.of(H, rank=rank)
    U, s, V = spectrum.vertex_vectors, spectrum.singular_values, spectrum.edge_vectors
    A = spectrum.source.incidence.scipy().toarray()
    assert np.allclose(V.T @ V, np.eye(len(s)), atol=1e-10)
    assert np.allclose(A.T @ U, V * s, atol=1e-7 if rank else 1e-10)
    if rank is None:
        assert np.allclose(U * s @ V.T, A, atol=1e-10)


@given(hypergraphs(), st.sampled_from(["of", "graph", "matrix_free"]))
def test_nodes_and_the_rest_give_the_mean_of_every_filter(H, kind):
    source = H.clique_expansion() if kind == "graph" else H
    spectrum = Spectrum.matrix_free(source) if kind == "matrix_free" else Spectrum.of(source)
    assert isinstance(spectrum, MatrixFreeSpectrum if kind == "matrix_free" else EigenSpectrum)
    assert spectrum.is_matrix_free == (kind == "matrix_free")
    assert spectrum.node_weights.sum() + spectrum.rest_share == pytest.approx(1.0)
    eigenvalues = np.linalg.eigvalsh(spectrum.laplacian())
    for phi in (lambda x: np.exp(-3 * x), lambda x: (0.4 + x) ** -1.5):
        found = spectrum.node_weights @ phi(spectrum.nodes) + spectrum.rest_share * phi(spectrum.rest[1])
        assert found == pytest.approx(phi(eigenvalues.clip(0.0)).mean(), rel=1e-9)


def test_a_spectrum_says_whether_it_is_exact():
    H = random_hypergraph(30, 20, seed=3)
    assert "exact" in repr(Spectrum.of(H))
    assert "truncated, rest in [" in repr(Spectrum.of(H, rank=4, size_exponent=0.5))


def test_a_spectrum_is_computed_once_for_each_hypergraph_and_exponent(hypergraph):
    first = cached_spectrum(hypergraph, None, 0.5)
    assert cached_spectrum(hypergraph, None, 0.5) is first
    assert cached_spectrum(hypergraph, None, 1.0) is not first
    assert cached_spectrum(hypergraph, 3, 0.5) is not first
    assert cached_spectrum(hypergraph.subhypergraph(), None, 0.5) is not first


def test_a_spectrum_that_has_become_large_is_not_kept(hypergraph, monkeypatch):
    H = hypergraph.subhypergraph()
    first = cached_spectrum(H, None, 0.0)
    monkeypatch.setattr(cache, "_LARGEST_KEPT", cache.num_bytes(first))
    assert cached_spectrum(H, None, 0.0) is first
    assert first.edge_vectors is not None
    assert cached_spectrum(H, None, 0.0) is first
    assert cached_spectrum(H, None, 0.0) is not first


@pytest.mark.parametrize("rank", [0, -1, 9])
def test_a_rank_larger_than_possible_is_refused(hypergraph, rank):
    with pytest.raises(ValueError, match=f"`rank` must be between 1 and 8 .*12 x 8.*Got {rank}"):
        Spectrum.of(hypergraph, rank=rank)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda H: Spectrum.of(H.clique_expansion(), rank=13), ValueError, "between 1 and 12 .*12 vertices.*Got 13"),
        (lambda H: Spectrum.of(H, rank=2.0), TypeError, "whole number. Got float"),
        (lambda H: Spectrum.of(H.incidence), TypeError, "Hypergraph or a Graph. Got csr_array"),
        (lambda H: Spectrum.of(H, laplacian="normalised"), ValueError, "'chung'. Got 'normalised'.*clique_expansion"),
        (lambda H: Spectrum.of(H.clique_expansion(), laplacian="zhou"), ValueError, "one of 'normalised'.*Got 'zhou'"),
        (lambda H: Spectrum.of(H.clique_expansion(), size_exponent=1.0), ValueError, "a graph has none. Got 1.0"),
        (lambda H: Spectrum.of(H, size_exponent=np.nan), ValueError, "`size_exponent` must be finite"),
        (lambda H: Spectrum.of(H, size_exponent="auto"), TypeError, "real number. Got str"),
        (
            lambda H: Spectrum.of(H.clique_expansion()).dual(),
            ValueError,
            "Only Zhou's Laplacian of a hypergraph has a dual",
        ),
    ],
)
def test_bad_input_is_named_with_its_rule(hypergraph, make, error, message):
    with pytest.raises(error, match=message):
        make(hypergraph)


def test_a_graph_without_edges_has_a_spectrum():
    G = Graph(np.zeros((3, 3)))
    assert np.allclose(Spectrum.of(G).eigenvalues, 1.0)
    assert np.allclose(Spectrum.of(G, laplacian="unnormalised").eigenvalues, 0.0)
