import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.inference import GaussianModel
from hypergauss.kernels import Bernstein, Linear, Matern


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
