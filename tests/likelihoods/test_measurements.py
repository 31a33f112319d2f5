"""Gaussian, Poisson and Student likelihoods against SciPy's distributions."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from hypergauss.likelihoods import Gaussian, Poisson, StudentT
from hypergauss.likelihoods.quadrature import hermite

LATENTS = np.linspace(-4.0, 4.0, 9)


@pytest.mark.parametrize(
    ("likelihood", "log_density"),
    [
        (Gaussian(0.3), lambda f, y: stats.norm.logpdf(y, f, np.sqrt(0.3))),
        (Poisson(), lambda f, y: stats.poisson.logpmf(y, np.exp(f))),
        (StudentT(0.3, 4.0), lambda f, y: stats.t.logpdf(y, 4.0, f, 0.3)),
        (StudentT(2.0, 1.0), lambda f, y: stats.cauchy.logpdf(y, f, 2.0)),
    ],
    ids=["gaussian", "poisson", "student", "cauchy"],
)
@pytest.mark.parametrize("y", [0.0, 1.0, 40.0])
def test_log_densities_are_scipys(likelihood, log_density, y):
    found = likelihood.log_density(LATENTS[:, None], np.full(9, y))
    assert np.allclose(found, log_density(LATENTS, y), rtol=1e-12)


def test_moments_are_those_of_draws_in_two_stages(rng):
    mean, variance, size = 0.4, 0.3, 1_000_000
    f = mean + np.sqrt(variance) * rng.standard_normal(size)
    for likelihood, y in [
        (Gaussian(0.5), f + np.sqrt(0.5) * rng.standard_normal(size)),
        (Poisson(), rng.poisson(np.exp(f))),
        (StudentT(0.7, 9.0), f + 0.7 * rng.standard_t(9.0, size)),
    ]:
        found = likelihood.moments(np.array([[mean]]), np.array([[variance]]))
        assert found.mean == pytest.approx(y.mean(), abs=5 * y.std() / np.sqrt(size))
        assert found.variance == pytest.approx(y.var(), abs=5 * ((y - y.mean()) ** 2).std() / np.sqrt(size))


def student_expectation(y, mean, std, scale, nu):
    """Return E log p by SciPy's adaptive quadrature, split where the density bends."""
    top = stats.t.logpdf(y, nu, y, scale)

    def integrand(f):
        """The product of SciPy's densities, written out: theirs take long for one number at a time."""
        log_p = top - (nu + 1) / 2 * math.log1p(((y - f) / scale) ** 2 / nu)
        return log_p * math.exp(-(((f - mean) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi))

    bends = [y + k * scale for k in (-50, -5, -1, 0, 1, 5, 50)]
    ends = [mean - 12 * std, *sorted(b for b in bends if abs(b - mean) < 12 * std), mean + 12 * std]
    return sum(integrate.quad(integrand, *pair, epsabs=1e-12)[0] for pair in pairwise(ends))


@pytest.mark.parametrize("nu", [1.0, 4.0, 30.0])
@pytest.mark.parametrize("scale", [1e-4, 0.01, 0.1, 1.0, 10.0])
def test_student_expectations_hold_however_narrow_the_scale(nu, scale):
    for y in (0.0, 1.0, 6.0):
        found = StudentT(scale, nu).expected_log_density(np.zeros((1, 1)), np.ones((1, 1)), np.array([y]))[0]
        assert found == pytest.approx(student_expectation(y, 0.0, 1.0, scale, nu), rel=1e-7, abs=1e-7)


def test_gauss_hermite_quadrature_would_fail_where_the_scale_is_narrow():
    """The reason for the integral in `StudentT`, which is to go if this ever passes without it."""
    z, weights = hermite()
    error = stats.t.logpdf(0.0, 4.0, z, 0.1) @ weights - student_expectation(0.0, 0.0, 1.0, 0.1, 4.0)
    assert abs(error) > 1e-2


def test_many_degrees_of_freedom_make_a_gaussian():
    y, mean, variance = np.array([0.3, -2.0]), np.array([[1.0], [0.2]]), np.array([[0.5], [2.0]])
    expected = Gaussian(0.7**2).expected_log_density(mean, variance, y)
    assert np.allclose(StudentT(0.7, 1e7).expected_log_density(mean, variance, y), expected, atol=1e-5)


def test_student_moments_that_do_not_exist_are_not_made_up():
    mean, variance = np.array([[1.0]]), np.array([[0.2]])
    at_two = StudentT(0.5, 2.0).moments(mean, variance)
    assert (at_two.mean[0], at_two.variance[0]) == (1.0, np.inf)
    assert np.isnan(StudentT(0.5, 1.0).moments(mean, variance)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0.0), "`noise_variance` must be positive. Got 0"),
        (lambda: StudentT(-1.0), "`scale` must be positive. Got -1"),
        (lambda: StudentT(1.0, np.nan), "`degrees_of_freedom` must be finite"),
        (lambda: StudentT(fixed="nu"), "`fixed` must be one of 'scale', 'degrees_of_freedom'. Got 'nu'"),
    ],
)
def test_what_is_refused_is_named_with_its_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def tilted_by_sums(log_density, mean, std, around):
    """Return log E p and its first two derivatives in the mean, by sums over points as dense as the density is narrow.

    They are (M - mean) / std^2 and (V / std^2 - 1) / std^2, M and V the moments of likelihood times Gaussian.
    """
    f = np.unique(np.concatenate([np.linspace(low, high, 100_001) for low, high in around]))
    logs = log_density(f) + stats.norm.logpdf(f, mean, std)
    p = np.exp(logs - logs.max())
    mass = integrate.trapezoid(p, f)
    centre = integrate.trapezoid(p * f, f) / mass
    spread = integrate.trapezoid(p * (f - centre) ** 2, f) / mass
    return np.log(mass) + logs.max(), (centre - mean) / std**2, (spread / std**2 - 1) / std**2


