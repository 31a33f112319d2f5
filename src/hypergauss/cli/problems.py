"""Problem: what `hypergauss fit` is to fit, once it is told what the target is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.cli.columns import CLASSES, are_measurements, as_numbers
from hypergauss.cli.understood import Understood
from hypergauss.estimators.grown_relations import Relations

#: Likelihoods of numbers alone, and of classes alone; "ordinal" is of both.
NUMBER_LIKELIHOODS = ("gaussian", "student-t", "poisson")
CLASS_LIKELIHOODS = ("logit", "probit", "softmax", "robust-max")


class Problem(NamedTuple):
    """What is to be fitted.

    Attributes
    ----------
    H : Hypergraph or dict of them
        On one set of vertices.
    target : Series indexed by vertex
        Observed labels (text, or ordered categories) or values (numbers).
    is_classification : bool
        Which of the two.
    covariates : DataFrame indexed by vertex, or None
        Numbers known of every vertex.
    notes : list of str
        What was decided on the way and the user should know.
    understood : sequence of Understood
        What each file was taken for.
    """

    H: Relations
    target: pd.Series
    is_classification: bool
    covariates: pd.DataFrame | None
    notes: list[str]
    understood: Sequence[Understood] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether classes have an order."""
        return isinstance(self.target.dtype, pd.CategoricalDtype)


def settled(
    H: Relations, target: pd.Series, covariates: pd.DataFrame | None, options: argparse.Namespace, notes: list[str]
) -> Problem:
    """Tell regression from classification, and give each vertex one target."""
    task = options.task
    numbers = as_numbers(target)
    is_numeric = bool(numbers.notna().all())
    looks_like_classes = not is_numeric or not are_measurements(numbers, most=CLASSES)
    is_classification = task == "classification" or (task == "auto" and looks_like_classes)
    if is_classification:
        labels = _one_label_each(target.astype(str))
        return Problem(H, _in_order(labels, options, notes), True, covariates, notes)
    if not np.isfinite(numbers).all():
        raise ValueError(f"Values must be finite. {target.name!r} holds an infinite one.")
    if numbers.index.has_duplicates:
        if options.likelihood not in (None, "gaussian"):
            again = numbers.index[numbers.index.duplicated()]
            raise ValueError(
                f"Each vertex must have one value with --likelihood {options.likelihood}. {again[0]!r}"
                f"{_checks.others(len(again.unique()) - 1)} has several. Keep one, or leave --likelihood out."
            )
        notes.append(f"{int(numbers.index.duplicated().sum()):,} repeated measurements were averaged.")
        numbers = numbers.groupby(level=0, sort=False).mean()
    return Problem(H, numbers, False, covariates, notes)


def _in_order(labels: pd.Series, options: argparse.Namespace, notes: list[str]) -> pd.Series:
    """Return labels with the order that was asked for, that of numbers, or none where none is needed."""
    seen = labels.unique().tolist()
    if options.order is None:
        if options.likelihood != "ordinal":
            return labels
        if as_numbers(pd.Series(seen)).isna().any():
            raise ValueError(
                f"--likelihood ordinal needs classes in an order. {labels.name!r} holds text such as "
                f"{sorted(seen)[0]!r}. Name the classes, lowest first: --order low,medium,high."
            )
        names = sorted(seen, key=float)
    else:
        names = [name.strip() for name in options.order.split(",")]
    unnamed = [label for label in seen if label not in names]
    if unnamed or len(set(names)) < len(names):
        near = _checks.did_you_mean(unnamed[0], names) if unnamed else ""
        found = f"{unnamed[0]!r}{_checks.others(len(unnamed) - 1)} is missing" if unnamed else "one stands there twice"
        raise ValueError(
            f"--order must name every class of {labels.name!r} once, lowest first. Got {options.order!r}: "
            f"{found}.{near}"
        )
    unseen = [name for name in names if name not in seen]
    if unseen:
        notes.append(f"No vertex has the label {unseen[0]!r}{_checks.others(len(unseen) - 1)} of --order.")
    categories = pd.CategoricalDtype([name for name in names if name in seen], ordered=True)
    return labels.astype(categories)


def _one_label_each(target: pd.Series) -> pd.Series:
    clash = target.groupby(level=0, sort=False).nunique()
    if (clash > 1).any():
        names = clash.index[clash > 1]
        raise ValueError(f"Each vertex must have one label. {names[0]!r}{_checks.others(len(names) - 1)} has two.")
    once = target[~target.index.duplicated()]
    if once.nunique() < 2:
        raise ValueError(f"Labels of two classes at least are needed. All are {once.iloc[0]!r}.")
    return once
