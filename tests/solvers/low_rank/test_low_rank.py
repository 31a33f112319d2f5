import numpy as np
import pytest
from scipy.stats import norm

from hypergauss import Hypergraph, Spectrum
from hypergauss.kernels import Bernstein, Linear, Matern, SquaredExponential, Standardised, Walk
from hypergauss.solvers import GaussianModel, Observations, Posterior, Prior, Sites, condition
from hypergauss.solvers.dense import DensePosterior, DenseSolver
from hypergauss.solvers.low_rank import LowRankPosterior, LowRankSolver
from tests.hypergraphs import random_hypergraph

MEAN = np.array([0.1, -0.2])


def data(name, rng):
    """Return observations of 12 vertices: of one precision, of known noise, or some of them twice."""
    y = rng.standard_normal((12, 2))
    if name == "noise known":
        return Observations.of(np.arange(12), y, np.linspace(0.1, 2.0, 12))
    return Observations.of(np.arange(12) // (2 if name == "repeated" else 1), y)


def kernels(H):
    spectrum = Spectrum.of(H)
    matern = Matern(spectrum, 2.0, 3.0)
    return {
        "matern": matern,
        "rising filter": Bernstein(spectrum, [0.05, 0.4, 2.0]),
        "remainder of each vertex": matern * Linear(np.linspace(0.5, 2.0, 12)),
    }


@pytest.mark.parametrize("observed", ["plain", "noise known", "repeated"])
@pytest.mark.parametrize("kernel", ["matern", "rising filter", "remainder of each vertex"])
def test_evidence_and_its_gradient_are_the_dense_solvers(hypergraph, rng, kernel, observed):
    """Whether sufficient statistics serve, where the diagonal is one number, or not."""
    model = GaussianModel(kernels(hypergraph)[kernel], 0.3, MEAN)
    observations = data(observed, rng)
    values, gradients = zip(
        *(
            solver(model.kernel, observations.rows).objective(observations).value_and_gradient(model)
            for solver in (DenseSolver, LowRankSolver)
        ),
        strict=True,
    )
    assert values[1] == pytest.approx(values[0], rel=1e-9)
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-7, atol=1e-7)


def test_sufficient_statistics_serve_where_the_diagonal_is_one_number(hypergraph, rng, monkeypatch):
    taken = []
    whole = LowRankSolver._uniform_evidence
    monkeypatch.setattr(LowRankSolver, "_uniform_evidence", lambda *given: taken.append(1) or whole(*given))

    def is_reduced(kernel, observations):
        taken.clear()
        LowRankSolver(kernel, observations.rows).evidence(kernel, MEAN, observations.sites(0.3))
        return bool(taken)

    found = kernels(hypergraph)
    assert is_reduced(found["matern"], data("plain", rng))
    assert not is_reduced(found["matern"], data("noise known", rng))
    repeated = Observations.of(np.r_[np.arange(12), 3], rng.standard_normal((13, 2)))
    assert not is_reduced(found["matern"], repeated)
    assert not is_reduced(found["remainder of each vertex"], data("plain", rng))


def test_what_was_reduced_is_not_taken_for_other_measurements(hypergraph, rng):
    kernel = Matern(Spectrum.of(hypergraph))
    rows = np.arange(12)
    solver = LowRankSolver(kernel, rows)
    for y in (rng.standard_normal((12, 2)), rng.standard_normal((12, 2))):
        sites = Observations.of(rows, y).sites(0.3)
        expected = DenseSolver(kernel, rows).evidence(kernel, MEAN, sites).value
        assert solver.evidence(kernel, MEAN, sites).value == pytest.approx(expected, rel=1e-10)


