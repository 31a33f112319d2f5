"""A light page for more vertices than a browser holds: a map of counts, and a sample that can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hypergauss.report.numbers import rounded

#: Vertices up to which a page shows all of them, how many a light page shows, and the cells of its map.
MOST_VERTICES, SAMPLE = 50_000, 5_000
_ACROSS, _DOWN = 120, 80


def sample(n: int, observed: np.ndarray, first: Sequence[np.ndarray]) -> np.ndarray:
    """Return which vertices the page shows, ascending: all, or those named first, observed ones, and others by chance.

    Of the chance ones, up to half are observed.
    """
    if n < MOST_VERTICES:
        return np.arange(n)
    rng = np.random.default_rng(0)
    named = np.unique(np.concatenate([np.asarray(rows, dtype=int) for rows in first]))[: SAMPLE // 2]
    seen = np.setdiff1d(observed, named)
    seen = rng.choice(seen, min(len(seen), (SAMPLE - len(named)) // 2), replace=False)
    rest = np.setdiff1d(np.arange(n), np.concatenate([named, seen, observed]))
    rest = rng.choice(rest, min(len(rest), SAMPLE - len(named) - len(seen)), replace=False)
    return np.sort(np.concatenate([named, seen, rest]))


def cells(x: np.ndarray, y: np.ndarray, values: np.ndarray, uncertainty: np.ndarray, *, classes: int) -> dict[str, Any]:
    """Return how many vertices lie in each cell of the map, what is predicted there, and how uncertain it is.

    Parameters
    ----------
    x, y, uncertainty : arrays, shape (N,)
        Places in [0, 1], and a number each.
    values : array, shape (N,)
        The predicted class, or mean.
    classes : int
        How many; 0 for means.
    """
    column = np.minimum((x * _ACROSS).astype(int), _ACROSS - 1)
    row = np.minimum((y * _DOWN).astype(int), _DOWN - 1)
    full, back = np.unique(row * _ACROSS + column, return_inverse=True)
    counts = np.bincount(back)
    if classes:
        table = np.zeros((len(full), classes))
        np.add.at(table, (back, values.astype(int)), 1.0)
        shown = table.argmax(axis=1).tolist()
    else:
        shown = rounded(np.bincount(back, weights=values) / counts)
    return {
        "across": _ACROSS,
        "down": _DOWN,
        "cell": full.tolist(),
        "count": counts.tolist(),
        "value": shown,
        "uncertainty": rounded(np.bincount(back, weights=uncertainty) / counts),
    }
