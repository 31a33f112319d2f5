"""``hypergauss info``: what is in a hypergraph or a saved model."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from hypergauss._progress import displayed
from hypergauss.cli import given, idle, inputs
from hypergauss.cli.outputs import say, say_json
from hypergauss.hypergraph import Hypergraph
from hypergauss.spectrum import Spectrum
from hypergauss.spectrum.laplacians import normalised_incidence
from hypergauss.storage.models import load

#: Incidence matrices with a side of at most this are decomposed whole, and of larger ones this many eigenvalues.
_WHOLE, _LEADING = 1500, 12


def info(options: argparse.Namespace) -> None:
    """Describe a hypergraph, or a saved model and its hypergraphs."""
    options = given.of_hypergraph(options)
    if options.model is not None:
        idle.check_model(options)
    with displayed("reading and counting", lines=False):
        model = None if options.model is None else load(options.model)
        content = _of_file(options) if model is None else _of_model(model)
    if options.json:
        say_json(content if model is None else {"hyperparameters": model.hyperparameters_, **content})
        return
    _tell(content)
    if model is not None:
        say(f"what was learned\n{model.summary()}")


def _of_file(options: argparse.Namespace) -> dict[str, Any]:
    read = inputs.memberships(options)
    content: dict[str, Any] = {
        "read": f"{read.understood.what}: {read.understood.meaning}{read.understood.hint}",
        **describe(read.hypergraph),
    }
    ignored = read.hypergraph.attributes.ignored()
    return content | ({"no model looks at": "; ".join(ignored)} if ignored else {})


def _of_model(model: Any) -> dict[str, Any]:
    relations = model.H if isinstance(model.H, dict) else {"hypergraph": model.H}
    content: dict[str, Any] = {"estimator": type(model).__name__}
    return content | {name: describe(part) for name, part in relations.items() if isinstance(part, Hypergraph)}


def describe(H: Hypergraph) -> dict[str, Any]:
    """Return sizes, degrees, components and the ends of the spectrum."""
    degrees = np.diff(H.incidence.indptr)
    sizes = np.diff(H.incidence.tocsc().indptr)
    components = np.bincount(H.connected_components()) if H.num_vertices else np.zeros(0, dtype=int)
    return {
        "vertices": H.num_vertices,
        "hyperedges": H.num_edges,
        "memberships": H.num_incidences,
        "hyperedges of a vertex": _spread(degrees),
        "size of a hyperedge": _spread(sizes),
        "isolated vertices": int((degrees == 0).sum()),
        "empty hyperedges": int((sizes == 0).sum()),
        "singleton hyperedges": int((sizes == 1).sum()),
        "components": len(components),
        "vertices in the largest component": int(components.max(initial=0)),
        "weighted memberships": bool((H.incidence.data != 1.0).any()),
        "weighted hyperedges": bool((H.weights != 1.0).any()),
        "spectrum": _spectrum(H),
    }


def _spread(counts: np.ndarray) -> dict[str, float]:
    if not len(counts):
        return {}
    return {
        "least": int(counts.min()),
        "median": float(np.median(counts)),
        "mean": float(counts.mean()),
        "most": int(counts.max()),
    }


def _spectrum(H: Hypergraph) -> dict[str, Any]:
    """Return the rank and the smallest eigenvalues of Zhou's Laplacian: how well the hypergraph hangs together."""
    if min(H.num_vertices, H.num_edges) <= _WHOLE:
        spectrum = Spectrum.of(H)
        return {
            "rank": spectrum.rank,
            "smallest eigenvalues": spectrum.eigenvalues[:_LEADING].round(6).clip(0).tolist(),
        }
    s = svds(normalised_incidence(H), k=_LEADING, return_singular_vectors=False, random_state=0)
    return {"smallest eigenvalues": np.sort(1 - s**2).round(6).clip(0).tolist()}


def _tell(content: dict[str, Any], indent: str = "") -> None:
    width = max(len(name) for name in content)
    for name, value in content.items():
        if isinstance(value, dict) and all(not isinstance(item, dict | list) for item in value.values()):
            value = ", ".join(f"{key} {_shown(item)}" for key, item in value.items()) or "-"
        if isinstance(value, dict):
            say(f"{indent}{name}")
            _tell(value, indent + "  ")
        else:
            say(f"{indent}{name:<{width}}  {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(_shown(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
