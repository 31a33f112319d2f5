"""Gaussian processes on hypergraphs: calibrated predictions from who took part in what.

Names are imported when first used, so that ``import hypergauss`` itself is immediate.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hypergauss._version import __version__

if TYPE_CHECKING:
    from hypergauss import datasets, drawing, inference, io, kernels, maps, metrics, operators, plotting, spectrum
    from hypergauss.assessment import assess
    from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding
    from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
    from hypergauss.factorisation import KPMF
    from hypergauss.graph import Graph
    from hypergauss.hypergraph import Hypergraph
    from hypergauss.inducing import select_inducing_vertices
    from hypergauss.inference import Iterative, LogNormal
    from hypergauss.io import (
        from_hyperedge_index,
        from_hypernetx,
        from_networkx,
        from_xgi,
        read_hif,
        read_table,
        to_hyperedge_index,
        to_hypernetx,
        to_networkx,
        to_xgi,
        write_hif,
        write_table,
    )
    from hypergauss.neighbours import to_gpjax, to_gpytorch, to_sklearn
    from hypergauss.report import write_report
    from hypergauss.saving import load, save
    from hypergauss.smoothing import smooth_covariates
    from hypergauss.spectrum import Spectrum
    from hypergauss.suggestions import suggest_vertices

__all__ = [
    "KPMF",
    "Graph",
    "Hypergraph",
    "HypergraphGPClassifier",
    "HypergraphGPLVM",
    "HypergraphGPRegressor",
    "Iterative",
    "LogNormal",
    "SpectralEmbedding",
    "Spectrum",
    "__version__",
    "assess",
    "datasets",
    "drawing",
    "from_hyperedge_index",
    "from_hypernetx",
    "from_networkx",
    "from_xgi",
    "inference",
    "io",
    "kernels",
    "load",
    "maps",
    "metrics",
    "operators",
    "plotting",
    "read_hif",
    "read_table",
    "save",
    "select_inducing_vertices",
    "smooth_covariates",
    "spectrum",
    "suggest_vertices",
    "to_gpjax",
    "to_gpytorch",
    "to_hyperedge_index",
    "to_hypernetx",
    "to_networkx",
    "to_sklearn",
    "to_xgi",
    "write_hif",
    "write_report",
    "write_table",
]

_HOMES = {
    "KPMF": "factorisation",
    "Graph": "graph",
    "Hypergraph": "hypergraph",
    "HypergraphGPClassifier": "estimators",
    "HypergraphGPLVM": "embedding",
    "HypergraphGPRegressor": "estimators",
    "Iterative": "inference",
    "LogNormal": "inference",
    "SpectralEmbedding": "embedding",
    "Spectrum": "spectrum",
    "assess": "assessment",
    "load": "saving",
    "to_gpjax": "neighbours",
    "to_gpytorch": "neighbours",
    "to_sklearn": "neighbours",
    "save": "saving",
    "select_inducing_vertices": "inducing",
    "smooth_covariates": "smoothing",
    "suggest_vertices": "suggestions",
    "write_report": "report",
    "from_hyperedge_index": "io",
    "from_hypernetx": "io",
    "from_networkx": "io",
    "from_xgi": "io",
    "read_hif": "io",
    "read_table": "io",
    "to_hyperedge_index": "io",
    "to_hypernetx": "io",
    "to_networkx": "io",
    "to_xgi": "io",
    "write_hif": "io",
    "write_table": "io",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"hypergauss.{_HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"hypergauss.{name}")
    raise AttributeError(f"module 'hypergauss' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
