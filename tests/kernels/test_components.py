"""Kernels of many features: against dense formulas, sparse or not, few or many columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from hypergauss.kernels import Components
from hypergauss.kernels.components import principal_components, unit_rows


def words(rng, rows=40, columns=25):
    found = sp.random_array((rows, columns), density=0.2, rng=rng, format="csr")
    return sp.csr_array(
        found + sp.coo_array((np.ones(rows), (np.arange(rows), np.arange(rows) % columns)), found.shape)
    )


def dense_gram(X, steps, variance):
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    Z = Z - Z.mean(axis=0)
    eigenvalues, U = np.linalg.eigh(Z @ Z.T)
    K = (U * np.maximum(eigenvalues, 0.0) ** steps) @ U.T
    return variance * K / np.diagonal(K).mean()


@pytest.mark.parametrize("steps", [1.0, 1.7, 3.0])
def test_it_is_a_power_of_the_covariance_of_a_linear_model_with_unit_rows(rng, steps):
    X = words(rng)
    found = Components.of(X, steps=steps, variance=1.3).gram()
    assert np.allclose(found, dense_gram(X.toarray(), steps, 1.3), atol=1e-10)


def test_sparse_features_are_as_good_as_dense_ones(rng):
    X = words(rng)
    assert np.allclose(Components.of(X).gram(), Components.of(X.toarray()).gram(), atol=1e-12)


def test_components_of_very_many_columns_are_found_by_products_alone(rng):
    X = sp.csr_array(words(rng, 60, 30) @ sp.random_array((30, 2500), density=0.01, rng=rng, format="csr"))
    U, squares = principal_components(unit_rows(X), 12)
    Z = unit_rows(X.toarray())
    V, s, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    assert np.allclose(squares, s[:12] ** 2, rtol=1e-6)
    assert np.allclose((U * squares) @ U.T, (V[:, :12] * s[:12] ** 2) @ V[:, :12].T, atol=1e-5)


def test_the_mean_prior_variance_is_the_variance_for_any_number_of_steps(rng):
    X = words(rng)
    for steps in (0.5, 1.0, 4.0):
        kernel = Components.of(X, steps=steps, variance=0.7)
        assert np.diagonal(kernel.gram()).mean() == pytest.approx(0.7)
        assert kernel.mean_variance() == pytest.approx(0.7)


def test_a_vertex_without_features_is_the_mean_vertex_turned_round():
    kernel = Components.of(sp.csr_array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    assert np.isfinite(kernel.gram()).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Components.of(np.ones((4, 3))), "must tell vertices apart. Got rows that are all alike"),
        (lambda: Components(np.eye(3), np.ones(2)), r"one for each column.*\(2,\) and \(3, 3\)"),
        (lambda: Components(np.eye(3), np.zeros(3)), "`squares` must be positive"),
        (lambda: Components(np.eye(3), np.ones(3), fixed="lengthscale"), "one of 'steps', 'variance'"),
    ],
)
def test_bad_input_is_named_with_its_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()
