"""Laws that every likelihood obeys."""

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from hypergauss import parameters
from hypergauss.likelihoods import (
    Classification,
    Measurement,
    MultinomialProbit,
    Poisson,
    RobustMax,
    Softmax,
)
from tests import oracles
from tests.contracts.cases import LIKELIHOODS

every_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS.keys())
classes_only = pytest.mark.parametrize(
    "likelihood", [pytest.param(v, id=k) for k, v in LIKELIHOODS.items() if isinstance(v, Classification)]
)
measurements_only = pytest.mark.parametrize(
    "likelihood", [pytest.param(v, id=k) for k, v in LIKELIHOODS.items() if isinstance(v, Measurement)]
)
with_mode_only = pytest.mark.parametrize(
    "likelihood", [pytest.param(v, id=k) for k, v in LIKELIHOODS.items() if v.has_mode]
)
with_expectation_only = pytest.mark.parametrize(
    "likelihood", [pytest.param(v, id=k) for k, v in LIKELIHOODS.items() if not isinstance(v, MultinomialProbit)]
)
propagated_only = pytest.mark.parametrize(
    "likelihood", [pytest.param(v, id=k) for k, v in LIKELIHOODS.items() if v.can_propagate]
)
#: Where measurements are summed or integrated: y = sinh(s) reaches far into heavy tails with few points.
COUNTS = np.arange(600.0)
STRETCH = np.linspace(-25.0, 25.0, 4001)
FAR = np.sinh(STRETCH)


def observations(likelihood):
    """Return some of the values that y can take: all classes, a few counts, or numbers with one far out."""
    if isinstance(likelihood, Classification):
        return np.arange(likelihood.num_classes, dtype=float)
    return np.array([0.0, 1.0, 6.0]) if isinstance(likelihood, Poisson) else np.array([-1.3, 0.4, 9.0])


def gaussians(likelihood, n=4, seed=0):
    """Return means and variances, with standard deviations from 1/2 to 2, for n vertices."""
    rng = np.random.default_rng(seed)
    shape = (n, likelihood.num_latents)
    return np.asarray(1.5 * rng.normal(size=shape)), np.asarray(rng.uniform(0.5, 2.0, shape) ** 2)


def slack(likelihood, exact=1e-7):
    """Return how far an expectation may be off; robust-max has GPflow's 20 nodes and its clipping, 5e-4 for a step."""
    return {RobustMax: 5e-3, Softmax: 1e-5}.get(type(likelihood), exact)


def log_density(likelihood, latents, y):
    """Return log p(y | f) at one observation y and many latents, shape (m, L), or many y at one latent."""
    latents, y = np.atleast_2d(latents), np.ravel(y)
    size = max(len(latents), len(y))
    return np.asarray(
        likelihood.log_density(
            np.broadcast_to(latents, (size, latents.shape[1])), np.broadcast_to(y, size).astype(float)
        )
    )


def density(likelihood, latents, y):
    return np.exp(log_density(likelihood, latents, y))


def expectation(of, likelihood, y, mean, variance):
    """Return the expectation of `log_density` or `density` at one vertex, without the likelihood's own quadrature."""
    mean, variance = np.asarray(mean), np.asarray(variance)
    if isinstance(likelihood, RobustMax):  # a step, which no grid resolves: its two values by how often each is taken
        hit, miss = of(likelihood, np.eye(likelihood.num_classes)[:2], 0)
        largest = oracles.probability_of_largest(int(y), mean, variance)
        return largest * hit + (1 - largest) * miss
    if isinstance(likelihood, MultinomialProbit):  # the largest of latents with their noise
        return oracles.probability_of_largest(int(y), mean, variance + 1)
    return oracles.gaussian_expectation(lambda f: of(likelihood, f, y), mean, variance)


def crossed(*values):
    """Return every combination of some values, one array for each."""
    return tuple(np.asarray(np.ravel(grid)) for grid in np.meshgrid(*values))


