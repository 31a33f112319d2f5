"""Laplacians as products: the dense matrix in every precision and order, on SciPy and on JAX."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hypergauss import Spectrum
from hypergauss.operators import JaxLaplacian, LaplacianOperator, LocalLaplacian, local_order, ordering
from hypergauss.spectrum import chebyshev, graph_laplacian, lanczos, normalised_incidence
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes, hypergraphs

KINDS = [LocalLaplacian, JaxLaplacian]
#: JAX compiles a program for every shape.
every_kind = pytest.mark.parametrize("kind", [LocalLaplacian, pytest.param(JaxLaplacian, marks=pytest.mark.slow)])


def block(N, m=3, seed=0):
    return np.random.default_rng(seed).standard_normal((N, m))


def communities(N=300, groups=6, seed=0):
    """Return the normalised incidence of hyperedges within groups whose members are scattered over all indices."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(N) % groups)
    edges = [rng.choice(np.flatnonzero(group == e % groups), 4, replace=False) for e in range(N)]
    rows, columns = np.concatenate(edges), np.repeat(np.arange(N), 4)
    A = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(N, N))
    degrees = np.maximum(A.sum(axis=1), 1)
    return sp.csr_array(sp.diags_array(degrees**-0.5) @ A * 0.5), group


@every_kind
@given(H=hypergraphs(), a=st.sampled_from([0.0, 0.7]))
def test_products_are_those_of_the_dense_laplacian(kind, H, a):
    operator = kind.of_incidence(normalised_incidence(H, a))
    X = block(H.num_vertices)
    assert np.allclose(operator @ X, oracles.zhou_laplacian(H, a) @ X, atol=1e-13)
    assert operator.size == H.num_vertices
    assert operator.upper == 1.0


@every_kind
@given(H=hypergraphs(), normalised=st.booleans())
def test_products_of_a_graph_are_those_of_its_dense_laplacian(kind, H, normalised):
    G = H.clique_expansion()
    source = graph_laplacian(G, normalised=normalised)
    operator = kind.of_matrix(source.matrix.scipy(), source.upper)
    X = block(G.num_vertices)
    expected = oracles.graph_laplacian(G.adjacency.toarray(), normalised=normalised)
    assert np.allclose(operator @ X, expected @ X, atol=1e-12 * max(1.0, operator.upper))
    assert np.linalg.eigvalsh(expected).max() <= operator.upper + 1e-12


@every_kind
@pytest.mark.parametrize("numbers", [(1.0, 0.0, 0.0), (4.0, -2.0, -1.0), (2.0, -1.0, -1.0), (-1.0, 1.0, 0.3)])
def test_a_step_of_a_recurrence_is_one_product(kind, numbers):
    a, b, c = numbers
    A, _ = communities(40)
    operator = kind.of_incidence(A)
    X, Y = block(40), block(40, seed=1)
    expected = a * (X - A @ (A.T @ X)) + b * X + c * Y + 0.5 * X
    found = operator.leave(operator.affine(operator.enter(X), a, b, (c, operator.enter(Y)), (0.5, operator.enter(X))))
    assert np.allclose(found, expected, atol=1e-13)
    assert operator.num_products == 3


@every_kind
def test_a_result_may_be_put_in_the_place_of_what_is_not_needed_any_more(kind):
    A, _ = communities(40)
    operator = kind.of_incidence(A)
    X, Y = block(40), block(40, seed=1)
    expected = 2.0 * (X - A @ (A.T @ X)) - X - Y
    here, spare = operator.enter(X), operator.enter(Y.copy())
    for out in (None, operator.enter(np.empty((40, 2))), spare):
        found = operator.leave(operator.affine(here, 2.0, -1.0, (-1.0, spare), out=out))
        assert np.allclose(found, expected, atol=1e-13)
    assert np.array_equal(operator.leave(here), X)


def test_a_function_of_the_laplacian_leaves_its_block_as_it_was():
    A, _ = communities()
    operator, X, Y = LocalLaplacian.of_incidence(A), block(300), block(300, seed=1)
    kept = X.copy(), Y.copy()
    expansion = chebyshev.expand(lambda x: np.exp(-5 * x), 1.0, 1e-10, lambda left: np.exp(-5 * left))
    dense = np.eye(300) - (A @ A.T).toarray()
    terms = [np.eye(300), 2 * dense - np.eye(300)]
    for _ in range(11):
        terms.append(2 * (2 * dense - np.eye(300)) @ terms[-1] - terms[-2])
    for _ in range(2):  # the second time in memory of the first
        assert np.allclose(chebyshev.apply(operator, expansion, X), scipy.linalg.expm(-5 * dense) @ X, atol=1e-8)
        expected = [(X * (term @ Y)).sum(axis=0) for term in terms]
        assert np.allclose(chebyshev.moments(operator, X, Y, 12), expected, atol=1e-9)
    assert np.array_equal(X, kept[0])
    assert np.array_equal(Y, kept[1])


