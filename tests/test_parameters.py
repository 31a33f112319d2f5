import copy

import numpy as np
import pytest

from hypergauss import Spectrum, formula_checks, parameters
from hypergauss.inference import GaussianModel
from hypergauss.kernels import Bernstein, Linear, Matern
from hypergauss.likelihoods import RobustMax


@pytest.fixture
def model(hypergraph):
    spectrum = Spectrum.of(hypergraph)
    kernel = Matern(spectrum, 2.0, 3.0, fixed="variance") + Bernstein(spectrum, [1.0, 2.0]) * Linear(np.eye(12))
    return GaussianModel(kernel, 0.1, np.array([0.5, -0.5]))


def test_hyperparameters_are_listed_by_name_in_their_own_units(model):
    values = parameters.values(model)
    assert set(values) == {
        "matern.nu",
        "matern.lengthscale",
        "product.bernstein.coefficients",
        "product.bernstein.variance",
        "product.linear.variance",
        "noise_variance",
        "mean",
    }
    assert values["matern.nu"] == 2.0
    assert values["noise_variance"] == pytest.approx(0.1)
    assert values["mean"].tolist() == [0.5, -0.5]


def test_unpacking_what_was_packed_changes_nothing(model):
    again = parameters.unpack(model, parameters.pack(model))
    for name, value in parameters.values(model).items():
        assert np.allclose(parameters.values(again)[name], value, rtol=1e-14)
    assert np.allclose(again.kernel.gram(), model.kernel.gram(), rtol=1e-13)


def test_hyperparameters_may_be_set_as_they_are_shown(model):
    shown = parameters.values(model)
    moved = parameters.unpack(model, parameters.pack(model) + 0.1)
    np.testing.assert_allclose(parameters.pack(parameters.with_shown(moved, shown)), parameters.pack(model))
    only = parameters.values(parameters.with_shown(moved, {"matern.nu": 4.0}))
    for name, value in (parameters.values(moved) | {"matern.nu": 4.0}).items():
        np.testing.assert_allclose(only[name], value)


def test_unpacking_moves_every_free_hyperparameter_and_no_other(model):
    theta = parameters.pack(model)
    moved = parameters.unpack(model, theta + 0.1)
    assert np.allclose(parameters.pack(moved), theta + 0.1)
    assert moved.kernel.terms[0].variance == model.kernel.terms[0].variance


def test_bounds_hold_one_row_for_each_coordinate(model):
    limits = parameters.bounds(model)
    theta = np.asarray(parameters.pack(model))
    assert limits.shape == (len(theta), 2)
    assert (limits[:, 0] <= theta).all()
    assert (theta <= limits[:, 1]).all()


def test_infinite_smoothness_is_shown_as_such(hypergraph):
    kernel = Matern(Spectrum.of(hypergraph), nu=np.inf)
    assert parameters.values(kernel)["nu"] == np.inf


def test_a_model_with_everything_fixed_has_no_coordinates(hypergraph):
    kernel = Matern(Spectrum.of(hypergraph), fixed=("nu", "lengthscale", "variance"))
    assert parameters.pack(kernel).shape == (0,)
    assert parameters.bounds(kernel).shape == (0, 2)
    assert parameters.unpack(kernel, np.zeros(0)) is kernel


class Wave(parameters.Parametrised):
    """One hyperparameter of each kind, and a formula of all."""

    rates = parameters.positive()
    shift = parameters.bounded(-10.0, 10.0)
    inverse = parameters.reciprocal("smoothness", 0.0, 5.0)

    def __init__(self, rates=(0.5, 2.0), shift=0.3, inverse=0.5, fixed=()):
        self.rates, self.shift, self.inverse = rates, shift, inverse
        self.grid = np.linspace(0.0, 2.0, 5)
        self.fixed = self.check_fixed(fixed)

    def formula(self):
        return self.rates[0] * np.exp(self.shift * self.grid), np.sqrt(self.rates[1]) / (1 + self.inverse * self.grid)


