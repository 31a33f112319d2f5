from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from hypergauss import HypergraphGPRegressor, Spectrum
from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Standardised, Walk
from hypergauss.learning.size_exponent import (
    FINEST_STEP,
    HIGHEST,
    LOWEST,
    PRIOR_MEAN,
    PRIOR_SPREAD,
    log_prior,
    search,
)
from tests.hypergraphs import hypergraph_of_sizes


def outcome(objective):
    return SimpleNamespace(objective=objective)


@pytest.mark.parametrize("truth", [-1.7, -0.4, 0.9, 1.0, 2.3, 3.8])
def test_the_highest_point_of_a_smooth_curve_is_found_to_the_finest_step(truth):
    profile = search(lambda a, _, **_options: outcome(-100 * (a - truth) ** 2))
    assert abs(profile.size_exponent - truth) <= FINEST_STEP
    assert profile.best.objective + log_prior(profile.size_exponent) == profile.objectives.max()
    assert profile.size_exponent == profile.exponents[profile.objectives.argmax()]
    assert (np.diff(profile.exponents) > 0).all()


@pytest.mark.parametrize(("slope", "end"), [(10.0, HIGHEST), (-10.0, LOWEST)])
def test_the_search_stops_at_the_ends_of_its_range(slope, end):
    profile = search(lambda a, _, **_options: outcome(slope * a))
    assert profile.size_exponent == end
    assert profile.exponents.min() >= LOWEST
    assert profile.exponents.max() <= HIGHEST


def test_the_prior_is_a_normal_density():
    exponents = np.linspace(-4.0, 5.0, 7)
    expected = norm.logpdf(exponents, PRIOR_MEAN, PRIOR_SPREAD)
    assert np.allclose([log_prior(a) for a in exponents], expected, atol=1e-12)


def test_where_the_data_say_nothing_the_prior_chooses():
    profile = search(lambda a, _, **_options: outcome(-5.0))
    assert profile.size_exponent == PRIOR_MEAN
    assert np.allclose(profile.objectives, [-5.0 + log_prior(a) for a in profile.exponents])


def test_a_gain_that_chance_could_make_does_not_outweigh_the_prior():
    profile = search(lambda a, _, **_options: outcome(-0.01 * (a - 2) ** 2))
    assert profile.size_exponent == PRIOR_MEAN
    assert search(lambda a, _, **_options: outcome(-5.0 * (a - 2) ** 2)).size_exponent == 2.0


def test_every_exponent_is_tried_once_and_each_starts_from_the_best_so_far():
    tried, started_from = [], []

    def height(a):
        return -10 * (a - 1.3) ** 2 + log_prior(a)

    def learn_at(a, previous, **_options):
        tried.append(a)
        started_from.append(previous)
        return outcome(-10 * (a - 1.3) ** 2)

    profile = search(learn_at)
    assert len(tried) == len(set(tried)) < 10
    assert sorted(tried) == profile.exponents.tolist()
    assert started_from[0] is None
    best = [max(tried[:i], key=height) for i in range(1, len(tried))]
    assert [start.objective for start in started_from[1:]] == [-10 * (a - 1.3) ** 2 for a in best]
    assert [each.objective for each in profile.outcomes] == [-10 * (a - 1.3) ** 2 for a in profile.exponents]


def learned_exponent(truth, seed):
    """Draw three signals from the default model on hyperedges of 2 to 50 members, and learn from all."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(np.log(2), np.log(50.99), 30)).astype(int)
    H = hypergraph_of_sizes(150, sizes, seed=seed)
    kernel = Standardised(Walk(Spectrum.of(H, size_exponent=truth), 2.0), 0.05)
    f = kernel.prior_draws(np.arange(150), 3, rng)
    y = f + 0.1 * rng.standard_normal(f.shape)
    model = HypergraphGPRegressor(H, n_starts=1, integrate=False, random_state=0)
    return model.fit(np.arange(150), y).size_exponent_


@pytest.mark.parametrize("truth", [0.0, 1.0, 2.0])
def test_the_exponent_that_drew_the_data_is_learned(truth):
    errors = [abs(learned_exponent(truth, seed) - truth) for seed in range(3)]
    assert np.mean(errors) < 0.3


def test_an_exponent_that_cannot_be_evaluated_is_started_afresh_and_then_passed_over():
    asked = []

    def learn_at(exponent, previous, *, worthless_below):
        asked.append((exponent, previous is None))
        if exponent < 0:
            raise NumericalError("not here")
        return outcome(-((exponent - 0.25) ** 2) * 100)

    profile = search(learn_at)
    assert profile.size_exponent == 0.5  # as high as 0, and the prior's mean
    assert [afresh for exponent, afresh in asked if exponent == -1.0] == [False, True]
    assert (profile.exponents >= 0).all()
