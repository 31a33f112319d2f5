"""Marginals, log Z and slopes written by hand are those of plain formulas, negative precisions and weights included."""

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.kernels import Bernstein, Linear, Matern
from hypergauss.solvers import InducingVertices, NaturalSites, SpectralFeatures, solver_for
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

N, OBSERVED = 30, 20
SPECTRUM = Spectrum.of(hypergraph_of_sizes(N, [3, 5, 8, 12] * 2, seed=1))
ROWS, MEAN = np.arange(OBSERVED), np.array([0.3, -0.7])
RISING = Bernstein(SPECTRUM, [0.5, 2.0, 1.0])
MATERN = Matern(SPECTRUM, 2.0, 4.0)
solvers = pytest.mark.parametrize("solver", ["dense", "low-rank"])
#: Above zero, with zeros, and below zero.
lowest_precisions = pytest.mark.parametrize("lowest", [0.1, 0.0, -0.05])


def sites_of(lowest):
    rng = np.random.default_rng(0)
    precision = rng.uniform(lowest, 1.5, (OBSERVED, 2))
    precision[1] = lowest
    return NaturalSites(rng.normal(size=(OBSERVED, 2)), precision)


@solvers
@lowest_precisions
def test_marginals_are_those_of_dense_algebra(solver, lowest):
    sites = sites_of(lowest)
    found = solver_for(RISING, ROWS, solver).marginals(RISING, MEAN, sites)
    assert found.is_proper
    K = RISING.gram(ROWS, ROWS)
    x = np.random.default_rng(1).normal(size=(OBSERVED, 2))
    log_z = 0.0
    for latent in range(2):
        shift, B = sites.shift[:, latent], np.diag(sites.precision[:, latent])
        S = np.linalg.inv(np.linalg.inv(K) + B)
        prior = np.full(OBSERVED, MEAN[latent])
        m = S @ (shift + np.linalg.solve(K, prior))
        assert np.allclose(found.mean[:, latent], m, atol=1e-8)
        assert np.allclose(found.variance[:, latent], np.diag(S), atol=1e-8)
        assert np.allclose(found.smooth(x)[:, latent], S @ x[:, latent], atol=1e-8)
        log_z += 0.5 * (np.linalg.slogdet(S)[1] - np.linalg.slogdet(K)[1])
        log_z += 0.5 * (m @ np.linalg.solve(S, m) - prior @ np.linalg.solve(K, prior))
    assert found.log_partition == pytest.approx(log_z, rel=1e-8)


@solvers
def test_sites_that_outweigh_the_prior_are_no_distribution(solver):
    sites = NaturalSites(np.zeros((OBSERVED, 1)), np.full((OBSERVED, 1), -1e3))
    assert not solver_for(RISING, ROWS, solver).marginals(RISING, MEAN[:1], sites).is_proper


SLOPES = {
    "dense": (RISING, "dense", None),
    "low-rank": (RISING, "low-rank", None),
    "low-rank, a remainder of each vertex": (MATERN * Linear(np.linspace(0.5, 2.0, N)), "low-rank", None),
    "inducing vertices": (MATERN, "auto", InducingVertices.of(MATERN, np.array([1, 5, 17, 25]))),
    "spectral features": (MATERN, "auto", SpectralFeatures(4)),
}


@pytest.mark.parametrize(("kernel", "solver", "inducing"), SLOPES.values(), ids=SLOPES)
@lowest_precisions
def test_slopes_of_log_z_match_finite_differences(kernel, solver, inducing, lowest):
    solver, sites = solver_for(kernel, ROWS, solver, inducing), sites_of(lowest)
    in_unexplained = np.zeros(OBSERVED) if inducing is None else np.random.default_rng(2).normal(size=OBSERVED)

    def number(kernel, mean):
        found = solver.marginals(kernel, mean, sites)
        return found.log_partition + (in_unexplained * np.ravel(found.unexplained)).sum()

    in_kernel, in_mean = solver.pull_back(kernel, MEAN, sites, in_unexplained)
    theta = parameters.pack(kernel)
    expected = oracles.central_differences(lambda t: number(parameters.unpack(kernel, t), MEAN), theta)
    np.testing.assert_allclose(in_kernel, expected, rtol=1e-6, atol=1e-6)
    expected = oracles.central_differences(lambda mean: number(kernel, mean), MEAN)
    np.testing.assert_allclose(in_mean, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kernel", "solver", "inducing"), SLOPES.values(), ids=SLOPES)
def test_products_with_the_covariance_have_the_slopes_of_their_values(kernel, solver, inducing):
    solver = solver_for(kernel, ROWS, solver, inducing)
    left, right = np.random.default_rng(3).normal(size=(2, OBSERVED, 2))
    if inducing is None:
        np.testing.assert_allclose(solver.multiply(kernel, right), kernel.gram(ROWS, ROWS) @ right, atol=1e-10)

    def number(theta):
        return (left * solver.multiply(parameters.unpack(kernel, theta), right)).sum()

    expected = oracles.central_differences(number, parameters.pack(kernel))
    np.testing.assert_allclose(solver.pull_back_product(kernel, left, right), expected, rtol=1e-6, atol=1e-6)