@every_kind
def test_single_precision_is_good_to_its_own_rounding(kind):
    A, _ = communities()
    operator, X = kind.of_incidence(A), block(300)
    single = operator.in_single()
    assert single.precision == np.finfo(np.float32).eps
    assert operator.precision == np.finfo(np.float64).eps
    found = single @ X
    assert found.dtype == np.float64  # blocks outside are always double
    error = np.linalg.norm(found - operator @ X, axis=0) / np.linalg.norm(X, axis=0)
    assert 1e-12 < error.max() < 4 * single.precision
    assert (operator.num_products, single.num_products) == (3, 3)


def test_vertices_that_meet_are_put_side_by_side(monkeypatch):
    A, group = communities()
    assert local_order(A) is None  # too small to pay
    monkeypatch.setattr(ordering, "_WORTH_ORDERING", 10)
    monkeypatch.setattr(ordering, "_GROUPS", 6)
    order = local_order(A)
    assert np.array_equal(np.sort(order), np.arange(300))
    assert (np.diff(group[order]) != 0).sum() < 40  # of 250 in a random order
    X = block(300)
    plain, ordered = LocalLaplacian.of_incidence(A, reorder=False), LocalLaplacian.of_incidence(A)
    assert np.allclose(ordered @ X, plain @ X, atol=1e-13)
    assert np.allclose(ordered.in_single() @ X, plain @ X, atol=1e-5)
    assert np.array_equal(ordered.leave(ordered.enter(X)), X)
    assert not np.array_equal(ordered.enter(X), X)


@pytest.mark.parametrize("number", [1, 8, 21])
def test_the_nearest_centre_is_found_a_few_at_a_time(number):
    X, centres = block(200, 5), block(number, 5, seed=1)
    centres[-1] = centres[0]  # of two as near, the first
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    assert np.array_equal(ordering._nearest(X, centres), distances.argmin(axis=1))


@pytest.mark.parametrize("sizes", [[], [1] * 5, [3], [90] * 2])
def test_a_hypergraph_with_little_in_it_can_be_ordered_too(monkeypatch, sizes):
    monkeypatch.setattr(ordering, "_WORTH_ORDERING", 10)
    A = normalised_incidence(hypergraph_of_sizes(90, sizes, seed=0))
    assert np.array_equal(np.sort(local_order(A)), np.arange(90))
    X = block(90)
    assert np.allclose(LocalLaplacian.of_incidence(A) @ X, X - A @ (A.T @ X), atol=1e-13)


@pytest.mark.slow
def test_jax_gives_the_functions_moments_and_measures_that_scipy_gives():
    A, _ = communities()
    local, jaxed = (kind.of_incidence(A) for kind in KINDS)
    X, Y = block(300), block(300, seed=1)
    expansion = chebyshev.expand(lambda x: np.exp(-5 * x), 1.0, 1e-10, lambda left: np.exp(-5 * left))
    assert np.allclose(chebyshev.apply(jaxed, expansion, X), chebyshev.apply(local, expansion, X), atol=1e-12)
    assert np.allclose(chebyshev.moments(jaxed, X, Y, 12), chebyshev.moments(local, X, Y, 12), atol=1e-10)
    by_jax, by_scipy = lanczos.measure(jaxed, X, 8), lanczos.measure(local, X, 8)
    assert np.allclose(by_jax.nodes, by_scipy.nodes, atol=1e-8)
    assert np.allclose(by_jax.weights, by_scipy.weights, atol=1e-6)
    assert jaxed.num_products == local.num_products
    single = chebyshev.apply(jaxed.in_single(), expansion, X)
    assert np.abs(single - chebyshev.apply(local, expansion, X)).max() < 1e-5


@pytest.mark.slow
def test_a_spectrum_is_made_from_products_alone():
    A, _ = communities()
    spectrum = Spectrum.matrix_free(JaxLaplacian.of_incidence(A), n_probes=4, n_steps=5)
    assert np.allclose(spectrum.laplacian(), np.eye(300) - (A @ A.T).toarray(), atol=1e-13)
    assert spectrum.density.mean(np.ones_like) == pytest.approx(1.0)


def test_every_public_operator_joins_these_tests():
    def concrete(base):
        return {c for child in base.__subclasses__() for c in {child, *concrete(child)}}

    local = {
        c
        for c in concrete(LaplacianOperator)
        if c.__module__ in ("hypergauss.operators.local", "hypergauss.operators.accelerated")
    }
    assert local == set(KINDS)


@pytest.mark.parametrize("is_ordered", [False, True])
def test_products_of_a_grown_hypergraph_are_those_made_anew(is_ordered, monkeypatch):
    A, _ = communities()
    if is_ordered:
        monkeypatch.setattr(ordering, "_WORTH_ORDERING", 0)
    old, more = LocalLaplacian.of_incidence(A, null=np.ones(300)), communities(310, seed=1)[0]
    moved = np.random.default_rng(0).permutation(310)[:300]
    grown = old.grown(more, moved, null=np.ones(310))
    X = block(310)
    np.testing.assert_allclose(grown @ X, X - more @ (more.T @ X), atol=1e-12)
    np.testing.assert_allclose(grown.incidence.toarray(), more.toarray())
