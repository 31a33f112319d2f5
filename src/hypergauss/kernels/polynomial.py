"""A kernel's filter as a polynomial of the Laplacian: what stands for it where there are no eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hypergauss.spectrum import chebyshev

if TYPE_CHECKING:
    from hypergauss.kernels.spectral import SpectralKernel


def filter_expansion(kernel: SpectralKernel, tolerance: float, *, root: bool = False) -> chebyshev.Expansion:
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
        values = kernel.filter(eigenvalues)
        return np.sqrt(np.maximum(values, 0.0)) if root else values

    return chebyshev.expand(phi, kernel.spectrum.upper, tolerance, bound if is_known else None)  # type: ignore[arg-type]
