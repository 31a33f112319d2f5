"""Scores of class probabilities against scikit-learn, loops, and cases worked by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as theirs

from hypergauss import metrics

#: Four vertices, worked by hand. Predicted: a, a, c, b; b never right, c right once; confidences 0.7, 0.5, 1.0, 0.6.
Y = ["a", "b", "c", "a"]
PROBA = [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.0, 0.0, 1.0], [0.1, 0.6, 0.3]]
LABELS = ["a", "b", "c"]

SCORES = [
    metrics.accuracy,
    metrics.macro_recall,
    metrics.macro_precision,
    metrics.log_predictive_density,
    metrics.brier_score,
    metrics.expected_calibration_error,
]


@pytest.fixture(params=[2, 3, 7])
def drawn(request):
    """Random labels and probabilities, few enough vertices that bins and classes stay empty at times."""
    rng = np.random.default_rng(request.param)
    labels = np.array([f"class {c}" for c in range(request.param)])
    return rng.choice(labels, 40), rng.dirichlet(np.full(request.param, 0.7), 40), labels


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (metrics.accuracy, 2 / 4),
        (metrics.macro_recall, (1 / 2 + 0 + 1) / 3),
        (metrics.macro_precision, (1 / 2 + 0 + 1) / 3),
        (metrics.log_predictive_density, np.log(0.7 * 0.3 * 1.0 * 0.1) / 4),
        (metrics.brier_score, (0.14 + 0.78 + 0.0 + 1.26) / 4),
        # Bins (0.4, 0.5], (0.5, 0.6], (0.6, 0.7], (0.9, 1.0] hold one vertex each: wrong, wrong, right, right.
        (metrics.expected_calibration_error, (0.5 + 0.6 + 0.3 + 0.0) / 4),
    ],
)
def test_scores_agree_with_the_case_worked_by_hand(score, value):
    assert score(Y, PROBA, LABELS) == pytest.approx(value)


def test_scores_agree_with_scikit_learn(drawn):
    y, proba, labels = drawn
    predicted = labels[proba.argmax(axis=1)]
    assert metrics.accuracy(*drawn) == pytest.approx(theirs.accuracy_score(y, predicted))
    assert metrics.macro_recall(*drawn) == pytest.approx(theirs.balanced_accuracy_score(y, predicted))
    assert metrics.macro_precision(*drawn) == pytest.approx(
        theirs.precision_score(y, predicted, average="macro", zero_division=0)
    )
    assert metrics.log_predictive_density(*drawn) == pytest.approx(-theirs.log_loss(y, proba, labels=labels))
    assert metrics.brier_score(*drawn) == pytest.approx(
        theirs.brier_score_loss(y, proba, labels=labels, scale_by_half=False)
    )


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_calibration_error_is_its_definition_in_loops(drawn, n_bins):
    y, proba, labels = drawn
    total = 0.0
    for b in range(n_bins):
        inside = [i for i in range(len(y)) if b / n_bins < proba[i].max() <= (b + 1) / n_bins]
        if inside:
            right = np.mean([labels[proba[i].argmax()] == y[i] for i in inside])
            total += len(inside) / len(y) * abs(right - np.mean([proba[i].max() for i in inside]))
    assert metrics.expected_calibration_error(*drawn, n_bins=n_bins) == pytest.approx(total)


def test_honest_probabilities_are_nearly_calibrated_and_overconfident_ones_are_not():
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([1.0, 1.0, 1.0], 20_000)
    y = (rng.random(20_000)[:, None] > proba.cumsum(axis=1)).sum(axis=1)
    sharpened = proba**4 / (proba**4).sum(axis=1, keepdims=True)
    assert metrics.expected_calibration_error(y, proba, [0, 1, 2]) < 0.015
    assert metrics.expected_calibration_error(y, sharpened, [0, 1, 2]) > 0.15


def test_bins_are_open_below_and_closed_above():
    tops = np.arange(1, 11) / 10
    proba = np.column_stack([tops, *[(1 - tops) / 11] * 11])  # the first of 12 classes is the most probable
    bins = metrics.reliability([0] * 10, proba, range(12), n_bins=10)
    assert bins.counts.tolist() == [1] * 10
    assert bins.confidence == pytest.approx(tops)
    assert bins.edges == pytest.approx(np.linspace(0, 1, 11))


def test_a_confidence_that_rounds_above_one_falls_into_the_last_bin():
    assert metrics.reliability(["a"], [[1 + 1e-9, 0.0]], ["a", "b"]).counts.tolist() == [0] * 9 + [1]


def test_an_empty_bin_has_no_mean():
    bins = metrics.reliability(Y, PROBA, LABELS)
    assert np.isnan(bins.accuracy[bins.counts == 0]).all()
    assert np.isnan(bins.confidence[bins.counts == 0]).all()
    assert bins.accuracy[bins.counts > 0].tolist() == [0, 0, 1, 1]


def test_among_equals_the_first_column_is_predicted():
    assert metrics.accuracy(["a", "b"], [[0.5, 0.5]] * 2, ["a", "b"]) == 0.5


def test_a_class_never_predicted_counts_as_precision_zero():
    assert metrics.macro_precision(["a", "b"], [[1.0, 0.0]] * 2, ["a", "b"]) == 0.25


def test_a_class_that_neither_occurs_nor_is_predicted_does_not_count():
    y, proba, labels = ["a", "b"], [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]], ["a", "b", "c"]
    assert metrics.macro_precision(y, proba, labels) == metrics.macro_recall(y, proba, labels) == 1.0


def test_a_true_label_of_probability_zero_has_density_minus_infinity():
    assert metrics.log_predictive_density(["a"], [[0.0, 1.0]], ["a", "b"]) == -np.inf


@pytest.mark.parametrize("score", SCORES)
def test_a_class_missing_from_labels_scores_as_one_of_probability_zero(score):
    y = ["a", "d", "c", "e"]
    padded = np.column_stack([PROBA, np.zeros((4, 2))])
    assert score(y, PROBA, LABELS) == score(y, padded, [*LABELS, "e", "d"])


def test_a_lone_vertex_of_a_missing_class_is_wrong():
    assert metrics.accuracy(["z"], [[0.4, 0.6]], ["a", "b"]) == 0.0
    assert metrics.log_predictive_density(["z"], [[0.4, 0.6]], ["a", "b"]) == -np.inf
    assert metrics.brier_score(["z"], [[0.4, 0.6]], ["a", "b"]) == pytest.approx(0.16 + 0.36 + 1.0)


@pytest.mark.parametrize("score", SCORES)
def test_the_order_of_columns_and_the_kind_of_labels_do_not_matter(score):
    value = score(Y, PROBA, LABELS)
    turned = np.asarray(PROBA)[:, [2, 0, 1]]
    assert score(pd.Series(Y), turned, np.array(["c", "a", "b"], dtype=object)) == pytest.approx(value)
    numbers = {"a": 10, "b": 20, "c": 30}
    assert score([float(numbers[label]) for label in Y], PROBA, [10, 20, 30]) == pytest.approx(value)


@pytest.mark.parametrize(
    ("y", "proba", "labels", "words"),
    [
        ([], np.zeros((0, 2)), ["a", "b"], "`y` must be a list of labels, at least one"),
        (["a", None], [[1.0, 0.0]] * 2, ["a", "b"], "`y` must not contain missing labels. Score only"),
        (["a"], [[1.0, 0.0]], ["a", "a"], "`labels` must name each class once. Got 'a' more than once"),
        (["a"], [1.0], ["a", "b"], r"`proba` must have a row .* \(1, 2\). Got shape \(1,\)"),
        (["a"], [[1.0, 0.0]], ["a", "b", "c"], r"\(1, 3\). Got shape \(1, 2\)"),
        (["a"], [[np.nan, 1.0]], ["a", "b"], "`proba` must not contain NaN"),
        (["a"], [[1.5, -0.5]], ["a", "b"], r"must not be negative. Got -0.5 at position \(0, 1\)"),
        (["a", "b"], [[0.5, 0.5], [0.5, 0.4]], ["a", "b"], "must sum to one. Got 0.9 in row 1"),
        (["0", "1"], [[0.5, 0.5]] * 2, [0, 1], "must name classes alike. Got string labels such as '0'"),
    ],
)
def test_bad_input_is_refused(y, proba, labels, words):
    with pytest.raises(ValueError, match=words):
        metrics.accuracy(y, proba, labels)


def test_at_least_one_bin_is_needed():
    with pytest.raises(ValueError, match="`n_bins` must be at least 1"):
        metrics.reliability(Y, PROBA, LABELS, n_bins=0)