def test_objects_are_immutable_and_copies_are_the_object_itself():
    wave = Wave()
    with pytest.raises(AttributeError, match="Wave is immutable: make another one with another `shift`"):
        wave.shift = 1.0
    with pytest.raises(AttributeError, match="immutable"):
        wave.grid = np.zeros(5)
    assert copy.deepcopy(wave) is wave
    moved = parameters.unpack(wave, parameters.pack(wave) + 1.0)
    assert (float(wave.shift), float(moved.shift)) == (0.3, 1.3)
    assert moved.grid is wave.grid  # data are shared


def test_hyperparameters_become_arrays_of_floats():
    assert Wave(shift=1).shift.dtype == np.float64
    assert Wave().rates.shape == (2,)


def test_fixed_names_are_those_that_users_see():
    assert list(parameters.values(Wave(fixed="smoothness"))) == ["rates", "shift"]
    with pytest.raises(ValueError, match=r"`fixed` must be one of 'rates', 'shift', 'smoothness'. Got 'inverse'"):
        Wave(fixed=["inverse"])


def test_tangents_are_exact():
    wave = Wave()
    first, second, shift, inverse = parameters.tangents(wave, Wave.formula)
    grid, nothing = wave.grid, np.zeros(5)
    growth, root = np.exp(0.3 * grid), np.sqrt(2.0)
    expected = [
        (0.5 * growth, nothing),  # in the logarithm of a rate
        (nothing, root / 2 / (1 + 0.5 * grid)),
        (0.5 * grid * growth, nothing),
        (nothing, -root * grid / (1 + 0.5 * grid) ** 2),
    ]
    for found, wanted in zip([first, second, shift, inverse], expected, strict=True):
        assert np.allclose(found, wanted, rtol=1e-14, atol=0.0)


def test_pulling_back_weighs_the_tangents(rng):
    wave = Wave(fixed="shift")
    slopes = tuple(rng.standard_normal((2, 5)))
    found = parameters.tangents(wave, Wave.formula)
    expected = [sum((s * t).sum() for s, t in zip(slopes, tangent, strict=True)) for tangent in found]
    assert np.allclose(parameters.pull_back(wave, Wave.formula, slopes), expected, rtol=1e-14)
    assert len(expected) == 3


def test_gathering_lists_gradients_in_the_order_of_the_coordinates(model):
    parts = len(parameters.pack(model.kernel))
    found = parameters.gather(model, {"kernel": np.arange(parts), "noise_variance": 2.0, "mean": [3.0, 4.0]})
    assert np.allclose(found, [*range(parts), 2.0 * 0.1, 3.0, 4.0])  # of the noise in its logarithm
    assert len(found) == len(parameters.pack(model))


@pytest.mark.parametrize(
    "formula",
    [
        lambda wave: abs(wave.shift * wave.grid),
        lambda wave: np.real(wave.rates[0]) * wave.grid,
        lambda wave: (wave.rates[0] * wave.grid, np.abs(wave.rates[1]) * wave.grid),
    ],
    ids=["abs", "real", "one of two"],
)
def test_a_formula_that_loses_its_derivative_is_refused(formula):
    with pytest.raises(
        ValueError, match=r"`filter` of Wave must be a formula that takes complex numbers.*without `abs`"
    ):
        formula_checks.check_derivatives(Wave(), formula, "filter")


def test_a_formula_of_arithmetic_passes():
    formula_checks.check_derivatives(Wave(), Wave.formula, "formula")


def test_only_formulas_that_users_wrote_are_tried(hypergraph):
    class Counting(Matern):
        tried = 0

        def check_formulas(self):
            type(self).tried += 1

    spectrum = Spectrum.of(hypergraph)
    formula_checks.check_own_formulas(GaussianModel(Matern(spectrum) + Counting(spectrum), 0.1, [0.0]))
    assert Counting.tried == 1


def test_what_was_asked_of_a_model_is_no_part_of_it():
    likelihood = RobustMax(3)
    before = repr(likelihood), parameters.fields(likelihood)
    theta = parameters.pack(likelihood)
    moved = parameters.unpack(likelihood, theta - 1.0)
    assert (repr(likelihood), parameters.fields(likelihood)) == before
    assert np.array_equal(parameters.pack(moved), theta - 1.0)
    assert np.array_equal(parameters.pack(parameters.replace(moved, [likelihood.epsilon])), theta)
