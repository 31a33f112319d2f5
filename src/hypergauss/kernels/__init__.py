"""Covariances between vertices: filters of the hypergraph's spectrum, covariates, and their combinations."""

from hypergauss.kernels.base import Kernel
from hypergauss.kernels.components import Components
from hypergauss.kernels.composition import Product, Sum
from hypergauss.kernels.covariates import Linear, SquaredExponential
from hypergauss.kernels.filters import Bernstein, Diffusion, Matern, ShapedWalk, Walk
from hypergauss.kernels.relations import relations
from hypergauss.kernels.spectral import SpectralKernel
from hypergauss.kernels.standardised import Standardised
from hypergauss.kernels.unit_rows import UnitRows

__all__ = [
    "Bernstein",
    "Components",
    "Diffusion",
    "Kernel",
    "Linear",
    "Matern",
    "Product",
    "ShapedWalk",
    "SpectralKernel",
    "SquaredExponential",
    "Standardised",
    "Sum",
    "UnitRows",
    "Walk",
    "relations",
]
