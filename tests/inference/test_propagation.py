"""Expectation propagation against brute force: quadrature over two or three latents, and importance sampling."""

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal

from hypergauss import Spectrum, parameters
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.propagation import PropagationObjective
from hypergauss.kernels import Matern, Standardised, Walk
from hypergauss.likelihoods import Bernoulli, Gaussian, MultinomialProbit, OrderedProbit
from hypergauss.likelihoods.multinomial_probit import coupled_probabilities
from hypergauss.solvers.choose import solver_for
from hypergauss.solvers.projection import InducingVertices
from tests import oracles
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(12, 8, seed=1)
ROWS = np.array([2, 5, 7])


def kernel(variance=2.0):
    return Standardised(Walk(Spectrum.of(H), 1.5, variance=variance), 0.2, level=0.5)


def settled(model, y, rows=ROWS, solver="dense"):
    kind = CoupledPropagation if isinstance(model.likelihood, MultinomialProbit) else PropagationObjective
    objective = kind(solver_for(model.kernel, rows, solver), y, model.likelihood.num_latents)
    objective.tolerance = 1e-13
    return objective, objective.settle(model)


def by_quadrature(model, y, rows, nodes=90):
    """Return log evidence, means and covariance of latents from a grid over all of them."""
    K = model.kernel.gram(rows, rows)
    root = np.linalg.cholesky(K)
    z = np.linspace(-8.0, 8.0, nodes)
    grid = np.stack(np.meshgrid(*[z] * len(rows), indexing="ij"), axis=-1).reshape(-1, len(rows))
    f = grid @ root.T + model.mean[0]
    log_p = sum(model.likelihood.log_density(f[:, [i]], np.full(len(f), y[i])) for i in range(len(rows)))
    weights = np.exp(log_p - (grid**2).sum(axis=1) / 2) * ((z[1] - z[0]) / np.sqrt(2 * np.pi)) ** len(rows)
    total = weights.sum()
    mean = weights @ f / total
    return np.log(total), mean, (f - mean).T @ ((f - mean) * weights[:, None] / total)


LIKELIHOODS = {
    "probit": (Bernoulli("probit"), np.array([1.0, 0.0, 1.0])),
    "logit": (Bernoulli("logit"), np.array([1.0, 1.0, 0.0])),
    "ordered": (OrderedProbit(3, [-0.5, 0.8]), np.array([0.0, 1.0, 2.0])),
}


