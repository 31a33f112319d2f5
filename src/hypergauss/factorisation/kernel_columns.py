"""Columns of the paper's model: kernels on all vertices, or on a few inducing ones (section 3.1)."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hypergauss.factorisation.columns import Basis, Columns, FeatureColumns, SpectralColumns
from hypergauss.kernels import SpectralKernel

#: Added to the diagonal of K_ZZ, as a share of its mean.
_JITTER = 1e-9


def full_columns(kernel: SpectralKernel, num_columns: int, dtype: DTypeLike) -> Columns:
    """Return columns with the kernel's covariance on all vertices."""
    density, spectrum = kernel.density(), kernel.eigenspectrum
    known, rest = density.scale * density.known, float(density.scale * density.background)
    ones = np.ones(num_columns)
    nothing = sp.csr_array((spectrum.num_vertices, 0), dtype=dtype)
    vectors = np.asarray(spectrum.vertex_vectors, dtype)
    basis = Basis(vectors, nothing)
    return SpectralColumns(basis, ones, known[:, None] * ones, rest * ones, np.zeros((0, num_columns)))


def sparse_columns(kernel: SpectralKernel, inducing: np.ndarray, num_columns: int, dtype: DTypeLike) -> Columns:
    r"""Return columns that the values at inducing vertices Z determine, f = K_NZ K_ZZ^-1 f_Z.

    In whitened coordinates y, f_Z = L y with K_ZZ = L L', the features are K_NZ L'^-1.
    """
    return FeatureColumns(inducing_features(kernel, inducing).astype(dtype), num_columns)


def inducing_features(kernel: SpectralKernel, inducing: np.ndarray) -> np.ndarray:
    """Return K_NZ L'^-1, shape (N, m)."""
    across = kernel.gram(None, inducing)
    own = across[inducing]
    root = np.linalg.cholesky(own + _JITTER * own.diagonal().mean() * np.eye(len(own)))
    return scipy.linalg.solve_triangular(root, across.T, lower=True).T