def at_first(likelihood, values):
    """Return latents of which the first takes the values and the others are zero."""
    latents = np.zeros((len(values), likelihood.num_latents))
    latents[:, 0] = values
    return latents


@classes_only
def test_probabilities_of_classes_given_the_latents_sum_to_one(likelihood):
    latents = 3 * np.asarray(gaussians(likelihood, n=30)[0])
    total = sum(density(likelihood, latents, y) for y in observations(likelihood))
    assert np.allclose(total, 1.0, atol=1e-12)


@measurements_only
@pytest.mark.parametrize("latent", [-2.0, 0.3, 3.0])
def test_densities_of_measurements_given_the_latent_have_mass_one(likelihood, latent):
    if isinstance(likelihood, Poisson):
        total = density(likelihood, latent, COUNTS).sum()
    else:
        total = integrate.simpson(density(likelihood, latent, FAR) * np.cosh(STRETCH), x=STRETCH)
    assert total == pytest.approx(1.0, abs=1e-8)


@with_expectation_only
def test_the_expected_log_density_is_that_of_an_independent_quadrature(likelihood):
    mean, variance = gaussians(likelihood)
    for y in observations(likelihood):
        found = likelihood.expected_log_density(mean, variance, np.full(len(mean), y))
        for i in range(len(mean)):
            expected = expectation(log_density, likelihood, y, mean[i], variance[i])
            assert found[i] == pytest.approx(expected, rel=1e-7, abs=slack(likelihood))


@with_expectation_only
def test_without_variance_the_expectation_is_the_log_density(likelihood):
    mean, variance = gaussians(likelihood, n=20)
    for y in observations(likelihood):
        labels = np.full(20, y)
        found = likelihood.expected_log_density(mean, 1e-12 * variance, labels)
        assert np.allclose(found, likelihood.log_density(mean, labels), atol=slack(likelihood, 1e-6))


@every_likelihood
def test_log_densities_and_their_derivatives_are_finite_far_out(likelihood):
    latents, y = crossed([-700.0, -40.0, 0.0, 40.0, 700.0], observations(likelihood))
    latents = at_first(likelihood, latents)
    assert np.isfinite(likelihood.log_density(latents, y)).all()
    if likelihood.has_mode:
        assert np.isfinite(likelihood.slope(latents, y)).all()
        assert np.isfinite(likelihood.curvature(latents, y)).all()
        assert np.isfinite(likelihood.curvature_slope(latents, y, np.ones_like(latents))).all()


@with_expectation_only
def test_expectations_and_their_derivatives_are_finite_far_out(likelihood):
    mean, variance, y = crossed([-40.0, 0.0, 40.0], [1e-10, 1.0, 1e2], observations(likelihood))
    mean = at_first(likelihood, mean)
    variance = np.broadcast_to(variance[:, None], mean.shape)
    assert all(np.isfinite(found).all() for found in likelihood.expectation(mean, variance, y))
    assert np.isfinite(likelihood.pull_back(mean, variance, y)).all()


@with_expectation_only
def test_gradients_of_expectations_match_central_differences(likelihood):
    y = observations(likelihood)
    mean, variance = gaussians(likelihood, n=len(y), seed=1)
    size = mean.size

    def total(x):
        moved = parameters.unpack(likelihood, x[2 * size :])
        return moved.expected_log_density(x[:size].reshape(mean.shape), x[size : 2 * size].reshape(mean.shape), y).sum()

    x = np.concatenate([np.ravel(mean), np.ravel(variance), parameters.pack(likelihood)])
    found = likelihood.expectation(mean, variance, y)
    assert np.allclose(found.value, likelihood.expected_log_density(mean, variance, y), rtol=1e-12)
    slopes = [np.ravel(found.in_mean), np.ravel(found.in_variance), likelihood.pull_back(mean, variance, y)]
    expected = oracles.central_differences(total, x)
    assert np.allclose(np.concatenate(slopes), expected, rtol=1e-6, atol=slack(likelihood, 1e-6))


