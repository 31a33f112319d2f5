"""The precision of the field, and noise that has it for its covariance."""

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.kernels import Diffusion, Linear, Matern
from hypergauss.operators import LocalLaplacian
from hypergauss.solvers.markov.field import Field, check_kernel, log_numbers
from hypergauss.solvers.markov.noise import FieldNoise
from tests.solvers.markov.problems import decomposed, hypergraph

SIZE = 120
EXACT = decomposed(SIZE)[1]
whole = pytest.mark.parametrize("nu", [1, 2, 3])


def kernel(nu, **options):
    return Matern(EXACT, nu, 2.5, variance=0.7, **options)


@whole
@pytest.mark.parametrize("normalise", [True, False])
def test_the_precision_is_the_inverse_of_the_covariance(nu, normalise):
    own = kernel(nu, normalise=normalise)
    operator = EXACT.source.multiplier()
    Q = operator.leave(Field.of(own).product(operator, operator.enter(np.eye(SIZE))))
    assert np.allclose(Q @ own.gram(), np.eye(SIZE), atol=1e-8)


@whole
def test_derivatives_of_the_precision_are_those_of_finite_differences(nu):
    operator = EXACT.source.multiplier()
    field, step = Field.of(kernel(nu)), 1e-6

    def at(c):
        return field._replace(c=c).product(operator, operator.enter(np.eye(SIZE)))

    numeric = (at(field.c * np.exp(step)) - at(field.c * np.exp(-step))) / (2 * step)
    analytic = field.in_log_c(operator, operator.enter(np.eye(SIZE)))
    assert np.allclose(analytic, numeric, atol=1e-6 * np.abs(numeric).max())


@whole
def test_its_log_determinant_and_slope_are_the_dense_ones(nu):
    own, step = kernel(nu), 1e-6
    field = Field.of(own)
    assert field.log_det()[0] == pytest.approx(-np.linalg.slogdet(own.gram())[1], abs=1e-6)
    up, down = (field._replace(c=field.c * np.exp(sign * step)).log_det()[0] for sign in (1, -1))
    assert field.log_det_in_log_c() == pytest.approx((up - down) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("nu", [1, 2, 3, 4])
def test_noise_has_the_precision_for_its_covariance_within_monte_carlo_error(nu):
    size = 10_000
    operator = EXACT.source.multiplier()
    field = Field.of(kernel(nu))
    Q = operator.leave(field.product(operator, operator.enter(np.eye(SIZE))))
    draws = FieldNoise(operator).draw(field, size, np.random.default_rng(1))
    error = (draws @ draws.T / size - Q) / np.sqrt((Q**2 + np.outer(np.diag(Q), np.diag(Q))) / size)
    # Standard normal errors: none of 14,400 is beyond 5.5, and their mean square is 1.
    assert np.abs(error).max() < 5.5
    assert (error**2).mean() == pytest.approx(1.0, abs=0.1)


def test_noise_of_the_incidences_has_the_laplacian_for_its_covariance_exactly():
    """One pass over the incidences is a linear map of white noise: its square is Delta."""

    class Units:
        """White noise that is one at one place, and zero elsewhere."""

        def __init__(self, column):
            self.ahead = column

        def standard_normal(self, shape):
            count = int(np.prod(shape))
            found = np.zeros(count)
            if 0 <= self.ahead < count:
                found[self.ahead] = 1.0
            self.ahead -= count
            return found.reshape(shape)

    operator = EXACT.source.multiplier()
    assert isinstance(operator, LocalLaplacian)
    total = operator.num_incidences + SIZE
    images = []
    for column in range(total):
        images.append(FieldNoise(operator)._of_incidences(operator, operator.null, 1, Units(column))[:, 0])
    root = operator.leave(np.array(images).T)
    assert np.allclose(root @ root.T, EXACT.laplacian(), atol=1e-12)


@pytest.mark.parametrize("nu", [1, 2, 3])
@pytest.mark.parametrize("signs", [False, True])
def test_noise_of_normal_numbers_and_of_signs_has_the_precision_for_its_covariance(nu, signs):
    operator = EXACT.source.multiplier()
    field, count = Field.of(Matern(EXACT, nu, 2.0)), 5_000
    draws = FieldNoise(operator).draw(field, count, np.random.default_rng(3), signs=signs)
    Q = operator.leave(field.product(operator, operator.enter(np.eye(SIZE))))
    off = (draws @ draws.T / count - Q) / np.sqrt((Q**2 + np.outer(np.diag(Q), np.diag(Q))) / count)
    assert np.abs(off).max() < 5.0  # of 1,830 numbers
    if signs:  # whose squares vary less
        assert (off.diagonal() ** 2).mean() < 0.9


def test_without_incidences_noise_is_as_good():
    """A graph's Laplacian has no hyperedges: a polynomial stands for the root of c + Delta."""
    graph = hypergraph(60).clique_expansion()
    spectrum = Spectrum.of(graph)
    operator, own = spectrum.source.multiplier(), Matern(spectrum, 1, 2.0)
    field = Field.of(own)

    class White:
        def standard_normal(self, shape):
            return np.eye(60)[:, : shape[1]]

    root = FieldNoise(operator).draw(field, 60, White())
    assert np.allclose(root @ root.T @ own.gram(), np.eye(60), atol=1e-7)


@whole
def test_its_numbers_have_the_derivatives_of_finite_differences(nu):
    own = kernel(nu, fixed=("nu",))
    theta = parameters.pack(own)
    tangents = np.array(parameters.tangents(own, log_numbers))
    for row, unit in zip(tangents, np.eye(len(theta)), strict=True):
        up, down = (log_numbers(parameters.unpack(own, theta + sign * 1e-6 * unit)) for sign in (1, -1))
        assert np.allclose(row, (up - down) / 2e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (Matern(EXACT, 1.5), "whole nu. Got nu = 1.5"),
        (Matern(EXACT, np.inf), "Got nu = inf"),
        (Diffusion(EXACT), "Got Diffusion"),
        (Matern(EXACT, 2) + Linear(np.ones((SIZE, 1))), "Got Sum"),
        (Matern(EXACT, 2), "whose nu is free"),
    ],
)
def test_a_kernel_that_is_no_field_is_refused_with_a_way_out(own, message):
    with pytest.raises(ValueError, match=message):
        check_kernel(own, learns=True)
