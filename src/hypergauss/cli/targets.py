"""What is known of vertices: tables of labels or values, of covariates and of ratings."""

from __future__ import annotations

import argparse
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hypergauss import _checks
from hypergauss.cli.columns import CLASSES, as_numbers, check_cells, column, is_known, refuse_cell, without_ignored
from hypergauss.cli.reading import has_header, read
from hypergauss.exceptions import FileError
from hypergauss.io.frames import PARQUET, check_header


def check_first_line(
    frame: pd.DataFrame,
    columns: Sequence[Any],
    path: Path,
    options: argparse.Namespace,
    of: str,
    *,
    known: Container[str] = (),
) -> None:
    """Refuse a first line that is a row, where it is taken for a header."""
    if has_header(options, of) and path.suffix.lower() not in PARQUET:
        check_header(frame, columns, path, known=known)


def labels(
    path: Path,
    options: argparse.Namespace,
    *,
    vertex: str | None = None,
    target: str | None = None,
    task: str = "auto",
    known: Container[str] = (),
) -> pd.Series:
    """Read a table of vertices and what was observed of them; rows without an observation are left out.

    Parameters
    ----------
    path : path
        The table.
    options : Namespace
        How it is to be read.
    vertex, target : str, optional
        Its columns, the first two if not given.
    task : {"auto", "regression", "classification"}
        What the target is for.
    known : container of str
        Names of vertices, which the first line must not hold.
    """
    frame = read(path, options, "labels", text=[vertex or 0, target or 1])
    if len(frame.columns) < 2:
        raise FileError(f"{path} must have two columns, a vertex and its label or value. It has {list(frame.columns)}.")
    names, values = (column(frame, given or frame.columns[at], path) for at, given in enumerate((vertex, target)))
    if names.name == values.name:
        raise ValueError(f"Vertices and labels must be two columns. Got {names.name!r} for both.")
    if not (vertex or target):
        check_first_line(frame, [names.name, values.name], path, options, "labels", known=known)
    check_target(values, path, task)
    observed = is_known(values)
    found = pd.Series(values[observed].to_numpy(dtype=object), index=names[observed].astype(str), name=str(values.name))
    if found.empty:
        raise FileError(f"{path} must hold a label or value at least. Column {values.name!r} is empty.")
    if found.index.isin(["nan", ""]).any():
        raise FileError(f"{path} must name a vertex in each row. Some rows have none.")
    return found


def check_target(values: pd.Series, path: Path, task: str) -> None:
    """Refuse cells that would make a classification of a regression, or that a regression cannot take."""
    if task == "auto":
        check_cells(values, path, most=CLASSES, cure="If classes are meant, say --target-type classes.")
    if task == "regression":
        known = values.reset_index(drop=True)[is_known(values)]
        odd = known[as_numbers(known).isna()]
        if len(odd):
            refuse_cell(values, odd, path, cure="Of classes, say --target-type classes.")


def covariates(path: Path, vertices: pd.Index, options: argparse.Namespace) -> pd.DataFrame:
    """Read a table of numbers, a row for every vertex."""
    frame = without_ignored(read(path, options, "covariates", text=[0]), path, options)
    if len(frame.columns) < 2:
        raise FileError(f"{path} must have a column of vertices and one of numbers at least.")
    check_first_line(frame, [frame.columns[0]], path, options, "covariates", known=vertices)
    table = frame.set_index(frame.columns[0])
    table.index = table.index.astype(str)
    numbers = table.apply(pd.to_numeric, errors="coerce")
    for name in table.columns:
        values = table[name].reset_index(drop=True)
        odd = values[is_known(values) & numbers[name].isna().to_numpy()]
        if len(odd):
            refuse_cell(
                values,
                odd,
                path,
                cure="Of categories, make hyperedges with --relation; or leave the column out with --ignore.",
            )
    absent = vertices[~vertices.isin(table.index)]
    if len(absent):
        raise FileError(
            f"{path} must have a row for every vertex. {absent[0]!r}{_checks.others(len(absent) - 1)} has none."
        )
    return numbers


def ratings(options: argparse.Namespace, of: str = "ratings") -> tuple[pd.Series, pd.Series, pd.Series]:
    """Read a table of users, items and ratings: the first three columns, unless others are named."""
    path, named = getattr(options, of), (options.user_column, options.item_column, options.rating_column)
    frame = read(path, options, of, text=[named[0] or 0, named[1] or 1])
    if len(frame.columns) < len(named):
        raise FileError(f"{path} must have three columns, user, item and rating. It has {list(frame.columns)}.")
    users, items, values = (column(frame, given or frame.columns[at], path) for at, given in enumerate(named))
    if not any(named):
        check_first_line(frame, [users.name, items.name, values.name], path, options, of)
    numbers = pd.to_numeric(values, errors="coerce")
    bad = numbers.isna() | users.isna() | items.isna()
    if bad.any():
        row = int(bad.to_numpy().argmax())
        raise FileError(f"{path} must hold a user, an item and a number in each row. Row {row + 1} does not.")
    return users.astype(str), items.astype(str), numbers
