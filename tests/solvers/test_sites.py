import numpy as np
import pytest
from scipy.stats import norm

from hypergauss.solvers import Observations
from hypergauss.solvers.sites import check_observations

ROWS, Y = np.array([4, 1, 4, 4]), np.array([[1.0], [2.0], [3.0], [8.0]])


def test_measurements_of_one_vertex_are_merged_by_precision():
    observations = Observations.of(ROWS, Y, np.array([1.0, 0.5, 2.0, 4.0]))
    precision = 1.0 + 0.5 + 0.25
    assert observations.rows.tolist() == [4, 1]  # as they came
    assert observations.counts.tolist() == [3, 1]
    assert np.allclose(observations.mean[:, 0], [(1.0 + 0.5 * 3 + 0.25 * 8) / precision, 2.0])
    assert np.allclose(observations.known_variance, [1 / precision, 0.5])
    assert observations.num_measurements == 4


@pytest.mark.parametrize("known", [None, np.array([1.0, 0.5, 2.0, 4.0])])
def test_merging_loses_nothing_of_the_likelihood(known):
    sites = Observations.of(ROWS, Y, known).sites(0.7)
    f = {1: 0.3, 4: -0.9}
    each = norm.logpdf(Y[:, 0], [f[row] for row in ROWS], np.sqrt(np.full(4, 0.7) if known is None else known)).sum()
    merged = norm.logpdf(sites.mean[:, 0], [f[row] for row in sites.rows], np.sqrt(sites.variance)).sum()
    assert float(merged + sites.log_offset) == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("known", [None, np.array([1.0, 0.5, 2.0, 4.0])])
def test_rescaling_is_measuring_in_other_units(known):
    centre, scale = np.array([1.5]), 20.0
    rescaled = Observations.of(ROWS, Y, known).rescaled(centre, scale).sites(0.7)
    again = Observations.of(ROWS, (Y - centre) / scale, None if known is None else known / scale**2).sites(0.7)
    assert np.allclose(rescaled.mean, again.mean)
    assert np.allclose(rescaled.variance, again.variance)
    assert float(rescaled.log_offset) == pytest.approx(float(again.log_offset), rel=1e-12)


@pytest.mark.parametrize(
    ("y", "noise_variance", "message"),
    [
        ([1.0, np.nan], None, "`y` must not contain NaN or infinity. Got nan at position 1.*Leave unmeasured"),
        ([[1.0], [np.inf]], None, r"Got inf at position \(1, 0\)"),
        ([1.0], None, "`vertices` and `y` must have the same length. Got 2 and 1"),
        ([[[1.0]], [[2.0]]], None, r"\(n,\) or \(n, outputs\). Got \(2, 1, 1\)"),
        (np.zeros((2, 0)), None, "must have shape"),
        ([1.0, 2.0], [0.1, -1.0], "`noise_variance` must not be negative. Got -1"),
        ([1.0, 2.0], [0.1, 0.0], "`noise_variance` must be positive. Got 0.*small but not zero"),
        ([1.0, 2.0], [0.1], "`vertices` and `noise_variance` must have the same length. Got 2 and 1"),
        ([1.0, 2.0], [0.1, np.nan], "`noise_variance` must not contain NaN"),
    ],
)
def test_bad_measurements_are_named_with_their_rule(y, noise_variance, message):
    with pytest.raises(ValueError, match=message):
        check_observations(np.array([0, 1]), y, noise_variance)


def test_targets_that_are_not_numbers_are_refused():
    with pytest.raises(TypeError, match="`y` must hold numbers"):
        check_observations(np.array([0]), ["high"])


def test_at_least_one_measurement_is_needed():
    with pytest.raises(ValueError, match=r"at least one observed vertex. Got none"):
        check_observations(np.zeros(0, dtype=int), [])
