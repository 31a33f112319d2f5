"""Inducing vertices and spectral features: bounds below the evidence, exact where nothing is left out."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hypergauss import Spectrum
from hypergauss.solvers.choose import condition, evidence_of
from hypergauss.inference.latent import GaussianLatents, LatentData, empty_sites
from hypergauss.solvers.base import Prior
from hypergauss.solvers.projection import InducingVertices, SpectralFeatures
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Diffusion, Linear, Matern
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax
from tests.hypergraphs import hypergraph_of_sizes
from tests.inference.problems import classification


def best_bound(model, rows, y, inducing):
    data = LatentData.of(model.kernel, rows, y, inducing=inducing)
    return float(best_sites(model, data, empty_sites(model, data)).value)


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
    K = np.asarray(kernel.gram())
    if inducing == "vertices":
        z = np.array([1, 5, 7, 20])
        chosen, Q = InducingVertices.of(kernel, z), K[:, z] @ np.linalg.solve(K[np.ix_(z, z)], K[z])
    else:
        chosen, P = SpectralFeatures(5), kernel.spectrum.vertex_vectors[:, :5]
        Q = K @ P @ np.linalg.solve(P.T @ K @ P, P.T @ K)
    noise, mean = 0.3, np.array([0.1, -0.2])
    bound = evidence_of(kernel, Observations.of(rows, y), inducing=chosen)
    found = float(bound(kernel, jnp.asarray(noise), jnp.asarray(mean)))
    Q, K = Q[np.ix_(rows, rows)], K[np.ix_(rows, rows)]
    expected = sum(
        multivariate_normal(np.full(25, m), Q + noise * np.eye(25)).logpdf(column) - np.trace(K - Q) / (2 * noise)
        for m, column in zip(mean, y.T, strict=True)
    )
    assert found == pytest.approx(expected, rel=1e-7)
    posterior = condition(Prior(kernel, mean), Sites(rows, y, np.full(25, noise)), inducing=chosen)
    assert posterior.log_evidence == pytest.approx(expected, rel=1e-7)


def test_the_sparse_posterior_is_the_dense_formula(regression):
    kernel, rows, y = regression
    z, noise = np.array([1, 5, 7, 20]), 0.3
    K = np.asarray(kernel.gram())
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
    data = LatentData.of(model.kernel, rows, y, inducing=SpectralFeatures(6))
    state = best_sites(model, data, empty_sites(model, data))
    mean, variance = GaussianLatents.of(model, data.rows, state.sites, inducing=SpectralFeatures(6)).conditionals(rows)
    assert np.allclose(mean, state.marginals.mean, atol=1e-6)
    assert np.allclose(variance, state.marginals.total_variance, atol=1e-6)


def test_spectral_features_need_one_spectrum(regression):
    kernel, rows, y = regression
    mixed = kernel + Linear(np.random.default_rng(0).normal(size=(40, 2)))
    with pytest.raises(ValueError, match="one spectrum"):
        evidence_of(mixed, Observations.of(rows, y), inducing=SpectralFeatures(3))
    with pytest.raises(ValueError, match="at most the rank"):
        evidence_of(kernel, Observations.of(rows, y), inducing=SpectralFeatures(40))
    shared = kernel + Diffusion(kernel.spectrum, 2.0)
    bound = evidence_of(shared, Observations.of(rows, y), inducing=SpectralFeatures(5))
    assert np.isfinite(bound(shared, jnp.asarray(0.3), jnp.zeros(2)))
