"""Fields that are centred, scaled and added, and features: what the dense solver says of the same prior."""

from functools import cache

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.kernels import Linear, Matern, Standardised
from hypergauss.learning.search import maximise
from hypergauss.operators import JaxLaplacian
from hypergauss.solvers import solver_for
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.markov import Markov
from hypergauss.solvers.sites import Observations
from hypergauss.spectrum import normalised_incidence
from tests.solvers.markov.problems import decomposed, hypergraph
from tests.solvers.markov.test_evidence import PRIORS

SIZE, SMALL = 800, 100
TIGHT = Markov(tolerance=1e-10)
EXACT = Markov(tolerance=1e-10, learning_tolerance=1e-10, probe_tolerance=1e-9, n_probes=10**6)


def matern(size, nu=2):
    return Matern(decomposed(size)[1], nu, 3.0, variance=0.7, fixed=("nu",))


def covariates(size):
    return np.random.default_rng(11).standard_normal((size, 2))


@cache
def other(size):
    return Spectrum.of(hypergraph(size, seed=3))


KERNELS = {
    "centred": lambda n: Standardised(matern(n), 0.3, evenness=0.0, fixed=("evenness",)),
    "centred, nu 1": lambda n: Standardised(matern(n, 1), 0.3, evenness=0.0, level=1.0, fixed=("evenness",)),
    "scaled": lambda n: Standardised(matern(n), 0.5, level=1.0, activity=0.05),
    "partly scaled, nu 3": lambda n: Standardised(matern(n, 3), 0.5, evenness=0.5, level=2.0),
    "features": lambda n: matern(n) + Linear(covariates(n), [0.5, 2.0]),
    "relations": lambda n: matern(n) + Matern(other(n), 1, 2.0, fixed=("nu",)),
    "everything": lambda n: (
        Standardised(matern(n), 0.5, level=1.0, activity=0.05)
        + Standardised(Matern(other(n), 1, 2.0, fixed=("nu",)), level=0.5)
        + Linear(covariates(n))
    ),
}
each = pytest.mark.parametrize("name", list(KERNELS))


def problem(name, size, outputs=2):
    rng = np.random.default_rng(5)
    rows = rng.permutation(size)[: size // 4]
    rows = np.append(rows, rows[:5])
    observations = Observations.of(rows, rng.standard_normal((len(rows), outputs)))
    return GaussianModel(KERNELS[name](size), 0.3, np.array([0.4, -0.1])[:outputs]), observations


@cache
def posteriors(name, options=TIGHT, outputs=2):
    model, observations = problem(name, SIZE, outputs)
    sites = observations.sites(model.noise_variance)
    made = [solver_for(model.kernel, sites.rows, solver) for solver in ("dense", options)]
    return [solver.posterior(model.prior(), sites) for solver in made]


@each
def test_means_weights_covariances_and_leave_one_out_are_the_dense_ones(name):
    dense, markov = posteriors(name)
    everywhere, some = np.arange(SIZE), np.array([3, SIZE - 1, 0, 3, 480])
    assert markov.solver == "markov"
    assert np.abs(markov.mean(everywhere) - dense.mean(everywhere)).max() < 1e-8
    assert np.allclose(markov.covariance(some), dense.covariance(some), atol=1e-8)
    assert np.allclose(markov.variance(some), dense.variance(some), atol=1e-8)
    assert np.allclose(markov.observation_weights(some), dense.observation_weights(some), atol=1e-8)
    assert np.allclose(markov.dual_weights(), dense.dual_weights(), atol=1e-7)


def test_what_features_take_is_solved_for_once_for_all_that_have_the_same_sites():
    model, observations = problem("everything", SIZE, 1)
    sites, everywhere = observations.sites(model.noise_variance), np.arange(SIZE)
    solver = solver_for(model.kernel, sites.rows, TIGHT)
    dense = solver_for(model.kernel, sites.rows, "dense")
    others = [sites, sites._replace(mean=1.0 - sites.mean), sites._replace(variance=2.0 * sites.variance)]
    counts = [solver.workspace.num_products]
    for own in others:
        found = solver.posterior(model.prior(), own).mean(everywhere)
        assert np.abs(found - dense.posterior(model.prior(), own).mean(everywhere)).max() < 1e-8
        counts.append(solver.workspace.num_products)
    first, again, other_noise = np.diff(counts)
    assert again < 0.3 * first
    assert other_noise > 2 * again


@each
def test_leave_one_out_is_the_dense_one(name):
    """Of no more sites than draws by a solve each; of many the share of noise and its complement come from draws."""
    model, observations = problem(name, SIZE)
    few = observations.part(np.arange(20)).sites(0.3)
    exact, wanted = (
        solver_for(model.kernel, few.rows, solver).posterior(model.prior(), few).leave_one_out()
        for solver in (TIGHT, "dense")
    )
    assert np.allclose(exact.mean, wanted.mean, atol=1e-7)
    assert np.allclose(exact.variance, wanted.variance, atol=1e-7)
    dense, markov = posteriors(name)
    ratio = markov.leave_one_out().variance / dense.leave_one_out().variance
    # Half of all are off by less than 0.6745 of a standard deviation, that of a ratio of two chi-squared means at most.
    assert np.median(np.abs(ratio - 1)) < 0.6745 * np.sqrt(2) * np.sqrt(2 / 64)


@each
def test_draws_have_the_dense_covariance_within_monte_carlo_error(name):
    size = 400
    dense, markov = posteriors(name, Markov(sample_tolerance=1e-4), outputs=1)
    some = np.arange(0, SIZE, 16)
    draws = markov.sample(some, size, np.random.default_rng(2))[:, :, 0] - dense.mean(some)[:, 0]
    S = dense.covariance(some)
    error = (draws.T @ draws / size - S) / np.sqrt((S**2 + np.outer(np.diag(S), np.diag(S))) / size)
    assert np.abs(error).max() < 4.8  # of 1,275 different entries
    assert (error**2).mean() == pytest.approx(1.0, abs=0.25)


@each
def test_with_a_probe_for_each_number_value_and_gradient_are_the_dense_ones(name):
    model, observations = problem(name, SMALL)
    objective = solver_for(model.kernel, observations.rows, EXACT).objective(observations)
    dense = solver_for(model.kernel, observations.rows, "dense").objective(observations)
    value, gradient = objective.value_and_gradient(model)
    assert value == pytest.approx(dense.value(model), abs=1e-7)
    assert objective.value(model) == pytest.approx(value, abs=1e-7)
    theta, step = parameters.pack(model), 1e-5
    for slope, unit in zip(gradient, np.eye(len(theta)), strict=True):
        up, down = (dense.value(parameters.unpack(model, theta + s * step * unit)) for s in (1, -1))
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-5)


