"""Scores of class probabilities, and how far they can be believed.

All take the same three: ``y``, the true label of each of n vertices; ``proba``, shape (n, C), the probability of each
class; ``labels``, shape (C,), the class of each column, such as a classifier's ``classes_``. Write p(i, c) for the
entries of ``proba``, y(i) for the true label, and t(i) = argmax_c p(i, c) for the predicted one, the first column
among equals.

A true label may be missing from ``labels``, as when a training fold held none of its class. The classifier then gave
it probability 0, and is scored so: wrong, with log density -inf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss._checks import Labels, Values

#: How far from 1 a row of probabilities may sum: what single precision loses.
_SUM_TOLERANCE = 1e-6


class Reliability(NamedTuple):
    """Confidence against accuracy, bin by bin; made by `reliability`.

    Attributes
    ----------
    edges : array, shape (n_bins + 1,)
        Bin b is the interval (edges[b], edges[b + 1]].
    confidence : array, shape (n_bins,)
        The mean probability of the predicted class in each bin; NaN in an empty one.
    accuracy : array, shape (n_bins,)
        The share of right predictions in each bin; NaN in an empty one.
    counts : array of int, shape (n_bins,)
        How many vertices each bin holds.
    """

    edges: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    counts: np.ndarray

    def calibration_error(self) -> float:
        """Return ``sum_b (n_b / n) |accuracy_b - confidence_b|``, n_b of the n vertices in bin b."""
        gaps = np.where(self.counts > 0, np.abs(self.accuracy - self.confidence), 0.0)
        return float(gaps @ self.counts / self.counts.sum())


def accuracy(y: Labels, proba: Values, labels: Labels) -> float:
    """Return (1/n) sum_i [t(i) = y(i)], the share of vertices whose most probable class is the true one.

    Examples
    --------
    >>> accuracy(["a", "b", "b"], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["a", "b"])
    0.6666666666666666
    """
    return float(_scored(y, proba, labels).hits.mean())


def macro_recall(y: Labels, proba: Values, labels: Labels) -> float:
    """Return the mean over classes of ``|{i : t(i) = c, y(i) = c}| / |{i : y(i) = c}|``.

    The classes are those that occur in ``y``; of others there is nothing to recall. This is the balanced accuracy.

    Examples
    --------
    >>> macro_recall(["a", "b", "b"], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["a", "b"])
    0.75
    """
    hit, true, _ = _scored(y, proba, labels).class_counts()
    return float((hit[true > 0] / true[true > 0]).mean())


def macro_precision(y: Labels, proba: Values, labels: Labels) -> float:
    """Return the mean over classes of ``|{i : t(i) = c, y(i) = c}| / |{i : t(i) = c}|``.

    The classes are those that occur in ``y`` or are predicted. One that occurs but is never predicted has the
    precision 0/0 and counts as 0: otherwise the score would rise by giving up on a hard class.

    Examples
    --------
    >>> macro_precision(["a", "b", "b"], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["a", "b"])
    0.75
    """
    hit, true, predicted = _scored(y, proba, labels).class_counts()
    return float((hit / np.maximum(predicted, 1))[true + predicted > 0].mean())


def log_predictive_density(y: Labels, proba: Values, labels: Labels) -> float:
    """Return (1/n) sum_i log p(i, y(i)); higher is better.

    A single true label of probability 0 makes it -inf. Nothing is clipped: what was ruled out happened.

    Examples
    --------
    >>> round(log_predictive_density(["a", "b"], [[0.5, 0.5], [0.75, 0.25]], ["a", "b"]), 4)
    -1.0397
    """
    scored = _scored(y, proba, labels)
    with np.errstate(divide="ignore"):
        return float(np.log(scored.proba[np.arange(len(scored.truth)), scored.truth]).mean())


def brier_score(y: Labels, proba: Values, labels: Labels) -> float:
    """Return (1/n) sum_i sum_c (p(i, c) - [y(i) = c])^2, from 0 (certain and right) to 2 (certain and wrong).

    For two classes it is twice the Brier score of the probability of one of them.

    Examples
    --------
    >>> brier_score(["a", "b"], [[0.5, 0.5], [0.75, 0.25]], ["a", "b"])
    0.8125
    """
    scored = _scored(y, proba, labels)
    errors = scored.proba.copy()
    errors[np.arange(len(scored.truth)), scored.truth] -= 1.0
    return float((errors**2).sum(axis=1).mean())


def expected_calibration_error(y: Labels, proba: Values, labels: Labels, *, n_bins: int = 10) -> float:
    """Return ``sum_b (n_b / n) |accuracy_b - confidence_b|`` over the bins of `reliability`; 0 is calibrated.

    n_b is the number of vertices in bin b; an empty bin adds nothing.

    Examples
    --------
    >>> round(expected_calibration_error(["a", "b"], [[0.6, 0.4], [0.1, 0.9]], ["a", "b"]), 4)
    0.25
    """
    return reliability(y, proba, labels, n_bins=n_bins).calibration_error()


def reliability(y: Labels, proba: Values, labels: Labels, *, n_bins: int = 10) -> Reliability:
    """Return how often predictions are right, by how sure they are: if honest, the two agree in every bin.

    The confidence in vertex i is max_c p(i, c). It falls into bin b = 1, ..., B of equal width if it lies in
    ((b - 1)/B, b/B]. The bins below 1/C are always empty.

    Examples
    --------
    >>> bins = reliability(["a", "b", "b"], [[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]], ["a", "b"], n_bins=2)
    >>> bins.counts.tolist(), bins.accuracy.round(3).tolist(), bins.confidence.round(3).tolist()
    ([0, 3], [nan, 0.667], [nan, 0.8])
    """
    n_bins = _checks.count("n_bins", n_bins)
    scored = _scored(y, proba, labels)
    # b / B as one division is the float nearest to it, so that a confidence written 0.3 is not beyond the edge 3/10.
    edges = np.arange(n_bins + 1) / n_bins
    confidence = scored.proba.max(axis=1)
    # A confidence that rounding took above 1 belongs to the last bin.
    which = np.minimum(np.searchsorted(edges, confidence, side="left") - 1, n_bins - 1)
    counts = np.bincount(which, minlength=n_bins)

    def means(values: np.ndarray) -> np.ndarray:
        totals = np.bincount(which, weights=values, minlength=n_bins)
        return np.divide(totals, counts, out=np.full(n_bins, np.nan), where=counts > 0)

    return Reliability(edges, means(confidence), means(scored.hits), counts)


class _Scored(NamedTuple):
    """Checked input: probabilities of all classes, and the column of the true one."""

    proba: np.ndarray  # (n, K), K >= C: a column of zeros for each class of y that is missing from `labels`
    truth: np.ndarray  # (n,)

    @property
    def predicted(self) -> np.ndarray:
        return self.proba.argmax(axis=1)

    @property
    def hits(self) -> np.ndarray:
        return self.predicted == self.truth

    def class_counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many vertices of each class are predicted rightly, are truly of it, and are predicted as it."""
        hit, true, predicted = (
            np.bincount(codes, minlength=self.proba.shape[1])
            for codes in (self.truth[self.hits], self.truth, self.predicted)
        )
        return hit, true, predicted


