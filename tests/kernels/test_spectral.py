import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly
from scipy.linalg import expm

from hypergauss import Graph, Hypergraph, HypergraphGPRegressor, Spectrum, parameters
from hypergauss.exceptions import NumericalError
from hypergauss.inference import Observations, Prior, condition
from hypergauss.kernels import Bernstein, Diffusion, Matern, SpectralKernel
from hypergauss.kernels.base import Structure
from hypergauss.kernels.filters import _log1p_ratio
from tests import oracles
from tests.hypergraphs import hypergraphs, random_hypergraph

BAND_PASS = [0.1, 2.0, 0.05, 1.0]


@pytest.mark.parametrize(("nu", "lengthscale"), [(1.5, 5.0), (0.4, 0.7), (30.0, 3.0)])
@given(hypergraphs())
def test_matern_is_the_dense_eigendecomposition_formula(nu, lengthscale, H):
    phi = oracles.filtered(oracles.zhou_laplacian(H), lambda x: (2 * nu / lengthscale**2 + x) ** -nu)
    K = Matern(Spectrum.of(H), nu, lengthscale, variance=1.7).gram()
    assert np.abs(K - oracles.with_mean_variance(phi, 1.7)).max() < 1e-10


@given(hypergraphs())
def test_the_papers_unnormalised_matern_is_at_hand(H):
    phi = oracles.filtered(oracles.zhou_laplacian(H), lambda x: (2 * 1.2 / 2.0**2 + x) ** -1.2)
    K = Matern(Spectrum.of(H), 1.2, 2.0, variance=1.7, normalise=False).gram()
    assert np.allclose(K, 1.7 * phi, rtol=1e-10, atol=1e-10)


@given(hypergraphs())
def test_matern_of_infinite_smoothness_is_diffusion_is_the_matrix_exponential(H):
    spectrum = Spectrum.of(H)
    exponential = oracles.with_mean_variance(expm(-(2.0**2) / 2 * oracles.zhou_laplacian(H)), 1.3)
    assert np.abs(Matern(spectrum, math.inf, 2.0, variance=1.3).gram() - exponential).max() < 1e-10
    assert np.abs(Diffusion(spectrum, 2.0, variance=1.3).gram() - exponential).max() < 1e-10


@given(hypergraphs())
def test_diffusion_without_normalisation_is_the_heat_kernel(H):
    K = Diffusion(Spectrum.of(H), 0.8, variance=2.0, normalise=False).gram()
    assert np.allclose(K, 2.0 * expm(-0.8 * oracles.zhou_laplacian(H)), atol=1e-12)


@given(hypergraphs())
def test_bernstein_is_scipys_bernstein_polynomial_of_the_laplacian(H):
    polynomial = BPoly(np.array(BAND_PASS)[:, None], [0.0, 1.0])
    phi = oracles.filtered(oracles.zhou_laplacian(H), lambda x: polynomial(np.clip(x, 0.0, 1.0)))
    K = Bernstein(Spectrum.of(H), BAND_PASS, variance=0.6).gram()
    assert np.abs(K - oracles.with_mean_variance(phi, 0.6)).max() < 1e-10


@given(hypergraphs())
def test_on_a_graph_matern_is_that_of_borovitskiy_et_al(H):
    G = H.clique_expansion()
    laplacian = oracles.graph_laplacian(G.adjacency.toarray(), normalised=True)
    phi = oracles.filtered(laplacian, lambda x: (2 * 1.5 / 5.0**2 + x) ** -1.5)
    assert np.abs(Matern(Spectrum.of(G)).gram() - oracles.with_mean_variance(phi, 1.0)).max() < 1e-10


def test_on_a_two_uniform_hypergraph_matern_is_the_graphs_at_lengthscale_times_root_two():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["c", "d"], ["d", "b"]], weights=[1.0, 2.0, 3.0, 1.0])
    on_pairs = Matern(Spectrum.of(H), 1.5, 5.0 * np.sqrt(2)).gram()
    assert np.allclose(on_pairs, Matern(Spectrum.of(H.clique_expansion()), 1.5, 5.0).gram(), atol=1e-12)


def test_on_an_unnormalised_laplacian_matern_filters_its_own_eigenvalues():
    G = random_hypergraph(9, 6, seed=2).clique_expansion()
    laplacian = oracles.graph_laplacian(G.adjacency.toarray(), normalised=False)
    phi = oracles.filtered(laplacian, lambda x: (2 * 1.5 / 25 + x) ** -1.5)
    K = Matern(Spectrum.of(G, laplacian="unnormalised")).gram()
    assert np.abs(K - oracles.with_mean_variance(phi, 1.0)).max() < 1e-10


