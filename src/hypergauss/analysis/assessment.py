"""Assessment: how well a model predicts vertices that were held out, beside methods that know less."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from hypergauss import _checks, metrics
from hypergauss._checks import Labels, Seed, Values
from hypergauss.analysis.held_out_numbers import of_baselines, of_model
from hypergauss.estimators import HypergraphGPClassifier, VertexModel
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.vertices import in_order_of
from hypergauss.exceptions import DataWarning, LearningWarning
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import Name, as_list

MODEL, CONSTANT, LINEAR = "hypergraph GP", "without the hypergraph", "linear on memberships"
#: The name of each score, and whether more of it is better.
REGRESSION_SCORES = {"R2": True, "RMSE": False, "log density": True, "90% interval covers": None}
CLASSIFICATION_SCORES = {"accuracy": True, "log density": True, "Brier score": False, "calibration error": False}


class Assessment(NamedTuple):
    """Scores of held-out predictions, and the predictions themselves.

    Attributes
    ----------
    scores : DataFrame
        A row for each method and fold: columns ``method``, ``fold`` and the scores.
    held_out : DataFrame indexed by vertex
        The model's predictions of each observed vertex from the folds without it: ``observed`` and ``mean``, ``std``,
        ``low`` and ``high``, the ends of its 90% interval, and ``log density``; or ``observed`` and the probability of
        each class. Levels of a regressor stand there by their numbers, from 0.
    """

    scores: pd.DataFrame
    held_out: pd.DataFrame

    def summary(self) -> pd.DataFrame:
        """Return for each method the mean of each score over folds, and its standard error."""
        by = self.scores.drop(columns="fold").groupby("method", sort=False)
        return pd.concat({"mean": by.mean(), "error": by.sem()}, axis=1)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary."""
        return str(self.summary().to_html(float_format="{:.3f}".format))


def assess(
    model: VertexModel,
    X: Iterable[Name],
    y: Values | Labels,
    *,
    folds: int = 5,
    random_state: Seed = 0,
    report: Callable[[str], None] | None = None,
) -> Assessment:
    """Cross-validate a fitted model and two baselines: one that knows no hypergraph, and a linear one on memberships.

    Hyperparameters are learned anew in each fold, and averaged over where the fitted model's are; only the size
    exponent of a single hypergraph keeps the value that the fitted model has.

    Parameters
    ----------
    model : HypergraphGPRegressor or HypergraphGPClassifier
        Fitted; it is not changed.
    X, y : arrays, shape (n,)
        Observed vertices, each once, and what was observed.
    folds : int, default 5
        At most the number of vertices.
    random_state : int, RandomState or None
        How vertices are dealt to folds.
    report : callable, optional
        Called with a line of text for each fold.
    """
    given = as_list(X)
    names = np.fromiter(given, dtype=object, count=len(given))  # a tuple is one name, not a row of a table
    is_classifier = isinstance(model, HypergraphGPClassifier)
    targets = in_order_of(X, names, y, argument="y")
    levels = None if isinstance(model, HypergraphGPClassifier) else model.levels_
    has_labels = is_classifier or levels is not None
    targets = _checks.labels("y", targets, missing="Leave those out.") if has_labels else np.asarray(targets)
    _checks.same_length("X", len(names), "y", len(targets))
    folds = _checks.count("folds", folds, least=2, most=len(names), why="each fold holds out a vertex at least")
    memberships = _memberships(model)
    rows = model._rows(names)
    fold_of = _deal(targets if has_labels else None, len(names), folds, check_random_state(random_state))
    order = model.classes_ if isinstance(model, HypergraphGPClassifier) and model._is_ordinal else levels
    labels: Any = targets if order is None else pd.Categorical(targets, categories=order, ordered=True)
    if levels is not None:
        targets = _checks.positions(targets, levels)
    template = clone(model).set_params(**_settled(model), verbose=False)
    scores, held_out = [], []
    for fold in range(folds):
        if report is not None:
            report(f"cross-validation, fold {fold + 1} of {folds}")
        test, train = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        if has_labels and len(set(targets[train])) < 2:
            continue
        with warnings.catch_warnings():
            for told in (LearningWarning, DataWarning):  # by the whole model's fit already
                warnings.simplefilter("ignore", told)
            fitted = clone(template).fit(names[train], labels[train])
        known, wanted = memberships[rows[train]], memberships[rows[test]]
        if is_classifier:
            own, others = _classes(fitted, names[test], targets[train], known, wanted)
        else:
            own = of_model(fitted, names[test], targets[test], levels)
            linear, constant = of_baselines(fitted, targets[train], targets[test], (known, wanted), levels)
            others = {LINEAR: linear, CONSTANT: constant}
        for method, predicted in {MODEL: own, **others}.items():
            scores.append({"method": method, "fold": fold, **_score(targets[test], predicted, is_classifier)})
        held_out.append(own.set_axis(pd.Index(names[test], tupleize_cols=False)).assign(observed=targets[test]))
    if not scores:
        raise ValueError("Each training fold holds one class only. Label more vertices, or use fewer folds.")
    return Assessment(pd.DataFrame(scores), pd.concat(held_out).fillna(0.0))