@each
def test_the_estimate_is_within_two_standard_errors(name):
    model, observations = problem(name, SIZE, outputs=1)
    dense = solver_for(model.kernel, observations.rows, "dense").objective(observations)
    expected, slopes = dense.value_and_gradient(model)
    errors, gradients = [], []
    for seed in range(6):
        objective = solver_for(model.kernel, observations.rows, Markov(seed=seed, n_probes=16)).objective(observations)
        value, gradient = objective.value_and_gradient(model)
        errors.append((value - expected) / objective.standard_error)
        gradients.append(gradient)
    assert abs(errors[0]) < 2
    assert np.mean(np.abs(errors) < 2) >= 0.75
    spread = np.std(gradients, axis=0, ddof=1)
    assert np.all(np.abs(np.mean(gradients, axis=0) - slopes) < 1.5 * spread + 0.02 * np.abs(slopes) + 0.1)


@pytest.mark.parametrize("name", ["scaled", "relations"])
def test_learning_ends_at_the_top_of_the_dense_evidence(name):
    model, observations = problem(name, 2 * SMALL, outputs=1)
    options = {"priors": {key: value for key, value in PRIORS.items() if key != "variance"}, "n_starts": 1}
    found = maximise(solver_for(model.kernel, observations.rows, EXACT).objective(observations), model, **options)
    assert found.converged
    best = maximise(
        solver_for(model.kernel, observations.rows, "dense").objective(observations), found.model, **options
    )
    assert found.objective == pytest.approx(best.objective, abs=2e-4)


@pytest.mark.slow
def test_on_an_accelerator_the_prior_and_all_that_follows_are_the_same():
    pytest.importorskip("jax", reason="jax is not installed: pip install hypergauss[jax]")
    H, exact = decomposed(SMALL)
    free = Spectrum.matrix_free(JaxLaplacian.of_incidence(normalised_incidence(H)))
    _, observations = problem("centred", SMALL, outputs=1)
    found = []
    for spectrum in (exact, free):
        field = Standardised(Matern(spectrum, 2, 3.0, fixed=("nu",)), 0.5, level=1.0, activity=0.1)
        model = GaussianModel(field + Linear(covariates(SMALL)), 0.3, np.zeros(1))
        solver = solver_for(model.kernel, observations.rows, EXACT._replace(n_probes=2))
        mean = solver.posterior(model.prior(), observations.sites(0.3)).mean(np.arange(SMALL))
        found.append((mean, *solver.objective(observations).value_and_gradient(model)))
    for mine, theirs in zip(*found, strict=True):
        assert np.allclose(mine, theirs, atol=1e-7)
