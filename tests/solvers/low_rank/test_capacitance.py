"""The r x r system behind low-rank covariances, by either factorisation, against the plain formulas."""

import numpy as np
import pytest

from hypergauss.exceptions import NumericalError
from hypergauss.solvers.low_rank.capacitance import _ByCholesky, _ByLU, capacitance

POSITIVE, MIXED = [0.5, 2.0, 0.0, 1.0], [0.5, -0.02, 0.0, -0.1]


@pytest.fixture
def system(rng):
    F = rng.standard_normal((7, 4))
    return F, F.T @ F / 2, rng.standard_normal((4, 2))


@pytest.mark.parametrize("w", [POSITIVE, MIXED])
def test_the_capacitance_is_woodburys(system, w):
    F, G, b = system
    found = capacitance(G, np.array(w))
    assert isinstance(found, _ByCholesky if min(w) >= 0 else _ByLU)
    plain = np.eye(4) + G @ np.diag(w)
    C = np.diag(w) @ np.linalg.inv(plain)
    assert found.log_det == pytest.approx(np.linalg.slogdet(plain)[1], rel=1e-12)
    x = found.times(b)
    np.testing.assert_allclose(x, C @ b, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.matrix(), C, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.residual(b, x), np.linalg.solve(plain, b), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.reduced_diagonal(), np.diag(G - G @ C @ G), rtol=1e-10, atol=1e-12)
    FC, diagonal = found.spread(F)
    np.testing.assert_allclose(FC, F @ C, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(F @ C @ F.T), rtol=1e-10, atol=1e-12)


def test_the_cholesky_route_agrees_with_the_lu_route():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(9, 6))
    G, b, w = F.T @ F, rng.normal(size=(6, 2)), rng.uniform(0, 3, 6)
    ours, theirs = capacitance(G, w), _ByLU(G, w)
    assert isinstance(ours, _ByCholesky)
    assert ours.log_det == pytest.approx(theirs.log_det, rel=1e-12)
    np.testing.assert_allclose(ours.times(b), theirs.times(b), rtol=1e-9, atol=1e-12)
    x = ours.times(b)
    np.testing.assert_allclose(ours.residual(b, x), theirs.residual(b, x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.reduced_diagonal(), theirs.reduced_diagonal(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_what_features_still_say_has_its_digits_whatever_their_weights(scale):
    rng = np.random.default_rng(1)
    F = rng.normal(size=(40, 12))
    G, w = F.T @ F / 40, scale * np.exp(-rng.uniform(0, 16, 12))
    expected = np.diag(np.linalg.solve(np.eye(12) + G * w, G))
    np.testing.assert_allclose(_ByCholesky(G, np.sqrt(w)).reduced_diagonal(), expected, rtol=1e-11)


def test_a_weight_that_rounding_takes_below_zero_does_no_harm():
    # A singular value of 1e-9 has eigenvalue 1 in floating point: its weight is zero, or a rounding error either way.
    wanted = capacitance(np.eye(3), np.array([2.0, 1.0, 0.0]))
    found = capacitance(np.eye(3), np.array([2.0, 1.0, -1e-18]))
    assert isinstance(found, _ByCholesky)
    assert found.log_det == pytest.approx(wanted.log_det, rel=1e-12)
    assert np.allclose(found.matrix(), wanted.matrix())


def test_huge_weights_and_a_distant_target_do_not_make_up_evidence():
    # y lies along the feature of largest weight: y'y / d and the quadratic form are 1e14 and all but cancel.
    rng = np.random.default_rng(0)
    F, _ = np.linalg.qr(rng.normal(size=(60, 5)))
    y, d = 600.0 * F[:, :1] + 1e-3 * rng.normal(size=(60, 1)), 1e-7
    w = np.array([1e7, 1e3, 1.0, 1e-3, 1e-6]) / d
    b = F.T @ y
    quadratic = (b * capacitance(F.T @ F, w).times(b)).sum()
    left = ((y**2).sum() - quadratic) / d
    exact = ((y - F @ b) ** 2).sum() / d + (b[:, 0] ** 2 / (d * (1 + w))).sum()
    assert abs(left - exact) < 1.0


@pytest.mark.parametrize("w", [[-2.0, 0.5], [np.nan, 1.0]])
def test_what_is_no_distribution_is_a_numerical_error(w):
    with pytest.raises(NumericalError, match="2 features is singular or not finite"):
        capacitance(np.eye(2), np.array(w))
