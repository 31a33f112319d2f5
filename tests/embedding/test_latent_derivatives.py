import numpy as np
import pytest

from hypergauss.embedding.latent_derivatives import LatentDerivatives
from hypergauss.kernels import Linear, SquaredExponential
from tests.embedding.models import RationalQuadratic


class OwnSquaredExponential(SquaredExponential):
    """The same formula by another name, of which nobody knows the derivatives by hand."""


class OwnLinear(Linear):
    """Likewise."""


class Rough(RationalQuadratic):
    """A formula that loses its derivatives."""

    def cross(self, left, right):
        return super().cross(left.real, right.real)


LEFT = np.random.default_rng(0).standard_normal((4, 3))
RIGHT = np.vstack([np.random.default_rng(1).standard_normal((2, 3)), LEFT[2]])  # the last on one place
SCALES = [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("named", "own"),
    [
        (SquaredExponential(LEFT, SCALES, variance=1.3), OwnSquaredExponential(LEFT, SCALES, variance=1.3)),
        (SquaredExponential(LEFT, 0.7), OwnSquaredExponential(LEFT, 0.7)),
        (Linear(LEFT, SCALES), OwnLinear(LEFT, SCALES)),
        (Linear(LEFT, 0.7), OwnLinear(LEFT, 0.7)),
    ],
)
def test_derivatives_by_hand_are_those_by_complex_numbers(named, own, rng):
    by_hand, by_numbers = LatentDerivatives.of(named), LatentDerivatives.of(own)
    assert type(by_hand) is not type(by_numbers)
    for name in ("first", "second", "across"):
        found, expected = (getattr(one, name)(LEFT, RIGHT) for one in (by_hand, by_numbers))
        assert found.shape == expected.shape
        assert np.allclose(found, expected, atol=1e-9)
    for name in ("variances_first", "variances_second"):
        assert np.allclose(*(getattr(one, name)(LEFT) for one in (by_hand, by_numbers)), atol=1e-9)
    adjoint, covariances = rng.standard_normal((4, 3)), named.cross(LEFT, RIGHT)
    assert np.allclose(*(one.pull_back(LEFT, RIGHT, adjoint, covariances) for one in (by_hand, by_numbers)), atol=1e-12)


def test_complex_numbers_give_the_derivatives_of_a_kernel_of_ones_own():
    kernel = RationalQuadratic(LEFT)
    derivatives = LatentDerivatives.of(kernel)
    derivatives.check(LEFT)
    for q, step in enumerate(1e-5 * np.eye(3)):
        slopes = (kernel.cross(LEFT + step, RIGHT) - kernel.cross(LEFT - step, RIGHT)) / 2e-5
        assert np.allclose(derivatives.first(LEFT, RIGHT)[q], slopes, atol=1e-8)
        left = (derivatives.first(LEFT + step, RIGHT) - derivatives.first(LEFT - step, RIGHT)) / 2e-5
        assert np.allclose(derivatives.second(LEFT, RIGHT)[:, q], left, atol=1e-8)
        right = (derivatives.first(LEFT, RIGHT + step) - derivatives.first(LEFT, RIGHT - step)) / 2e-5
        assert np.allclose(derivatives.across(LEFT, RIGHT)[:, q], right, atol=1e-8)


def test_a_kernel_that_loses_its_derivatives_is_refused():
    with pytest.raises(ValueError, match=r"`cross` takes complex coordinates.* from Rough"):
        LatentDerivatives.of(Rough(LEFT)).check(LEFT)