def test_chunks_of_features_add_up_to_the_whole(monkeypatch, rng):
    prior = Prior(Matern(Spectrum.of(random_hypergraph(11, 6, seed=0))), np.zeros(1))
    rows = np.arange(11)
    observations = Observations.of(rows, rng.standard_normal((11, 1)))

    def answers():
        posterior = condition(prior, observations.sites(0.1), "low-rank")
        left_out = posterior.leave_one_out()
        return np.concatenate(
            [
                posterior.mean(rows).ravel(),
                posterior.variance(rows),
                left_out.mean.ravel(),
                left_out.variance,
                posterior.dual_weights().ravel(),
                posterior.observation_weights(rows).ravel(),
                [posterior.log_evidence],
            ]
        )

    whole = answers()
    monkeypatch.setattr("hypergauss.solvers.low_rank.posterior._CHUNK", 4)
    assert np.allclose(answers(), whole, rtol=1e-10)


def test_a_kernel_without_features_is_refused_with_the_cure():
    prior = Prior(SquaredExponential(np.eye(3)), np.zeros(1))
    with pytest.raises(ValueError, match=r"needs a kernel with features. Got SquaredExponential.*solver='dense'"):
        condition(prior, Sites(np.arange(2), np.zeros((2, 1)), np.ones(2)), "low-rank")


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_without_hyperedges_a_vertex_learns_from_itself_alone(solver):
    prior = Prior(Matern(Spectrum.of(Hypergraph.from_edges([], vertices=range(4)))), np.zeros(1))
    observations = Observations.of(np.arange(2), np.ones((2, 1)))
    posterior = condition(prior, observations.sites(0.25), solver)
    assert np.allclose(posterior.mean(np.arange(4))[:, 0], [0.8, 0.8, 0.0, 0.0])
    assert np.allclose(posterior.variance(np.arange(4)), [0.2, 0.2, 1.0, 1.0])
    assert posterior.log_evidence == pytest.approx(2 * norm.logpdf(1.0, 0.0, np.sqrt(1.25)))


def test_weights_of_observations_are_the_same_by_every_route(hypergraph, rng):
    prior = Prior(Matern(Spectrum.of(hypergraph)), np.array([0.3]))
    sites = Sites(np.array([1, 4, 5, 9]), rng.standard_normal((4, 1)), np.array([0.1, 0.2, 0.3, 0.4]))
    rows = np.array([0, 4, 7])
    dense, low_rank = DensePosterior(prior, sites), LowRankPosterior(prior, sites)
    K = np.asarray(prior.kernel.gram())
    inverse = np.linalg.inv(K[np.ix_(sites.rows, sites.rows)] + np.diag(sites.variance))
    for posterior in (dense, low_rank):
        weights = posterior.observation_weights(rows)
        np.testing.assert_allclose(weights, K[np.ix_(rows, sites.rows)] @ inverse, atol=1e-10)
        np.testing.assert_allclose(Posterior.observation_weights(posterior, rows), weights, atol=1e-10)
        dual = posterior.dual_weights()
        np.testing.assert_allclose(dual, inverse @ (sites.mean - 0.3), atol=1e-10)
        np.testing.assert_allclose(Posterior.dual_weights(posterior), dual, atol=1e-9)


def test_few_new_sites_are_an_update_of_low_rank_and_many_are_conditioned_anew(monkeypatch):
    H = random_hypergraph(60, 24, seed=2)
    kernel = Standardised(Walk(Spectrum.of(H)), level=1.0)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((50, 2))
    prior = Prior(kernel, np.array([0.3, -0.1]))
    before = LowRankPosterior(prior, Sites(np.arange(40), z[:40], np.full(40, 0.2)))
    variance = np.full(50, 0.2)
    variance[3] = 0.1  # measured once more
    for size, is_few in ((42, True), (50, False)):
        sites = Sites(np.arange(size), z[:size], variance[:size])
        anew = LowRankPosterior(prior, sites)
        with monkeypatch.context() as patch:
            if is_few:
                patch.setattr(LowRankPosterior, "_anew", None)
            found = LowRankSolver(kernel, sites.rows).resumed(prior, sites, before, np.arange(60))
        everyone = np.arange(60)
        np.testing.assert_allclose(found.mean(everyone), anew.mean(everyone), atol=1e-10)
        np.testing.assert_allclose(found.variance(everyone), anew.variance(everyone), atol=1e-10)
        assert found.log_evidence == pytest.approx(anew.log_evidence, abs=1e-9)
