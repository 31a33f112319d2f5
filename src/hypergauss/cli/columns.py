"""Columns of tables as people keep them: what is known, what is a number, and what was meant as one."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.hypergraph.names import Name

#: A column of more different numbers than this is a measurement, not a category.
CATEGORIES = 20
#: Whole numbers of at most so many different values are classes, unless the task is named.
CLASSES = 10
#: Ways to write that something is not known.
_UNKNOWN = {"", "?", "na", "n/a", "nan", "null", "none"}
#: A number as a person writes it: $3,500 or 3,5 or 12 %. Not 1-2, 1.2.3 or 3+.
_WRITTEN = r"[-+]?\s?[$€£¥]?\s?(?:\d+|\d{1,3}(?:[,.' ]\d{3})+)(?:[.,]\d+)?\s?[%$€£¥]?"


def column(frame: pd.DataFrame, name: Name, path: Path) -> pd.Series:
    """Return a column, or say which ones there are."""
    if name not in frame.columns:
        names = [str(other) for other in frame.columns]
        raise FileError(
            f"{path} must have a column {name!r}.{_checks.did_you_mean(str(name), names)} Its columns are "
            f"{', '.join(names)}. If those are values, there is no line of names: --no-header calls columns 1, 2, ..."
        )
    return frame[name]


def without_ignored(frame: pd.DataFrame, path: Path, options: argparse.Namespace) -> pd.DataFrame:
    """Return a table without the columns that are to be ignored, each of which it must have."""
    for name in options.ignore:
        column(frame, name, path)
    return frame.drop(columns=options.ignore)


def is_known(values: pd.Series) -> np.ndarray:
    """Tell the rows that hold something other than a word for not knowing."""
    return ~(values.isna() | values.astype(str).str.strip().str.casefold().isin(_UNKNOWN)).to_numpy()


def as_numbers(values: pd.Series) -> pd.Series:
    """Return numbers, NaN where a value is none; what is true or false is none."""
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    return numbers.mask(values.map(lambda value: isinstance(value, bool | np.bool_)))


def are_measurements(numbers: pd.Series, *, most: int) -> bool:
    """Tell numbers that measure from whole ones that stand for at most so many classes."""
    return bool((numbers != numbers.round()).any() or numbers.nunique() > most)


def check_cells(values: pd.Series, path: Path, *, most: int, cure: str) -> None:
    """Refuse a column of measurements that a few cells make text of, naming the first row that does.

    Parameters
    ----------
    values : Series
        As the file has it, one row after the other.
    path : path
        The file.
    most : int
        So many different whole numbers may be classes.
    cure : str
        What to do where text is meant.
    """
    known = values.reset_index(drop=True)[is_known(values)]
    numbers = as_numbers(known)
    odd = known[numbers.isna()]
    written = odd.astype(str).str.strip().str.fullmatch(_WRITTEN)
    like_numbers = numbers.notna().sum() + written.sum()
    if odd.empty or like_numbers <= len(known) / 2:
        return
    if written.any() or are_measurements(numbers.dropna(), most=most):
        refuse_cell(values, odd, path, cure=cure)


def refuse_cell(values: pd.Series, odd: pd.Series, path: Path, *, cure: str) -> None:
    """Say in which row a number is none."""
    raise FileError(
        f"{path} must hold numbers in {values.name!r}, plain ones such as 3500 or 3.5. Row {odd.index[0] + 1:,} has "
        f"{odd.iloc[0]!r}{_checks.others(len(odd) - 1)}. Mend the cell, or empty it where nothing is known. {cure}"
    )
