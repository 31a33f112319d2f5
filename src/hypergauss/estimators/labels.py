"""Labels: what may be one, their numbers and likelihood, each vertex once, and further ones beside known ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d

from hypergauss import _checks
from hypergauss._checks import Labels
from hypergauss.estimators.vertices import half_given, in_order_of
from hypergauss.hypergraph.names import Name, Names, as_list, plain
from hypergauss.likelihoods import Bernoulli, Classification, MultinomialProbit, OrderedProbit, RobustMax, Softmax

LIKELIHOODS = ("auto", "probit", "softmax", "robust-max", "ordinal", "logit")


def check_labels(y: Labels | None) -> np.ndarray:
    """Return labels as a 1-D array without missing ones and without numbers that are measurements."""
    if y is None:
        raise ValueError("Learning requires y to be passed, but the target y is None.")
    if not isinstance(y, list | tuple) and np.ndim(y) == 2 and np.shape(y)[1] == 1:
        y = column_or_1d(y, warn=True)
    labels = _checks.labels("y", y, missing="Leave unlabelled vertices out: they are what is predicted.")
    alike: dict[str, Any] = {}
    for label in set(labels.tolist()) if labels.dtype == object else ():
        if alike.setdefault(str(label), label) != label:
            raise TypeError(
                f"`y` must hold labels that differ in more than their kind. Got {alike[str(label)]!r} and {label!r}, "
                "which would be two classes. Turn all of them into text, or all into numbers."
            )
    fractions = labels[labels != np.round(labels)] if labels.dtype.kind == "f" else labels[:0]
    if len(fractions):
        raise ValueError(
            f"Unknown label type: `y` must hold classes. Got continuous numbers such as {fractions[0]}. "
            "Use `HypergraphGPRegressor` for measurements."
        )
    return labels


def numbered(labels: np.ndarray, given: Labels, *, is_ordinal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each label's class and the classes: in the order that labels bring along, or sorted."""
    dtype = getattr(given, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        ordered = pd.Categorical(labels, dtype=dtype).remove_unused_categories()
        return ordered.codes.astype(np.int64), ordered.categories.to_numpy()
    codes, classes = _sorted_classes(labels)
    text = [str(label) for label in classes if isinstance(label, str)]
    if is_ordinal and text:
        raise ValueError(
            f"`likelihood='ordinal'` needs classes in an order. Got text such as {text[0]!r}, which has none but the "
            "alphabet's. Give `y` as `pandas.Categorical(y, categories=[...], ordered=True)`, lowest first, or numbers."
        )
    return codes, classes


def _sorted_classes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which class each label is, and the classes: sorted, or as they come where they have no order."""
    try:
        return pd.factorize(labels, sort=True)
    except TypeError:
        return pd.factorize(labels)


def once_each(rows: np.ndarray, codes: np.ndarray, names: Names) -> tuple[np.ndarray, np.ndarray]:
    """Return each labelled vertex once, refusing one with two labels."""
    unique, first, back = np.unique(rows, return_index=True, return_inverse=True)
    clash = np.flatnonzero(codes[first][back] != codes)
    if len(clash):
        raise ValueError(
            f"`vertices` must have one label each. Got two for {plain(names[clash[0]])!r}"
            f"{_checks.others(len(clash) - 1)}. Decide on one, or leave the vertex out."
        )
    return unique, codes[first]


def make_likelihood(
    likelihood: str | Classification, classes: list[Any], codes: np.ndarray, *, usual: str
) -> Classification:
    """Return the named likelihood for as many classes as there are; "auto" is the usual one for more than two."""
    if len(classes) < 2:
        raise ValueError(f"`y` must hold at least two classes. Got one: '{classes[0]}'. Label some of another class.")
    if isinstance(likelihood, Classification):
        if likelihood.num_classes != len(classes):
            raise ValueError(f"`likelihood` is for {likelihood.num_classes} classes. Got {len(classes)} in `y`.")
        return likelihood
    _checks.one_of("likelihood", likelihood, LIKELIHOODS)
    if likelihood == "auto":
        likelihood = usual if len(classes) > 2 else "probit"
    if likelihood == "probit":
        return Bernoulli("probit") if len(classes) == 2 else MultinomialProbit(len(classes))
    if likelihood == "logit":
        if len(classes) > 2:
            raise ValueError(f"`likelihood='logit'` is for two classes. Got {len(classes)}. Use 'softmax' or 'probit'.")
        return Bernoulli("logit")
    if likelihood == "ordinal":
        return OrderedProbit.from_labels(codes)
    return Softmax(len(classes)) if likelihood == "softmax" else RobustMax(len(classes))


def with_further(known: pd.Series, X: Iterable[Name] | None, y: Labels | None, classes: np.ndarray) -> pd.Series:
    """Return labels with further ones, of classes that there are and without contradicting any."""
    if X is None or y is None:
        raise half_given(X)
    names = as_list(X)
    labels = check_labels(in_order_of(X, names, y, argument="y"))
    _checks.same_length("vertices", len(names), "y", len(labels))
    told = dict(zip(known.index, known, strict=True))
    for name, label in zip(names, labels, strict=True):
        if not any(label == each for each in classes):
            raise ValueError(
                f"`y` must hold classes that the model knows ({', '.join(map(str, classes))}). Got {plain(label)!r}. "
                "A new class has a latent function to be learned: fit again."
            )
        if told.setdefault(name, label) != label:
            raise ValueError(
                f"`y` must not contradict a label that the model knows. Got {plain(label)!r} for {plain(name)!r}, "
                f"which is {plain(told[name])!r}. Leave it out, or fit again with the label that is right."
            )
    index = pd.Index(np.fromiter(told, dtype=object, count=len(told)), tupleize_cols=False)
    values = np.fromiter(told.values(), dtype=object, count=len(told))
    return pd.Series(values.astype(known.to_numpy().dtype), index=index)
