"""Softmax against SciPy."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import log_softmax, softmax
from scipy.stats import norm

from hypergauss.likelihoods import Softmax, quadrature


def test_two_class_softmax_is_a_logistic_in_the_difference():
    """With independent latents the difference is Gaussian, and SciPy integrates the logistic over it."""
    mean, variance = np.array([[0.7, -0.4]]), np.array([[0.5, 1.1]])
    centre, std = mean[0, 0] - mean[0, 1], np.sqrt(variance.sum())
    expected = [
        integrate.quad(lambda t, g=g: g(t) * norm.pdf(t, centre, std), -15, 15, epsabs=1e-12)[0]
        for g in (lambda t: -np.log1p(np.exp(-t)), lambda t: 1 / (1 + np.exp(-t)))
    ]
    found = Softmax(2).expected_log_density(mean, variance, np.zeros(1))[0]
    assert found == pytest.approx(expected[0], abs=1e-7)
    assert Softmax(2).probabilities(mean, variance)[0, 0] == pytest.approx(expected[1], abs=1e-7)


def test_softmax_is_scipys():
    f = np.random.default_rng(3).normal(size=(4, 3))
    y = np.array([0, 2, 1, 1])
    assert np.allclose(Softmax(3).log_density(f, y), log_softmax(f, axis=1)[np.arange(4), y])
    found = Softmax(3).probabilities(f, np.full((4, 3), 1e-14))
    assert np.allclose(found, softmax(f, axis=1), atol=1e-6)


def test_of_many_vertices_expectations_are_those_of_a_few_at_a_time():
    """Integrands of all vertices at once would take gigabytes."""
    n, likelihood = quadrature.ROWS_AT_ONCE + 5, Softmax(3)
    rng = np.random.default_rng(0)
    mean, variance = np.asarray(rng.standard_normal((n, 3))), np.asarray(rng.random((n, 3)) + 0.1)
    y = np.asarray(rng.integers(3, size=n).astype(float))
    few = slice(n - 8, n)  # on both sides of the end of a batch
    assert np.allclose(
        likelihood.probabilities(mean, variance)[few], likelihood.probabilities(mean[few], variance[few])
    )
    of_all, of_few = likelihood.expectation(mean, variance, y), likelihood.expectation(mean[few], variance[few], y[few])
    for found, wanted in zip(of_all, of_few, strict=True):
        assert np.allclose(found[few], wanted)
