"""Inducing vertices and spectral features: bounds below the evidence, exact where nothing is left out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hypergauss import Spectrum, parameters
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Diffusion, Linear, Matern
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax
from hypergauss.solvers import (
    GaussianModel,
    InducingVertices,
    NaturalSites,
    Observations,
    Prior,
    Sites,
    SpectralFeatures,
    condition,
    solver_for,
)
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes
from tests.inference.problems import classification


def settled(model, rows, y, inducing):
    solver = solver_for(model.kernel, rows, inducing=inducing)
    return best_sites(model, solver, y, NaturalSites.empty(len(y), len(model.mean)))


def best_bound(model, rows, y, inducing):
    return settled(model, rows, y, inducing).value


@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3), RobustMax(3)], ids=repr)
def test_all_observed_vertices_inducing_recover_the_full_bound(likelihood):
    model, rows, y = classification(likelihood)
    everything = InducingVertices.of(model.kernel, rows)
    assert best_bound(model, rows, y, everything) == pytest.approx(best_bound(model, rows, y, None), abs=1e-5)


def test_more_inducing_variables_raise_the_bound():
    model, rows, y = classification(Softmax(3), seed=1)
    whole = best_bound(model, rows, y, None)
    for family in (
        [InducingVertices.of(model.kernel, rows[:k]) for k in (3, 8, 16)],
        [SpectralFeatures(k) for k in (2, 6, 11)],
    ):
        found = [best_bound(model, rows, y, inducing) for inducing in family]
        assert found == sorted(found)
        assert found[-1] < whole


@pytest.fixture
def regression():
    rng = np.random.default_rng(0)
    H = hypergraph_of_sizes(40, [3, 5, 8, 12] * 3, seed=2)
    kernel = Matern(Spectrum.of(H), 2.0, 8.0, variance=2.0)
    rows = rng.permutation(40)[:25]
    return kernel, rows, rng.normal(size=(25, 2))


@pytest.mark.parametrize("inducing", ["vertices", "spectral"])
def test_the_collapsed_bound_is_titsias_formula(regression, inducing):
    kernel, rows, y = regression
    K = kernel.gram()
    if inducing == "vertices":
        z = np.array([1, 5, 7, 20])
        chosen, Q = InducingVertices.of(kernel, z), K[:, z] @ np.linalg.solve(K[np.ix_(z, z)], K[z])
    else:
        chosen, P = SpectralFeatures(5), kernel.spectrum.vertex_vectors[:, :5]
        Q = K @ P @ np.linalg.solve(P.T @ K @ P, P.T @ K)
    noise, mean = 0.3, np.array([0.1, -0.2])
    model, observations = GaussianModel(kernel, noise, mean), Observations.of(rows, y)
    bound = solver_for(kernel, observations.rows, inducing=chosen).objective(observations)
    found, gradient = bound.value_and_gradient(model)
    Q, K = Q[np.ix_(rows, rows)], K[np.ix_(rows, rows)]
    expected = sum(
        multivariate_normal(np.full(25, m), Q + noise * np.eye(25)).logpdf(column) - np.trace(K - Q) / (2 * noise)
        for m, column in zip(mean, y.T, strict=True)
    )
    assert found == pytest.approx(expected, rel=1e-7)
    theta = parameters.pack(model)
    differences = oracles.central_differences(lambda t: bound.value(parameters.unpack(model, t)), theta)
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
    posterior = condition(Prior(kernel, mean), Sites(rows, y, np.full(25, noise)), inducing=chosen)
    assert posterior.log_evidence == pytest.approx(expected, rel=1e-7)


def test_the_sparse_posterior_is_the_dense_formula(regression):
    kernel, rows, y = regression
    z, noise = np.array([1, 5, 7, 20]), 0.3
    K = kernel.gram()
    posterior = condition(
        Prior(kernel, np.zeros(2)), Sites(rows, y, np.full(25, noise)), inducing=InducingVertices.of(kernel, z)
    )
    Kzz = K[np.ix_(z, z)]
    S = np.linalg.inv(Kzz + K[np.ix_(z, rows)] @ K[np.ix_(rows, z)] / noise)
    everywhere = np.arange(40)
    assert np.allclose(posterior.mean(everywhere), K[:, z] @ S @ K[np.ix_(z, rows)] @ y / noise, atol=1e-7)
    covariance = K - K[:, z] @ np.linalg.solve(Kzz, K[z]) + K[:, z] @ S @ K[z]
    assert np.allclose(posterior.covariance(everywhere), covariance, atol=1e-7)
    assert np.allclose(posterior.variance(everywhere), np.diag(covariance), atol=1e-7)
    draws = posterior.sample(everywhere, 20_000, np.random.default_rng(1))[:, :, 0]
    assert np.allclose(np.cov(draws.T), covariance, atol=0.1)
    assert np.allclose(draws.mean(axis=0), posterior.mean(everywhere)[:, 0], atol=0.05)


def test_sparse_latents_predict_where_nothing_was_observed():
    model, rows, y = classification(Softmax(3), seed=4)
    state = settled(model, rows, y, SpectralFeatures(6))
    solver = solver_for(model.kernel, rows, inducing=SpectralFeatures(6))
    mean, variance = GaussianLatents.of(model, state.sites, solver).conditionals(rows)
    assert np.allclose(mean, state.marginals.mean, atol=1e-6)
    assert np.allclose(variance, state.marginals.total_variance, atol=1e-6)


def test_spectral_features_need_one_spectrum(regression):
    kernel, rows, y = regression
    mixed = kernel + Linear(np.random.default_rng(0).normal(size=(40, 2)))
    with pytest.raises(ValueError, match="one spectrum"):
        solver_for(mixed, rows, inducing=SpectralFeatures(3))
    with pytest.raises(ValueError, match="at most the rank"):
        solver_for(kernel, rows, inducing=SpectralFeatures(40))
    shared = kernel + Diffusion(kernel.spectrum, 2.0)
    sites = Sites(rows, y, np.full(25, 0.3))
    bound = condition(Prior(shared, np.zeros(2)), sites, inducing=SpectralFeatures(5)).log_evidence
    assert bound < condition(Prior(shared, np.zeros(2)), sites).log_evidence
