"""Variational inference: the bound, its slopes, and against the evidence it bounds."""

import numpy as np
import pytest
from scipy.special import logsumexp

from hypergauss import parameters
from hypergauss.inference import maximise
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.site_objective import TIGHT
from hypergauss.inference.variational import VariationalObjective, elbo
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax, StudentT
from hypergauss.solvers import InducingVertices, NaturalSites, SpectralFeatures, solver_for
from tests import oracles
from tests.inference.problems import classification as problem
from tests.inference.problems import settled


@pytest.mark.parametrize("likelihood", [Bernoulli(), Bernoulli("probit"), Softmax(3), RobustMax(3)], ids=repr)
def test_both_systems_reach_one_bound(likelihood):
    model, rows, y = problem(likelihood)
    found = [settled(model, rows, y, solver).value for solver in ("dense", "low-rank")]
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3), RobustMax(3)], ids=repr)
def test_no_step_lowers_the_bound_and_its_end_is_a_maximum(likelihood):
    model, rows, y = problem(likelihood, seed=1)
    solver = solver_for(model.kernel, rows)

    def bound(sites):
        marginals = solver.marginals(model.kernel, model.mean, sites)
        return elbo(marginals, sites, likelihood.expectation(marginals.mean, marginals.variance, y))

    end = settled(model, rows, y)
    assert end.value > bound(NaturalSites.empty(len(y), likelihood.num_latents))
    assert end.value == pytest.approx(bound(end.sites), abs=1e-10)
    shape = np.stack(end.sites).shape
    slope = oracles.central_differences(
        lambda flat: bound(NaturalSites(*flat.reshape(shape))), np.stack(end.sites).ravel()
    )
    assert np.abs(slope).max() < 1e-3


def test_the_bound_stays_below_the_evidence():
    """The log evidence of a binary model by averaging the likelihood over draws of the prior."""
    model, rows, y = problem(Bernoulli(), n=8)
    bound = settled(model, rows, y).value
    draws = model.kernel.prior_draws(rows, 400_000, np.random.default_rng(0))
    logs = -np.log1p(np.exp(-(2 * y - 1)[:, None] * draws)).sum(axis=0)
    evidence = logsumexp(logs) - np.log(logs.size)
    assert bound < evidence < bound + 0.2


SOLVERS = {"dense": ("dense", None), "vertices": ("auto", 8), "spectral": ("auto", SpectralFeatures(5))}


@pytest.mark.parametrize(("solver", "inducing"), SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3), RobustMax(3)], ids=repr)
def test_the_gradient_of_the_best_bound_matches_finite_differences(likelihood, solver, inducing):
    model, rows, y = problem(likelihood, seed=2)
    if isinstance(inducing, int):
        inducing = InducingVertices.of(model.kernel, rows[:inducing])
    objective = VariationalObjective(solver_for(model.kernel, rows, solver, inducing), y, likelihood.num_latents)
    objective.tolerance = TIGHT
    theta = parameters.pack(model)
    value, gradient = objective.value_and_gradient(model)
    assert value == pytest.approx(settled(model, rows, y, solver, inducing).value, abs=1e-8)
    expected = oracles.central_differences(lambda t: objective.value(parameters.unpack(model, t)), theta, step=1e-3)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=2e-3)


def test_posteriors_at_the_sites_are_the_marginals():
    for likelihood in (Softmax(3), RobustMax(3)):
        model, rows, y = problem(likelihood, seed=3)
        state = settled(model, rows, y)
        latents = GaussianLatents.of(model, state.sites, solver_for(model.kernel, rows))
        for latent, posterior in enumerate(latents.posteriors):
            assert np.allclose(posterior.mean(rows)[:, 0], state.marginals.mean[:, latent], atol=1e-6)
            assert np.allclose(posterior.variance(rows), state.marginals.variance[:, latent], atol=1e-6)


def test_learning_raises_the_bound():
    model, rows, y = problem(Softmax(3), seed=4)
    before = settled(model, rows, y).value
    learned = maximise(VariationalObjective(solver_for(model.kernel, rows), y, 3), model, n_starts=1)
    assert learned.log_evidence > before + 0.1


def test_sites_that_leave_nothing_of_the_prior_are_begun_anew():
    """Those of other hyperparameters may: a likelihood that is not log-concave has negative precisions."""
    classes, rows, _ = problem(Bernoulli())
    model = LatentModel(classes.kernel, StudentT(0.3), np.zeros(1))
    y = np.random.default_rng(0).normal(size=len(rows))
    solver = solver_for(model.kernel, rows)
    impossible = NaturalSites(np.zeros((len(y), 1)), np.full((len(y), 1), -1e3))
    found = VariationalObjective(solver, y, 1, impossible).settle(model)
    expected = VariationalObjective(solver, y, 1).settle(model)
    assert found.value == pytest.approx(expected.value, abs=1e-9)


def test_a_search_has_the_width_of_what_few_labels_tell():
    """E log p = hits log(1 - e) + misses log(e / 2), whose curvature in log e is hits e / (1 - e)^2."""
    model, rows, y = problem(RobustMax(3, 0.01), seed=5)
    marginals = settled(model, rows, y).marginals
    miss, hit = np.log(0.01 / 2), np.log(0.99)
    values = model.likelihood.expected_log_density(marginals.mean, marginals.variance, y)
    hits = ((values - miss) / (hit - miss)).sum()
    widths = VariationalObjective(solver_for(model.kernel, rows), y, 3).widths(model)
    is_epsilon = [slot.name == "epsilon" for slot in parameters.slots(model) for _ in range(slot.size)]
    assert widths[is_epsilon] == pytest.approx(0.99 / np.sqrt(0.01 * hits), rel=1e-3)
    assert (widths[np.logical_not(is_epsilon)] == 1).all()
    many = LatentModel(model.kernel, RobustMax(3, 0.3), model.mean)
    assert (VariationalObjective(solver_for(model.kernel, rows), y, 3).widths(many) == 1).all()


@pytest.mark.parametrize("likelihood", [RobustMax(3), Softmax(3)])
def test_a_bound_is_as_exact_as_comparing_it_asks_for(likelihood):
    """Below the best bound by a little of what lies between it and its rival; beside an equal, by next to nothing."""
    model, rows, y = problem(likelihood, seed=5)
    solver, best = solver_for(model.kernel, rows), settled(model, rows, y).value
    apart, exact = (
        best - VariationalObjective(solver, y, 3).compared(model, rival)[0] for rival in (best - 1.0, best + 1e-9)
    )
    assert -1e-9 <= exact < 1e-5
    assert exact < apart < 1e-2
    afterwards = VariationalObjective(solver, y, 3)
    afterwards.compared(model, -np.inf)
    assert afterwards.value_and_gradient(model)[0] == pytest.approx(best, abs=1e-5)
