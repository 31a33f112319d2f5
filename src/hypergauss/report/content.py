"""What the page shows, as plain numbers and text: gathered here, drawn by the page's own script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss._version import __version__
from hypergauss.analysis.assessment import Assessment
from hypergauss.analysis.suggestions import suggest_vertices
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor, VertexModel
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.summary import Summary
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import ByName
from hypergauss.inference.latents import SampledLatents
from hypergauss.report import held_out as judging
from hypergauss.report import hyperedges, light
from hypergauss.report.filter_curve import filter_curves
from hypergauss.report.layout import vertex_map
from hypergauss.report.numbers import as_numbers, finite, rounded
from hypergauss.report.unusual import unlike_observed

#: Vertices worth observing that are listed.
_NEXT = 10


def page_content(
    model: VertexModel,
    observed: pd.Series | ByName[Any],
    *,
    assessment: Assessment | None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return everything the page shows."""
    check_is_fitted(model)
    is_classifier = isinstance(model, HypergraphGPClassifier)
    if not is_classifier and not isinstance(model, HypergraphGPRegressor):
        raise TypeError(
            f"`model` must be a HypergraphGPRegressor or HypergraphGPClassifier. Got {type(model).__name__}."
        )
    if not is_classifier and not model._flat:
        raise ValueError("The report is about one target. Got a model of several. Fit them one by one.")
    domain = Domain.of(model.H)
    if not isinstance(observed, Mapping | pd.Series):
        raise TypeError(
            f"`observed` must be a Series indexed by vertex, or a dict. Got {type(observed).__name__}. Pass "
            "`dict(zip(vertices, y))`."
        )
    known = pd.Series(observed) if isinstance(observed, Mapping) else observed
    rows = model._rows(known.index)
    seen = np.unique(rows)
    n = len(domain.vertices)
    predicted = _classes(model) if is_classifier else _numbers(model)
    main = predicted["predicted" if is_classifier else "mean"]
    places = vertex_map(domain)
    worth = np.zeros((0, 2)) if _is_sampled(model) else _next(model, domain)
    folds = None if assessment is None else judging.held_out(model, assessment, domain)
    left_out = judging.left_out(model, known, rows) or folds
    judged = folds or left_out
    unlike = unlike_observed(domain, seen, np.random.default_rng(0))
    surprising = np.zeros(0) if judged is None else judged.rows[judging.surprising(judged)]
    shown = light.sample(n, seen, [worth[:, 0], surprising])
    position = np.full(n, -1)
    position[shown] = np.arange(len(shown))
    summary = model.summary()
    told = None if _is_sampled(model) else hyperedges.voices(model, domain, main)
    return {
        "task": "classification" if is_classifier else "regression",
        "lead": _lead(len(known), is_classifier),
        "summary": _summary(domain, len(seen)),
        "notes": [*notes, *summary.notes],
        "classes": [str(label) for label in model.classes_] if is_classifier else [],
        "doubt": "chance of being wrong" if is_classifier else "standard deviation",
        "map": places.text,
        "vertices": {
            "names": [str(name) for name in domain.vertices[shown]],
            "x": rounded(places.x[shown]),
            "y": rounded(places.y[shown]),
            "observed": _observed(model, known, rows, position),
            **{name: _written(values[shown]) for name, values in predicted.items()},
        },
        "light": None if len(shown) == n else _light(predicted, main, places.x, places.y, model),
        "leftOut": None if left_out is None else judging.beside(left_out, position),
        "mistakes": None if judged is None else judging.mistakes(judged, position, len(getattr(model, "classes_", ()))),
        "unlike": _unlike(unlike, position),
        "scores": None if assessment is None else judging.scores(assessment, is_classifier),
        "calibration": None if folds is None else judging.calibration(folds, position),
        "learned": _learned(summary),
        "speaking": None if told is None else hyperedges.speaking(told, shown),
        "filters": filter_curves(model),
        "next": [[int(position[int(row)]), finite(gain)] for row, gain in worth],
        "footer": f"Made by hypergauss {__version__}. The page is complete in itself and asks nothing of any network.",
    }


