"""Cholesky's factorisation of a covariance, and the inverse that it gives."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from hypergauss.exceptions import NumericalError


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the lower factor of a covariance, or say why there is none."""
    factor, info = dpotrf(matrix, lower=1, clean=1)
    if info != 0:
        raise NumericalError(
            f"The covariance of the {len(matrix)} observations is not positive definite. Likely causes: a "
            "noise variance too small for the kernel's variance, or a product of kernels that is nearly singular."
        )
    return factor


def inverse_of_factor(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix from its lower factor."""
    return symmetric(lower_inverse(factor))


def lower_inverse(factor: np.ndarray) -> np.ndarray:
    """Return the lower triangle of a matrix's inverse from its lower factor, zeros above."""
    return dpotri(factor, lower=1)[0]  # leaves alone what is above, where the factor has zeros


def symmetric(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix that has a given lower triangle."""
    matrix = lower + lower.T
    matrix.flat[:: len(matrix) + 1] /= 2
    return matrix
