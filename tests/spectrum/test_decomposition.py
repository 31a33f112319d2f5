import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from hypergauss.spectrum import decomposition, normalised_incidence
from hypergauss.spectrum.decomposition import (
    exact,
    exact_by_gram,
    exact_by_svd,
    leading_eigen,
    other_side,
    symmetric_operator,
    truncated,
)
from tests.hypergraphs import hypergraph_of_sizes, hypergraphs

ROUTES = [exact_by_gram, exact_by_svd]


def with_singular_values(s, shape, rng):
    left = np.linalg.qr(rng.standard_normal((shape[0], len(s))))[0]
    right = np.linalg.qr(rng.standard_normal((shape[1], len(s))))[0]
    return sp.csr_array(left * s @ right.T)


def assert_orthonormal(V, atol=1e-10):
    assert np.allclose(V.T @ V, np.eye(V.shape[1]), atol=atol)


@given(hypergraphs())
def test_both_exact_routes_rebuild_the_matrix(H):
    A = normalised_incidence(H)
    if A.nnz == 0:
        return
    for route in ROUTES:
        left, s, rest = route(A)
        right = other_side(A, left, s)
        assert np.allclose(left * s @ right.T, A.toarray(), atol=1e-13)
        assert_orthonormal(left)
        assert_orthonormal(right)
        assert rest == 0.0
        assert len(s) == np.linalg.matrix_rank(A.toarray(), tol=1e-10)


@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
@pytest.mark.parametrize("route", ROUTES)
def test_small_singular_values_are_found_accurately(route, shape, rng):
    s = np.array([1.0, 0.9, 0.3, 1e-2, 1e-4, 1e-6, 1e-8])
    A = with_singular_values(s, shape, rng)
    left, found, _ = route(A)
    right = other_side(A, left, found)
    assert np.allclose(found[: len(s)], s, rtol=1e-6)
    assert found[len(s) :].max(initial=0.0) < 1e-14
    assert_orthonormal(left)
    assert_orthonormal(right)
    assert np.allclose(left * found @ right.T, A.toarray(), atol=1e-14)


#: Singular values of kinds that leave little precision: tiny, repeated, in a row down to nothing, and many of them.
HARD = {
    "tiny": [1.0, 0.5, 1e-3, 1e-6, 1e-9],
    "repeated": [1.0] * 4 + [0.02] * 3 + [1e-3] * 3 + [1e-5] * 4 + [1e-9] * 2,
    "falling": np.geomspace(1.0, 1e-10, 24),
    "at the edges": [1.0, 0.0301, 0.0299, 1.001e-3, 0.999e-3],
    "nothing else": np.concatenate([[1.0], np.full(10, 1e-4)]),
}


@pytest.mark.parametrize("shape", [(30, 900), (900, 30), (30, 30)])
@pytest.mark.parametrize("s", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize("route", ROUTES)
def test_both_sides_are_orthonormal_and_rebuild_the_matrix_however_small_singular_values_are(route, s, shape, rng):
    A = with_singular_values(np.asarray(s), shape, rng)
    left, found, _ = route(A)
    right = other_side(A, left, found)
    assert len(found) == len(s)
    assert np.allclose(found, s, rtol=1e-5, atol=1e-15)
    assert_orthonormal(left)
    assert_orthonormal(right)
    assert np.allclose(left * found @ right.T, A.toarray(), atol=1e-12)


@pytest.mark.parametrize("transpose", [False, True])
def test_vertices_in_the_same_hyperedges_and_repeated_hyperedges_add_no_singular_values(transpose, rng):
    A = with_singular_values(np.geomspace(1.0, 1e-7, 12), (15, 400), rng)
    A = sp.csr_array(np.repeat(A.toarray() / 2.0, 4, axis=0))
    A = sp.csr_array(A.T) if transpose else A
    left, s, _ = exact_by_gram(A)
    right = other_side(A, left, s)
    assert np.allclose(s, np.geomspace(1.0, 1e-7, 12), rtol=1e-6)
    assert_orthonormal(left)
    assert_orthonormal(right)
    assert np.allclose(left * s @ right.T, A.toarray(), atol=1e-13)


def test_small_singular_values_are_found_from_some_rows_after_others(monkeypatch, rng):
    s = np.array([1.0, 0.3, 1e-4, 1e-6, 1e-8])
    A = with_singular_values(s, (20, 500), rng)
    whole = exact_by_gram(A).singular_values
    monkeypatch.setattr(decomposition, "_ROWS_AT_ONCE", 7)
    assert np.allclose(exact_by_gram(A).singular_values, s, rtol=1e-6)
    assert np.allclose(exact_by_gram(A).singular_values, whole, rtol=1e-7)


def test_an_exact_decomposition_forms_no_array_of_the_longer_side():
    """Of 60 vertices in 40,000 hyperedges, in less memory than their edge vectors would take."""
    A = normalised_incidence(hypergraph_of_sizes(60, [2, 3] * 20_000, seed=0))
    exact(A)  # what is imported and kept at a first call does not count
    tracemalloc.start()
    left, s, _ = exact(A)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    longer = 8 * A.shape[1] * len(s)
    assert peak < longer / 2
    assert other_side(A, left, s).nbytes == longer


def test_singular_values_never_exceed_one():
    A = normalised_incidence(hypergraph_of_sizes(30, [3] * 20, seed=0))
    assert all(route(A).singular_values.max() <= 1.0 for route in ROUTES)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 3)])
