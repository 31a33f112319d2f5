"""Following a top that moves, on heights whose tops are known."""

import numpy as np
import pytest

from hypergauss.learning.following import followed

WIDE = np.array([[-np.inf, np.inf]] * 2)
H = np.array([[4.0, 1.0], [1.0, 3.0]])


def hill(top, bend=H):
    """Return -(theta - top)' H (theta - top) / 2 and its gradient, and what was asked for."""
    asked = []

    def height(theta):
        asked.append(theta)
        away = theta - top
        return -away @ bend @ away / 2, -bend @ away

    return height, asked


def test_a_top_within_a_standard_error_or_so_is_reached():
    top = np.array([0.3, -0.3])
    height, asked = hill(top)
    np.testing.assert_allclose(followed(height, np.zeros(2), np.linalg.inv(H), WIDE), top, atol=1e-12)
    assert len(asked) == 1


def test_a_covariance_that_is_too_wide_is_corrected_by_the_second_gradient():
    top = np.array([1.0, 0.0])
    height, asked = hill(top, np.eye(2))
    found = followed(height, np.zeros(2), 5 * np.eye(2), WIDE)
    np.testing.assert_allclose(found, top, atol=1e-12)
    assert len(asked) == 2
    assert asked[1][0] > 2 * top[0]  # the first step went far past it


def test_a_step_is_no_longer_than_a_standard_error():
    height, asked = hill(np.array([9.0, 9.0]))
    found = followed(height, np.zeros(2), np.linalg.inv(H), WIDE)
    assert asked[1] @ H @ asked[1] == pytest.approx(1.0)
    assert found @ H @ found == pytest.approx(4.0)


def test_where_next_to_nothing_is_to_be_gained_nothing_moves():
    start = np.array([0.1, 0.0])
    height, asked = hill(np.zeros(2))
    assert followed(height, start, np.linalg.inv(H), WIDE) is start
    assert len(asked) == 1


def test_what_is_held_stays_and_ranges_are_kept():
    covariance = np.diag([0.25, 0.0])
    limits = np.array([[-1.0, 0.2], [-1.0, 1.0]])
    height, _ = hill(np.array([0.5, 0.5]), np.diag([4.0, 4.0]))
    np.testing.assert_allclose(followed(height, np.zeros(2), covariance, limits), [0.2, 0.0])


def test_where_there_is_no_top_the_covariance_stays_as_it_was():
    def upwards(theta):
        return float(theta.sum()), np.ones(2)

    np.testing.assert_allclose(followed(upwards, np.zeros(2), np.eye(2), WIDE), np.sqrt([2.0, 2.0]))


def test_a_height_that_cannot_be_evaluated_leaves_all_where_it_was():
    def nowhere(theta):
        return -np.inf, np.zeros_like(theta)

    assert not followed(nowhere, np.zeros(2), np.eye(2), WIDE).any()
