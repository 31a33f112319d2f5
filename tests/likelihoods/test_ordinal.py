"""OrderedProbit: thresholds that keep their order, probabilities that keep their digits."""

import numpy as np
import pytest
from scipy.stats import norm

from hypergauss import parameters
from hypergauss.likelihoods import Bernoulli, OrderedProbit
from tests import oracles


def log_density(likelihood, f, y):
    return np.asarray(likelihood.log_density(np.asarray(f, dtype=float)[:, None], np.full(len(f), float(y))))


def test_near_the_thresholds_it_is_a_difference_of_distribution_functions():
    cuts, f = np.array([-1.0, 0.2, 2.0]), np.linspace(-3.0, 3.0, 13)
    below = norm.cdf(np.array([-np.inf, *cuts, np.inf]) - f[:, None])
    for y in range(4):
        assert np.allclose(log_density(OrderedProbit(4, cuts), f, y), np.log(np.diff(below, axis=1)[:, y]), atol=1e-12)


@pytest.mark.parametrize("far", [40.0, 300.0])
def test_tails_keep_their_digits_on_both_sides(far):
    """Mirroring latent, thresholds and classes changes nothing, and far out one end of the interval is all there is."""
    likelihood, mirrored = OrderedProbit(3, [-1.0, 1.5]), OrderedProbit(3, [-1.5, 1.0])
    for y in range(3):
        assert np.array_equal(log_density(likelihood, [far], y), log_density(mirrored, [-far], 2 - y))
    assert log_density(likelihood, [far], 0)[0] == pytest.approx(norm.logcdf(-1.0 - far), rel=1e-14)
    # Of the middle class 1 - exp(-2.5 far) and more lies next to the nearer threshold.
    assert log_density(likelihood, [far], 1)[0] == pytest.approx(norm.logcdf(1.5 - far), rel=1e-14)
    assert log_density(likelihood, [far], 2)[0] == pytest.approx(0.0, abs=1e-300)


@pytest.mark.parametrize("far", [-40.0, 0.0, 40.0])
def test_a_narrow_class_is_a_slice_of_the_normal_density(far):
    """log p = log(gap phi(middle)) - gap^2 (1 - far^2) / 24 + ..., with two derivatives."""
    gap = 1e-3
    likelihood = OrderedProbit(3, [-gap / 2, gap / 2])
    f, y = np.array([[far]]), np.ones(1)
    expected = np.log(gap) + norm.logpdf(far) + np.log1p(-(gap**2) * (1 - far**2) / 24)
    assert likelihood.log_density(f, y)[0] == pytest.approx(expected, rel=1e-9)
    assert likelihood.slope(f, y)[0, 0] == pytest.approx(-far * (1 - gap**2 / 12), abs=1e-6)
    assert -likelihood.curvature(f, y)[0, 0, 0] == pytest.approx(-1 + gap**2 / 12, abs=1e-5)


@pytest.mark.parametrize("std", [0.1, 2.0, 5.0])
def test_wide_and_narrow_gaussians_are_integrated_alike(std):
    likelihood = OrderedProbit(4, [-1.0, -0.9, 3.0])
    for y in range(4):
        for mean in (-4.0, 0.0, 1.5):
            expected = oracles.gaussian_expectation(
                lambda f, y=y: log_density(likelihood, f[:, 0], y), np.array([mean]), np.array([std**2])
            )
            found = likelihood.expected_log_density(np.array([[mean]]), np.array([[std**2]]), np.array([float(y)]))
            assert found[0] == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_with_two_classes_it_is_the_probit_of_a_shifted_latent():
    mean, variance = np.array([[0.3], [-2.0]]), np.array([[0.5], [3.0]])
    found = OrderedProbit(2, [0.8]).probabilities(mean, variance)
    assert np.allclose(found, Bernoulli("probit").probabilities(mean - 0.8, variance), atol=1e-14)


def test_classes_are_equally_probable_unless_told_otherwise():
    assert np.allclose(OrderedProbit(5).probabilities(np.zeros((1, 1)), np.ones((1, 1))), 0.2)


def test_thresholds_from_labels_give_each_class_its_share():
    y = np.repeat([0, 1, 3], [50, 30, 20])
    likelihood = OrderedProbit.from_labels(y, 5)
    p = likelihood.probabilities(np.zeros((1, 1)), np.ones((1, 1)))[0]
    assert np.allclose(p, (np.array([50, 30, 0, 20, 0]) + 0.5) / 102.5)
    assert OrderedProbit.from_labels(y).num_classes == 4


def test_any_coordinates_give_thresholds_in_order(rng):
    likelihood = OrderedProbit(6)
    for _ in range(20):
        moved = parameters.unpack(likelihood, 3 * rng.normal(size=5))
        assert (np.diff(moved.thresholds) > 0).all()
    assert np.allclose(parameters.unpack(likelihood, parameters.pack(likelihood)).thresholds, likelihood.thresholds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OrderedProbit(1), "`num_classes` must be at least 2. Got 1"),
        (lambda: OrderedProbit(3, [0.0]), "one number less than there are classes \\(3\\). Got shape \\(1,\\)"),
        (lambda: OrderedProbit(3, [1.0, 1.0]), "`thresholds` must increase"),
        (lambda: OrderedProbit(3, [0.0, np.nan]), "`thresholds` must not contain NaN"),
        (lambda: OrderedProbit(3, fixed="thresholds"), "`fixed` must be one of 'first_threshold', 'gaps'"),
        (lambda: OrderedProbit.from_labels([0.5, 1.0]), "`y` must be a list of whole numbers"),
        (lambda: OrderedProbit.from_labels([]), "`y` must be a list of whole numbers, at least one"),
        (lambda: OrderedProbit.from_labels([-1, 1]), "`y` must hold labels from 0. Got -1 to 1"),
        (lambda: OrderedProbit.from_labels([0, 3], 3), "`y` must hold labels from 0 to 2. Got 0 to 3"),
    ],
)
def test_what_is_refused_is_named_with_its_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()
