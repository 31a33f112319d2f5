import numpy as np
import pytest

from hypergauss.inference.mixing import Mixing, Settling

RATES = np.array([0.9, -0.8, 0.5, 0.3, 0.1])
FIXED = np.arange(5.0)


def steps_to(tolerance, memory, slope):
    """Return how many steps x -> FIXED + slope(x - FIXED) takes."""
    x, mixing = np.zeros(5), Mixing(memory)
    for step in range(1, 500):
        target = FIXED + slope(x - FIXED)
        if np.linalg.norm(target - x) < tolerance:
            assert np.allclose(x, FIXED, atol=20 * tolerance)
            return step
        x = mixing.next(x, target)
    pytest.fail("no fixed point was reached")


def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_rates():
    assert steps_to(1e-6, 5, lambda d: RATES * d) <= 8
    assert steps_to(1e-6, 0, lambda d: RATES * d) > 50


def test_a_map_that_is_not_linear_is_quicker_too():
    def slope(d):
        return RATES * np.tanh(d)

    assert steps_to(1e-6, 3, slope) < steps_to(1e-6, 0, slope) / 4


def test_what_made_it_worse_is_forgotten():
    mixing = Mixing(3)
    mixing.next(np.zeros(2), np.ones(2))
    worse = np.array([10.0, -10.0])
    assert np.array_equal(mixing.next(np.ones(2), worse), worse)


def test_values_settle_by_two_small_changes_not_by_one_that_is_small_by_chance():
    settling = Settling(1e-3)
    assert [settling.has_at(value) for value in (5.0, 6.0, 6.0005, 6.0006)] == [False, False, False, True]
    assert not any(Settling(1e-3).has_at(value) for value in (0.0, 0.0, 1.0))
