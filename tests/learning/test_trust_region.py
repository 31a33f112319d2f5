"""Climbing by gradients: to the top, within bounds, whatever the values say."""

import numpy as np
import pytest

from hypergauss.exceptions import ConvergenceError
from hypergauss.learning.trust_region import LocalModel, climb_by_gradients

NO_LIMITS = np.full((2, 2), [-10.0, 10.0])


class Banana:
    """-(1 - x)^2 - 10 (y - x^2)^2, seen through its gradient and the curvature of its squares (Gauss and Newton)."""

    top = np.ones(2)

    def __init__(self, wrong_by=0.0):
        self.wrong_by, self.points = wrong_by, []

    def __call__(self, theta):
        self.points.append(theta.copy())
        x, y = theta
        residuals = np.array([1 - x, np.sqrt(10) * (y - x**2)])
        jacobian = np.array([[-1.0, 0.0], [-2 * np.sqrt(10) * x, np.sqrt(10)]])
        gradient, curvature = -2 * jacobian.T @ residuals, 2 * jacobian.T @ jacobian

        def gain(there):
            s = there - theta
            return gradient @ s - s @ curvature @ s / 2, gradient - curvature @ s

        return LocalModel(-residuals @ residuals + self.wrong_by * np.sin(100 * x), gradient, gain)


def climb(objective, *starts, limits=NO_LIMITS, max_iterations=50, least_gain=1e-10):
    told = []
    end = climb_by_gradients(
        objective,
        [np.array(start) for start in starts],
        limits,
        max_iterations=max_iterations,
        least_gain=lambda: least_gain,
        follow=told.append,
    )
    assert np.array_equal(told, end.trace[1:])
    return end


@pytest.mark.parametrize("wrong_by", [0.0, 0.5])
def test_the_top_is_where_the_gradient_vanishes_whatever_is_wrong_with_the_values(wrong_by):
    objective = Banana(wrong_by)
    end = climb(objective, [-1.2, 1.0])
    assert end.converged
    assert np.allclose(end.theta, Banana.top, atol=1e-4)
    assert len(objective.points) < 25


def test_limits_are_kept_and_a_top_on_them_is_found():
    limits = np.array([[-2.0, 0.5], [-1.0, 3.0]])
    objective = Banana()
    end = climb(objective, [-1.2, 1.0], limits=limits)
    assert end.converged
    assert np.allclose(end.theta, [0.5, 0.25], atol=1e-4)
    points = np.array(objective.points)
    assert (points >= limits[:, 0]).all()
    assert (points <= limits[:, 1]).all()


def test_the_highest_start_is_followed():
    objective = Banana()
    end = climb(objective, [-1.2, 1.0], [0.9, 0.9], max_iterations=1)
    assert end.trace[0] == objective(np.array([0.9, 0.9])).value
    assert not end.converged
    assert "not at the top after 1" in end.message


def test_points_that_cannot_be_evaluated_are_kept_away_from():
    class Cliff(Banana):
        def __call__(self, theta):
            if theta[1] > 1.5 or theta[0] < -1.3:
                raise ConvergenceError("too steep")
            return super().__call__(theta)

    end = climb(Cliff(), [-1.2, 1.0], [0.0, 5.0])  # of which the second cannot be evaluated
    assert end.converged
    assert np.allclose(end.theta, Banana.top, atol=1e-4)
    with pytest.raises(ConvergenceError):
        climb(Cliff(), [0.0, 5.0])


def test_a_top_that_cannot_be_reached_is_not_said_to_be():
    class Edge(Banana):
        def __call__(self, theta):
            if theta[0] > 0.4:
                raise ConvergenceError("too steep")
            return super().__call__(theta)

    end = climb(Edge(), [-1.2, 1.0], max_iterations=200)
    assert not end.converged
    assert not end.is_exhausted
    assert "promises" in end.message
    assert end.theta[0] == pytest.approx(0.4, abs=0.05)


def test_a_search_that_may_go_no_further_looks_where_it_is():
    class Bowl:
        def __call__(self, theta):
            def gain(there):
                return theta @ theta - there @ there, -2 * there

            return LocalModel(-theta @ theta, -2 * theta, gain)

    end = climb(Bowl(), [0.5, 0.5], max_iterations=1)
    assert end.converged
    assert np.allclose(end.theta, 0.0, atol=1e-6)
    assert climb(Banana(), [-1.2, 1.0], max_iterations=3).is_exhausted


def test_a_start_without_a_finite_value_ends_there():
    nowhere = LocalModel(np.nan, np.zeros(2), lambda there: (0.0, np.zeros(2)))
    end = climb(lambda theta: nowhere, [0.0, 0.0])
    assert end.value == -np.inf
    assert not end.converged


def test_a_search_that_cannot_be_expected_to_reach_a_height_is_given_up():
    objective = Banana()
    end = climb_by_gradients(
        objective,
        [np.array([-1.2, 1.0])],
        NO_LIMITS,
        max_iterations=50,
        least_gain=lambda: 1e-10,
        follow=lambda _: None,
        worthless_below=1e6,
    )
    assert not end.converged
    assert len(objective.points) == 1
    assert "not expected" in end.message


def test_a_height_that_is_reached_gives_nothing_up():
    end = climb_by_gradients(
        Banana(),
        [np.array([-1.2, 1.0])],
        NO_LIMITS,
        max_iterations=50,
        least_gain=lambda: 1e-10,
        follow=lambda _: None,
        worthless_below=-100.0,
    )
    assert end.converged


def test_a_model_that_bends_too_little_is_corrected_by_the_step_that_went_too_far():
    class Ridge:
        """-20 x^2 - y^2, of whose first term the model sees an eighth."""

        def __init__(self):
            self.evaluations = 0

        def __call__(self, theta):
            self.evaluations += 1
            gradient, seen = -2 * np.array([20.0, 1.0]) * theta, 2 * np.array([2.5, 1.0])

            def gain(there):
                s = there - theta
                return gradient @ s - s @ (seen * s) / 2, gradient - seen * s

            return LocalModel(float(-np.array([20.0, 1.0]) @ theta**2), gradient, gain)

    objective = Ridge()
    end = climb(objective, [0.8, 0.5], least_gain=1e-6)
    assert end.converged
    assert np.allclose(end.theta, 0.0, atol=1e-3)
    assert objective.evaluations <= 6
