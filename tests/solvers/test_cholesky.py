import numpy as np
import pytest

from hypergauss.exceptions import NumericalError
from hypergauss.solvers.cholesky import cholesky, inverse_of_factor


def test_the_factor_is_lower_and_gives_the_inverse(rng):
    half = rng.standard_normal((6, 6))
    matrix = half @ half.T + np.eye(6)
    factor = cholesky(matrix)
    assert np.array_equal(factor, np.tril(factor))
    assert np.allclose(factor @ factor.T, matrix, atol=1e-12)
    inverse = inverse_of_factor(factor)
    assert np.array_equal(inverse, inverse.T)
    assert np.allclose(inverse @ matrix, np.eye(6), atol=1e-10)


def test_what_is_no_covariance_is_explained():
    with pytest.raises(NumericalError, match="the 3 observations is not positive definite"):
        cholesky(-np.eye(3))
