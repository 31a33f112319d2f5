import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF

from hypergauss.kernels import Linear, SquaredExponential


@pytest.mark.parametrize("lengthscale", [0.7, [0.3, 1.0, 4.0]])
def test_squared_exponential_is_scikit_learns(rng, lengthscale):
    X = rng.standard_normal((9, 3))
    assert np.allclose(SquaredExponential(X, lengthscale, variance=1.7).gram(), 1.7 * RBF(lengthscale)(X), atol=1e-13)


@pytest.mark.parametrize("variance", [0.7, [0.3, 1.0, 4.0]])
def test_linear_is_the_covariance_of_a_linear_model(rng, variance):
    X = rng.standard_normal((9, 3))
    assert np.allclose(Linear(X, variance).gram(), X @ np.diag(np.broadcast_to(variance, 3)) @ X.T, atol=1e-13)


def test_squared_exponential_does_not_see_where_zero_is(rng):
    X = rng.standard_normal((9, 3))
    shifted = SquaredExponential(X + 1e6).gram()
    assert np.allclose(shifted, SquaredExponential(X).gram(), atol=1e-8)


@pytest.mark.parametrize("kernel", [SquaredExponential, Linear])
def test_covariates_may_be_one_column_or_sparse(rng, kernel):
    x = rng.standard_normal(5)
    expected = np.asarray(kernel(x[:, None]).gram())
    assert np.array_equal(kernel(x).gram(), expected)
    assert np.array_equal(kernel(sp.csr_array(x[:, None])).gram(), expected)


def test_covariates_are_copied(rng):
    X = rng.standard_normal((5, 2))
    kernel = Linear(X)
    before = np.array(kernel.gram())
    X[:] = 0.0
    assert np.array_equal(kernel.gram(), before)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SquaredExponential([[1.0, np.nan]]), ValueError, "`covariates` must not contain NaN"),
        (lambda: SquaredExponential(np.zeros((3, 0))), ValueError, r"at least one column. Got shape \(3, 0\)"),
        (lambda: Linear(np.zeros((3, 1, 1))), ValueError, "one row a vertex"),
        (lambda: Linear([["red"]]), TypeError, "`covariates` must hold numbers"),
        (lambda: SquaredExponential(np.eye(3), [1.0, 2.0]), ValueError, "each of 3 columns"),
        (lambda: SquaredExponential(np.eye(3), 0.0), ValueError, "`lengthscale` must be one positive number"),
        (lambda: Linear(np.eye(2), -1.0), ValueError, "`variance` must be one positive number"),
        (lambda: Linear(np.eye(2), fixed="lengthscale"), ValueError, "one of 'variance'. Got 'lengthscale'"),
    ],
)
def test_bad_input_is_named_with_its_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()
