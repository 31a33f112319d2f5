"""The obvious picture of a fitted model: predictions beside observations, or vertices by predicted class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from hypergauss import _checks
from hypergauss._checks import Labels, Values
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import Name, as_list
from hypergauss.plotting.figures import new_axes, posterior_intervals, predicted_against_observed
from hypergauss.plotting.maps import STYLES, draw_map
from hypergauss.spectrum.coordinates import spectral_coordinates

#: Intervals that are drawn at most, and vertices of a map whose names are.
_INTERVALS, _NAMED = 40, 60


def plot_model(model: Any, relation: Hypergraph | Graph, X: Iterable[Name] | None, y: Any, ax: Axes | None) -> Axes:
    """Draw a regressor's values or a classifier's classes.

    Parameters
    ----------
    model : HypergraphGPRegressor or HypergraphGPClassifier
        Fitted.
    relation : Hypergraph or Graph
        What a map is of.
    X, y : arrays, shape (n,), or None
        Vertices and what was observed of them.
    ax : Axes or None
        Where to draw.
    """
    names = [] if X is None else list(as_list(X))
    if y is not None:
        _checks.same_length("X", len(names), "y", len(y))
    if hasattr(model, "classes_"):
        return _classes(model, relation, names, y, ax)
    return _intervals(model, ax) if y is None else _values(model, names, y, ax)


def plot_map(model: Any, classes: Labels | None, ax: Axes | None) -> Axes:
    """Draw the first two coordinates of a fitted `HypergraphGPLVM`, with ellipses that hold half of the probability."""
    X, std = model.embedding_[:, :2], model.coordinate_std_[:, :2]
    if X.shape[1] < 2:
        raise ValueError("A map to draw has two coordinates at least. The model has 1. Fit it with `n_components=2`.")
    ellipses = np.stack([np.diag(spread**2) for spread in std])
    kinds = np.full(len(X), "") if classes is None else np.asarray(classes)
    _checks.same_length("vertices", len(X), "classes", len(kinds))
    return draw_map(X, kinds, covariances=ellipses, hulls=False, legend=classes is not None, ax=_large(ax))


def plot_ratings(model: Any, users: Iterable[Name], items: Iterable[Name], ratings: Values, ax: Axes | None) -> Axes:
    """Draw ratings against the predictions of a fitted `KPMF`."""
    observed = _checks.finite_array("ratings", ratings, missing="Leave pairs that are not rated out.")
    mean, std = model.predict(users, items, return_std=True)
    _checks.same_length("users", len(mean), "ratings", len(observed))
    return predicted_against_observed(observed, mean, std, ax=_large(ax))


def _values(model: Any, names: list[Any], y: Values, ax: Axes | None) -> Axes:
    """Draw observations against predictions; those that the model has seen are predicted from all others."""
    left_out = model.leave_one_out()
    if "mean" not in left_out:
        raise ValueError(
            "A picture is of one output, and the model has several. Draw `plotting.predicted_against_observed` of the "
            "columns of `leave_one_out()`."
        )
    found = pd.DataFrame(dict(zip(("mean", "std"), model.predict(names, return_std=True), strict=True)))
    at = left_out.index.get_indexer(pd.Index(names, dtype=object, tupleize_cols=False))
    found.loc[at >= 0] = left_out[["mean", "std"]].to_numpy()[at[at >= 0]]
    ax = predicted_against_observed(np.asarray(y, dtype=float), found["mean"], found["std"], ax=_large(ax))
    ax.set(title="Each from others alone" if (at >= 0).any() else "Held-out vertices")
    return ax


def _intervals(model: Any, ax: Axes | None) -> Axes:
    mean, std = model.predict(model.vertices_, return_std=True)
    order = np.argsort(mean, kind="stable")
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(_INTERVALS, len(order))).round().astype(int))]
    ax = posterior_intervals(model.vertices_[shown], mean[shown], std[shown], ax=_large(ax, tall=True))
    if len(shown) < len(order):
        ax.set_title(f"{len(shown)} of {len(order):,} vertices, from the lowest to the highest")
    ax.set_xlabel("predicted")
    return ax


def _classes(model: Any, relation: Hypergraph | Graph, names: list[Any], y: Labels | None, ax: Axes | None) -> Axes:
    """Draw the vertices on Zhou's map, by predicted class."""
    if len(model.classes_) > len(STYLES):
        raise ValueError(
            f"A map tells at most {len(STYLES)} classes apart. The model has {len(model.classes_)}. Draw "
            "`plotting.reliability_diagram` of its probabilities instead."
        )
    X = spectral_coordinates(relation, 2)[1]
    predicted = np.asarray(model.predict(model.vertices_))
    labels = [str(name) for name in model.vertices_] if len(X) <= _NAMED else None
    ax = draw_map(X, predicted, names=labels, hulls=False, ax=_large(ax))
    if y is not None:
        rows = relation.vertex_rows(names)
        wrong = rows[predicted[rows].astype(str) != np.asarray(y).astype(str)]
        ax.scatter(X[rows, 0], X[rows, 1], s=85, facecolor="none", edgecolor="0.25", lw=0.8, zorder=4, label="observed")
        ax.scatter(
            X[wrong, 0], X[wrong, 1], s=70, marker="x", color="black", lw=1.4, zorder=5, label="predicted otherwise"
        )
        ax.legend(frameon=False, fontsize="small")
    ax.set_title("Predicted classes on Zhou's map")
    return ax


def _large(ax: Axes | None, *, tall: bool = False) -> Axes:
    return new_axes(ax, size=(6, 7) if tall else (6.5, 5))
