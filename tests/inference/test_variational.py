"""Variational inference: marginals against dense algebra, the bound against the evidence it bounds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from hypergauss import Spectrum, parameters
from hypergauss.inference import maximise
from hypergauss.inference.latent import GaussianLatents, LatentData, empty_sites
from hypergauss.solvers.marginals import DenseSystem, LowRankSystem, NaturalSites
from hypergauss.inference.variational import VariationalObjective, best_sites, elbo
from hypergauss.kernels import Bernstein
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax
from tests.hypergraphs import hypergraph_of_sizes
from tests.inference.problems import classification as problem

SYSTEMS = [DenseSystem, LowRankSystem]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("lowest", [0.1, 0.0, -0.05])
def test_marginals_are_those_of_dense_algebra(system, lowest):
    rng = np.random.default_rng(0)
    H = hypergraph_of_sizes(30, [3, 5, 8, 12] * 2, seed=1)
    kernel, rows, mean = Bernstein(Spectrum.of(H), [0.5, 2.0, 1.0]), np.arange(20), np.array([0.3, -0.7])
    sites = NaturalSites(jnp.asarray(rng.normal(size=(20, 2))), jnp.asarray(rng.uniform(lowest, 1.5, (20, 2))))
    found = system.of(kernel, rows)(kernel, jnp.asarray(mean), sites)
    K = np.asarray(kernel.gram(rows, rows))
    log_z = 0.0
    for latent in range(2):
        shift, B = np.asarray(sites.shift[:, latent]), np.diag(np.asarray(sites.precision[:, latent]))
        S = np.linalg.inv(np.linalg.inv(K) + B)
        m = S @ (shift + np.linalg.solve(K, np.full(20, mean[latent])))
        assert np.allclose(found.mean[:, latent], m, atol=1e-8)
        assert np.allclose(found.variance[:, latent], np.diag(S), atol=1e-8)
        prior = np.full(20, mean[latent])
        log_z += 0.5 * (np.linalg.slogdet(S)[1] - np.linalg.slogdet(K)[1])
        log_z += 0.5 * (m @ np.linalg.solve(S, m) - prior @ np.linalg.solve(K, prior))
    assert found.log_partition == pytest.approx(log_z, rel=1e-8)


@pytest.mark.parametrize("likelihood", [Bernoulli(), Bernoulli("probit"), Softmax(3), RobustMax(3)], ids=repr)
def test_both_systems_reach_one_bound(likelihood):
    model, rows, y = problem(likelihood)
    found = []
    for solver in ("dense", "low-rank"):
        data = LatentData.of(model.kernel, rows, y, solver=solver)
        found.append(float(best_sites(model, data, empty_sites(model, data)).value))
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3), RobustMax(3)], ids=repr)
def test_no_step_lowers_the_bound_and_its_end_is_a_maximum(likelihood):
    model, rows, y = problem(likelihood, seed=1)
    data = LatentData.of(model.kernel, rows, y)
    value_and_slope = jax.jit(jax.value_and_grad(lambda sites: elbo(model, data, sites)[0]))
    start, _ = value_and_slope(empty_sites(model, data))
    end = best_sites(model, data, empty_sites(model, data))
    assert end.value > start
    _, slope = value_and_slope(end.sites)
    assert max(float(jnp.abs(part).max()) for part in slope) < 1e-3


def test_the_bound_stays_below_the_evidence():
    """The log evidence of a binary model by averaging the likelihood over draws of the prior."""
    model, rows, y = problem(Bernoulli(), n=8)
    data = LatentData.of(model.kernel, rows, y)
    bound = float(best_sites(model, data, empty_sites(model, data)).value)
    draws = model.kernel.prior_draws(rows, 400_000, np.random.default_rng(0))
    logs = -np.log1p(np.exp(-(2 * y - 1)[:, None] * draws)).sum(axis=0)
    evidence = logsumexp(logs) - np.log(logs.size)
    assert bound < evidence < bound + 0.2


@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3)], ids=repr)
def test_the_gradient_of_the_best_bound_matches_finite_differences(likelihood):
    model, rows, y = problem(likelihood, seed=2)
    data = LatentData.of(model.kernel, rows, y)
    theta = parameters.pack(model)

    def best(theta):
        moved = parameters.unpack(model, jnp.asarray(theta))
        return float(best_sites(moved, data, empty_sites(moved, data)).value)

    sites = best_sites(model, data, empty_sites(model, data)).sites
    gradient = jax.jit(jax.grad(lambda t: elbo(parameters.unpack(model, t), data, sites)[0]))(jnp.asarray(theta))
    for i in range(len(theta)):
        step = 1e-3 * np.eye(len(theta))[i]
        assert gradient[i] == pytest.approx((best(theta + step) - best(theta - step)) / 2e-3, abs=2e-3)


def test_posteriors_at_the_sites_are_the_marginals():
    for likelihood in (Softmax(3), RobustMax(3)):
        model, rows, y = problem(likelihood, seed=3)
        data = LatentData.of(model.kernel, rows, y)
        state = best_sites(model, data, empty_sites(model, data))
        for latent, posterior in enumerate(GaussianLatents.of(model, data.rows, state.sites).posteriors):
            assert np.allclose(posterior.mean(rows)[:, 0], state.marginals.mean[:, latent], atol=1e-6)
            assert np.allclose(posterior.variance(rows), state.marginals.variance[:, latent], atol=1e-6)


def test_learning_raises_the_bound():
    model, rows, y = problem(Softmax(3), seed=4)
    data = LatentData.of(model.kernel, rows, y)
    before = float(best_sites(model, data, empty_sites(model, data)).value)
    learned = maximise(VariationalObjective(model, data), model, n_starts=1)
    assert learned.log_evidence > before + 0.1