def _settled(model: VertexModel) -> dict[str, Any]:
    """Return what folds take over from the fitted model: its size exponent, if there is one."""
    exponent = model.size_exponent_
    return {"size_exponent": float(exponent)} if isinstance(exponent, float) else {}


def _deal(classes: np.ndarray | None, n: int, folds: int, random: np.random.RandomState) -> np.ndarray:
    """Return the fold of each vertex: folds of one size, each with its share of every class."""
    order = random.permutation(n)
    if classes is not None:
        order = order[np.argsort(pd.factorize(classes[order])[0], kind="stable")]
    fold_of = np.empty(n, dtype=int)
    fold_of[order] = np.arange(n) % folds
    return fold_of


def _memberships(model: VertexModel) -> sp.csr_array:
    """Return the incidence matrices of all hypergraphs side by side; a graph's adjacency where there is none."""
    relations = Domain.of(model.H).relations.values()
    blocks = [r.incidence if isinstance(r, Hypergraph) else r.adjacency for r in relations]
    return sp.csr_array(sp.hstack(blocks))


def _classes(
    fitted: HypergraphGPClassifier, test: np.ndarray, y: np.ndarray, known: sp.csr_array, wanted: sp.csr_array
) -> tuple[pd.DataFrame, Mapping[str, pd.DataFrame]]:
    classes = fitted.classes_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        codes = _checks.positions(y, classes)
        logistic = LogisticRegression(max_iter=500).fit(known, codes)
    shares = np.bincount(codes, minlength=len(classes)) / len(codes)
    columns = pd.Index(classes, dtype=object, tupleize_cols=False)
    return pd.DataFrame(fitted.predict_proba(test), columns=columns), {
        LINEAR: pd.DataFrame(logistic.predict_proba(wanted), columns=columns[logistic.classes_]),
        CONSTANT: pd.DataFrame(np.tile(shares, (len(test), 1)), columns=columns),
    }


def _score(y: np.ndarray, predicted: pd.DataFrame, is_classifier: bool) -> dict[str, float]:
    if is_classifier:
        arguments = (y, predicted.to_numpy(), predicted.columns.to_numpy())
        return {
            "accuracy": metrics.accuracy(*arguments),
            "log density": metrics.log_predictive_density(*arguments),
            "Brier score": metrics.brier_score(*arguments),
            "calibration error": metrics.expected_calibration_error(*arguments),
        }
    errors = y - predicted["mean"]
    total = ((y - y.mean()) ** 2).sum()
    return {
        "R2": float(1 - (errors**2).sum() / total) if total > 0 else float("nan"),
        "RMSE": float(np.sqrt((errors**2).mean())),
        "log density": float(predicted["log density"].mean()),
        "90% interval covers": float(((y >= predicted["low"]) & (y <= predicted["high"])).mean()),
    }
