"""The ordered probit's conditionals agree with sums over a grid and with SciPy's truncated normal."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest, truncnorm

from hypergauss.factorisation.grades import Grades, truncated_normal
from hypergauss.factorisation.noise import Precisions
from hypergauss.likelihoods.ordinal import log_probability_between


@pytest.mark.parametrize(("low", "high"), [(-0.3, 1.2), (-np.inf, -0.5), (2.0, np.inf), (4.0, 4.5), (-7.0, -6.0)])
def test_latent_values_follow_the_truncated_normal(low, high, rng):
    drawn = truncated_normal(np.full(4000, low), np.full(4000, high), rng)
    assert kstest(drawn, truncnorm(low, high).cdf).pvalue > 1e-3


def test_the_likelihood_of_grades_keeps_its_digits_in_the_tails(rng):
    label, thresholds = np.arange(4).repeat(50), np.array([-1.0, -1.0 + 1e-9, 2.0])
    eta = 12.0 * rng.standard_normal(200)
    eta[:50] = np.linspace(-20.0, 35.0, 50)
    grades = Grades(np.arange(4.0), label, np.arange(200), np.zeros(200, int), np.dtype(float))
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    exact = log_probability_between(ends[label] - eta, ends[label + 1] - eta).sum()
    assert exact < -5000
    assert grades.log_likelihood(thresholds, eta, np.ones(200)) == pytest.approx(exact, rel=1e-9)


def test_thresholds_have_the_posterior_that_a_grid_gives(rng):
    n = 60
    eta = rng.standard_normal(n)
    noise = Precisions(rng.gamma(4.0, size=n) / 4.0, 4.0), Precisions(np.full(1, 1.3), np.inf)
    root = np.sqrt(1.3 * noise[0].each)
    label = np.digitize(eta + rng.standard_normal(n) / root, [-0.4, 0.9])
    grades = Grades(np.arange(3.0), label, np.arange(n), np.zeros(n, int), np.dtype(float))
    cuts, kept = grades.start(), []
    for _ in range(3000):
        cuts = grades.draw(cuts, eta, noise, rng)
        kept.append(cuts.thresholds)
        assert (np.digitize(cuts.latent, cuts.thresholds) == label).all()
    first, gap = np.meshgrid(np.linspace(-1.6, 0.8, 121), np.linspace(np.log(0.4), np.log(3.2), 121), indexing="ij")
    second = first + np.exp(gap)
    ends = np.stack([np.full_like(first, -np.inf), first, second, np.full_like(first, np.inf)])
    log_p = -((first / 3.0) ** 2 + (gap / 3.0) ** 2) / 2
    for value, scale, c in zip(eta, root, label, strict=True):
        log_p += np.log(ndtr(scale * (ends[c + 1] - value)) - ndtr(scale * (ends[c] - value)))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    draws = np.array(kept)
    for column, exact in enumerate((first, second)):
        mean = (p * exact).sum()
        std = np.sqrt((p * (exact - mean) ** 2).sum())
        # Some six steps make one independent draw: 500 of them know the mean to std / 22.
        assert abs(draws[:, column].mean() - mean) < std / 6
        assert draws[:, column].std() == pytest.approx(std, rel=0.12)
