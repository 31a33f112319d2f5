"""What was understood of the files, in lines that are printed before anything is learned."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from hypergauss.cli.reading import reading
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import Name
from hypergauss.io.frames import column_names

#: How many classes are counted one by one.
_CLASSES = 6


class Understood(NamedTuple):
    """A file, or a matter, what it was taken for, and which option says otherwise (on the command line alone)."""

    what: str
    meaning: str
    hint: str = ""


def memberships(path: Path, H: Hypergraph, options: argparse.Namespace, *, of: str, form: str) -> Understood:
    """Say which columns are vertices, hyperedges and weights, and how many there are of each.

    Parameters
    ----------
    path : path
        The file.
    H : Hypergraph
        What was read.
    options : Namespace
        Columns that were named.
    of : str
        What the file is called: "edges", or a relation's name.
    form : {"table", "lists", "HIF"}
        How it was read.
    """
    sides = f"{H.num_vertices:,} vertices", f"{H.num_edges:,} hyperedges"
    weight = "all of weight 1" if (H.incidence.data == 1.0).all() else f"of weights {_spread(H.incidence.data)}"
    rest = [f"{H.num_incidences:,} memberships {weight}"]
    if form != "table":
        how = "a line a hyperedge" if form == "lists" else "a HIF file"
        return Understood(path.name, f"{how}: {', '.join([*sides, *rest])}")
    hint = ""
    columns = column_names(path, **reading(path, options, of))
    if options.members is not None:
        edge = f"{options.edge!r}" if options.edge else "numbered rows"
        taken = f"{edge}: {sides[1]}; members in {options.members!r}: {sides[0]}"
    else:
        vertex, edge = options.vertex or columns[0], options.edge or columns[1]
        taken = f"{vertex!r} names {sides[0]}, {edge!r} {sides[1]}"
        used = {vertex, edge, options.weight}
        if options.weight:
            rest[0] += f" ({options.weight!r})"
        unread = [name for name in columns if name not in used]
        if unread:
            hint = " (--weight says otherwise)" if options.weight is None else ""
            rest.append(f"not read: {_listed(unread)}")
    return Understood(path.name, f"{taken}; {'; '.join(rest)}", hint)


def ratings(path: Path, users: pd.Series, items: pd.Series, values: pd.Series) -> Understood:
    """Say which columns are users, items and ratings, and how many there are of each."""
    return Understood(
        path.name,
        f"{str(users.name)!r} names {users.nunique():,} users, {str(items.name)!r} {items.nunique():,} items; "
        f"{len(values):,} ratings ({str(values.name)!r}) from {_spread(values.to_numpy(dtype=float))}",
    )


def counts(H: Hypergraph) -> Understood:
    """Say how many vertices, hyperedges and memberships there are."""
    return Understood(
        "hypergraph", f"{H.num_vertices:,} vertices, {H.num_edges:,} hyperedges, {H.num_incidences:,} memberships"
    )


def target(
    values: pd.Series,
    *,
    is_classification: bool,
    said: bool,
    path: Path | None = None,
    unread: Sequence[str] = (),
) -> Understood:
    """Say what is to be predicted, and where it stands: which classes, how often, or which range of numbers.

    Columns that could have been meant too are named, with the option that takes one of them.
    """
    if is_classification:
        ordered = isinstance(values.dtype, pd.CategoricalDtype)
        tally = values.value_counts(sort=not ordered)
        shown = ", ".join(f"{label} {count:,}" for label, count in tally.iloc[:_CLASSES].items())
        more = f", and {len(tally) - _CLASSES} more" if len(tally) > _CLASSES else ""
        kind = f"{len(tally)} {'ordered ' * ordered}classes ({shown}{more})"
        could_be_numbers = not pd.to_numeric(pd.Series(tally.index.astype(str)), errors="coerce").isna().any()
        other = "numbers if they are amounts" if could_be_numbers else None
    else:
        kind = f"numbers from {_spread(values.to_numpy(dtype=float))}"
        other = "classes if they are labels"
    hint = "" if said or other is None else f"; --target-type {other}"
    if unread:
        kind, hint = f"{kind}; not read: {_listed(unread)}", f" (--target says otherwise){hint}"
    place = "" if path is None else f" in {path.name}"
    whose = "" if values.index.name is None else f", of the vertex in {str(values.index.name)!r}"
    return Understood("target", f"{str(values.name)!r}{place}{whose}: {kind}", hint)


def known(observed: int, vertices: int) -> Understood:
    """Say for how many vertices something is known."""
    return Understood("known", f"{observed:,} of {vertices:,} vertices, {vertices - observed:,} to predict")


def tell(lines: Sequence[Understood]) -> None:
    """Print what was understood, aside from results."""
    width = max(len(line.what) for line in lines)
    for line in lines:
        print(f"{line.what:<{width}}  {line.meaning}{line.hint}", file=sys.stderr)  # noqa: T201
    sys.stderr.flush()


def _spread(numbers: np.ndarray) -> str:
    series = pd.Series(numbers)
    return f"{series.min():.4g} to {series.max():.4g}"


def _listed(names: Sequence[Name]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")
