"""The inequalities of the theory's page on bounds hold, and are not idle."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hypergauss import Spectrum
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import elbo
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Bernoulli, Gaussian
from hypergauss.solvers import (
    InducingVertices,
    NaturalSites,
    Observations,
    Prior,
    Sites,
    SpectralFeatures,
    condition,
    solver_for,
)
from hypergauss.solvers.projection import Projection
from tests.hypergraphs import hypergraph_of_sizes
from tests.inference.problems import settled

NOISE = 0.3


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    H = hypergraph_of_sizes(40, [3, 5, 8, 12] * 4, seed=2)
    rows = rng.permutation(40)[:25]
    return H, rows, rng.normal(size=25)


def exact(kernel, rows, y):
    covariance = kernel.gram(rows, rows) + NOISE * np.eye(len(rows))
    return multivariate_normal(np.zeros(len(rows)), covariance).logpdf(y)


@pytest.mark.parametrize("count", [2, 6, 12])
@pytest.mark.parametrize("family", ["vertices", "spectral"])
def test_the_collapsed_bound_is_below_the_evidence_by_no_more_than_is_said(problem, family, count):
    H, rows, y = problem
    kernel = Matern(Spectrum.of(H), 2.0, 8.0, variance=2.0)
    inducing = InducingVertices.of(kernel, rows[:count]) if family == "vertices" else SpectralFeatures(count)
    sites = Observations.of(rows, y[:, None]).sites(NOISE)
    bound = solver_for(kernel, sites.rows, inducing=inducing).evidence(kernel, np.zeros(1), sites).value
    left = kernel.gram(rows, rows) - Projection(kernel, inducing).gram(rows, rows)
    largest = np.linalg.eigvalsh(left)[-1]
    allowed = np.trace(left) / (2 * NOISE) + largest * (y @ y) / (2 * NOISE * (NOISE + largest))
    gap = exact(kernel, rows, y) - bound
    assert 0 < gap <= allowed
    assert allowed < 20 * gap


@pytest.mark.parametrize("rank", [4, 8, 12])
def test_a_truncated_spectrum_keeps_what_its_certificate_promises(problem, rank):
    H, rows, y = problem
    whole = Matern(Spectrum.of(H), 2.0, 8.0, variance=2.0)
    cut = Matern(Spectrum.of(H, rank=rank), 2.0, 8.0, variance=2.0)
    error = cut.error_bound()
    n = len(rows)
    K, cut_K = whole.gram(), cut.gram()
    assert np.linalg.norm(K - cut_K, 2) <= error * (1 + 1e-9)
    alpha = np.linalg.solve(cut_K[np.ix_(rows, rows)] + NOISE * np.eye(n), y)
    allowed = (n * np.log1p(error / NOISE) + error * (1 + error / NOISE) * (alpha @ alpha)) / 2
    assert 0 < abs(exact(whole, rows, y) - exact(cut, rows, y)) <= allowed
    sites = Sites(rows, y[:, None], np.full(n, NOISE))
    means = [condition(Prior(kernel, np.zeros(1)), sites).mean(np.arange(40))[:, 0] for kernel in (whole, cut)]
    reach = np.linalg.norm(cut_K[:, rows], axis=1)
    assert (np.abs(means[0] - means[1]) <= error * np.linalg.norm(alpha) * (1 + (error + reach) / NOISE)).all()


def bound_at(model, rows, y, sites):
    marginals = solver_for(model.kernel, rows).marginals(model.kernel, model.mean, sites)
    return elbo(marginals, sites, model.likelihood.expectation(marginals.mean, marginals.total_variance, y))


def test_any_sites_give_a_bound_and_those_of_a_gaussian_likelihood_the_evidence(problem):
    H, rows, y = problem
    kernel = Matern(Spectrum.of(H), 2.0, 8.0, variance=2.0)
    model = LatentModel(kernel, Gaussian(NOISE), np.zeros(1))
    own = NaturalSites(y[:, None] / NOISE, np.full((len(rows), 1), 1 / NOISE))
    assert bound_at(model, rows, y, own) == pytest.approx(exact(kernel, rows, y), abs=1e-8)
    for factor in (0.5, 0.9, 1.2):
        other = NaturalSites(factor * own.shift, own.precision / factor)
        assert bound_at(model, rows, y, other) < exact(kernel, rows, y)


def test_the_bound_of_classes_is_below_the_evidence_summed_over_a_fine_grid():
    H = hypergraph_of_sizes(6, [3, 4], seed=0)
    kernel = Matern(Spectrum.of(H), 2.0, 2.0, variance=1.5)
    rows, y = np.array([0, 1]), np.array([1.0, 0.0])
    nodes = np.linspace(-9, 9, 241)
    f = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = multivariate_normal(np.zeros(2), kernel.gram(rows, rows)).pdf(f)
    likelihood = 1 / (1 + np.exp(-f[:, 0])) / (1 + np.exp(f[:, 1]))
    evidence = np.log((prior * likelihood).sum() * (nodes[1] - nodes[0]) ** 2)
    model = LatentModel(kernel, Bernoulli("logit"), np.zeros(1))
    best = settled(model, rows, y).value
    nothing = bound_at(model, rows, y, NaturalSites.empty(2, 1))
    assert nothing < best < evidence
    assert evidence - best < 0.01