@pytest.mark.parametrize("nu", [1.0, 4.0, 30.0, 1000.0])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize(("y", "std"), [(-1.3, 1.0), (0.4, 5.0), (9.0, 2.0), (60.0, 1.0)])
def test_tilted_moments_of_students_errors_hold_however_narrow_they_are(nu, scale, y, std):
    mean = 0.3
    ranges = [(mean - 12 * std, mean + 12 * std), (y - 50 * scale, y + 50 * scale), (mean, y)]
    expected = tilted_by_sums(lambda f: stats.t.logpdf(y, nu, f, scale), mean, std, ranges)
    found = StudentT(scale, nu).tilted(np.array([[mean]]), np.array([[std**2]]), np.array([y]))
    assert np.allclose([found.log_z[0], found.in_mean[0, 0], found.bend[0, 0]], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("y", [0.0, 3.0, 400.0, 1e5])
@pytest.mark.parametrize(("mean", "std"), [(1.0, 0.01), (1.0, 1.4), (8.0, 5.0)])
def test_tilted_moments_of_counts_hold_however_large_they_are(y, mean, std):
    peak, width = np.log(y + 0.5), 12 / np.sqrt(y + 1)
    ranges = [(mean - 12 * std, mean + 12 * std), (peak - 3 * width, peak + width), (mean - 60 * std, peak + width)]
    expected = tilted_by_sums(lambda f: stats.poisson.logpmf(y, np.exp(np.minimum(f, 600))), mean, std, ranges)
    found = Poisson().tilted(np.array([[mean]]), np.array([[std**2]]), np.array([y]))
    assert np.allclose([found.log_z[0], found.in_mean[0, 0], found.bend[0, 0]], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("std", [0.05, 1.0, 5.0])
@pytest.mark.parametrize(
    ("likelihood", "distribution", "at"),
    [
        (Gaussian(0.3), lambda f, y: stats.norm.cdf(y, f, np.sqrt(0.3)), [-1.3, 0.4, 9.0]),
        (StudentT(0.2, 4.0), lambda f, y: stats.t.cdf(y, 4.0, f, 0.2), [-1.3, 0.4, 9.0]),
        (Poisson(), lambda f, y: stats.poisson.cdf(y, np.exp(f)), [-1.0, 0.0, 3.0, 400.0]),
    ],
    ids=["gaussian", "student", "poisson"],
)
def test_distribution_functions_are_those_of_scipy_averaged_over_the_latent(likelihood, distribution, at, std):
    z = np.linspace(-9.0, 9.0, 40_001)
    for y in at:
        expected = integrate.trapezoid(distribution(0.7 + std * z, y) * stats.norm.pdf(z), z)
        found = likelihood.cumulative(np.array([[0.7]]), np.array([[std**2]]), np.array([y]))
        assert found[0] == pytest.approx(expected, abs=2e-6)