@with_mode_only
def test_slope_and_curvature_match_central_differences(likelihood):
    y = observations(likelihood)
    latents, step = gaussians(likelihood, n=len(y), seed=2)[0], 1e-5
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2.0, latents.shape)

    def weighted(f):
        return (weights * np.diagonal(likelihood.curvature(f, y), axis1=1, axis2=2)).sum(axis=1)

    for latent in range(likelihood.num_latents):
        shift = step * (np.arange(likelihood.num_latents) == latent)

        def difference(f, shift=shift):
            return (f(latents + shift) - f(latents - shift)) / (2 * step)

        of_density = difference(lambda f: likelihood.log_density(f, y))
        of_slope = difference(lambda f: likelihood.slope(f, y))
        assert np.allclose(likelihood.slope(latents, y)[:, latent], of_density, rtol=1e-6, atol=1e-7)
        assert np.allclose(-likelihood.curvature(latents, y)[:, latent], of_slope, rtol=1e-6, atol=1e-6)
        found = likelihood.curvature_slope(latents, y, weights)[:, latent]
        assert np.allclose(found, difference(weighted), rtol=1e-6, atol=1e-6)


@every_likelihood
def test_log_concavity_is_as_claimed(likelihood):
    """A concave function lies above its chords; one that is not lies below some, as more than rounding shows."""
    rng = np.random.default_rng(3)
    left, right = 4 * rng.normal(size=(2, 2000, likelihood.num_latents))
    worst = -np.inf
    for y in observations(likelihood):
        at = [likelihood.log_density(f, np.full(2000, y)) for f in (left, (left + right) / 2, right)]
        worst = max(worst, float(((at[0] + at[2]) / 2 - at[1]).max()))
    assert (worst < 1e-9) if likelihood.is_log_concave else (worst > 0.1)


@pytest.mark.parametrize("name", [name for name, one in LIKELIHOODS.items() if one.is_log_concave and one.has_mode])
def test_second_derivatives_of_log_concave_likelihoods_are_never_positive(name):
    likelihood = LIKELIHOODS[name]
    size, y = crossed(np.geomspace(0.1, 60.0, 100), observations(likelihood))
    latents = size[:, None] * np.random.default_rng(4).normal(size=(len(size), likelihood.num_latents))
    assert np.linalg.eigvalsh(likelihood.curvature(latents, y)).min() > -1e-9


@every_likelihood
def test_only_a_shift_invariant_likelihood_overlooks_a_common_shift(likelihood):
    mean, variance = gaussians(likelihood)
    y = np.full(len(mean), observations(likelihood)[-1])
    is_propagated = isinstance(likelihood, MultinomialProbit)
    of = (lambda *given: likelihood.tilted(*given).log_z) if is_propagated else likelihood.expected_log_density
    before, after = (of(mean + shift, variance, y) for shift in (0.0, 7.0))
    assert np.allclose(before, after, atol=1e-8) == likelihood.is_shift_invariant


@propagated_only
def test_tilted_moments_are_those_of_an_independent_quadrature_and_of_differences(likelihood):
    mean, variance = gaussians(likelihood)
    step, enough = 1e-4, 1e-7
    for y in observations(likelihood):
        labels = np.full(len(mean), y)
        found = likelihood.tilted(mean, variance, labels)
        for i in range(len(mean)):
            expected = np.log(expectation(density, likelihood, y, mean[i], variance[i]))
            assert found.log_z[i] == pytest.approx(expected, abs=enough)
        for latent in range(likelihood.num_latents):
            shift = step * (np.arange(likelihood.num_latents) == latent)
            ahead, behind = (likelihood.tilted(mean + sign * shift, variance, labels) for sign in (1, -1))
            slope = (ahead.log_z - behind.log_z) / (2 * step)
            assert np.allclose(found.in_mean[:, latent], slope, rtol=1e-6, atol=enough)
            bend = (ahead.in_mean - behind.in_mean)[:, latent] / (2 * step)
            assert np.allclose(found.bend[:, latent], bend, rtol=1e-6, atol=enough)


