"""Gaussian processes on hypergraphs: calibrated predictions from who took part in what.

Names are imported when first used, so that ``import hypergauss`` itself is immediate.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hypergauss._version import __version__

if TYPE_CHECKING:
    from hypergauss import datasets, inference, kernels, maps, metrics, plotting, spectrum
    from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding
    from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
    from hypergauss.factorisation import KPMF
    from hypergauss.graph import Graph
    from hypergauss.hypergraph import Hypergraph
    from hypergauss.inducing import select_inducing_vertices
    from hypergauss.inference import LogNormal
    from hypergauss.smoothing import smooth_covariates
    from hypergauss.spectrum import Spectrum

__all__ = [
    "KPMF",
    "Graph",
    "Hypergraph",
    "HypergraphGPClassifier",
    "HypergraphGPLVM",
    "HypergraphGPRegressor",
    "LogNormal",
    "SpectralEmbedding",
    "Spectrum",
    "__version__",
    "datasets",
    "inference",
    "kernels",
    "maps",
    "metrics",
    "plotting",
    "select_inducing_vertices",
    "smooth_covariates",
    "spectrum",
]

_HOMES = {
    "KPMF": "factorisation",
    "Graph": "graph",
    "Hypergraph": "hypergraph",
    "HypergraphGPClassifier": "estimators",
    "HypergraphGPLVM": "embedding",
    "HypergraphGPRegressor": "estimators",
    "LogNormal": "inference",
    "SpectralEmbedding": "embedding",
    "Spectrum": "spectrum",
    "select_inducing_vertices": "inducing",
    "smooth_covariates": "smoothing",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"hypergauss.{_HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"hypergauss.{name}")
    raise AttributeError(f"module 'hypergauss' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