def _scored(y: Labels, proba: Values, labels: Labels) -> _Scored:
    """Check and align the three arguments that all scores share."""
    truth, classes = (
        pd.Index(_checks.labels(name, values, missing=cure), tupleize_cols=False)  # a tuple is one label
        for name, values, cure in (
            ("y", y, "Score only vertices whose label is known."),
            ("labels", labels, "Pass `classes_` of the classifier."),
        )
    )
    proba = _checks.finite_array("proba", proba, missing="Score only what was predicted.")
    if not classes.is_unique:
        raise ValueError(
            f"`labels` must name each class once. Got {classes[classes.duplicated()][0]!r} more than once. "
            "Pass `classes_` of the classifier."
        )
    if proba.shape != (len(truth), len(classes)):
        raise ValueError(
            f"`proba` must have a row for each label in `y` and a column for each of `labels`: "
            f"({len(truth)}, {len(classes)}). Got shape {proba.shape}. Pass what `predict_proba` returns."
        )
    _check_distributions(proba)
    codes = _checks.positions(truth, classes)
    missing = dict.fromkeys(truth[codes < 0])
    if (codes < 0).all() and _kind(truth) != _kind(classes):
        raise ValueError(
            f"`y` and `labels` must name classes alike. Got {_kind(truth)} labels such as {truth[0]!r} in `y` and "
            f"{_kind(classes)} labels such as {classes[0]!r} in `labels`. Convert one to the other."
        )
    padded = np.hstack([proba, np.zeros((len(truth), len(missing)))])
    return _Scored(padded, _checks.positions(truth, [*classes, *missing]))


def _check_distributions(proba: np.ndarray) -> None:
    negative = np.argwhere(proba < 0)
    if len(negative):
        row, column = negative[0]
        raise ValueError(
            f"`proba` must not be negative. Got {proba[row, column]:g} at position ({row}, {column})"
            f"{_checks.others(len(negative) - 1)}. Pass what `predict_proba` returns."
        )
    sums = proba.sum(axis=1)
    bad = np.flatnonzero(np.abs(sums - 1.0) > _SUM_TOLERANCE)
    if len(bad):
        raise ValueError(
            f"Each row of `proba` must sum to one. Got {sums[bad[0]]:g} in row {bad[0]}{_checks.others(len(bad) - 1)}. "
            "Divide each row by its sum."
        )


def _kind(labels: pd.Index) -> str:
    return pd.api.types.infer_dtype(labels)
