"""Observations beside what is predicted without them: scores, calibration, mistakes, surprises."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hypergauss import _checks, metrics
from hypergauss.analysis.assessment import CLASSIFICATION_SCORES, REGRESSION_SCORES, Assessment
from hypergauss.estimators import HypergraphGPClassifier, HypergraphGPRegressor, VertexModel
from hypergauss.estimators.domain import Domain
from hypergauss.inference.calibration import tempered
from hypergauss.inference.latents import SampledLatents
from hypergauss.likelihoods.transforms import TRANSFORMS
from hypergauss.report.numbers import as_numbers, finite, rounded

#: Of intervals, and the probabilities at their ends.
LEVEL = 0.9
ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
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
    predicted : array, shape (n, C) or (n, 4)
        Probabilities, or mean and standard deviation of a measurement and the ends of its interval.
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
        low, high = self.predicted[:, 2:].T
        return (self.observed < low) | (self.observed > high)

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


def left_out(model: VertexModel, known: pd.Series, rows: np.ndarray) -> Judged | None:
    """Return predictions of each observation from all others, None where only draws are at hand."""
    if not isinstance(model, HypergraphGPClassifier):
        return _left_out_numbers(model, known, rows)
    if isinstance(model.posterior_, SampledLatents):
        return None
    seen = model.posterior_.posteriors[0].sites.rows
    observed = _in_order(seen, rows, _checks.positions(known, model.classes_))
    proba = tempered(model.posterior_.left_out_probabilities(), model.temperature_, model.shares_)
    return Judged(LEFT_OUT, seen, observed, proba, True)


def _left_out_numbers(model: HypergraphGPRegressor, known: pd.Series, rows: np.ndarray) -> Judged:
    sites = model._function.sites
    if model._is_through_likelihood:
        observed = _in_order(sites.rows, rows, as_numbers(model, known))
    else:  # sites hold what was measured of a vertex, once or several times
        observed = TRANSFORMS[model.transform_].back(sites.mean[:, 0])
    left_out = model._left_out()
    mean, variance = (np.ravel(each) for each in left_out.moments())
    ends = left_out.quantiles(np.array(ENDS)).reshape(len(mean), 2)
    low, high = (as_numbers(model, each) for each in ends.T)
    return Judged(LEFT_OUT, sites.rows, observed, np.column_stack([mean, np.sqrt(variance), low, high]), False)


def _in_order(wanted: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of wanted rows, of values at rows in any order."""
    by_row = dict(zip(rows.tolist(), values.tolist(), strict=True))
    return np.array([by_row[row] for row in wanted.tolist()])


def held_out(model: VertexModel, assessment: Assessment, domain: Domain) -> Judged:
    """Return the predictions of cross-validation."""
    held = assessment.held_out
    rows = domain.rows(held.index)
    if not isinstance(model, HypergraphGPClassifier):
        predicted = held[["mean", "std", "low", "high"]].to_numpy(dtype=float)
        return Judged(FOLDS, rows, held["observed"].to_numpy(dtype=float), predicted, False)
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
    mean, _, low, high = (column(rounded(values)) for values in of.T)
    return {"source": judged.source, "mean": mean, "low": low, "high": high}


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
    covered = 1 - float(judged.missed.mean())
    kept = np.linspace(0, n - 1, min(n, _POINTS)).round().astype(int)
    some = f" {len(kept):,} of {n:,} are drawn." if len(kept) < n else ""
    drawn = np.column_stack([judged.observed, judged.predicted[:, [0, 2, 3]]])[kept].tolist()
    places = position[judged.rows[kept]].tolist()
    return {
        "title": "Can its intervals be believed?",
        "text": f"Each observed vertex against its prediction from the others. {covered:.0%} of the {LEVEL:.0%} "
        f"intervals hold the observation; those that miss it are orange.{some}",
        "points": [[*map(finite, point), place] for point, place in zip(drawn, places, strict=True)],
    }
