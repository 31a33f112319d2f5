"""The normal approximation of hyperparameters, and the points that averages are taken at."""

import numpy as np
import pytest
from scipy.stats import norm

from hypergauss.learning.curvature import Curvature, curvature_at, normal_sequence

WIDE = np.array([[-10.0, 10.0]] * 3)
H = np.array([[4.0, 1.0, -0.5], [1.0, 2.0, 0.3], [-0.5, 0.3, 1.5]])


def quadratic(centre, H=H):
    return lambda x: (-(x - centre) @ H @ (x - centre) / 2, -H @ (x - centre))


def test_the_covariance_of_a_quadratic_is_the_inverse_of_its_bend():
    centre = np.array([0.3, -1.0, 2.0])
    found = curvature_at(quadratic(centre), centre, WIDE, widest=2.0)
    assert np.allclose(found.covariance, np.linalg.inv(H), atol=1e-10)
    assert np.array_equal(found.centre, centre)


def test_a_coordinate_at_its_bound_is_held_and_the_others_are_conditioned_on_it():
    centre = np.array([10.0, 0.0, 0.0])
    found = curvature_at(quadratic(centre), centre, WIDE, widest=2.0).covariance
    assert np.array_equal(found[0], np.zeros(3))
    assert np.allclose(found[1:, 1:], np.linalg.inv(H[1:, 1:]), atol=1e-10)


def test_steps_stay_within_the_range_of_a_coordinate():
    centre, visited = np.array([9.98, -9.98, 0.0]), []

    def watched(x):
        visited.append(x)
        return quadratic(centre)(x)

    found = curvature_at(watched, centre, WIDE, widest=2.0)
    assert np.abs(visited).max() <= 10.0
    assert np.allclose(found.covariance, np.linalg.inv(H), atol=1e-9)


def test_no_direction_is_wider_than_the_widest_may_be():
    flat = np.diag([4.0, 0.0, -1.0])  # the last would be a saddle
    found = curvature_at(quadratic(np.zeros(3), flat), np.zeros(3), WIDE, widest=2.0).covariance
    assert np.allclose(found, np.diag([0.25, 4.0, 4.0]), atol=1e-10)


def test_points_do_not_depend_on_rounding_where_directions_are_equally_sharp():
    alike = np.diag([2.0, 1.0, 1.0])
    nudge = 1e-15 * np.array([[0.0, 1.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.0]])
    one, other = (
        curvature_at(quadratic(np.zeros(3), M), np.zeros(3), WIDE, widest=2.0).points(20)[0]
        for M in (alike, alike + nudge)
    )
    assert np.allclose(one, other, atol=1e-10)


def test_where_gradients_are_no_numbers_points_stay_at_the_centre():
    found = curvature_at(lambda x: (np.nan, np.full(3, np.nan)), np.zeros(3), WIDE, widest=2.0)
    assert not found.covariance.any()


@pytest.mark.parametrize("dimensions", [1, 2, 5, 10])
def test_the_sequence_has_the_moments_of_standard_normal_variables(dimensions):
    z = normal_sequence(2000, dimensions)
    assert z.shape == (2000, dimensions)
    assert np.abs(z.mean(axis=0)).max() < 1e-12  # mirrored
    off = z.T @ z / 2000 - np.eye(dimensions)
    assert np.sqrt((off**2).mean()) < np.sqrt(1 / 1000)  # no worse than as many random points and their images
    assert np.abs(off).max() < 0.1
    assert np.allclose((z**4).mean(axis=0), 3.0, rtol=0.1)
    share = (z < 1.0).mean(axis=0)
    assert np.allclose(share, norm.cdf(1.0), atol=0.005)


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_few_points_are_spread_too(count):
    z = normal_sequence(count, 3)
    assert z.shape == (count, 3)
    assert np.isfinite(z).all()
    assert len(np.unique(z.round(9), axis=0)) == count


def test_points_have_the_density_that_they_are_drawn_by():
    root = np.linalg.cholesky(np.linalg.inv(H))
    offsets, log_density = Curvature(np.zeros(3), root).points(50)
    expected = -np.einsum("ni,ij,nj->n", offsets, H, offsets) / 2
    assert np.allclose(log_density, expected, atol=1e-10)
