"""Observations beside what is predicted without them: scores, calibration, mistakes, surprises."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from hypergauss import _checks, metrics
from hypergauss.analysis.assessment import CLASSIFICATION_SCORES, REGRESSION_SCORES, Assessment
from hypergauss.estimators import HypergraphGPClassifier
from hypergauss.estimators.domain import Domain
from hypergauss.inference.latents import SampledLatents
from hypergauss.report.numbers import finite, rounded

#: Of intervals, and how many standard deviations that is.
LEVEL = 0.9
HALF = float(norm.ppf(0.5 + LEVEL / 2))
#: Surprising observations listed, and points of the calibration figure.
_SURPRISING, _POINTS = 10, 1500
LEFT_OUT, FOLDS = "leave-one-out", "cross-validation"


class Judged(NamedTuple):
    """Observations, and what is predicted of them without them.

    Attributes
    ----------
    source : str
        "leave-one-out" or "cross-validation".
    rows : array of int, shape (n,)
        Vertices.
    observed : array, shape (n,)
        Numbers, or numbers of classes.
    predicted : array, shape (n, C) or (n, 2)
        Probabilities, or mean and standard deviation of a measurement.
    """

    source: str
    rows: np.ndarray
    observed: np.ndarray
    predicted: np.ndarray
    is_classes: bool

    @property
    def missed(self) -> np.ndarray:
        """Whether another class is more probable than the observed one, or the interval does not hold the value."""
        if self.is_classes:
            return self.predicted.argmax(axis=1) != self.observed
        return np.abs(self.observed - self.predicted[:, 0]) > HALF * self.predicted[:, 1]

    @property
    def surprise(self) -> np.ndarray:
        """How unexpected each observation is: one less its probability, or standard deviations away."""
        if self.is_classes:
            return 1.0 - self.chance
        return np.abs(self.observed - self.predicted[:, 0]) / np.maximum(self.predicted[:, 1], 1e-300)

    @property
    def chance(self) -> np.ndarray:
        """The probability that was given to the observed class."""
        return self.predicted[np.arange(len(self.rows)), self.observed.astype(int)]


def left_out(model: Any, known: pd.Series, rows: np.ndarray) -> Judged | None:
    """Return predictions of each observation from all others, None where only draws are at hand."""
    if not isinstance(model, HypergraphGPClassifier):
        table, sites = model.leave_one_out(), model.posterior_.sites
        return Judged(LEFT_OUT, sites.rows, sites.mean[:, 0], table[["mean", "std"]].to_numpy(), False)
    if isinstance(model.posterior_, SampledLatents):
        return None
    seen = model.posterior_.posteriors[0].sites.rows
    codes = dict(zip(rows.tolist(), _checks.positions(known, model.classes_).tolist(), strict=True))
    observed = np.array([codes[row] for row in seen.tolist()])
    return Judged(LEFT_OUT, seen, observed, model.posterior_.left_out_probabilities(), True)


def held_out(model: Any, assessment: Assessment, domain: Domain) -> Judged:
    """Return the predictions of cross-validation."""
    held = assessment.held_out
    rows = domain.rows(held.index)
    if not isinstance(model, HypergraphGPClassifier):
        return Judged(FOLDS, rows, held["observed"].to_numpy(), held[["mean", "std"]].to_numpy(), False)
    proba = held.drop(columns="observed")
    ordered = np.zeros((len(held), len(model.classes_)))
    ordered[:, _checks.positions(proba.columns.to_numpy(), model.classes_)] = proba.to_numpy()
    return Judged(FOLDS, rows, _checks.positions(held["observed"].to_numpy(), model.classes_), ordered, True)


def beside(judged: Judged, position: np.ndarray) -> dict[str, Any]:
    """Return, for each vertex shown, what is predicted without its own observation, None where there is none."""
    places = position[judged.rows]
    here, size = places >= 0, int(position.max(initial=-1)) + 1

    def column(values: list[Any]) -> list[Any]:
        full: list[Any] = [None] * size
        for place, value in zip(places[here].tolist(), values, strict=True):
            full[place] = value
        return full

    of = judged.predicted[here]
    if judged.is_classes:
        chances = column(rounded(judged.chance[here]))
        return {"source": judged.source, "predicted": column(of.argmax(axis=1).tolist()), "chance": chances}
    mean, half = of[:, 0], HALF * of[:, 1]
    ends = {"low": column(rounded(mean - half)), "high": column(rounded(mean + half))}
    return {"source": judged.source, "mean": column(rounded(mean)), **ends}


def surprising(judged: Judged) -> np.ndarray:
    """Return which observations are the most surprising, as indices into the judged ones."""
    return np.argsort(-judged.surprise, kind="stable")[:_SURPRISING]


def mistakes(judged: Judged, position: np.ndarray, num_classes: int) -> dict[str, Any]:
    """Return who was missed, the most surprising observations, and for classes how often each was taken for which."""
    places = position[judged.rows]
    top = surprising(judged)
    confusion = None
    if judged.is_classes:
        counts = np.zeros((num_classes, num_classes), dtype=int)
        np.add.at(counts, (judged.observed.astype(int), judged.predicted.argmax(axis=1)), 1)
        confusion = counts.tolist()
    return {
        "source": judged.source,
        "judged": places[places >= 0].tolist(),
        "missed": places[judged.missed & (places >= 0)].tolist(),
        "guessed": judged.predicted.argmax(axis=1)[places >= 0].tolist() if judged.is_classes else None,
        "surprising": [[int(places[at]), finite(judged.surprise[at])] for at in top.tolist()],
        "confusion": confusion,
    }


def scores(assessment: Assessment, is_classifier: bool) -> dict[str, Any]:
    """Return the table of scores."""
    names = CLASSIFICATION_SCORES if is_classifier else REGRESSION_SCORES
    summary = assessment.summary()
    folds = assessment.scores["fold"].nunique()
    rows = []
    for method in summary.index:
        cells = [(summary.loc[method, ("mean", name)], summary.loc[method, ("error", name)]) for name in names]
        rows.append({"method": method, "values": [[finite(mean), finite(error, None)] for mean, error in cells]})
    return {
        "text": f"Each observed vertex predicted from the others in {folds} folds: mean and standard error over folds. "
        "Hyperparameters were learned anew in each fold, size exponents aside.",
        "columns": [{"name": name, "better": better} for name, better in names.items()],
        "rows": rows,
    }


def calibration(judged: Judged, position: np.ndarray) -> dict[str, Any]:
    """Return what the calibration figure shows."""
    if judged.is_classes:
        bins = metrics.reliability(judged.observed, judged.predicted, np.arange(judged.predicted.shape[1]))
        full = np.flatnonzero(bins.counts)
        return {
            "title": "Can its probabilities be believed?",
            "text": "If honest, a prediction made with 80% confidence is right 8 times in 10, and circles lie on the "
            f"dashed line; the larger the circle, the more vertices. Mean gap: {bins.calibration_error():.3f}.",
            "bins": [[finite(bins.confidence[b]), finite(bins.accuracy[b]), int(bins.counts[b])] for b in full],
        }
    n = len(judged.rows)
    covered = metrics.interval_coverage(judged.observed, judged.predicted[:, 0], judged.predicted[:, 1], LEVEL)
    kept = np.linspace(0, n - 1, min(n, _POINTS)).round().astype(int)
    some = f" {len(kept):,} of {n:,} are drawn." if len(kept) < n else ""
    points = zip(judged.observed[kept], *judged.predicted[kept].T, position[judged.rows[kept]], strict=True)
    return {
        "title": "Can its intervals be believed?",
        "text": f"Each observed vertex against its prediction from the others. {covered:.0%} of the {LEVEL:.0%} "
        f"intervals hold the observation; those that miss it are orange.{some}",
        "points": [[finite(o), finite(m), finite(HALF * s), int(place)] for o, m, s, place in points],
    }
