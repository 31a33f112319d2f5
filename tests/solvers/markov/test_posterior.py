"""Conditioning a Markov field is conditioning with the dense solver, whatever the hypergraph."""

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.exceptions import ConvergenceError
from hypergauss.kernels import Matern
from hypergauss.solvers import Prior, solver_for
from hypergauss.solvers.markov import Markov, MarkovSolver
from hypergauss.solvers.markov.field import Field
from hypergauss.solvers.sites import Sites
from hypergauss.spectrum import zhou_laplacian
from tests.solvers.markov.problems import case

SIZE = 800
TIGHT = Markov(tolerance=1e-10)
whole = pytest.mark.parametrize("nu", [1, 2, 3])
everywhere = np.arange(SIZE)


def posteriors(own, options=TIGHT):
    model = own.model
    dense = solver_for(model.kernel, own.observations.rows, "dense").posterior(model.prior(), own.sites())
    markov = MarkovSolver(model.kernel, own.observations.rows, options).posterior(model.prior(), own.sites())
    return dense, markov


@whole
def test_means_weights_and_covariances_are_the_dense_ones(nu):
    dense, markov = posteriors(case(SIZE, nu))
    assert np.abs(markov.mean(everywhere) - dense.mean(everywhere)).max() < 1e-8
    some = np.array([3, SIZE - 1, 0, 3, 480])
    assert np.allclose(markov.covariance(some), dense.covariance(some), atol=1e-8)
    assert np.allclose(markov.variance(some), dense.variance(some), atol=1e-8)
    assert np.allclose(markov.observation_weights(some), dense.observation_weights(some), atol=1e-8)
    assert np.allclose(markov.dual_weights(), dense.dual_weights(), atol=1e-7)


@whole
def test_draws_have_the_dense_covariance_within_monte_carlo_error(nu):
    size = 400
    dense, markov = posteriors(case(SIZE, nu, outputs=1), Markov(sample_tolerance=1e-4))
    some = np.arange(0, SIZE, 16)
    draws = markov.sample(some, size, np.random.default_rng(2))[:, :, 0] - dense.mean(some)[:, 0]
    S = dense.covariance(some)
    error = (draws.T @ draws / size - S) / np.sqrt((S**2 + np.outer(np.diag(S), np.diag(S))) / size)
    assert np.abs(error).max() < 4.8  # of 1,275 different entries
    assert (error**2).mean() == pytest.approx(1.0, abs=0.25)


@whole
def test_standard_deviations_and_leave_one_out_come_from_draws(nu):
    own = case(SIZE, nu, outputs=1)
    dense, markov = posteriors(own, Markov(n_samples=64))
    ratio = markov.variance(everywhere) / dense.variance(everywhere)
    assert ratio.mean() == pytest.approx(1.0, abs=0.02)
    # Of noise made of signs: less than of normal numbers, whose squares vary more.
    assert ratio.std() < 1.1 * np.sqrt(2 / 64)
    left, expected = markov.leave_one_out(), dense.leave_one_out()
    # A chi-squared mean of 64: half of all are off by less than 0.6745 of its standard deviation.
    assert np.median(np.abs(left.variance / expected.variance - 1)) < 1.1 * 0.6745 * np.sqrt(2 / 64)
    few = own.observations.part(np.arange(20)).sites(0.3)
    exact = MarkovSolver(own.model.kernel, few.rows, TIGHT).posterior(own.model.prior(), few).leave_one_out()
    wanted = solver_for(own.model.kernel, few.rows, "dense").posterior(own.model.prior(), few).leave_one_out()
    assert np.allclose(exact.mean, wanted.mean, atol=1e-7)
    assert np.allclose(exact.variance, wanted.variance, atol=1e-7)


def test_variances_by_signs_are_as_far_off_as_derived():
    """With x = sum of a_j z_j over signs z the variance of x^2 is 2 S^2 - 2 sum of a_j^4, S the sum of a_j^2."""
    own = case(SIZE, 2, outputs=1)
    dense, markov = posteriors(own, Markov(n_samples=64))
    field, operator = Field.of(own.model.kernel), own.model.kernel.spectrum.source.multiplier()
    M = operator.leave(field.powers(operator, operator.enter(np.eye(SIZE)), 1))
    W = np.zeros(SIZE)
    W[own.sites().rows] = 1.0 / own.sites().variance
    S = dense.covariance(everywhere)
    fourth = ((S @ M / np.sqrt(field.s)) ** 4).sum(axis=1) + ((S * np.sqrt(W)) ** 4).sum(axis=1)
    expected = (2 * np.diag(S) ** 2 - 2 * fourth) / np.diag(S) ** 2 / 64
    off = markov.variance(everywhere) / np.diag(S) - 1
    assert np.sqrt((off**2).mean()) == pytest.approx(np.sqrt(expected.mean()), rel=0.1)


