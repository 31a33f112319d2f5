import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.stats import multivariate_normal

from hypergauss import Spectrum
from hypergauss.exceptions import NumericalError
from hypergauss.inference import Prior, Sites, condition
from hypergauss.solvers.dense import DensePosterior, log_normal
from hypergauss.kernels import Linear, Matern
from tests.hypergraphs import random_hypergraph


@pytest.fixture
def covariance(rng):
    root = rng.standard_normal((5, 5))
    return root @ root.T + np.eye(5)


def test_log_normal_is_scipys(covariance, rng):
    targets = rng.standard_normal((5, 3))
    expected = sum(multivariate_normal.logpdf(column, cov=covariance) for column in targets.T)
    assert float(log_normal(covariance, targets)) == pytest.approx(expected, rel=1e-12)


def test_hand_written_derivatives_of_log_normal_match_finite_differences(covariance, rng):
    targets = rng.standard_normal((5, 3))

    def symmetric(S, y):  # a covariance stays symmetric however it is moved
        return log_normal((S + S.T) / 2, y)

    check_grads(symmetric, (covariance, targets), order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


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
