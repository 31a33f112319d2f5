"""Sites moved with the iterative solver end where the exact ones do, but for what their draws leave open."""

import gc
import weakref

import numpy as np
import pytest

from hypergauss import parameters
from hypergauss.exceptions import LearningWarning
from hypergauss.inference import variational_by_products
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.variational import VariationalObjective, elbo
from hypergauss.inference.variational_by_products import IterativeVariational
from hypergauss.kernels import Matern
from hypergauss.learning.search import maximise
from hypergauss.likelihoods import Bernoulli, Gaussian, OrderedProbit, Poisson, RobustMax, Softmax, StudentT
from hypergauss.operators import LaplacianOperator
from hypergauss.solvers import Iterative, NaturalSites
from hypergauss.solvers.base import Marginals
from hypergauss.solvers.dense import DenseSolver
from hypergauss.solvers.iterative import IterativeSolver
from hypergauss.spectrum import Spectrum
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

N, OBSERVED = 240, 100
H = hypergraph_of_sizes(N, [2, 3, 4, 6] * 32, seed=3)
KERNEL = Matern(Spectrum.of(H), 2.0, 8.0, variance=2.0)
ROWS = np.sort(np.random.default_rng(0).permutation(N)[:OBSERVED])
K = KERNEL.gram(ROWS, ROWS)
INVERSE = np.linalg.inv(K)
OPTIONS = Iterative(n_probes=64)  # and so 64 draws, which know a variance to (2 / 64)^1/2 = 18%

#: With how much of the bound, in nats for each observation, may be lost to variances from draws: the bound is
#: stationary in them, so the loss is of second order; more where a likelihood is not log-concave.
LIKELIHOODS = {
    "logit": (Bernoulli("logit"), 0.002),
    "probit": (Bernoulli("probit"), 0.002),
    "softmax": (Softmax(3), 0.004),
    "robust-max": (RobustMax(3), 0.03),
    "ordered probit": (OrderedProbit(4, [-1.0, 0.2, 2.0]), 0.002),
    "gaussian": (Gaussian(0.4), 1e-6),
    "poisson": (Poisson(), 0.004),
    "student": (StudentT(0.3, 4.0), 0.02),
}


def drawn(likelihood):
    """Return observations drawn from the model."""
    rng = np.random.default_rng(2)
    f = KERNEL.prior_draws(ROWS, likelihood.num_latents, np.random.default_rng(1))
    if isinstance(likelihood, Gaussian):
        return f[:, 0] + np.sqrt(0.4) * rng.standard_normal(OBSERVED)
    if isinstance(likelihood, StudentT):
        return f[:, 0] + 0.3 * rng.standard_t(4, OBSERVED)
    if isinstance(likelihood, Poisson):
        return rng.poisson(np.exp(f[:, 0])).astype(float)
    p = likelihood.probabilities(f, np.full(f.shape, 1e-12))
    return np.array([rng.choice(likelihood.num_classes, p=row / row.sum()) for row in p])


def problem(likelihood):
    y = drawn(likelihood)
    model = LatentModel(KERNEL, likelihood, np.zeros(likelihood.num_latents))
    return model, y, IterativeVariational(IterativeSolver(KERNEL, ROWS, OPTIONS), model, y)


def target(likelihood, marginals, y):
    return variational_by_products._target(likelihood, marginals.mean, marginals.variance, y)


def dense_bound(likelihood, y, sites):
    """Return the bound at given sites and the marginals there, by inverses of n x n matrices; the prior mean is 0."""
    means, variances, log_partition = [], [], 0.0
    for shift, precision in zip(sites.shift.T, sites.precision.T, strict=True):
        S = np.linalg.inv(INVERSE + np.diag(precision))
        log_partition += shift @ S @ shift / 2 - np.linalg.slogdet(np.eye(OBSERVED) + K * precision)[1] / 2
        means.append(S @ shift)
        variances.append(np.diag(S))
    marginals = Marginals(np.stack(means, 1), np.stack(variances, 1), log_partition)
    return elbo(marginals, sites, likelihood.expectation(marginals.mean, marginals.variance, y)), marginals


def dense_best(likelihood, y):
    """Return the highest bound that natural-gradient steps from nothing find, none of which may lower it."""
    sites, best, step = NaturalSites.empty(OBSERVED, likelihood.num_latents), -np.inf, 1.0
    trial = sites
    for _ in range(60):
        bound, marginals = dense_bound(likelihood, y, trial)
        if bound > best:
            gain, best, sites, step = bound - best, bound, trial, min(1.0, 1.5 * step)
            goal = target(likelihood, marginals, y)
            goal = NaturalSites(goal.shift, np.maximum(goal.precision, 1e-6))
            if gain < 1e-6:
                break
        else:
            step *= 0.5
        trial = sites.towards(goal, step)
    return best


@pytest.mark.parametrize(("likelihood", "loss"), LIKELIHOODS.values(), ids=LIKELIHOODS.keys())
def test_the_sites_of_every_likelihood_reach_the_exact_bound(likelihood, loss):
    model, y, objective = problem(likelihood)
    best = dense_best(likelihood, y)
    sites, marginals = objective.settle(model)
    reached, there = dense_bound(likelihood, y, sites)
    assert reached > best - loss * OBSERVED - 1e-3
    if likelihood.is_log_concave:  # and so has one top
        assert reached < best + 1e-3
    # Means at these sites are solved for, not drawn; variances are chi-square around theirs, never biased.
    assert np.allclose(marginals.mean, there.mean, atol=0.01 * np.std(there.mean) + 1e-3)
    ratio = marginals.variance / there.variance
    assert ratio.mean() == pytest.approx(1.0, abs=0.08)
    assert ratio.std() == pytest.approx(np.sqrt(2 / 64), rel=0.4)
    assert (sites.precision > 0).all()


