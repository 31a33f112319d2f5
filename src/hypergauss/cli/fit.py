"""``hypergauss fit``: from files to predictions, a report and a model."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
from rich.console import Console

from hypergauss._progress import displayed, reported_to
from hypergauss._version import __version__
from hypergauss.analysis.assessment import Assessment, assess
from hypergauss.cli import given, idle, inputs, understood
from hypergauss.cli.outputs import plain, predictions, results_folder, say, say_json, write_csv, write_json
from hypergauss.cli.problems import CLASS_LIKELIHOODS, Problem
from hypergauss.cli.status import data_notes, tell_folds
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor, VertexModel
from hypergauss.exceptions import DataWarning, LearningWarning
from hypergauss.experiments.tables import make_table
from hypergauss.report import write_report
from hypergauss.storage.models import save

PREDICTIONS, REPORT, METRICS, MODEL = "predictions.csv", "report.html", "metrics.json", "model.hypergauss"
RESULTS = (PREDICTIONS, REPORT, METRICS, MODEL)
#: Of a table in a file or a pipe, where no screen breaks its figures.
_WIDTH = 110


def fit(options: argparse.Namespace) -> None:
    """Fit, assess, predict, and write everything in the end."""
    options = given.of_fit(options)
    if options.folds != 0 and options.folds < 2:
        raise ValueError(f"--folds must be 0, for none, or 2 at least. Got {options.folds}.")
    with displayed("reading", quiet=options.quiet), data_notes() as said:
        problem = inputs.problem(options)
    problem.notes.extend(said)
    if not options.quiet:
        understood.tell(problem.understood)
    with (
        results_folder(options.out, RESULTS, overwrite=options.overwrite),
        displayed("learning", quiet=options.quiet) as display,
        reported_to(display),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", LearningWarning)
        warnings.simplefilter("always", DataWarning)
        start = time.monotonic()
        model = _model(problem, options).fit(problem.target.index, problem.target)
        said_of_fit = [str(w.message) for w in caught if issubclass(w.category, LearningWarning | DataWarning)]
        notes = problem.notes + said_of_fit
        tell = tell_folds(display, options.folds, guess=time.monotonic() - start)
        assessment = _assessed(model, problem, options, tell, notes)
        display.stage("predicting")
        table = predictions(model, model.vertices_, problem.target)
        metrics = _metrics(model, problem, assessment, notes)
        display.stage("writing")
        title = options.title or f"Predictions of {problem.target.name}"
        # The report last, since it is what people open: when it is there, everything is.
        write_csv(table, options.out / PREDICTIONS, overwrite=options.overwrite)
        write_json(metrics, options.out / METRICS)
        save(model, options.out / MODEL)
        report = options.out / REPORT
        write_report(
            model,
            report,
            problem.target,
            assessment=assessment,
            title=title,
            notes=[*(f"{line.what}: {line.meaning}." for line in problem.understood), *notes],
            overwrite=options.overwrite,
        )
    if options.json:
        say_json(metrics | {"files": {name: str(options.out / name) for name in RESULTS}})
    else:
        _tell(problem, model, assessment, notes, options)


def _model(problem: Problem, options: argparse.Namespace) -> VertexModel:
    common = {
        "kernel": options.kernel,
        "covariates": problem.covariates,
        "size_exponent": _size_exponent(options.size_exponent),
        "rank": options.rank,
        "solver": options.solver,
        "random_state": options.seed,
    }
    if not problem.is_classification:
        if options.likelihood in CLASS_LIKELIHOODS:
            idle.refuse(options, ["likelihood"], "is of classes, and the target holds numbers. Leave it out.")
        likelihood, transform = options.likelihood or "gaussian", options.transform or "none"
        return HypergraphGPRegressor(problem.H, likelihood=likelihood, transform=transform, **common)
    idle.refuse(options, ["transform"], "is of numbers, and the target holds classes. Leave it out.")
    if options.order is not None and options.likelihood not in (None, "ordinal"):
        raise ValueError(f"--order is for --likelihood ordinal. Got --likelihood {options.likelihood}. Leave one out.")
    default = "ordinal" if problem.is_ordered else "auto"
    return HypergraphGPClassifier(problem.H, likelihood=options.likelihood or default, **common)


def _size_exponent(text: str | None) -> float | str:
    if text in (None, "auto", "learn"):
        return text or "auto"
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"--size-exponent must be 'auto', 'learn' or a number. Got {text!r}.") from error


def _assessed(
    model: VertexModel, problem: Problem, options: argparse.Namespace, tell: Callable[[str], None], notes: list[str]
) -> Assessment | None:
    """Cross-validate where there is enough to hold out."""
    target = problem.target
    fewest = int(target.value_counts().min()) if problem.is_classification else len(target)
    if options.folds == 0:
        return None
    if len(target) < 2 * options.folds or fewest < 2:
        notes.append("There are too few labels to hold any out, so there are no cross-validated scores.")
        return None
    return assess(model, target.index, target, folds=options.folds, random_state=options.seed, report=tell)


def _metrics(model: Any, problem: Problem, assessment: Assessment | None, notes: list[str]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    if assessment is not None:
        summary = assessment.summary()
        for method in summary.index:
            of = summary.loc[method]
            scores[method] = {
                n: {"mean": of["mean", n], "standard_error": of["error", n]} for n in summary["mean"].columns
            }
    is_classifier = problem.is_classification
    evidence = {"elbo": model.elbo_} if is_classifier else {"log_evidence": model.log_marginal_likelihood_}
    return {
        "hypergauss": __version__,
        "task": "classification" if is_classifier else "regression",
        "target": problem.target.name,
        "vertices": len(model.vertices_),
        "observed": len(problem.target),
        "scores": scores,
        "hyperparameters": plain(model.hyperparameters_),
        "summary": [row._asdict() for row in model.summary().rows],
        "size_exponent": plain(model.size_exponent_),
        "relation_weights": plain(model.relation_weights_),
        "solver": model.solver_,
        "solver_plan": model.solver_plan_,
        **evidence,
        **({"classes": model.classes_} if is_classifier else {"transform": model.transform_}),
        "understood": {line.what: line.meaning for line in problem.understood},
        "notes": notes,
    }


def _tell(
    problem: Problem, model: VertexModel, assessment: Assessment | None, notes: list[str], options: argparse.Namespace
) -> None:
    for note in notes:
        say(f"Note: {note}")
    if assessment is not None:
        summary = assessment.summary()
        columns = list(summary["mean"].columns)
        rows = [[method, *(_score(summary.loc[method], name) for name in columns)] for method in summary.index]
        Console(width=None if sys.stdout.isatty() else _WIDTH).print(
            make_table(f"Held-out {problem.target.name}", ["method", *columns], rows)
        )
    say(f"What was learned:\n{model.summary()}")
    say(f"Predictions: {options.out / PREDICTIONS}")
    say(f"Report:      {options.out / REPORT}")
    say(f"Scores:      {options.out / METRICS}")
    say(f"Model:       {options.out / MODEL}")


def _score(row: pd.Series, name: str) -> str:
    return f"{row['mean', name]:.3f} ± {row['error', name]:.3f}"
