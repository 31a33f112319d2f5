import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from hypergauss.spectrum import normalised_incidence
from hypergauss.spectrum.decomposition import (
    exact,
    exact_by_gram,
    exact_by_svd,
    leading_eigen,
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
        left, s, right, rest = route(A)
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
    left, found, right, _ = route(A)
    assert np.allclose(found[: len(s)], s, rtol=1e-6)
    assert found[len(s) :].max(initial=0.0) < 1e-14
    assert_orthonormal(left)
    assert_orthonormal(right)
    assert np.allclose(left * found @ right.T, A.toarray(), atol=1e-14)


def test_singular_values_never_exceed_one():
    A = normalised_incidence(hypergraph_of_sizes(30, [3] * 20, seed=0))
    assert all(route(A).singular_values.max() <= 1.0 for route in ROUTES)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 3)])
def test_nothing_decomposes_into_nothing(shape):
    left, s, right, rest = exact(sp.csr_array(shape))
    assert (left.shape, s.shape, right.shape, rest) == ((shape[0], 0), (0,), (shape[1], 0), 0.0)


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
    assert_orthonormal(factors.right)
    left_out = A.toarray() - factors.left * factors.singular_values @ factors.right.T
    assert np.linalg.norm(left_out, 2) <= factors.rest + 1e-8


@pytest.mark.parametrize("shape", [(30, 20), (300, 250)])
@pytest.mark.parametrize("true_rank", [0, 1, 3])
def test_asking_for_more_than_the_true_rank_invents_nothing(true_rank, shape, rng):
    A = with_singular_values(np.linspace(1, 0.5, true_rank), shape, rng)
    left, s, right, rest = truncated(A, 5)
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
