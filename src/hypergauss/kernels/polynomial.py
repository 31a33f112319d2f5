"""A kernel's filter as a polynomial of the Laplacian: what stands for it where there are no eigenvectors."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hypergauss.spectrum import chebyshev


def filter_expansion(kernel: Any, tolerance: float, *, root: bool = False) -> chebyshev.Expansion:
    """Return the expansion of a spectral kernel's filter, or of its square root, on all eigenvalues there may be.

    Parameters
    ----------
    kernel : SpectralKernel
        At the hyperparameters wanted.
    tolerance : float
        Error relative to the largest value.
    root : bool
        Whether of the square root, for prior draws.
    """
    bound = kernel.root_ellipse_bound if root else kernel.ellipse_bound
    is_known = bound(np.array([-1e-12])) is not None

    def phi(eigenvalues: np.ndarray) -> np.ndarray:
        values = np.asarray(_filter(kernel, eigenvalues))
        return np.sqrt(np.maximum(values, 0.0)) if root else values

    return chebyshev.expand(phi, kernel.spectrum.upper, tolerance, bound if is_known else None)


def _filter(kernel: Any, eigenvalues: np.ndarray) -> Array:
    """Evaluate a filter on as many eigenvalues as a power of two holds, so that few shapes are compiled."""
    length = 1 << max(len(eigenvalues) - 1, 0).bit_length()
    padded = np.concatenate([eigenvalues, np.zeros(length - len(eigenvalues))])
    return _filter_compiled(kernel, jnp.asarray(padded))[: len(eigenvalues)]


@eqx.filter_jit
def _filter_compiled(kernel: Any, eigenvalues: Array) -> Array:
    return kernel.filter(eigenvalues)
