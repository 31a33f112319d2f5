"""Reductions of sites by features, against those by n x n factors, which they stand in for where features are few."""

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.exceptions import NumericalError
from hypergauss.kernels import Standardised, Walk
from hypergauss.solvers.dense import DenseSolver
from hypergauss.solvers.low_rank import LowRankSolver
from hypergauss.solvers.low_rank.feature_space import ReductionInFeatures
from hypergauss.solvers.reduction import Reduction
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(60, 12, seed=2)
ROWS = np.arange(50)


def by_either_route(kernel, precision):
    """Return E and log determinants by features and by n x n factors."""
    found = []
    for solver in (LowRankSolver, DenseSolver):
        E, room = np.empty((2, *precision.shape, precision.shape[1]))
        reduction = solver(kernel, ROWS).reduction(kernel)
        assert isinstance(reduction, ReductionInFeatures) is (solver is LowRankSolver)
        found.append((E, reduction.into(E, precision, room)))
    return found


@pytest.mark.parametrize("variance", [1e-3, 1.0, 1e6])
def test_few_features_make_the_same_inverses_as_factors_of_the_covariance(variance, rng):
    kernel = Standardised(Walk(Spectrum.of(H), variance=variance), level=1.0, activity=0.1)
    precision = rng.uniform(0.0, 2.0, (4, len(ROWS)))
    precision[0, :3] = 1e-30, 1e-12, 1e3
    (E, log_dets), (expected, expected_dets) = by_either_route(kernel, precision)
    # Either route loses as many digits as the largest eigenvalue of A K has before the point.
    np.testing.assert_allclose(E, expected, rtol=0, atol=1e-11 + 1e-15 * variance)
    assert log_dets == pytest.approx(expected_dets, rel=1e-9)


def test_many_features_are_left_to_factors_of_the_covariance():
    kernel = Walk(Spectrum.of(random_hypergraph(60, 40, seed=2)))
    assert type(LowRankSolver(kernel, ROWS).reduction(kernel)) is Reduction


def test_what_is_no_distribution_is_a_numerical_error():
    E, room = np.empty((2, 1, 2, 2))
    with pytest.raises(NumericalError, match="latents and their sites is singular"):
        Reduction(np.diag([-3.0, 1.0])).into(E, np.ones((1, 2)), room)
