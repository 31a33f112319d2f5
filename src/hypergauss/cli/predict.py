"""``hypergauss predict`` and ``hypergauss suggest``: what a saved model says."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

import numpy as np
import pandas as pd

from hypergauss import _checks, metrics
from hypergauss._progress import displayed
from hypergauss.analysis.suggestions import suggest_vertices
from hypergauss.cli import idle
from hypergauss.cli.inputs import newcomers
from hypergauss.cli.outputs import new_predictions, predictions, print_csv, say, say_json, write_csv
from hypergauss.cli.reading import read
from hypergauss.cli.spreadsheets import as_named
from hypergauss.cli.targets import check_first_line, labels
from hypergauss.estimators import HypergraphGPClassifier, VertexModel
from hypergauss.hypergraph.names import Names
from hypergauss.storage.models import load


def predict(options: argparse.Namespace) -> None:
    """Predict all vertices or those asked for, and score labels if there are any."""
    idle.check_output(options)
    idle.check_text(options)
    with displayed("predicting", lines=False):
        table, scores = _predicted(load(options.model), options)
    if options.out is not None:
        write_csv(table, options.out, overwrite=options.overwrite)
    if options.json:
        say_json({"predictions": table.to_dict(orient="records"), "scores": scores})
        return
    if options.out is None:
        print_csv(table)
    else:
        say(f"Predictions: {options.out}")
    if scores is not None:
        for name, value in scores.items():
            print(f"{name}: {value:.4f}", file=sys.stderr)  # noqa: T201


def _predicted(model: VertexModel, options: argparse.Namespace) -> tuple[pd.DataFrame, dict[str, float] | None]:
    """Return a row for each vertex asked for, and the scores of labels if there are any."""
    if options.new_edges is not None:
        if options.vertices is not None or options.labels is not None:
            raise ValueError("--new-edges predicts vertices that are new, and nothing else. Leave out the other files.")
        return new_predictions(model, newcomers(options.new_edges, model.H, options)), None
    known = {str(name) for name in model.vertices_}
    task = "classification" if isinstance(model, HypergraphGPClassifier) else "regression"
    observed = None if options.labels is None else labels(options.labels, options, task=task, known=known)
    if options.vertices is not None:
        frame = read(options.vertices, options, "vertices", text=[0])
        check_first_line(frame, [frame.columns[0]], options.vertices, options, "vertices", known=known)
        wanted = _own_names(model, frame.iloc[:, 0].astype(str))
    else:
        wanted = model.vertices_ if observed is None else _own_names(model, observed.index)
    if observed is not None:
        observed.index = _own_names(model, observed.index)
        observed = observed[~observed.index.duplicated()]
    return predictions(model, wanted, observed), None if observed is None else _scores(model, observed)


def suggest(options: argparse.Namespace) -> None:
    """Say which vertices to observe next."""
    with displayed("weighing vertices", lines=False):
        model = load(options.model)
        table = suggest_vertices(model, options.n, criterion=options.criterion, random_state=options.seed)
    if options.json:
        names = [str(name) for name in table.index]
        say_json({"criterion": options.criterion, "vertices": names, table.columns[0]: table.iloc[:, 0].tolist()})
        return
    print_csv(table.round(4).reset_index())


def _own_names(model: VertexModel, texts: Iterable[str]) -> Names:
    """Return the model's own names of vertices given as text; unknown ones are refused."""
    by_text = {str(name): name for name in model.vertices_}
    texts = [text if text in by_text else as_named(text) for text in texts]
    unknown = list(dict.fromkeys(text for text in texts if text not in by_text))
    if unknown:
        near = _checks.did_you_mean(unknown[0], list(by_text)[:5000])
        raise ValueError(
            f"Vertices must be among the {len(by_text):,} that the model was fitted with. Got {unknown[0]!r}"
            f"{_checks.others(len(unknown) - 1)}.{near} Fit again with a hypergraph that has them."
        )
    return [by_text[text] for text in texts]


def _scores(model: VertexModel, observed: pd.Series) -> dict[str, float]:
    if isinstance(model, HypergraphGPClassifier):
        given = observed.map(str).to_numpy(dtype=object)
        classes = np.array([str(label) for label in model.classes_], dtype=object)
        proba = model.predict_proba(observed.index)
        return {
            "accuracy": metrics.accuracy(given, proba, classes),
            "log density": metrics.log_predictive_density(given, proba, classes),
        }
    values = pd.to_numeric(observed).to_numpy(dtype=float)
    low, high = model.predict_quantiles(observed.index, [0.05, 0.95]).T
    return {
        "R2": model.score(observed.index, values) if len(values) > 1 else float("nan"),
        "log density": float(model.log_density(observed.index, values).mean()),
        "90% interval covers": float(((low <= values) & (values <= high)).mean()),
    }
