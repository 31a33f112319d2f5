"""Coordinates without an end, and the volume that their range takes up."""

import numpy as np
import pytest

from hypergauss.inference.mcmc.ranges import Ranges
from tests import oracles

LIMITS = np.array([[0.0, 2.0], [-3.0, 4.0], [-np.inf, np.inf]])


def test_points_inside_come_back_and_the_ends_stand_a_little_inside():
    ranges = Ranges(LIMITS)
    theta = np.array([0.3, 2.0, 17.0])
    assert ranges.inside(ranges.free(theta)) == pytest.approx(theta, rel=1e-12)
    at_the_end = ranges.inside(ranges.free(np.array([0.0, 4.0, 0.0])))
    assert (at_the_end[:2] > [0.0, 3.5]).all()
    assert (at_the_end[:2] < [0.1, 4.0]).all()


def test_nothing_leaves_its_range():
    theta = Ranges(LIMITS).inside(np.array([-800.0, 800.0, 800.0]))
    assert np.array_equal(theta, [0.0, 4.0, 800.0])


def test_slopes_and_volumes_match_central_differences():
    ranges, u = Ranges(LIMITS), np.array([-1.2, 0.7, 2.5])
    step = 1e-6 * np.eye(3)
    slopes = np.array([ranges.inside(u + e) - ranges.inside(u - e) for e in step]) / 2e-6
    assert np.diag(ranges.slope(u)) == pytest.approx(slopes, abs=1e-8)
    assert ranges.log_volume(u) == pytest.approx(np.log(ranges.slope(u)).sum(), rel=1e-12)
    assert ranges.log_volume_slope(u) == pytest.approx(oracles.central_differences(ranges.log_volume, u), abs=1e-8)
    assert np.isfinite(ranges.log_volume(np.array([-800.0, 800.0, 0.0])))
