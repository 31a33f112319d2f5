"""Precisions of users and items have the conditionals that a grid gives."""

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from hypergauss.factorisation.noise import SHAPES, Precisions, drawn_variances, start_precisions


def test_precisions_follow_their_gamma_conditional(rng):
    counts, squares = np.array([3, 0, 40]), np.array([2.0, 0.0, 70.0])
    start = Precisions(np.ones(3), 4.0)
    drawn = np.array([start.draw(counts, squares, rng).each for _ in range(2000)])
    for own, n, total in zip(drawn.T, counts, squares, strict=True):
        assert kstest(own, gamma(4.0 + n / 2, scale=1 / (4.0 + total / 2)).cdf).pvalue > 1e-3


def test_the_shape_follows_the_density_of_the_precisions(rng):
    """With so many ratings each that the precisions are as good as given."""
    each = rng.gamma(6.0, size=30) / 6.0
    counts = np.full(30, 10**9)
    drawn = [Precisions(each, 10.0).draw(counts, counts / each, rng).shape for _ in range(3000)]
    log_p = gamma(SHAPES[:, None], scale=1 / SHAPES[:, None]).logpdf(each).sum(axis=1)
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    shares = np.array([np.mean(np.isclose(drawn, shape)) for shape in SHAPES])
    assert np.all(np.abs(shares - p) < 4.5 * np.sqrt(p / 3000) + 2e-3)


def test_someone_unknown_has_the_mean_variance_of_the_prior(rng):
    assert Precisions(np.ones(1), 4.0).lone_variance == pytest.approx(
        (4.0 / rng.gamma(4.0, size=200_000)).mean(), rel=0.02
    )
    assert start_precisions(3, individual=False).lone_variance == 1.0


def test_noise_of_newcomers_is_drawn_from_its_prior(rng):
    lone = np.array([1.0, 10.0 / 9.0, 4.0 / 3.0])
    drawn = drawn_variances(lone, 20_000, rng)
    assert (drawn[0] == 1.0).all()
    for row, shape in ((1, 10.0), (2, 4.0)):
        assert kstest(1.0 / drawn[row], gamma(shape, scale=1.0 / shape).cdf).pvalue > 0.001