@propagated_only
def test_gradients_of_tilted_densities_match_central_differences(likelihood):
    y = observations(likelihood)
    mean, variance = gaussians(likelihood, n=len(y), seed=1)

    def total(theta):
        return parameters.unpack(likelihood, theta).tilted(mean, variance, y).log_z.sum()

    expected = oracles.central_differences(total, parameters.pack(likelihood))
    assert np.allclose(likelihood.pull_back_tilted(mean, variance, y), expected, rtol=1e-6, atol=1e-7)


@propagated_only
def test_tilted_moments_are_finite_far_out_and_leave_no_negative_variance(likelihood):
    mean, variance, y = crossed([-40.0, 0.0, 40.0], [1e-4, 1.0, 1e2], observations(likelihood))
    mean = at_first(likelihood, mean)
    variance = np.broadcast_to(variance[:, None], mean.shape)
    found = likelihood.tilted(mean, variance, y)
    assert all(np.isfinite(part).all() for part in found)
    assert (variance + variance**2 * found.bend > -1e-9 * variance).all()
    if likelihood.is_log_concave:
        assert (found.bend < 1e-8).all()


def test_the_multinomial_probit_has_no_expectation_and_says_what_has():
    with pytest.raises(ValueError, match=r"no expectation.*`inference='ep'`.*'softmax'"):
        MultinomialProbit(3).expected_log_density(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1))


def test_the_multinomial_probit_of_two_classes_is_the_probit_of_their_difference():
    """With noise in both latents, the difference of two is seen through noise of variance 2."""
    mean, variance = gaussians(MultinomialProbit(2), n=6)
    found = MultinomialProbit(2).probabilities(mean, variance)
    expected = norm.cdf((mean[:, 1] - mean[:, 0]) / np.sqrt(2 + variance.sum(axis=1)))
    assert np.allclose(found[:, 1], expected, atol=1e-9)


@classes_only
def test_probabilities_are_positive_and_sum_to_one(likelihood):
    mean, variance = gaussians(likelihood, n=50)
    p = np.asarray(likelihood.probabilities(3 * mean, variance))
    assert p.shape == (50, likelihood.num_classes)
    assert (p > 0).all()
    assert np.allclose(p.sum(axis=1), 1.0, atol=1e-12)


@classes_only
def test_probabilities_are_expected_densities(likelihood):
    mean, variance = gaussians(likelihood)
    found = likelihood.probabilities(mean, variance)
    for y in range(likelihood.num_classes):
        for i in range(len(mean)):
            expected = expectation(density, likelihood, y, mean[i], variance[i])
            assert found[i, y] == pytest.approx(expected, abs=slack(likelihood))


@measurements_only
def test_moments_are_integrals_of_the_predictive_density(likelihood):
    mean, variance = np.array([0.3]), np.array([0.25])
    z = np.linspace(-10.0, 10.0, 201)
    latents = (mean + np.sqrt(variance) * z)[:, None]

    def predictive(y):
        given = np.stack([density(likelihood, f, y) for f in latents])
        return integrate.simpson(given * norm.pdf(z)[:, None], x=z, axis=0)

    def integral(power):
        if isinstance(likelihood, Poisson):
            return (COUNTS**power * predictive(COUNTS)).sum()
        return integrate.simpson(FAR**power * predictive(FAR) * np.cosh(STRETCH), x=STRETCH)

    found = likelihood.moments(mean[:, None], variance[:, None])
    assert found.mean == pytest.approx(integral(1), rel=1e-6)
    assert found.variance == pytest.approx(integral(2) - integral(1) ** 2, rel=1e-6)
