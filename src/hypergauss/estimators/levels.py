"""Labels into numbers: in the order that they bring along, or sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def numbered(labels: np.ndarray, given: Any, *, is_ordinal: bool) -> tuple[np.ndarray, np.ndarray]:
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