def test_a_guess_that_is_right_costs_next_to_nothing():
    own = case(SIZE, 2)
    solver = MarkovSolver(own.model.kernel, own.observations.rows)
    first = solver.posterior(own.model.prior(), own.sites())
    mean = first.mean(everywhere)
    before = solver.workspace.num_products
    again = solver.posterior(own.model.prior(), own.sites(), start=mean)
    assert np.allclose(again.mean(everywhere), mean, atol=1e-6)
    assert solver.workspace.num_products - before <= 2 * 2 * 2


def test_one_more_measurement_is_as_exact_where_it_is_as_all_of_them_are():
    own = case(SIZE, 2, outputs=1)
    sites, prior = own.sites(), own.model.prior()
    earlier = Sites(sites.rows[1:], sites.mean[1:], sites.variance[1:])
    before = MarkovSolver(own.model.kernel, earlier.rows).posterior(prior, earlier).mean(everywhere)
    sites.mean[0] += 3.0  # a measurement that surprises
    expected = solver_for(own.model.kernel, sites.rows, "dense").posterior(prior, sites).mean(everywhere)
    found = MarkovSolver(own.model.kernel, sites.rows).posterior(prior, sites, start=before).mean(everywhere)
    assert np.abs(found - expected).max() < 1e-6 * sites.mean.std()


@pytest.mark.parametrize("nu", [1, 2, 3])
@pytest.mark.parametrize("new", [0, 7, 1499], ids=["an isolated vertex", "a measured one", "another"])
def test_one_more_measurement_is_met_from_where_it_is(nu, new):
    H = make_planted_hypergraph(1500, 1200, random_state=3).hypergraph.without(vertices=[0])
    H = H.with_vertices([0, *H.vertices])
    kernel = Matern(Spectrum.matrix_free(H), nu, lengthscale=4.0, fixed=("nu",))
    rng, rows = np.random.default_rng(0), np.arange(7, 1499, 5)
    prior, y = Prior(kernel, np.array([0.5])), rng.standard_normal((len(rows), 1))
    before = MarkovSolver(kernel, rows).posterior(prior, Sites(rows, y, np.full(len(rows), 0.2)))
    further = np.append(rows, new) if new not in rows else rows
    values = np.vstack([y, [[4.0]]])[: len(further)]
    values[further == new] = 4.0
    sites = Sites(further, values, np.full(len(further), 0.2))
    solver = MarkovSolver(kernel, further)
    found = solver.resumed(prior, sites, before, np.arange(1500)).mean(np.arange(1500))
    field, W = Field.of(kernel), np.zeros((1500, 1))
    Q = np.linalg.matrix_power(np.eye(1500) + zhou_laplacian(H).dense() / field.c, nu) / field.s
    targets = np.zeros((1500, 1))
    W[further], targets[further] = 5.0, values - 0.5
    expected = 0.5 + np.linalg.solve(Q + np.diag(W[:, 0]), W * targets)
    assert np.abs(found - expected).max() < 1e-6 * values.std()


def test_nothing_is_estimated_that_was_not_asked_for():
    own = case(SIZE, 2, outputs=1)
    solver = MarkovSolver(own.model.kernel, own.observations.rows)
    posterior = solver.posterior(own.model.prior(), own.sites())
    assert solver.workspace.num_products == 0
    posterior.mean(everywhere)
    for_mean = solver.workspace.num_products
    assert for_mean <= 60
    assert np.isfinite(posterior.log_evidence)
    assert solver.workspace.num_products > 2 * for_mean


def test_a_system_that_does_not_converge_says_its_residual_and_likely_causes():
    own = case(SIZE, 2)
    _, markov = posteriors(own, Markov(max_iterations=3))
    with pytest.raises(ConvergenceError, match=r"after 3 iterations at a relative residual of .* Likely causes"):
        markov.mean(everywhere)


def test_sites_of_negative_variance_are_refused():
    own = case(SIZE, 2)
    sites = Sites(np.array([0]), np.zeros((1, 2)), np.array([-1.0]))
    with pytest.raises(ValueError, match="positive variances"):
        MarkovSolver(own.model.kernel, sites.rows).posterior(own.model.prior(), sites)
