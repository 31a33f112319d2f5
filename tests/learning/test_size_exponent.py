from types import SimpleNamespace

import numpy as np
import pytest

from hypergauss import HypergraphGPRegressor, Spectrum
from hypergauss.kernels import Matern
from hypergauss.learning.size_exponent import FINEST_STEP, HIGHEST, LOWEST, search
from tests.hypergraphs import hypergraph_of_sizes


def outcome(objective):
    return SimpleNamespace(objective=objective)


@pytest.mark.parametrize("truth", [-1.7, -0.4, 0.9, 1.0, 2.3, 3.8])
def test_the_highest_point_of_a_smooth_curve_is_found_to_the_finest_step(truth):
    profile = search(lambda a, _, **_options: outcome(-100 * (a - truth) ** 2))
    assert abs(profile.size_exponent - truth) <= FINEST_STEP
    assert profile.best.objective == profile.objectives.max()
    assert (np.diff(profile.exponents) > 0).all()


@pytest.mark.parametrize(("slope", "end"), [(10.0, HIGHEST), (-10.0, LOWEST)])
def test_the_search_stops_at_the_ends_of_its_range(slope, end):
    profile = search(lambda a, _, **_options: outcome(slope * a))
    assert profile.size_exponent == end
    assert profile.exponents.min() >= LOWEST
    assert profile.exponents.max() <= HIGHEST


def test_a_flat_curve_keeps_zhous_laplacian():
    assert search(lambda a, _, **_options: outcome(-5.0)).size_exponent == 0.0


def test_a_gain_that_chance_could_make_keeps_zhous_laplacian():
    profile = search(lambda a, _, **_options: outcome(-0.01 * (a - 1) ** 2))
    assert profile.size_exponent == 0.0
    assert profile.best.objective == -0.01


def test_only_zero_is_tried_twice_and_each_starts_from_the_best_so_far():
    tried, started_from = [], []

    def learn_at(a, previous, **_options):
        tried.append(a)
        started_from.append(previous)
        return outcome(-10 * (a - 1.3) ** 2)

    search(learn_at)
    assert tried[-1] == 0.0
    assert len(tried) == len(set(tried)) + 1 < 20
    assert started_from[0] is None
    best = [max(-10 * (a - 1.3) ** 2 for a in tried[:i]) for i in range(1, len(tried))]
    assert [start.objective for start in started_from[1:]] == best


def learned_exponent(truth, seed):
    """Draw three signals, rough enough to feel the spectrum, on hyperedges of 2 to 50 members, and learn from all."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(np.log(2), np.log(50.99), 30)).astype(int)
    H = hypergraph_of_sizes(150, sizes, seed=seed)
    f = Matern(Spectrum.of(H, size_exponent=truth), 3.0, 30.0).prior_draws(np.arange(150), 3, rng)
    y = f + 0.1 * rng.standard_normal(f.shape)
    return HypergraphGPRegressor(H, n_starts=1, random_state=0).fit(np.arange(150), y).size_exponent_


@pytest.mark.parametrize("truth", [0.0, 1.0, 2.0])
def test_the_exponent_that_drew_the_data_is_learned(truth):
    errors = [abs(learned_exponent(truth, seed) - truth) for seed in range(3)]
    assert np.mean(errors) < 0.3


def test_another_top_found_on_the_way_is_no_gain_of_the_exponent():
    def learn_at(a, previous, **_options):
        # Whoever starts from an outcome at a != 0 reaches a top that the first fit at 0 missed.
        return outcome(-1.0 if previous is None else 5.0)

    assert search(learn_at).size_exponent == 0.0


def test_an_exponent_that_cannot_be_evaluated_is_started_afresh_and_then_passed_over():
    from types import SimpleNamespace

    from hypergauss.exceptions import NumericalError
    from hypergauss.learning.size_exponent import search

    asked = []

    def learn_at(exponent, previous, *, worthless_below):
        asked.append((exponent, previous is None))
        if exponent < 0:
            raise NumericalError("not here")
        return SimpleNamespace(objective=-((exponent - 0.25) ** 2) * 100)

    profile = search(learn_at)
    assert profile.size_exponent == 0.25
    assert [afresh for exponent, afresh in asked if exponent == -1.0] == [False, True]
    assert (profile.exponents >= 0).all()