@pytest.mark.parametrize(("likelihood", "y"), LIKELIHOODS.values(), ids=LIKELIHOODS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_evidence_and_moments_are_nearly_those_of_quadrature(likelihood, y, count):
    rows, y = ROWS[:count], y[:count]
    model = LatentModel(kernel(), likelihood, np.array([0.3]))
    log_z, mean, covariance = by_quadrature(model, y, rows)
    found = settled(model, y, rows)[1]
    # With one site the tilted moments are matched exactly; with several nearly so.
    enough = 1e-6 if count == 1 else 0.02
    assert found.value == pytest.approx(log_z, abs=enough)
    assert np.allclose(found.marginals.mean[:, 0], mean, atol=enough)
    assert np.allclose(found.marginals.variance[:, 0], np.diag(covariance), atol=2.5 * enough)


def test_with_gaussian_noise_it_is_exact():
    y = np.array([0.4, -1.0, 2.0])
    model = LatentModel(kernel(), Gaussian(0.3), np.array([0.2]))
    K = model.kernel.gram()
    mean, covariance = oracles.posterior(K, ROWS, y[:, None], 0.3, model.mean)
    found = settled(model, y)[1]
    assert found.value == pytest.approx(oracles.log_evidence(K, ROWS, y[:, None], 0.3, model.mean), abs=1e-7)
    assert np.allclose(found.marginals.mean[:, 0], mean[ROWS, 0], atol=1e-7)
    assert np.allclose(found.marginals.variance[:, 0], np.diag(covariance)[ROWS], atol=1e-7)


def test_at_the_end_cavity_times_likelihood_has_the_moments_of_the_posterior():
    likelihood, y = LIKELIHOODS["probit"]
    model = LatentModel(kernel(), likelihood, np.array([0.3]))
    found = settled(model, y)[1]
    v, m = found.marginals.variance, found.marginals.mean
    cavity_variance = 1 / (1 / v - found.sites.precision)
    cavity_mean = cavity_variance * (m / v - found.sites.shift)
    tilted = likelihood.tilted(cavity_mean, cavity_variance, y)
    assert np.allclose(cavity_mean + cavity_variance * tilted.in_mean, m, atol=1e-5)
    assert np.allclose(cavity_variance + cavity_variance**2 * tilted.bend, v, atol=1e-5)


MODELS = {
    **{name: (LatentModel(kernel(), lik, np.array([0.3])), y) for name, (lik, y) in LIKELIHOODS.items()},
    "gaussian": (LatentModel(kernel(), Gaussian(0.3), np.array([0.2])), np.array([0.4, -1.0, 2.0])),
    "many classes": (LatentModel(kernel(), MultinomialProbit(3), np.array([0.3, -0.2, 0.1])), np.array([0.0, 2, 1])),
}


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
@pytest.mark.parametrize(("model", "y"), MODELS.values(), ids=MODELS)
def test_gradients_match_central_differences(model, y, solver):
    objective, found = settled(model, y, solver=solver)

    def value(theta):
        moved = parameters.unpack(model, theta)
        return settled(moved, y, solver=solver)[1].value

    theta = parameters.pack(model)
    expected = oracles.central_differences(value, theta, step=1e-4)
    assert np.allclose(objective.gradient(model, found), expected, rtol=1e-4, atol=1e-5)


def test_inducing_vertices_give_finite_values_and_right_gradients_where_they_say_nothing_of_a_vertex():
    """An isolated vertex has no covariance with any other: all of its variance is left unexplained."""
    part = Matern(Spectrum.of(H), 1.5, 3.0)
    isolated = int(H.vertex_rows([H.isolated_vertices[0]])[0])
    rows = np.array([2, 5, isolated])
    inducing = InducingVertices.of(part, np.array([2, 7]))
    model, y = LatentModel(part, Bernoulli("probit"), np.array([0.3])), np.array([1.0, 0.0, 1.0])

    def objective_of(moved):
        objective = PropagationObjective(solver_for(moved.kernel, rows, inducing=inducing), y, 1)
        objective.tolerance = 1e-13
        return objective

    found = objective_of(model).settle(model)
    assert np.isfinite(found.value)
    expected = oracles.central_differences(
        lambda theta: objective_of(parameters.unpack(model, theta)).settle(parameters.unpack(model, theta)).value,
        parameters.pack(model),
        step=1e-4,
    )
    assert np.allclose(objective_of(model).gradient(model, found), expected, rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------ several classes, coupled


def by_importance_sampling(model, y, rows, size=400_000):
    """Return log evidence, means and covariances of all latents, with their standard errors, from prior draws."""
    rng = np.random.default_rng(0)
    classes = model.likelihood.num_classes
    root = np.linalg.cholesky(model.kernel.gram(rows, rows) + 1e-10 * np.eye(len(rows)))
    f = np.einsum("ij,scj->sci", root, rng.standard_normal((size, classes, len(rows)))) + model.mean[:, None]
    # p(y | f) by the label's own noise, given which the others are independent.
    weights = np.ones(size)
    for i, label in enumerate(y.astype(int)):
        t = f[:, label, i] + rng.standard_normal(size)
        others = np.delete(f[:, :, i], label, axis=1)
        weights *= np.exp(log_ndtr(t[:, None] - others).sum(axis=1))
    p = weights / weights.sum()
    flat = f.transpose(0, 2, 1).reshape(size, -1)
    mean = p @ flat
    away = flat - mean
    error = np.sqrt((p[:, None] ** 2 * away**2).sum(axis=0))
    return (
        np.log(weights.mean()),
        weights.std() / weights.mean() / np.sqrt(size),
        mean,
        error,
        away.T @ (away * p[:, None]),
    )


@pytest.fixture(scope="module")
def three_classes():
    model = LatentModel(kernel(3.0), MultinomialProbit(3), np.array([0.4, 0.0, -0.3]))
    y = np.array([0.0, 2.0, 0.0])
    return model, y, settled(model, y), by_importance_sampling(model, y, ROWS)


def test_coupled_evidence_is_that_of_importance_sampling(three_classes):
    _, _, (_, found), (log_z, error, *_) = three_classes
    assert found.value == pytest.approx(log_z, abs=4 * error + 0.02)


def test_coupled_means_and_covariances_are_those_of_importance_sampling(three_classes):
    model, _, (objective, found), (_, _, mean, error, covariance) = three_classes
    assert (np.abs(found.marginals.mean.ravel() - mean) < 4 * error + 0.05).all()
    separate, coupling = objective.separate(model, found.sites)
    latents = GaussianLatents.of(model, separate, objective.solver, coupling)
    m, v = latents.conditionals(ROWS)
    assert np.allclose(m, found.marginals.mean, atol=1e-8)
    assert np.allclose(v, found.marginals.variance, atol=1e-8)
    assert np.allclose(v.ravel(), np.diag(covariance), atol=0.15)
    draws = latents.sample(ROWS, 40_000, np.random.default_rng(1)).reshape(40_000, -1)
    assert np.allclose(np.cov(draws.T), covariance, atol=0.2)
    assert np.allclose(draws.mean(axis=0), m.ravel(), atol=0.06)


def test_what_latents_of_a_vertex_have_in_common_is_left_to_the_prior(three_classes):
    """Labels say nothing of the sum of a vertex's latents: it keeps the prior's mean and variance."""
    model, _, (objective, found), _ = three_classes
    separate, coupling = objective.separate(model, found.sites)
    latents = GaussianLatents.of(model, separate, objective.solver, coupling)
    assert np.allclose(latents.conditionals(ROWS)[0].sum(axis=1), model.mean.sum(), atol=1e-6)
    draws = latents.sample(ROWS, 40_000, np.random.default_rng(2)).sum(axis=2)
    prior = 3 * model.kernel.diagonal(ROWS)
    assert np.allclose(draws.var(axis=0), prior, rtol=5 * np.sqrt(2 / 40_000))


def test_one_labelled_vertex_of_two_classes_is_the_probit_of_the_difference():
    """f_1 - f_0 ~ N(m, 2 v) is seen through noise of variance 2: with one site propagation is exact."""
    rows, y = ROWS[:1], np.array([1.0])
    model = LatentModel(kernel(), MultinomialProbit(2), np.array([0.1, 0.4]))
    found = settled(model, y, rows)[1]
    variance = float(model.kernel.diagonal(rows)[0])
    assert found.value == pytest.approx(float(log_ndtr(0.3 / np.sqrt(2 + 2 * variance))), abs=1e-8)


def test_probabilities_of_coupled_latents_are_those_of_their_draws():
    rng = np.random.default_rng(3)
    mean, root = rng.normal(size=(2, 4)), rng.normal(size=(2, 4, 4)) / 2
    covariance = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(4)
    found = coupled_probabilities(mean, covariance)
    assert np.allclose(found.sum(axis=1), 1.0)
    for i in range(2):
        f = multivariate_normal(mean[i], covariance[i]).rvs(100_000, random_state=4)
        largest = (f + rng.standard_normal(f.shape)).argmax(axis=1)
        assert np.allclose(found[i], np.bincount(largest, minlength=4) / 100_000, atol=0.01)
