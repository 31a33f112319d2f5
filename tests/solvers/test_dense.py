import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hypergauss import Spectrum
from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Linear, Matern
from hypergauss.solvers import Prior, Sites, condition
from hypergauss.solvers.dense import DensePosterior, DenseSolver
from tests import oracles
from tests.hypergraphs import random_hypergraph


@pytest.fixture
def problem(rng):
    """A kernel, and sites with three outputs and variances of their own."""
    kernel = Matern(Spectrum.of(random_hypergraph(11, 6, seed=0)), 2.0, 3.0)
    return kernel, Sites(np.arange(5), rng.standard_normal((5, 3)), rng.uniform(0.2, 2.0, 5), log_offset=0.3)


MEAN = np.array([0.1, -0.2, 0.5])


def test_the_evidence_is_scipys(problem):
    kernel, sites = problem
    covariance = kernel.gram(sites.rows, sites.rows) + np.diag(sites.variance)
    expected = sum(
        multivariate_normal.logpdf(y, np.full(5, m), covariance) for y, m in zip(sites.mean.T, MEAN, strict=True)
    )
    assert DenseSolver(kernel, sites.rows).evidence(kernel, MEAN, sites).value == pytest.approx(
        expected + 0.3, rel=1e-12
    )


def test_slopes_of_the_evidence_match_finite_differences(problem):
    kernel, sites = problem
    solver = DenseSolver(kernel, sites.rows)
    found = solver.evidence(kernel, MEAN, sites)

    def of_mean(mean):
        return solver.evidence(kernel, mean, sites).value

    def of_variance(variance):
        return solver.evidence(kernel, MEAN, sites._replace(variance=variance)).value

    np.testing.assert_allclose(found.in_mean, oracles.central_differences(of_mean, MEAN), rtol=1e-6, atol=1e-6)
    expected = oracles.central_differences(of_variance, sites.variance)
    np.testing.assert_allclose(found.in_variance, expected, rtol=1e-6, atol=1e-6)


def test_many_rows_are_answered_in_chunks(monkeypatch, rng):
    monkeypatch.setattr("hypergauss.solvers.dense._CHUNK", 4)
    prior = Prior(Matern(Spectrum.of(random_hypergraph(11, 6, seed=0))), np.zeros(1))
    posterior = condition(prior, Sites(np.arange(3), rng.standard_normal((3, 1)), np.full(3, 0.1)), "dense")
    rows = np.arange(11)
    assert np.allclose(posterior.mean(rows), np.vstack([posterior.mean(rows[i : i + 1]) for i in rows]))
    assert np.allclose(posterior.variance(rows), np.diag(posterior.covariance(rows)))


def test_a_singular_covariance_is_a_numerical_error_that_names_its_causes():
    prior = Prior(Linear(np.ones((4, 1)) * 1e8), np.zeros(1))
    with pytest.raises(NumericalError, match=r"3 observations is not positive definite. Likely causes"):
        DensePosterior(prior, Sites(np.arange(3), np.zeros((3, 1)), np.full(3, 1e-12)))
