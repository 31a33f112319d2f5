"""A spectrum without eigenvectors answers what products can answer, and refuses the rest in words."""

import copy
import pickle

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.inference import Observations, Prior, condition
from hypergauss.kernels import Bernstein, Diffusion, Linear, Matern
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

H = hypergraph_of_sizes(60, [2, 3, 4, 8] * 8, seed=0)
FREE = Spectrum.matrix_free(H)


def test_it_has_products_and_a_density_and_says_so():
    assert FREE.is_matrix_free
    assert repr(FREE) == "Spectrum(60 vertices, matrix-free, size_exponent=0)"
    assert np.allclose(FREE.laplacian(), oracles.zhou_laplacian(H), atol=1e-13)
    operator = FREE.source.operator()
    assert np.allclose(operator @ np.ones(60), oracles.zhou_laplacian(H) @ np.ones(60), atol=1e-13)


def test_it_leaves_out_nothing():
    assert FREE.is_exact
    assert FREE.error_bound(Matern(FREE)) == 0.0


def test_two_of_one_hypergraph_are_the_same_unless_told_otherwise():
    one, again = Spectrum.matrix_free(H, n_probes=8), Spectrum.matrix_free(H, n_probes=8)
    other = Spectrum.matrix_free(H, n_probes=8, random_state=1)
    assert np.array_equal(again.density.nodes, one.density.nodes)
    assert not np.array_equal(other.density.nodes, one.density.nodes)


def test_a_random_state_is_used_up():
    state = np.random.RandomState(1)
    one, two = (Spectrum.matrix_free(H, n_probes=8, random_state=state) for _ in range(2))
    assert np.array_equal(one.nodes, Spectrum.matrix_free(H, n_probes=8, random_state=1).nodes)
    assert not np.array_equal(two.nodes, one.nodes)


def test_it_is_frozen_and_not_copied():
    assert copy.deepcopy(FREE) is FREE
    with pytest.raises(AttributeError):
        FREE.density = None
    with pytest.raises(ValueError, match="read-only"):
        FREE.nodes[0] = 0.0
    assert not hasattr(FREE, "rank")


def test_the_mean_of_a_filter_is_differentiated_by_a_complex_step():
    def filtered(beta):
        return FREE.density.mean(lambda x: np.exp(-beta * x))

    slope = filtered(2.0 + 1e-20j).imag / 1e-20
    assert slope == pytest.approx((filtered(2.0 + 1e-5) - filtered(2.0 - 1e-5)) / 2e-5, rel=1e-8)


def test_of_few_vertices_every_filter_has_its_exact_mean():
    for kernel in (Matern, Diffusion):
        exact, free = kernel(Spectrum.of(H)), kernel(FREE)
        assert float(free.density().scale) == pytest.approx(float(exact.density().scale), rel=1e-10)


def test_sizes_of_hyperedges_count():
    spectrum = Spectrum.matrix_free(H, 0.7)
    assert np.allclose(spectrum.laplacian(), oracles.zhou_laplacian(H, 0.7), atol=1e-13)
    assert "size_exponent=0.7" in repr(spectrum)


def test_a_graph_has_one_too():
    G = H.clique_expansion()
    spectrum = Spectrum.matrix_free(G)
    assert spectrum.upper == 2.0
    assert np.allclose(
        spectrum.laplacian(), oracles.graph_laplacian(G.adjacency.toarray(), normalised=True), atol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: FREE.dual(), ValueError, r"Make it with `Spectrum.matrix_free\(H.dual\(\)\)`"),
        (lambda: Matern(FREE).gram(), ValueError, "needs eigenvectors"),
        (lambda: Matern(FREE).diagonal([0]), ValueError, "needs eigenvectors"),
        (lambda: Matern(FREE).weights(), ValueError, "needs eigenvectors"),
        (lambda: Matern(FREE).remainder(None), ValueError, "needs eigenvectors"),
        (lambda: (Matern(FREE) + Linear(np.ones((60, 1)))).gram(), ValueError, "needs eigenvectors"),
        (lambda: Spectrum.matrix_free("H"), TypeError, "must be a Hypergraph, a Graph or a LaplacianOperator. Got str"),
        (lambda: Spectrum.matrix_free(H.clique_expansion(), 1.0), ValueError, "a graph has none. Got 1.0"),
        (lambda: Spectrum.matrix_free(FREE.source.products, 1.0), ValueError, "LocalLaplacian does not tell them"),
        (lambda: Spectrum.matrix_free(H, n_probes=0), ValueError, "n_probes"),
        (lambda: Spectrum.matrix_free(H, random_state="seed"), TypeError, "`random_state` must be a whole number"),
    ],
)
def test_what_it_cannot_do_is_refused_with_the_next_step(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_other_solvers_are_refused_and_the_automatic_one_is_iterative(solver):
    sites = Observations.of(np.arange(10), np.ones((10, 1))).sites(0.3)
    with pytest.raises(ValueError, match="needs eigenvectors, which a matrix-free spectrum does not have"):
        condition(Prior(Matern(FREE), np.zeros(1)), sites, solver)
    assert condition(Prior(Matern(FREE), np.zeros(1)), sites).solver == "iterative"


def test_a_kernel_on_it_has_no_features_and_a_known_mean_variance():
    assert Matern(FREE).rank is None
    assert not Matern(FREE).has_eigenvectors
    assert Matern(FREE, variance=1.7).mean_variance() == pytest.approx(1.7)
    plain = Matern(FREE, 1.5, 5.0, normalise=False)
    exact = Matern(Spectrum.of(H), 1.5, 5.0, normalise=False)
    assert plain.mean_variance() == pytest.approx(exact.mean_variance(), rel=0.1)
    assert Matern(FREE, variance=3.0).scaled(2.0).mean_variance() == pytest.approx(6.0)


@pytest.mark.parametrize("make", [Matern, lambda s: Bernstein(s, [0.05, 0.1, 2.0])], ids=["matern", "rising"])
def test_prior_draws_have_the_kernels_covariance(make):
    size = 20_000
    kernel = make(FREE)
    scale = float(kernel.density().scale)
    K = scale * oracles.filtered(FREE.laplacian(), lambda x: np.asarray(kernel.filter(np.clip(x, 0.0, 1.0))))
    rows = np.array([3, 0, 41, 3])
    draws = kernel.prior_draws(rows, size, np.random.default_rng(0))
    assert np.array_equal(draws[0], draws[3])
    expected = K[np.ix_(rows, rows)]
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / size)
    assert np.abs((draws @ draws.T / size - expected) / spread).max() < 4.5


def test_it_survives_pickling():
    again = pickle.loads(pickle.dumps(FREE))
    assert np.array_equal(again.density.nodes, FREE.density.nodes)
    assert not again.density.nodes.flags.writeable
    assert np.allclose(again.laplacian(), FREE.laplacian())