@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3)], ids=lambda likelihood: type(likelihood).__name__)
def test_the_bound_and_its_gradient_are_the_dense_ones_within_their_probes_error(likelihood):
    model, y, objective = problem(likelihood)
    value, gradient = objective.value_and_gradient(model)
    sites = objective.state
    assert abs(value - dense_bound(likelihood, y, sites)[0]) < 4 * objective.standard_error + 0.005 * OBSERVED
    if likelihood.num_latents == 1:
        _, slope = VariationalObjective(DenseSolver(KERNEL, ROWS), y, 1, sites).value_and_gradient(model)
        assert np.allclose(gradient, slope, atol=0.05 * np.abs(slope).max() + 0.5)


@pytest.mark.parametrize("likelihood", [Gaussian(0.4), Softmax(3)], ids=lambda likelihood: type(likelihood).__name__)
def test_the_slopes_of_what_is_to_be_gained_are_those_of_its_values(likelihood):
    model, _, objective = problem(likelihood)
    local = objective.local_model(model)
    theta = parameters.pack(model)
    gain, gradient = local.gain(theta)
    assert gain == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(gradient, local.gradient, rtol=1e-9, atol=1e-9)
    there = theta + 0.2 * np.sin(np.arange(len(theta)))
    found = oracles.central_differences(lambda point: local.gain(point)[0], there)
    slope = local.gain(there)[1]
    assert np.allclose(slope, found, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_two_evaluations_agree_and_later_ones_start_from_the_best_sites():
    model, _, objective = problem(Bernoulli())
    workspace = objective.solver.workspace
    first = objective.value(model)
    products = workspace.num_products
    second = objective.value(model)
    assert second == pytest.approx(first, abs=0.02)
    assert workspace.num_products - products < products  # nothing is left to settle


def test_posteriors_given_the_sites_are_the_dense_ones():
    model, _, objective = problem(Softmax(3))
    sites, _ = objective.settle(model)
    found = GaussianLatents.of(model, sites, objective.solver)
    exact = GaussianLatents.of(model, sites, DenseSolver(KERNEL, ROWS))
    assert found.solver == "iterative"
    rows = np.array([0, ROWS[0], 17, 230])
    assert np.allclose(found.conditionals(rows)[0], exact.conditionals(rows)[0], atol=1e-5)
    assert np.allclose(found.conditionals(rows)[1], exact.conditionals(rows)[1], rtol=1e-4)
    assert np.allclose(found.probabilities(rows), exact.probabilities(rows), atol=1e-4)
    everywhere = np.arange(N)
    assert np.abs(found.probabilities(everywhere) - exact.probabilities(everywhere)).mean() < 0.01
    assert found.sample(rows, 5, np.random.default_rng(0)).shape == (5, 4, 3)


def test_sites_that_do_not_settle_come_with_their_own_marginals_and_a_warning(monkeypatch):
    monkeypatch.setattr(variational_by_products, "_MOST_STEPS", 2)
    likelihood = StudentT(0.3, 4.0)
    model, y, objective = problem(likelihood)
    with pytest.warns(LearningWarning, match="still change by"):
        sites, marginals = objective.settle(model)
    _, there = dense_bound(likelihood, y, sites)
    _, elsewhere = dense_bound(likelihood, y, target(likelihood, there, y))
    off, moved = (np.linalg.norm(other.mean - there.mean) for other in (marginals, elsewhere))
    assert off < 0.1 * moved
    with pytest.warns(LearningWarning, match="still change by"):
        value = objective.value(model)
    assert value < dense_best(likelihood, y) + 4 * objective.standard_error + 0.005 * OBSERVED


def test_a_model_with_nothing_to_learn_is_evaluated():
    free, y, _ = problem(Gaussian(0.4))
    kernel = Matern(KERNEL.spectrum, 2.0, 8.0, variance=2.0, fixed=("nu", "lengthscale", "variance"))
    model = LatentModel(kernel, Gaussian(0.4, fixed=("noise_variance",)), free.mean, fixed=("mean",))
    assert not len(parameters.pack(model))
    learned = maximise(IterativeVariational(IterativeSolver(kernel, ROWS, OPTIONS), model, y), model)
    exact, _ = dense_bound(model.likelihood, y, learned.state)
    assert learned.log_evidence == pytest.approx(exact, abs=0.5)


def test_fits_that_are_gone_leave_no_operator_behind():
    y = drawn(Bernoulli())
    operators = []

    def fit(seed):
        solver = IterativeSolver(KERNEL, ROWS, Iterative(n_probes=8, seed=seed))
        model = LatentModel(KERNEL, Bernoulli(), np.zeros(1))
        learned = maximise(IterativeVariational(solver, model, y), model, n_starts=1, max_iterations=1)
        latents = GaussianLatents.of(learned.model, learned.state, solver)
        latents.conditionals(np.arange(N))
        workspace = solver.workspace
        kinds = [workspace.terms, workspace._in_single()]
        operators.extend(weakref.ref(operator) for terms in kinds for operator in terms.operators)
        return latents

    fits = [fit(seed) for seed in range(2)]
    assert all(isinstance(operator(), LaplacianOperator) for operator in operators)
    del fits
    gc.collect()
    assert [operator() for operator in operators] == [None] * 4
