"""Kernels by angles between features: against the squared exponential of unit rows, sparse or not."""

import numpy as np
import pytest
import scipy.sparse as sp

from hypergauss.kernels import SquaredExponential, UnitRows


def words(rng, rows=30, columns=20):
    return sp.csr_array((rng.random((rows, columns)) < 0.3) * rng.random((rows, columns)))


def test_it_is_the_squared_exponential_kernel_of_rows_of_unit_length(rng):
    X = words(rng).toarray()
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = SquaredExponential(Z, 0.7, variance=1.3).gram()
    assert np.allclose(UnitRows(X, 0.7, variance=1.3).gram(), expected, atol=1e-12)


def test_sparse_features_stay_sparse_and_say_the_same(rng):
    X = words(rng)
    sparse, dense = UnitRows(X, 0.6), UnitRows(X.toarray(), 0.6)
    assert sp.issparse(sparse.rows)
    assert np.allclose(sparse.gram(), dense.gram(), atol=1e-12)
    assert np.allclose(sparse.gram([3, 4, 5], [9, 1]), dense.gram()[3:6][:, [9, 1]], atol=1e-12)


def test_the_length_of_a_row_says_nothing(rng):
    X = words(rng).toarray()
    longer = X * np.linspace(0.1, 10, len(X))[:, None]
    assert np.allclose(UnitRows(longer).gram(), UnitRows(X).gram(), atol=1e-12)


def test_its_lengthscale_is_an_angle_in_radians():
    turn = 0.01
    rows = [[1.0, 0.0], [np.cos(turn), np.sin(turn)]]
    assert UnitRows(rows, 0.02).gram()[0, 1] == pytest.approx(np.exp(-(turn**2) / (2 * 0.02**2)), rel=1e-4)


def test_a_vertex_without_features_is_as_far_from_all_that_have_some():
    kernel = UnitRows(sp.csr_array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    assert np.allclose(kernel.gram()[2], [np.exp(-0.5), np.exp(-0.5), 1.0])


def test_distances_are_found_once_for_all_hyperparameters(rng):
    X = words(rng)
    inputs = UnitRows(X).inputs(np.arange(30))
    first = inputs.half_squares(inputs)
    UnitRows(X, 3.0).cross(inputs, inputs)
    assert inputs.half_squares(inputs) is first


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(4), "one row a vertex and at least one column. Got shape"),
        ([[1.0, np.nan]], "Fill in missing features first"),
        (sp.csr_array([[1.0, np.inf]]), "features"),
    ],
)
def test_bad_features_are_named_with_their_rule(given, message):
    with pytest.raises(ValueError, match=message):
        UnitRows(given)
