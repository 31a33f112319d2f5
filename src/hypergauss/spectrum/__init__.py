"""From a hypergraph or graph to the eigenvalues and eigenvectors that kernels filter."""

from hypergauss.spectrum.cache import cached_spectrum
from hypergauss.spectrum.density import SpectralDensity
from hypergauss.spectrum.eigen import EigenSpectrum
from hypergauss.spectrum.factored import FactoredLaplacian
from hypergauss.spectrum.laplacians import (
    GraphLaplacian,
    Laplacian,
    ZhouLaplacian,
    graph_laplacian,
    normalised_incidence,
    normalised_rows,
    zhou_laplacian,
)
from hypergauss.spectrum.local_density import LocalDensity
from hypergauss.spectrum.matrix_free import MatrixFreeSpectrum
from hypergauss.spectrum.spectrum import LAPLACIANS, Spectrum

__all__ = [
    "LAPLACIANS",
    "EigenSpectrum",
    "FactoredLaplacian",
    "GraphLaplacian",
    "Laplacian",
    "LocalDensity",
    "MatrixFreeSpectrum",
    "SpectralDensity",
    "Spectrum",
    "ZhouLaplacian",
    "cached_spectrum",
    "graph_laplacian",
    "normalised_incidence",
    "normalised_rows",
    "zhou_laplacian",
]
