"""Laplacians besides Zhou's: by name, against their definitions, and of one's own, checked."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from hypergauss import Graph, Hypergraph, Spectrum
from hypergauss.kernels import Matern, Standardised, Walk
from hypergauss.operators import LocalLaplacian
from hypergauss.spectrum import LAPLACIANS
from hypergauss.spectrum.factored import NAMED
from tests import oracles
from tests.hypergraphs import hypergraphs, random_hypergraph

OTHERS = tuple(NAMED)


@given(hypergraphs(), st.sampled_from(OTHERS), st.sampled_from([0.0, 0.7, -1.5]))
def test_every_named_laplacian_is_that_of_its_definition(H, name, size_exponent):
    expected = oracles.other_laplacian(H, name, size_exponent)
    laplacian = NAMED[name](H, size_exponent)
    assert np.allclose(laplacian.dense(), expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


@given(hypergraphs(), st.sampled_from(OTHERS))
def test_eigenvalues_lie_between_zero_and_the_bound(H, name):
    laplacian = NAMED[name](H, 0.5)
    values = np.linalg.eigvalsh(laplacian.dense())
    scale = max(laplacian.upper, 1e-300)
    assert values.min() >= -1e-9 * scale
    assert values.max() <= laplacian.upper + 1e-9 * scale


@given(hypergraphs(), st.sampled_from(OTHERS))
def test_their_products_are_those_of_the_dense_matrix(H, name):
    laplacian = NAMED[name](H)
    x = np.linspace(-1, 2, 3 * H.num_vertices).reshape(-1, 3)
    assert np.allclose(laplacian.operator() @ x, laplacian.dense() @ x, atol=1e-9)
    assert np.allclose(laplacian.operator() @ x[:, 0], laplacian.dense() @ x[:, 0], atol=1e-9)
    products = laplacian.multiplier()
    assert np.allclose(products.array(products @ products.vector(x)), laplacian.dense() @ x, atol=1e-9)


@given(hypergraphs())
def test_without_edge_dependent_weights_chungs_laplacian_is_zhous(H):
    plain = Hypergraph.from_incidence((H.incidence.toarray() > 0).astype(float), weights=H.weights)
    found = NAMED["chung"](plain, 0.5)
    assert np.allclose(found.dense(), oracles.zhou_laplacian(plain, 0.5), atol=1e-9)
    assert found.upper == pytest.approx(1.0, abs=1e-9)


def test_rodriguezs_laplacian_is_that_of_the_clique_expansion():
    H = random_hypergraph(12, 9, seed=3)
    cliques = Spectrum.of(H.clique_expansion(), laplacian="unnormalised")
    assert np.allclose(Spectrum.of(H, laplacian="rodriguez").laplacian(), cliques.laplacian(), atol=1e-12)


def test_pairs_give_the_graphs_own_laplacians():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["a", "c"]], weights=[1, 2, 0.5, 3, 1])
    W = H.clique_expansion().adjacency.toarray()
    plain, normalised = (oracles.graph_laplacian(W, normalised=kind) for kind in (False, True))
    for name, expected in {
        "bolla": plain / 2,
        "rodriguez": plain,
        "carletti": normalised,
        "chung": normalised / 2,
    }.items():
        assert np.allclose(Spectrum.of(H, laplacian=name).laplacian(), expected, atol=1e-12)


@pytest.mark.parametrize("name", LAPLACIANS)
def test_kernels_on_them_are_filters_of_the_dense_matrix(name):
    H = random_hypergraph(12, 9, seed=3)
    spectrum = Spectrum.of(H, laplacian=name)
    L = oracles.zhou_laplacian(H) if name == "zhou" else oracles.other_laplacian(H, name)
    K = oracles.filtered(L, lambda values: np.exp(-1.5 * np.log1p(4.0 * np.maximum(values, 0) / 3)))
    assert np.allclose(Matern(spectrum, 1.5, 2.0).gram(), oracles.with_mean_variance(K, 1.0), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "trivial"),
    [
        ("bolla", lambda H: np.ones(H.num_vertices)),
        ("rodriguez", lambda H: np.ones(H.num_vertices)),
        ("carletti", lambda H: np.sqrt(oracle_degrees(H))),
        ("chung", lambda H: oracle_stationary_root(H)),
    ],
)
def test_centring_takes_out_the_function_that_is_constant_for_the_laplacian(name, trivial):
    H = random_hypergraph(12, 9, seed=3, awkward=False)
    assert H.connected_components().max() == 0
    spectrum = Spectrum.of(H, laplacian=name)
    direction = trivial(H) / np.linalg.norm(trivial(H))
    assert np.allclose(spectrum.laplacian() @ direction, 0.0, atol=1e-10)
    kept = spectrum.centred_vectors(np.arange(12))
    assert np.allclose(direction @ kept, 0.0, atol=1e-8)
    # On the scale that the whole filter gives a vertex, what is left of its variance is what the trivial one leaves.
    whole = oracles.filtered(spectrum.laplacian(), lambda values: (1.0 - values / spectrum.upper) ** 2)
    left = 1.0 - (1.0 - np.linalg.eigvalsh(whole)[0]) * direction**2 / np.diag(whole)
    K = Standardised(Walk(spectrum, 2.0), evenness=1.0, individuality=1e-4).gram()
    assert np.allclose(np.diag(K) / np.diag(K)[0], left / left[0], rtol=1e-3)


def oracle_degrees(H):
    W = np.zeros((H.num_vertices,) * 2)
    R = H.incidence.toarray()
    for e in range(H.num_edges):
        W += H.weights[e] * ((R[:, e] > 0).sum() - 1) * np.outer(R[:, e], R[:, e])
    return (W - np.diag(np.diag(W))).sum(axis=1)


def oracle_stationary_root(H):
    R = H.incidence.toarray()
    members = (R > 0) * H.weights
    P = members / members.sum(axis=1, keepdims=True) @ (R / R.sum(axis=0)).T
    return np.sqrt(np.linalg.matrix_power(P, 2000)[0])


@pytest.mark.parametrize("name", OTHERS)
def test_a_truncated_spectrum_keeps_the_smallest_eigenvalues(name):
    H = random_hypergraph(12, 9, seed=3)
    whole, leading = Spectrum.of(H, laplacian=name), Spectrum.of(H, 4, laplacian=name)
    assert np.allclose(leading.eigenvalues, whole.eigenvalues[:4], atol=1e-9)
    assert leading.rest[0] == pytest.approx(whole.eigenvalues[4], abs=1e-8)
    assert not leading.is_exact


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, aslinearoperator, "operator"])
def test_a_matrix_or_operator_of_ones_own_is_taken_as_it_is(kind):
    H = random_hypergraph(12, 9, seed=3)
    L = oracles.other_laplacian(H, "bolla")
    given_ = LocalLaplacian.of_matrix(sp.csr_array(L), 100.0) if kind == "operator" else kind(L)
    spectrum = Spectrum.of(H, laplacian=given_)
    assert np.allclose(spectrum.laplacian(), L, atol=1e-12)
    assert np.allclose(spectrum.eigenvalues, np.linalg.eigvalsh(L), atol=1e-9)
    assert spectrum.upper == pytest.approx(np.linalg.eigvalsh(L).max())
    graph = Graph(H.clique_expansion().adjacency)
    assert np.allclose(Spectrum.of(graph, laplacian=given_).laplacian(), L, atol=1e-12)


def test_centring_does_not_depend_on_the_scale_of_a_matrix():
    H = random_hypergraph(12, 9, seed=3, awkward=False)
    L = oracles.other_laplacian(H, "bolla")
    for scale in (1e-12, 1e6):
        kept = Spectrum.of(H, laplacian=scale * L).centred_vectors(np.arange(12))
        assert np.linalg.matrix_rank(kept, tol=1e-8) == 11


SIX = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "f"]])


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (np.eye(5), ValueError, r"each of the 6 vertices. Got shape \(5, 5\). Order both as `H.vertices`"),
        (np.zeros(6), ValueError, r"Got shape \(6,\)"),
        (np.diag([1.0, 1, 1, 1, 1, np.nan]), ValueError, "must be finite. Got 1 entries"),
        (np.eye(6) + np.eye(6, k=1), ValueError, "must be symmetric.*0, 1 by 1.*Symmetrise it"),
        (np.diag([1.0, 1, 1, 1, 1, -0.5]), ValueError, "positive semidefinite. Got the eigenvalue -0.5.*add 0.5"),
        (-np.eye(6), ValueError, "positive semidefinite. Got the eigenvalue -1"),
        (np.eye(6) * 1j, TypeError, "real numbers. Got complex128"),
        ("bola", ValueError, "must be one of .*bolla.*'bola'"),
    ],
)
def test_what_is_no_laplacian_is_refused_with_the_rule(matrix, error, words):
    with pytest.raises(error, match=words):
        Spectrum.of(SIX, laplacian=matrix)


def test_a_negative_eigenvalue_is_found_in_a_truncated_spectrum_too():
    L = np.diag(np.append(np.ones(29), -0.5))
    H = Hypergraph.from_edges([range(30)])
    with pytest.raises(ValueError, match=r"positive semidefinite. Got the eigenvalue -0\.5"):
        Spectrum.of(H, 3, laplacian=L)


def test_a_matrix_has_no_size_exponent():
    with pytest.raises(ValueError, match="`size_exponent` weighs hyperedges"):
        Spectrum.of(SIX, size_exponent=1.0, laplacian=np.eye(6))


@pytest.mark.parametrize("name", ["bolla", "rodriguez"])
def test_a_size_exponent_that_overflows_is_refused(name):
    with pytest.raises(ValueError, match="within what floats can carry"):
        Spectrum.of(SIX, size_exponent=1e4, laplacian=name)


@pytest.mark.parametrize("name", OTHERS)
def test_only_zhous_laplacian_has_edge_vectors_and_a_dual(name):
    spectrum = Spectrum.of(SIX, laplacian=name)
    assert spectrum.edge_vectors is None
    assert spectrum.singular_values is None
    with pytest.raises(ValueError, match="Only Zhou's Laplacian of a hypergraph has a dual"):
        spectrum.dual()


@pytest.mark.parametrize("name", OTHERS)
def test_products_alone_serve_for_them_too(name):
    spectrum = Spectrum.matrix_free(SIX, laplacian=name)
    kernel = Matern(spectrum, 1.5, 2.0)
    exact = Matern(Spectrum.of(SIX, laplacian=name), 1.5, 2.0)
    assert kernel.mean_variance() == pytest.approx(exact.mean_variance())
    assert spectrum.node_weights @ spectrum.nodes == pytest.approx(np.trace(exact.spectrum.laplacian()) / 6)