@given(hypergraphs())
def test_a_kernel_on_hyperedges_is_the_duals(H):
    on_edges = Matern(Spectrum.of(H).dual(), 0.8, 2.0).gram()
    assert np.allclose(on_edges, Matern(Spectrum.of(H.dual()), 0.8, 2.0).gram(), atol=1e-10)


@pytest.mark.parametrize("nu", [1e-3, 1e3, 1e12])
@pytest.mark.parametrize("lengthscale", [1e-3, 1e3])
def test_extreme_hyperparameters_stay_finite(hypergraph, nu, lengthscale):
    K = np.asarray(Matern(Spectrum.of(hypergraph), nu, lengthscale).gram())
    assert np.isfinite(K).all()
    assert np.isclose(np.trace(K) / len(K), 1.0)


def test_an_isolated_vertex_has_prior_variance_phi_one_and_no_correlation(hypergraph):
    K = np.asarray(Matern(Spectrum.of(hypergraph), 1.5, 5.0, normalise=False).gram())
    isolated = hypergraph.vertex_rows(hypergraph.isolated_vertices)[0]
    assert np.isclose(K[isolated, isolated], (2 * 1.5 / 25 + 1) ** -1.5)
    assert np.abs(np.delete(K[isolated], isolated)).max() < 1e-12


@pytest.mark.parametrize("make", [Matern, Diffusion, Bernstein])
@pytest.mark.parametrize("num_edges", [0, 3])
def test_without_members_in_any_hyperedge_vertices_are_independent(make, num_edges):
    H = Hypergraph.from_edges([[]] * num_edges, vertices=range(4))
    assert np.allclose(make(Spectrum.of(H), variance=2.0).gram(), 2.0 * np.eye(4), atol=1e-12)


@pytest.mark.parametrize("make", [Matern, Diffusion, Bernstein])
@pytest.mark.parametrize("laplacian", ["normalised", "unnormalised"])
def test_on_a_graph_without_edges_vertices_are_independent(make, laplacian):
    spectrum = Spectrum.of(Graph(np.zeros((4, 4))), laplacian=laplacian)
    assert np.allclose(make(spectrum, variance=2.0).gram(), 2.0 * np.eye(4), atol=1e-12)


@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_bernsteins_range_contains_the_filter(coefficients, low, high):
    low, high = min(low, high), max(low, high)
    kernel = Bernstein(Spectrum.of(Hypergraph.from_edges([["a", "b"]])), coefficients)
    least, most = kernel.filter_range(low, high)
    inside = BPoly(np.array(coefficients)[:, None], [0.0, 1.0])(np.linspace(low, high, 50))
    assert least <= inside.min() + 1e-9
    assert inside.max() <= most + 1e-9


def test_a_degree_starts_bernstein_from_a_decreasing_filter(hypergraph):
    assert (np.diff(Bernstein(Spectrum.of(hypergraph), 5).coefficients) < 0).all()


@pytest.mark.parametrize("t", [0.0, 1e-9, 9.9e-6, 1.01e-5, 0.3])
def test_the_matern_exponent_and_its_slope_are_smooth_through_the_limit(t):
    x = np.array([0.0, 0.4, 1.0, 12.0])
    exact = x if t == 0 else np.log1p(t * x) / t
    assert np.allclose(_log1p_ratio(x, t), exact, rtol=1e-9)
    slope = _log1p_ratio(x, t + 1e-20j).imag / 1e-20
    # The sum over k of (-1)^k k / (k + 1) x^(k + 1) t^(k - 1).
    taylor = sum((-1) ** k * k / (k + 1) * x ** (k + 1) * t ** (k - 1) for k in range(1, 6))
    exact_slope = taylor if t < 1e-4 else x / (t * (1 + t * x)) - np.log1p(t * x) / t**2
    assert np.allclose(slope, exact_slope, rtol=1e-9)


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize(
    "make",
    [
        Matern,
        lambda spectrum: Matern(spectrum, math.inf, 3.0),
        lambda spectrum: Matern(spectrum, 1e4, 2.0, variance=3.0),
        lambda spectrum: Matern(spectrum, 2.0, normalise=False, variance=3.0),
        lambda spectrum: Matern(spectrum, fixed=("nu", "variance")),
        lambda spectrum: Diffusion(spectrum, 2.0),
        lambda spectrum: Diffusion(spectrum, normalise=False, fixed="variance"),
        lambda spectrum: Bernstein(spectrum, BAND_PASS),
        lambda spectrum: Matern(spectrum) + Diffusion(spectrum, 3.0),
    ],
)
def test_gradients_by_the_chain_rule_are_the_complex_steps_of_the_whole_formula(hypergraph, make, rank, rng):
    kernel = make(Spectrum.of(hypergraph, rank=rank))
    structure = kernel.structure(None)
    adjoint = Structure(rng.standard_normal(structure.weights.shape), np.asarray(rng.standard_normal()))
    expected = parameters.pull_back(kernel, lambda moved: moved.structure(None), adjoint)
    found = kernel.pull_back_structure(adjoint, None)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


