"""Softmax against SciPy, and against a sum on a fine grid."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import log_softmax, ndtr, softmax
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


def log_sum_by_brute_force(mean, variance):
    """Return E log(exp(f_1) + ... + exp(f_C)) and its slopes, by one integral over u of products of integrals.

    The formula of `Softmax` without its lattice, cosines and limits. exp(-exp(x)) is P(V > x) for V with the density
    exp(v - exp(v)), so that L_j(u) = E exp(-exp(u + f_j)) is E Phi((V - u - mean_j) / std_j), a sum over a grid of V.
    """
    std = np.sqrt(variance)
    reach = 9 * std.max()
    u = np.arange(-mean.max() - 36 - reach, -mean.min() + 5 + reach, 0.2)
    L, slope = np.empty((2, len(mean), len(u)))
    for j, (m, s) in enumerate(zip(mean, std, strict=True)):
        v = np.arange(-38.0, 4.0, min(0.2, s / 2))  # errs by exp(-2 pi^2 s^2 / h^2) at steps of h = s / 2
        density = np.exp(v - np.exp(v)) * (v[1] - v[0])
        for part in np.array_split(np.arange(len(u)), 8):
            x = (v - u[part, None] - m) / s
            L[j, part], slope[j, part] = ndtr(x) @ density, -np.exp(-(x**2) / 2) @ density / (s * np.sqrt(2 * np.pi))
    h = u[1] - u[0]
    value = h * (np.exp(-np.exp(np.minimum(u, 700.0))) - L.prod(axis=0)).sum()
    in_mean, in_variance = [], []
    for c in range(len(mean)):
        others = [j for j in range(len(mean)) if j != c]
        product = L[others].prod(axis=0)
        in_mean.append(-h * (slope[c] * product).sum())
        fall = sum(slope[j] * L[[k for k in others if k != j]].prod(axis=0) for j in others)
        in_variance.append(h * (slope[c] * fall).sum() / 2)
    return value, np.array(in_mean), np.array(in_variance)


@pytest.mark.parametrize("std", [0.05, 0.4, 1.0, 3.0, 12.0, 40.0, 130.0])
def test_expectations_are_as_accurate_as_stated_whatever_the_spread(std):
    """Values to 1e-7 and slopes to 1e-6, as `categorical` states, also where classes differ in spread or lie apart."""
    mean = np.array([[0.3, -0.2, 1.0], [0.0, 0.0, 0.0], [2 * std, -std, 0.5]])
    variance = np.array([[std, std, std], [std, 0.05, std / 3], [0.3 * std, std, 0.7 * std]]) ** 2
    y = np.array([0, 1, 2])
    found = Softmax(3).expectation(mean, variance, y)
    for i in range(3):
        value, in_mean, in_variance = log_sum_by_brute_force(mean[i], variance[i])
        assert found.value[i] == pytest.approx(mean[i, y[i]] - value, abs=1e-7)
        assert np.allclose(found.in_mean[i], np.eye(3)[y[i]] - in_mean, rtol=0, atol=1e-6)
        assert np.allclose(found.in_variance[i], -in_variance, rtol=0, atol=1e-6)


def test_the_brute_force_is_the_expectation_itself():
    """For two classes SciPy integrates over the difference: E log(1 + exp(d)) with d Gaussian."""
    for std in (0.3, 5.0, 60.0):
        spread = std * np.sqrt(2)
        options = {"points": [0.0, 0.4], "epsabs": 1e-11, "limit": 500}
        integrand = lambda d, s=spread: np.logaddexp(0.0, d) * norm.pdf(d, 0.4, s)  # noqa: E731
        expected = integrate.quad(integrand, -12 * spread, 12 * spread, **options)[0]
        found = log_sum_by_brute_force(np.array([0.4, 0.0]), np.full(2, std**2))[0]
        assert found == pytest.approx(expected, abs=1e-8)


def test_no_spread_gives_nan(rng):
    """Nor does any mean: means up to 1000 apart, standard deviations from nothing to 130."""
    std = np.array([0.0, 1e-150, 1e-6, 0.05, 1.0, 12.0, 130.0])
    variance = rng.choice(std, (300, 4)) ** 2
    mean = rng.choice([-500.0, -3.0, 0.0, 0.1, 500.0], (300, 4))
    found = Softmax(4).expectation(mean, variance, rng.integers(4, size=300))
    assert all(np.isfinite(part).all() for part in found)
    assert (found.value <= 1e-7).all()
    assert (found.in_variance <= 1e-6).all()
    p = Softmax(4).probabilities(mean, variance)
    assert np.allclose(p.sum(axis=1), 1.0)
