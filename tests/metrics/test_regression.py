"""Scores of Gaussian predictions against their definitions."""

import numpy as np
import pytest
from scipy.stats import norm

from hypergauss.metrics import gaussian_log_predictive_density, interval_coverage


def test_density_is_the_mean_normal_log_density():
    y, mean, std = np.random.default_rng(0).uniform(0.5, 2, (3, 20))
    assert gaussian_log_predictive_density(y, mean, std) == pytest.approx(
        np.mean([norm(m, s).logpdf(v) for v, m, s in zip(y, mean, std, strict=True)])
    )


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_honest_intervals_cover_their_level(level):
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=20_000), rng.uniform(0.5, 2, 20_000)
    y = mean + std * rng.standard_normal(20_000)
    error = np.sqrt(level * (1 - level) / 20_000)
    assert interval_coverage(y, mean, std, level=level) == pytest.approx(level, abs=4 * error)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], [1.0, 2.0], [1.0, 1.0]), "one non-empty shape"),
        (([], [], []), "one non-empty shape"),
        (([1.0], [1.0], [0.0]), "`std` must be positive"),
        (([np.nan], [1.0], [1.0]), "`y` must not contain NaN"),
    ],
)
def test_bad_scores_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        gaussian_log_predictive_density(*arguments)


def test_a_level_outside_zero_and_one_is_refused():
    with pytest.raises(ValueError, match="`level` must lie between 0 and 1"):
        interval_coverage([1.0], [1.0], [1.0], level=90)