class Halved(Matern):
    """A filter of its own on a base that knows its derivatives."""

    def filter(self, eigenvalues):
        return super().filter(eigenvalues / 2)


def test_a_subclass_with_another_filter_has_that_filters_derivatives(hypergraph, rng):
    kernel = Halved(Spectrum.of(hypergraph))
    adjoint = Structure(rng.standard_normal(kernel.rank), np.asarray(0.7))
    expected = parameters.pull_back(kernel, lambda moved: moved.structure(None), adjoint)
    assert np.allclose(kernel.pull_back_structure(adjoint, None), expected, rtol=1e-12)


@pytest.mark.parametrize("lengthscale", [1e-3, 5.0, 1e3])
@pytest.mark.parametrize("nu", [0.05, 30.0])
def test_the_unnormalised_matern_is_finite_with_its_gradient_at_the_ends_of_its_range(hypergraph, nu, lengthscale):
    kernel = Matern(Spectrum.of(hypergraph), nu, lengthscale, normalise=False)
    assert np.isclose(1 / nu, parameters.bounds(kernel)[0]).any()
    inputs = kernel.inputs(np.arange(12))
    weights, remainder = kernel.structure(inputs)
    assert np.isfinite(weights).all()
    assert np.isfinite(remainder)
    slopes = Structure(1 / max(1.0, np.abs(weights).max()) * np.ones_like(weights), np.zeros(()))
    assert np.isfinite(kernel.pull_back_structure(slopes, inputs)).all()


def test_only_the_unnormalised_matern_leaves_its_limit_out(hypergraph):
    spectrum = Spectrum.of(hypergraph)
    assert parameters.bounds(Matern(spectrum))[0, 0] == 0.0
    assert parameters.bounds(Matern(spectrum, normalise=False))[0, 0] == pytest.approx(1 / 30)
    # Values beyond the range can be set, but learning starts within it.
    assert Matern(spectrum, 100.0, normalise=False).nu == 100.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda s: Matern(s, nu=0.0), ValueError, "`nu` must be positive. Got 0"),
        (lambda s: Matern(s, nu=np.nan), ValueError, "`nu` must be finite. Got nan"),
        (lambda s: Matern(s, nu=math.inf, normalise=False), ValueError, "`nu` must be finite. Got inf"),
        (lambda s: Matern(s, lengthscale=-1.0), ValueError, "`lengthscale` must be positive. Got -1"),
        (lambda s: Matern(s, variance=0.0), ValueError, "`variance` must be positive"),
        (lambda s: Matern(s, lengthscale="5"), TypeError, "real number. Got str"),
        (lambda s: Matern(s, fixed="beta"), ValueError, "`fixed` must be one of 'nu'.*Got 'beta'"),
        (lambda s: Diffusion(s, beta=-0.1), ValueError, "`beta` must be positive. Got -0.1"),
        (lambda s: Bernstein(s, [1.0, 0.0]), ValueError, "at least two positive numbers"),
        (lambda s: Bernstein(s, 0), ValueError, "between 1 and 64 .*Got 0"),
        (lambda s: Matern(s.laplacian()), TypeError, r"must be a Spectrum. Got ndarray.*Spectrum.of\(H\)"),
        (lambda s: Matern(s).gram([12]), ValueError, r"lie in 0..11. Got 12.*vertex_rows"),
        (lambda s: Matern(s).gram([0.5]), TypeError, "vertex indices. Got float64"),
        (lambda s: Matern(s).diagonal([-1]), ValueError, "lie in 0..11. Got -1"),
        (lambda s: 0.0 * Matern(s), ValueError, "`factor` must be positive. Got 0"),
    ],
)
def test_bad_input_is_named_with_its_rule(hypergraph, make, error, message):
    with pytest.raises(error, match=message):
        make(Spectrum.of(hypergraph))


def test_a_kernel_shows_its_hyperparameters():
    kernel = Matern(Spectrum.of(Hypergraph.from_edges([["a", "b"]])), nu=1.5, lengthscale=5.0, fixed=["nu"])
    assert repr(kernel) == "Matern(nu=1.5, lengthscale=5, variance=1)"


# ---------------------------------------------------------------- filters of one's own


class Cauchy(SpectralKernel):
    """A filter that falls."""

    width = parameters.positive(1e-3, 1e3)

    def __init__(self, spectrum, width=0.1, **options):
        super().__init__(spectrum, **options)
        self.width = width

    def filter(self, eigenvalues):
        return 1 / (1 + (eigenvalues / self.width) ** 2)


