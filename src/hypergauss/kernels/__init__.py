"""Covariances between vertices: filters of the hypergraph's spectrum, covariates, and their combinations."""

from hypergauss.kernels.base import Kernel
from hypergauss.kernels.composition import Product, Sum
from hypergauss.kernels.covariates import Linear, SquaredExponential
from hypergauss.kernels.filters import Bernstein, Diffusion, Matern
from hypergauss.kernels.relations import relations
from hypergauss.kernels.spectral import SpectralKernel

__all__ = [
    "Bernstein",
    "Diffusion",
    "Kernel",
    "Linear",
    "Matern",
    "Product",
    "SpectralKernel",
    "SquaredExponential",
    "Sum",
    "relations",
]
