"""Gaussian processes on hypergraphs: calibrated predictions from who took part in what.

Names are imported when first used, so that ``import hypergauss`` itself is immediate.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hypergauss._version import __version__

if TYPE_CHECKING:
    from hypergauss import (
        datasets,
        inference,
        io,
        kernels,
        likelihoods,
        metrics,
        operators,
        plotting,
        solvers,
        spectrum,
    )
    from hypergauss.analysis import assess, centrality, smooth_covariates, suggest_vertices
    from hypergauss.embedding import HypergraphGPLVM, SpectralEmbedding
    from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor
    from hypergauss.factorisation import KPMF
    from hypergauss.hypergraph import Graph, Hypergraph
    from hypergauss.inference import select_inducing_vertices
    from hypergauss.interop import to_gpjax, to_gpytorch, to_sklearn
    from hypergauss.io import (
        from_hyperedge_index,
        from_hypernetx,
        from_networkx,
        from_xgi,
        read_hif,
        read_lists,
        read_table,
        to_hyperedge_index,
        to_hypernetx,
        to_networkx,
        to_xgi,
        write_hif,
        write_table,
    )
    from hypergauss.learning import LogNormal
    from hypergauss.plotting import drawing, maps
    from hypergauss.report import write_report
    from hypergauss.solvers import Iterative, Markov
    from hypergauss.spectrum import Spectrum
    from hypergauss.storage import load, save

#: Where each name lives; a name that is a module of its own lives in itself.
_HOMES = {
    "KPMF": "factorisation",
    "Graph": "hypergraph",
    "Hypergraph": "hypergraph",
    "HypergraphGPClassifier": "estimators",
    "HypergraphGPLVM": "embedding",
    "HypergraphGPRegressor": "estimators",
    "Iterative": "solvers",
    "Markov": "solvers",
    "LogNormal": "learning",
    "SpectralEmbedding": "embedding",
    "Spectrum": "spectrum",
    "assess": "analysis",
    "centrality": "analysis",
    "datasets": "",
    "drawing": "plotting",
    "from_hyperedge_index": "io",
    "from_hypernetx": "io",
    "from_networkx": "io",
    "from_xgi": "io",
    "inference": "",
    "io": "",
    "kernels": "",
    "likelihoods": "",
    "load": "storage",
    "maps": "plotting",
    "metrics": "",
    "operators": "",
    "plotting": "",
    "read_hif": "io",
    "read_lists": "io",
    "read_table": "io",
    "save": "storage",
    "select_inducing_vertices": "inference",
    "smooth_covariates": "analysis",
    "solvers": "",
    "spectrum": "",
    "suggest_vertices": "analysis",
    "to_gpjax": "interop",
    "to_gpytorch": "interop",
    "to_hyperedge_index": "io",
    "to_hypernetx": "io",
    "to_networkx": "io",
    "to_sklearn": "interop",
    "to_xgi": "io",
    "write_hif": "io",
    "write_report": "report",
    "write_table": "io",
}

__all__ = [
    "KPMF",
    "Graph",
    "Hypergraph",
    "HypergraphGPClassifier",
    "HypergraphGPLVM",
    "HypergraphGPRegressor",
    "Iterative",
    "LogNormal",
    "Markov",
    "SpectralEmbedding",
    "Spectrum",
    "__version__",
    "assess",
    "centrality",
    "datasets",
    "drawing",
    "from_hyperedge_index",
    "from_hypernetx",
    "from_networkx",
    "from_xgi",
    "inference",
    "io",
    "kernels",
    "likelihoods",
    "load",
    "maps",
    "metrics",
    "operators",
    "plotting",
    "read_hif",
    "read_lists",
    "read_table",
    "save",
    "select_inducing_vertices",
    "smooth_covariates",
    "solvers",
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


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hypergauss' has no attribute {name!r}")
    return getattr(import_module(f"hypergauss.{home}"), name) if home else import_module(f"hypergauss.{name}")


def __dir__() -> list[str]:
    return __all__