class BandPass(SpectralKernel):
    """A filter that rises and falls: what it is on the complement of all known eigenvectors may be the most."""

    centre = parameters.bounded(0.0, 1.0)

    def __init__(self, spectrum, centre=0.8, **options):
        super().__init__(spectrum, **options)
        self.centre = centre

    def filter(self, eigenvalues):
        return 0.05 + np.exp(-(((eigenvalues - self.centre) / 0.2) ** 2))


class Kinked(Cauchy):
    """One that loses its derivative."""

    def filter(self, eigenvalues):
        return 1 / (1 + abs(eigenvalues / self.width))


def test_a_filter_of_ones_own_is_the_dense_formula(hypergraph):
    phi = oracles.filtered(oracles.zhou_laplacian(hypergraph), lambda x: 1 / (1 + (x / 0.3) ** 2))
    K = Cauchy(Spectrum.of(hypergraph), 0.3, variance=1.7).gram()
    assert np.abs(K - oracles.with_mean_variance(phi, 1.7)).max() < 1e-10


def test_a_regressor_learns_the_hyperparameters_of_a_filter_of_ones_own():
    H = random_hypergraph(80, 60, seed=4, density=0.06, awkward=False)
    spectrum, rng = Spectrum.of(H), np.random.default_rng(0)
    y = Cauchy(spectrum, 0.4, variance=3.0).prior_draws(np.arange(80), 1, rng)[:, 0] + 0.05 * rng.standard_normal(80)
    model = HypergraphGPRegressor(H, Cauchy(spectrum, 3.0)).fit(H.vertices, y)
    assert 0.1 < model.hyperparameters_["width"] < 1.2
    truth = oracles.log_evidence(
        Cauchy(spectrum, 0.4, variance=3.0).gram(), np.arange(80), y[:, None], 0.05**2, np.zeros(1)
    )
    assert model.log_marginal_likelihood_ > truth


@pytest.mark.parametrize("kernel", [BandPass, Cauchy])
def test_solvers_agree_on_a_filter_that_rises_and_falls(hypergraph, kernel, rng):
    """Weights are relative to the value on the complement, so that those of a filter that rises are negative."""
    k = kernel(Spectrum.of(hypergraph), variance=1.3)
    assert (k.weights() < 0).any() == (kernel is BandPass)
    sites = Observations.of(np.arange(11), rng.standard_normal((11, 2))).sites(0.2)
    prior = Prior(k, np.array([0.1, -0.3]))
    dense, low_rank = (condition(prior, sites, solver) for solver in ("dense", "low-rank"))
    everything = np.arange(12)
    expected = oracles.log_evidence(k.gram(), sites.rows, sites.mean, 0.2, prior.mean)
    assert dense.log_evidence == pytest.approx(expected, rel=1e-10)
    assert low_rank.log_evidence == pytest.approx(expected, rel=1e-10)
    assert np.allclose(low_rank.mean(everything), dense.mean(everything), atol=1e-10)
    assert np.allclose(low_rank.variance(everything), dense.variance(everything), atol=1e-10)


def test_a_filter_without_derivatives_is_refused_where_learning_starts(hypergraph):
    kernel = Kinked(Spectrum.of(hypergraph))
    with pytest.raises(ValueError, match=r"`filter` of Kinked must be a formula.*derivative in `width`.*without `abs`"):
        HypergraphGPRegressor(hypergraph, kernel).fit(hypergraph.vertices, np.arange(12.0))
    HypergraphGPRegressor(hypergraph, kernel, learn=False).fit(hypergraph.vertices, np.arange(12.0))  # nothing to learn


class Wave(SpectralKernel):
    """One that is negative in places, or everywhere but there."""

    def filter(self, eigenvalues):
        return np.cos(6 * eigenvalues)


class Overturned(SpectralKernel):
    """One whose mean over the spectrum is negative: scaled to a mean variance of 1 it was zero."""

    def filter(self, eigenvalues):
        return np.sin(6 * eigenvalues) - 0.5


@pytest.mark.parametrize("make", [Wave, Overturned])
def test_a_filter_that_is_negative_is_refused_in_place_of_being_clipped(hypergraph, make):
    kernel, names = make(Spectrum.of(hypergraph)), list(hypergraph.vertices)[:6]
    for answer in (kernel.gram, kernel.diagonal):
        with pytest.raises(NumericalError, match=r"must not be negative on the spectrum.*Got -[01]\..*its square"):
            answer()
    for solver in ("dense", "low-rank", "iterative"):
        with pytest.raises(NumericalError, match="must not be negative"):
            HypergraphGPRegressor(hypergraph, kernel, learn=False, solver=solver).fit(names, np.arange(6.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_filter_that_overflows_is_refused(hypergraph):
    with pytest.raises(NumericalError, match=r"must be finite on the spectrum. Got (inf|nan)"):
        Matern(Spectrum.of(hypergraph), 1e3, 1e3, normalise=False).gram()
