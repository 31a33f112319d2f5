"""Likelihoods: expectations against independent quadrature and simulation, probabilities that are probabilities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from scipy.special import log_softmax, softmax
from scipy.stats import norm

from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax

CASES = [Bernoulli("logit"), Bernoulli("probit"), Softmax(3), RobustMax(3)]
IDS = ["logit", "probit", "softmax", "robust-max"]


def gaussians(likelihood, n=5, seed=0, spread=1.5):
    rng = np.random.default_rng(seed)
    shape = (n, likelihood.num_latents)
    return jnp.asarray(spread * rng.normal(size=shape)), jnp.asarray(rng.uniform(0.2, 2.0, shape))


@pytest.mark.parametrize("likelihood", CASES, ids=IDS)
def test_probabilities_are_positive_and_sum_to_one(likelihood):
    p = np.asarray(likelihood.probabilities(*gaussians(likelihood, n=50, spread=5.0)))
    assert p.shape == (50, likelihood.num_classes)
    assert (p > 0).all()
    assert np.allclose(p.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("likelihood", CASES, ids=IDS)
def test_expectations_agree_with_simulation(likelihood):
    mean, variance = gaussians(likelihood)
    rng = np.random.default_rng(1)
    for y in range(likelihood.num_classes):
        labels = jnp.full(len(mean), float(y))
        draws = mean + np.sqrt(variance) * rng.standard_normal((200_000, *mean.shape))
        values = np.asarray(jax.vmap(likelihood.log_density, (0, None))(draws, labels))
        error = values.std(axis=0) / np.sqrt(len(values))
        found = np.asarray(likelihood.expected_log_density(mean, variance, labels))
        # Robust-max is kept 1e-6 off certainty, in units of log(epsilon).
        slack = 3e-5 if isinstance(likelihood, RobustMax) else 0.0
        assert (np.abs(found - values.mean(axis=0)) < 5 * error + slack).all()
        p = np.exp(values)
        assert np.allclose(
            likelihood.probabilities(mean, variance)[:, y], p.mean(axis=0), atol=5 * p.std() / np.sqrt(len(p)) + 1e-3
        )


@pytest.mark.parametrize("likelihood", CASES, ids=IDS)
def test_without_variance_the_expectation_is_the_log_density(likelihood):
    mean, variance = gaussians(likelihood, n=20)
    y = jnp.asarray(np.random.default_rng(2).integers(likelihood.num_classes, size=20).astype(float))
    slack = 3e-5 if isinstance(likelihood, RobustMax) else 1e-6
    found = likelihood.expected_log_density(mean, 1e-12 * variance, y)
    assert np.allclose(found, likelihood.log_density(mean, y), atol=slack)


def test_two_class_softmax_is_a_logistic_in_the_difference():
    """With independent latents the difference is Gaussian, and SciPy integrates the logistic over it."""
    mean, variance = np.array([[0.7, -0.4]]), np.array([[0.5, 1.1]])
    centre, std = mean[0, 0] - mean[0, 1], np.sqrt(variance.sum())
    expected = [
        integrate.quad(lambda t, g=g: g(t) * norm.pdf(t, centre, std), -15, 15, epsabs=1e-12)[0]
        for g in (lambda t: -np.log1p(np.exp(-t)), lambda t: 1 / (1 + np.exp(-t)))
    ]
    found = Softmax(2).expected_log_density(jnp.asarray(mean), jnp.asarray(variance), jnp.zeros(1))[0]
    assert found == pytest.approx(expected[0], abs=1e-7)
    assert Softmax(2).probabilities(jnp.asarray(mean), jnp.asarray(variance))[0, 0] == pytest.approx(
        expected[1], abs=1e-7
    )


def test_softmax_is_scipys():
    f = np.random.default_rng(3).normal(size=(4, 3))
    y = np.array([0, 2, 1, 1])
    assert np.allclose(Softmax(3).log_density(jnp.asarray(f), jnp.asarray(y)), log_softmax(f, axis=1)[np.arange(4), y])
    found = Softmax(3).probabilities(jnp.asarray(f), jnp.full((4, 3), 1e-14))
    assert np.allclose(found, softmax(f, axis=1), atol=1e-6)


@pytest.mark.parametrize("likelihood", [Softmax(3), RobustMax(3)], ids=["softmax", "robust-max"])
def test_a_common_shift_of_all_latents_changes_nothing(likelihood):
    mean, variance = gaussians(likelihood)
    y = jnp.zeros(len(mean))
    assert likelihood.is_shift_invariant
    shifted = likelihood.expected_log_density(mean + 7.0, variance, y)
    assert np.allclose(shifted, likelihood.expected_log_density(mean, variance, y), atol=1e-8)


def test_an_unknown_link_is_refused():
    with pytest.raises(ValueError, match="`link` must be one of 'logit', 'probit'"):
        Bernoulli("cauchit")