def test_nothing_decomposes_into_nothing(shape):
    A = sp.csr_array(shape)
    left, s, rest = exact(A)
    assert (left.shape, s.shape, rest) == ((shape[0], 0), (0,), 0.0)
    assert other_side(A, left, s).shape == (shape[1], 0)


@pytest.mark.parametrize("num_components", [1, 25, 80])  # the last is large enough for Lanczos
@pytest.mark.parametrize("transpose", [False, True])
def test_the_leading_part_is_certified_even_when_one_is_repeated(num_components, transpose):
    blocks = [normalised_incidence(hypergraph_of_sizes(8, [2, 3, 4, 3, 2], seed=i)) for i in range(num_components)]
    A = sp.csr_array(sp.block_diag([*blocks, normalised_incidence(hypergraph_of_sizes(60, [4] * 40, seed=99))]))
    A = sp.csr_array(A.T) if transpose else A
    rank = min(12, min(A.shape) // 2)
    s = np.linalg.svd(A.toarray(), compute_uv=False)
    factors = truncated(A, rank)
    assert np.allclose(factors.singular_values, s[:rank], atol=1e-8)
    assert_orthonormal(factors.left, atol=1e-7)
    right = other_side(A, factors.left, factors.singular_values)
    assert_orthonormal(right)
    left_out = A.toarray() - factors.left * factors.singular_values @ right.T
    assert np.linalg.norm(left_out, 2) <= factors.rest + 1e-8


@pytest.mark.parametrize("shape", [(30, 20), (300, 250)])
@pytest.mark.parametrize("true_rank", [0, 1, 3])
def test_asking_for_more_than_the_true_rank_invents_nothing(true_rank, shape, rng):
    A = with_singular_values(np.linspace(1, 0.5, true_rank), shape, rng)
    left, s, rest = truncated(A, 5)
    right = other_side(A, left, s)
    assert np.allclose(left * s @ right.T, A.toarray(), atol=1e-7)
    assert np.abs(left).max(initial=0.0) <= 1 + 1e-7
    assert rest < 1e-6


@pytest.mark.parametrize("size", [50, 300])
def test_leading_eigenvalues_match_lapack(size, rng):
    root = rng.standard_normal((size, size))
    matrix = root @ root.T
    values, vectors, rest = leading_eigen(symmetric_operator(size, lambda x: matrix @ x), 6)
    expected = np.linalg.eigvalsh(matrix)[::-1]
    assert np.allclose(values, expected[:6], rtol=1e-9)
    assert np.isclose(rest, expected[6], rtol=1e-6)
    assert np.allclose(matrix @ vectors, vectors * values, atol=1e-8 * expected[0])


def test_a_wide_matrix_is_decomposed_as_well_by_way_of_a_square_one(rng):
    A = sp.csr_array((rng.random((12, 90)) < 0.2) * rng.normal(size=(12, 90))) / 10  # no singular value is above 1
    left, s, rest = exact_by_svd(A)
    expected, values, _ = np.linalg.svd(A.toarray(), full_matrices=False)
    np.testing.assert_allclose(s, values, rtol=1e-13)
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->j", left, expected)), 1.0, rtol=1e-12)
    assert rest == 0.0
