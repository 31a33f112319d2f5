"""``hypergauss info`` and ``hypergauss datasets``: what is there."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.linalg import svds

from hypergauss import _checks
from hypergauss import datasets as data
from hypergauss.cli import idle, inputs
from hypergauss.cli.outputs import results_folder, say, say_json, write_csv
from hypergauss.cli.status import progress
from hypergauss.hypergraph import Hypergraph
from hypergauss.spectrum import Spectrum
from hypergauss.spectrum.laplacians import normalised_incidence
from hypergauss.storage.models import load

#: Incidence matrices with a side of at most this are decomposed whole, and of larger ones this many eigenvalues.
_WHOLE, _LEADING = 1500, 12

_LOADERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "zoo": ("101 animals by their traits; the target is the type", data.load_zoo),
    "house-votes": ("435 members of the US House by their votes; the target is the party", data.load_house_votes),
    "automobiles": ("205 cars by their categories; the target is the price", data.load_automobiles),
    "peru-congress": ("120 legislators by the bills they signed (needs HYPERGAUSS_DATA)", data.fetch_peru_congress),
    "cora": ("2,708 papers by their authors (needs HYPERGAUSS_DATA)", data.fetch_cora_coauthorship),
}


def info(options: argparse.Namespace) -> None:
    """Describe a hypergraph, or a saved model and its hypergraphs."""
    if options.model is not None:
        idle.check_model(options)
    with progress("reading and counting"):
        model = None if options.model is None else load(options.model)
        content = describe(inputs.hypergraph(options)) if model is None else _of_model(model)
    if options.json:
        say_json(content if model is None else {"hyperparameters": model.hyperparameters_, **content})
        return
    _tell(content)
    if model is not None:
        say(f"what was learned\n{model.summary()}")


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


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_shown(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def datasets(options: argparse.Namespace) -> None:
    """List the data sets, or write one as the tables that `hypergauss fit` takes."""
    if options.name is None:
        idle.refuse(options, ["out", "overwrite"], "goes with the name of a data set to write. Name one.")
        if options.json:
            say_json({name: text for name, (text, _) in _LOADERS.items()})
        for name, (text, _) in _LOADERS.items() if not options.json else ():
            say(f"{name:<14} {text}")
        return
    if options.name not in _LOADERS:
        near = _checks.did_you_mean(options.name, list(_LOADERS))
        raise ValueError(f"There is no data set {options.name!r}.{near} There are {', '.join(_LOADERS)}.")
    found = _LOADERS[options.name][1]()
    folder = options.out or Path(options.name)
    with results_folder(folder, ["edges.csv", "labels.csv"], overwrite=options.overwrite):
        H = found.hypergraph
        matrix = H.incidence.tocoo()
        edges = [" = ".join(map(str, e)) if isinstance(e, tuple) else str(e) for e in H.edges]
        table = pd.DataFrame(
            {"vertex": H.vertices[matrix.row].astype(str), "edge": np.asarray(edges, dtype=object)[matrix.col]}
        )
        labels = found.target.dropna()
        write_csv(table, folder / "edges.csv", overwrite=options.overwrite)
        write_csv(
            pd.DataFrame({"vertex": labels.index.astype(str), str(labels.name): labels.to_numpy()}),
            folder / "labels.csv",
            overwrite=options.overwrite,
        )
    if options.json:
        say_json({"edges": str(folder / "edges.csv"), "labels": str(folder / "labels.csv")})
    else:
        say(f"{found.description}\nWritten to {folder / 'edges.csv'} and {folder / 'labels.csv'}")
