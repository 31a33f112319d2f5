"""Columns that a model does not look at, times and directions of memberships, as attributes of a hypergraph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.hypergraph.assembly import Numbered
from hypergauss.hypergraph.names import Membership, plain

#: How tables say which side of a hyperedge a vertex is on.
_SIDES = {"tail": "tail", "source": "tail", "from": "tail", "in": "tail"} | {
    "head": "head",
    "target": "head",
    "to": "head",
    "out": "head",
}


def membership_notes(
    vertices: Numbered | np.ndarray,
    edges: Numbered | np.ndarray,
    *,
    times: pd.Series | None,
    directions: pd.Series | None,
    file: Path,
) -> dict[str, Any]:
    """Return attributes of memberships, one row each; a membership in several rows keeps each row's time in a list.

    Parameters
    ----------
    vertices, edges : Numbered or array
        The names in each row.
    times, directions : Series, optional
        What each row says; an empty cell says nothing. Directions are "head" or "tail", or words for them.
    file : path
        Where they are from.
    """
    pairs = list(zip(_names(vertices), _names(edges), strict=True))
    notes: dict[str, Any] = {}
    if times is not None:
        of_pairs: dict[Membership, list[Any]] = {}
        for pair, time in zip(pairs, times, strict=True):
            if not pd.isna(time):
                of_pairs.setdefault(pair, []).append(_kept(time))
        notes["incidences"] = {pair: {"time": t[0] if len(t) == 1 else t} for pair, t in of_pairs.items()}
    if directions is not None:
        sides = directions.astype(str).str.strip().str.casefold().map(_SIDES)
        bad = np.flatnonzero(sides.isna().to_numpy() & directions.notna().to_numpy())
        if len(bad):
            raise FileError(
                f"{file} must say 'head' or 'tail' in {directions.name!r} (or target and source, to and from, out and "
                f"in). Row {bad[0] + 1:,} has {directions.iloc[bad[0]]!r}{_checks.others(len(bad) - 1)}."
            )
        on: dict[Membership, tuple[str, ...]] = {}
        for pair, side in zip(pairs, sides, strict=True):
            if isinstance(side, str):
                on[pair] = tuple(dict.fromkeys((*on.get(pair, ()), side)))
        notes |= {"directions": on, "network_type": "directed"}
    return notes


def _names(column: Numbered | np.ndarray) -> list[Any]:
    names = np.asarray(column.names, dtype=object)[column.codes] if isinstance(column, Numbered) else np.asarray(column)
    return [plain(name) for name in names]


def _kept(time: Any) -> Any:
    """Return a time as JSON can hold it."""
    return time.isoformat() if hasattr(time, "isoformat") else plain(time)
