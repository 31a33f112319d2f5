"""Measurements that come later, held against all at once."""

import numpy as np
import pytest

from hypergauss.solvers.sites import Observations

ROWS, LATER = np.array([4, 2, 4, 7]), np.array([7, 1, 2, 2])


@pytest.mark.parametrize("is_known", [False, True])
def test_measurements_in_two_parts_are_those_at_once(is_known):
    rng = np.random.default_rng(0)
    y, noise = rng.standard_normal((8, 2)), rng.uniform(0.1, 2.0, 8) if is_known else None
    rows = np.concatenate([ROWS, LATER])
    whole = Observations.of(rows, y, noise)
    parts = [
        Observations.of(rows[part], y[part], None if noise is None else noise[part])
        for part in (slice(0, 4), slice(4, 8))
    ]
    joined = parts[0].joined(parts[1])
    for found, expected in zip(joined.sites(0.3), whole.sites(0.3), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(joined.counts, whole.counts)
    assert joined.is_uniform == whole.is_uniform


def test_measurements_of_other_vertices_stay_uniform():
    joined = Observations.of(np.array([3, 1]), np.ones((2, 1))).joined(Observations.of(np.array([0]), np.ones((1, 1))))
    assert joined.is_uniform
    assert joined.rows.tolist() == [3, 1, 0]
