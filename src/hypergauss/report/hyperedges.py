"""What hyperedges tell: of each vertex those that speak most, of each hyperedge its members and for whom it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.estimators import HypergraphGPRegressor, VertexModel
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.edge_names import edge_names
from hypergauss.hypergraph.names import Name
from hypergauss.inference.mixtures import components
from hypergauss.report.numbers import rounded
from hypergauss.solvers.contributions import EdgeValues, edge_values

#: Hyperedges shown for a vertex, and memberships that the page lists: of more, those of hyperedges with most to say.
_SPEAKING, _MEMBERSHIPS = 8, 400_000


class Voices(NamedTuple):
    """What hyperedges add to what is predicted, averaged over hyperparameters.

    ``values`` has an entry for each membership, in the order of ``incidence``: what the hyperedge adds for the class
    that is predicted, or to the mean. ``leaning``, shape (M, C) or (M, 1), is what a hyperedge adds for each class at
    each of its members, on average.
    """

    names: list[str]
    incidence: sp.csr_array
    values: np.ndarray
    leaning: np.ndarray


def voices(model: VertexModel, domain: Domain, predicted: np.ndarray) -> Voices | None:
    """Return what hyperedges tell, None where the model does not speak through them."""
    is_regressor = isinstance(model, HypergraphGPRegressor)
    target = np.zeros(len(domain.vertices), dtype=int) if is_regressor else predicted
    values: Any = 0.0
    leaning: Any = 0.0
    for weight, part in components(model._function if is_regressor else model.posterior_):
        told = [edge_values(posterior) for posterior in ([part] if is_regressor else part.posteriors)]
        if not told[0]:
            return None
        # Whatever the hyperparameters, memberships are those of the hypergraph: entries stand in the same places.
        incidence = sp.csr_array(sp.hstack([each.incidence for each in told[0]]))
        incidence.sort_indices()
        row_of = np.repeat(np.arange(incidence.shape[0]), np.diff(incidence.indptr))
        g = np.stack([np.concatenate([each.values for each in parts]) for parts in told], axis=1)
        if not is_regressor:
            g = _for_each_class(g, len(model.classes_), is_ordered=len(model.classes_) > 2)
        values = values + weight * incidence.data * g[incidence.indices, target[row_of]]
        leaning = leaning + weight * g * np.asarray(incidence.sum(axis=0)).ravel()[:, None]
    sizes = np.bincount(incidence.indices, minlength=incidence.shape[1])
    return Voices(_texts(told[0], domain), incidence, values, leaning / np.maximum(sizes, 1)[:, None])


def speaking(told: Voices, shown: np.ndarray) -> dict[str, Any]:
    """Return, for each vertex shown, the hyperedges that contribute most to what is predicted of it."""
    pointers = told.incidence.indptr
    row_of = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    order = np.lexsort((-np.abs(told.values), row_of))
    edges, values = told.incidence.indices[order], told.values[order]
    top = []
    for row in shown.tolist():
        some = slice(pointers[row], min(pointers[row] + _SPEAKING, pointers[row + 1]))
        top.append([list(pair) for pair in zip(edges[some].tolist(), rounded(values[some]), strict=True)])
    sizes = np.bincount(told.incidence.indices, minlength=len(told.names))
    return {
        "edges": told.names,
        "top": top,
        "count": np.diff(pointers)[shown].tolist(),
        "sizes": sizes.tolist(),
        "leaning": rounded(told.leaning.ravel()),
        "members": _members(told, shown),
    }


def _members(told: Voices, shown: np.ndarray) -> list[list[int] | None]:
    """Return which of the vertices shown are in each hyperedge; None for those beyond what a page holds."""
    by_edge = sp.csc_array(told.incidence[shown])
    counts = np.diff(by_edge.indptr)
    loudest = np.argsort(-np.abs(told.leaning).max(axis=1), kind="stable")
    kept = set(loudest[np.cumsum(counts[loudest]) <= _MEMBERSHIPS].tolist())
    return [
        by_edge.indices[by_edge.indptr[edge] : by_edge.indptr[edge + 1]].tolist() if edge in kept else None
        for edge in range(len(counts))
    ]


def _for_each_class(g: np.ndarray, num_classes: int, *, is_ordered: bool) -> np.ndarray:
    """Return what speaks for each class: its latent less the mean of the others, or one latent and its opposite."""
    if g.shape[1] == 1:
        return np.tile(g, num_classes) if is_ordered else np.hstack([-g, g])
    others = (g.sum(axis=1, keepdims=True) - g) / (g.shape[1] - 1)
    return g - others


def _texts(parts: Sequence[EdgeValues], domain: Domain) -> list[str]:
    texts = []
    for part in parts:
        prefix = f"{part.label}: " if len(parts) > 1 else ""
        texts += [f"{prefix}{_text(edge)}" for edge in edge_names(part.label, part.spectrum, domain.relations)]
    return texts


def _text(edge: Name) -> str:
    """Write a hyperedge that stands for the value of an attribute as it would be said."""
    return " = ".join(str(part) for part in edge) if isinstance(edge, tuple) else str(edge)
