"""Expectations of products of Phi under a normal, beside closed forms, quadrature and other orders of the factors."""

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal, norm

from hypergauss.likelihoods.orthants import hazard, log_mass, log_orthant, matched_sites


@pytest.fixture
def normals():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(40, 5, 5))
    return 2 * rng.normal(size=(40, 5)), root @ root.transpose(0, 2, 1) + 0.1 * np.eye(5)


def test_one_factor_and_independent_ones_are_exact(normals):
    mean, covariance = normals
    alone = log_orthant(mean[:, :1], covariance[:, :1, :1])
    np.testing.assert_allclose(alone, log_mass(mean[:, 0], covariance[:, 0, 0]), atol=1e-12)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    apart = log_orthant(mean, variance[:, :, None] * np.eye(5))
    np.testing.assert_allclose(apart, log_mass(mean, variance).sum(axis=1), atol=1e-12)


def test_orthants_are_close_to_quadrature(normals):
    mean, covariance = (each[:6] for each in normals)
    exact = [
        multivariate_normal.cdf(m, np.zeros(5), S + np.eye(5), abseps=1e-6, rng=np.random.default_rng(1))
        for m, S in zip(mean, covariance, strict=True)
    ]
    np.testing.assert_allclose(np.exp(log_orthant(mean, covariance)), exact, atol=5e-3)


def test_the_order_of_the_factors_changes_nothing(normals):
    mean, covariance = normals
    order = np.array([3, 0, 4, 2, 1])
    moved = log_orthant(mean[:, order], covariance[:, order][:, :, order])
    np.testing.assert_allclose(moved, log_orthant(mean, covariance), atol=1e-4)


def test_a_row_does_not_depend_on_the_others(normals):
    mean, covariance = normals
    together = log_orthant(mean, covariance)
    alone = [log_orthant(mean[i : i + 1], covariance[i : i + 1])[0] for i in range(len(mean))]
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_sites_match_the_moments_of_their_factor():
    mean, variance, offset = np.array([-1.0, 0.5, 3.0]), np.array([0.3, 2.0, 5.0]), 0.7
    shift, precision = matched_sites(mean, variance, offset)
    h = np.linspace(-30, 30, 200_001)
    for m, v, nu, a in zip(mean, variance, shift, precision, strict=True):
        tilted = norm.pdf(h, m, np.sqrt(v)) * norm.cdf(h + offset)
        tilted /= tilted.sum()
        expected = (tilted * h).sum()
        spread = (tilted * (h - expected) ** 2).sum()
        assert 1 / (1 / v + a) == pytest.approx(spread, rel=1e-6)
        assert (m / v + nu) * spread == pytest.approx(expected, rel=1e-6)


def test_the_hazard_keeps_its_digits_where_nothing_is_left():
    z = np.array([-1e8, -30.0, -1.0, 0.0, 5.0])
    near = hazard(z)
    np.testing.assert_allclose(near[2:], np.exp(norm.logpdf(z[2:]) - log_ndtr(z[2:])), rtol=1e-13)
    np.testing.assert_allclose(near[0], 1e8, rtol=1e-12)  # -z (1 + 1 / z^2 - ...)
    np.testing.assert_allclose(near[1], 30 + 1 / 30 - 2 / 30**3, rtol=1e-7)