def _learned(summary: Summary) -> list[dict[str, str]]:
    """Return name, value, interval and meaning of everything that was learned, entries of an array as one."""
    return [
        {"name": row.name, "value": row.estimate, "interval": row.interval, "meaning": row.meaning}
        for row in summary.shown()
    ]


def _lead(observed: int, is_classifier: bool) -> str:
    what = "The class of every vertex" if is_classifier else "The value of every vertex"
    return f"{what}, predicted from {observed:,} observed ones and from who takes part in what."


def _summary(domain: Domain, observed: int) -> list[tuple[str, str]]:
    pairs = [("vertices", f"{len(domain.vertices):,}"), ("observed", f"{observed:,}")]
    for name, relation in domain.relations.items():
        of = "" if len(domain.relations) == 1 else f" ({name})"
        if isinstance(relation, Hypergraph):
            sizes = np.diff(relation.incidence.tocsc().indptr)
            parts = int(relation.connected_components().max(initial=-1)) + 1
            pairs += [
                (f"hyperedges{of}", f"{relation.num_edges:,}"),
                (f"memberships{of}", f"{relation.num_incidences:,}"),
                (f"median hyperedge size{of}", f"{np.median(sizes):g}" if len(sizes) else "-"),
                (f"in no hyperedge{of}", f"{len(relation.isolated_vertices):,}"),
                (f"separate part{'' if parts == 1 else 's'}{of}", f"{parts:,}"),
            ]
        else:
            pairs.append((f"links{of}", f"{relation.num_edges:,}"))
    return pairs


def _numbers(model: HypergraphGPRegressor) -> dict[str, np.ndarray]:
    mean, std = model.predict(model.vertices_, return_std=True)
    low, high = (as_numbers(model, ends) for ends in model.predict_quantiles(model.vertices_, judging.ENDS).T)
    return {"mean": mean, "low": low, "high": high, "uncertainty": std}


def _classes(model: HypergraphGPClassifier) -> dict[str, np.ndarray]:
    proba = model.predict_proba(model.vertices_)
    return {"proba": proba, "predicted": proba.argmax(axis=1), "uncertainty": 1 - proba.max(axis=1)}


def _written(values: np.ndarray) -> list[Any]:
    return values.tolist() if values.dtype.kind == "i" else rounded(values.ravel())


def _observed(model: VertexModel, known: pd.Series, rows: np.ndarray, position: np.ndarray) -> list[Any]:
    """Return what was observed of each vertex shown: a number, that of a class, or None."""
    is_classifier = isinstance(model, HypergraphGPClassifier)
    values = _checks.positions(known, model.classes_).tolist() if is_classifier else rounded(as_numbers(model, known))
    found: list[Any] = [None] * (int(position.max(initial=-1)) + 1)
    for place, value in zip(position[rows].tolist(), values, strict=True):
        if place >= 0:
            found[place] = value
    return found


def _light(
    predicted: Mapping[str, np.ndarray], main: np.ndarray, x: np.ndarray, y: np.ndarray, model: VertexModel
) -> dict[str, Any]:
    classes = len(getattr(model, "classes_", ()))
    return {"total": len(main), "cells": light.cells(x, y, main, predicted["uncertainty"], classes=classes)}


def _unlike(unlike: Mapping[str, Any], position: np.ndarray) -> dict[str, Any]:
    """Return the vertices shown that are unlike those observed, with how many hyperedges they share at most."""
    places = position[unlike["rows"]].tolist()
    pairs = [[place, shared] for place, shared in zip(places, unlike["shared"], strict=True) if place >= 0]
    return {"vertices": pairs, "border": finite(unlike["border"])}


def _next(model: VertexModel, domain: Domain) -> np.ndarray:
    """Return rows and information of the vertices most worth observing, shape (k, 2)."""
    suggested = suggest_vertices(model, _NEXT, random_state=0)
    return np.column_stack([domain.rows(suggested.index), suggested["information"].to_numpy(dtype=float)])


def _is_sampled(model: VertexModel) -> bool:
    return isinstance(model, HypergraphGPClassifier) and isinstance(model.posterior_, SampledLatents)
