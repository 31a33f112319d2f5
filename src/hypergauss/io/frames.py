"""Frames: CSV, TSV and Parquet files as tables of pandas, refused where pandas would guess."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.io.files import COMPRESSED, existing_file, read_text, unknown_encoding, wrong_encoding

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

#: The endings of text files, and what separates their columns; None where the first line tells.
TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None, ".data": None, ".dat": None}
PARQUET = (".parquet", ".pq")
#: Only an empty cell is missing: NA may be Namibia.
_OPTIONS: dict[str, Any] = {"keep_default_na": False, "na_values": [""], "skipinitialspace": True, "low_memory": False}
#: What is a number and so hardly the name of a column.
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def read_frame(
    path: str | os.PathLike[str],
    *,
    text: Sequence[str | int] | None = (),
    header: bool = True,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> pd.DataFrame:
    """Read a table as it stands, and say what is wrong with a file that is none, and what to do.

    Parameters
    ----------
    path : path
        The file.
    text : sequence of str or int, or None
        Columns, by name or position, that are text of which nothing is made; None for all. Parquet knows by itself.
    header : bool
        Whether a text file's first line names the columns; otherwise they are called "1", "2", ...
    separator, encoding : str
        Of a text file.
    """
    file = existing_file(path)
    kind = file_kind(file, separator)
    if kind == "parquet":
        check_text_only(file, header=header, separator=separator)
        return _read_parquet(file)
    if file.stat().st_size == 0:
        raise FileError(f"{file} is empty. A line of column names is needed, and rows below it.")
    separator = separator or TEXT[kind] or _guess_separator(file, encoding)
    options = {"sep": separator, "encoding": encoding, "header": 0 if header else None, **_OPTIONS}
    try:
        names = list(pd.read_csv(file, nrows=0 if header else 1, **options).columns)
        shown = names if header else [str(number + 1) for number in names]
        wanted = shown if text is None else [shown[c] if isinstance(c, int) else c for c in text if _is_in(c, shown)]
        as_text = {name: str for name, called in zip(names, shown, strict=True) if called in wanted}
        frame = pd.read_csv(file, dtype=as_text, **options)
    except UnicodeDecodeError as error:
        raise wrong_encoding(file, encoding, error) from error
    except LookupError as error:
        raise unknown_encoding(encoding) from error
    except pd.errors.EmptyDataError as error:
        raise FileError(f"{file} has no columns. A line of column names is needed, and rows below it.") from error
    except (ValueError, TypeError, OverflowError, EOFError, OSError, pd.errors.ParserError) as error:
        reason = str(error).replace("\n", " ").strip()
        raise FileError(
            f"{file} cannot be read as a table: {reason}. Is it text, with the same columns in each row?"
        ) from error
    if len(frame) and not isinstance(frame.index, pd.RangeIndex):  # pandas has taken the first fields for names of rows
        _refuse_surplus(frame, file)
    return frame if header else frame.set_axis(shown, axis=1)


def column_names(
    path: str | os.PathLike[str], *, header: bool = True, separator: str | None = None, encoding: str = "utf-8"
) -> list[str]:
    """Return the names of a table's columns, as `read_frame` calls them, of a file that it has read."""
    file = existing_file(path)
    kind = file_kind(file, separator)
    if kind == "parquet":
        return [str(name) for name in open_parquet(file).schema_arrow.names]
    between = separator or TEXT[kind] or _guess_separator(file, encoding)
    first = pd.read_csv(file, nrows=1, sep=between, encoding=encoding, header=0 if header else None, **_OPTIONS)
    return [str(name) if header else str(name + 1) for name in first.columns]


def _is_in(column: str | int, names: Sequence[str]) -> bool:
    return isinstance(column, str) or column < len(names)


def _refuse_surplus(frame: pd.DataFrame, file: Path) -> None:
    """Refuse rows with more fields than there are column names: each value would stand under the wrong one."""
    columns, surplus = len(frame.columns), frame.index.nlevels
    first = frame.index[0] if surplus == 1 else frame.index[0][0]
    raise FileError(
        f"{file} must have as many fields in each row as column names, {columns:,}. Row 1, which begins with "
        f"{str(first)!r}, has {columns + surplus:,}. Name all columns in the first line, take out separators at the "
        "end of rows, and put text that holds a separator in quotes."
    )


def check_text_only(file: Path, *, header: bool, separator: str | None) -> None:
    """Refuse of a Parquet file what has a meaning in text files alone."""
    if not header or separator is not None:
        raise ValueError(f"`header` and `separator` are of text files. Got one for {file}, which is Parquet.")


def check_header(
    frame: pd.DataFrame, columns: Sequence[str], file: str | os.PathLike[str], *, known: Container[str] = ()
) -> None:
    """Refuse a file whose first line, taken for column names, is a row: nothing in it may be lost.

    It is a row where the name of one of these columns is a value of the column as well, a number above numbers, or one
    of the names that are ``known`` of vertices.
    """
    for column in columns:
        values, name = frame[column], str(column)
        if name in known or (values == name).any():
            found = f"{name!r} is a name, not the name of a column"
        elif _NUMBER.fullmatch(name) and len(values) and pd.to_numeric(values, errors="coerce").notna().all():
            found = f"{name!r} is a number above numbers"
        else:
            continue
        raise FileError(
            f"The first line of {file} must name its columns, and looks like a row: {found}. Add a line of names; say "
            "that there is none with `header=False` (--no-header); of lines that list members, say "
            "--lists; or, if it is one, name the columns to be used."
        )


def file_kind(path: Path, separator: str | None = None) -> str:
    """Return "parquet", or the ending of a text file without that of its compression.

    A file of any ending is text if it is said what separates its columns.
    """
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in PARQUET:
        return "parquet"
    plain = [ending for ending in endings[-2:] if ending not in COMPRESSED]
    if plain and plain[-1] in TEXT:
        return plain[-1]
    if separator is not None:
        return ".txt"
    raise FileError(
        f"A table's file must end in {', '.join([*TEXT, *PARQUET])}. Got {path.name!r}. Rename it to say what it is, "
        "or say what separates its columns with `separator` (--separator)."
    )


def _guess_separator(file: Path, encoding: str) -> str:
    """Return the commonest of tab, semicolon and comma in the first line, or spaces where there is none of them."""
    first = (read_text(file, encoding).splitlines() or [""])[0] if file.suffix.lower() in TEXT else ""
    found = max("\t;,", key=first.count)
    return r"\s+" if found not in first and " " in first.strip() else found


@contextmanager
def parquet_errors(file: Path) -> Iterator[None]:
    """Say in one sentence what Arrow finds wrong with a file."""
    arrow = _checks.optional("pyarrow", "parquet")
    try:
        yield
    except (arrow.ArrowException, ArithmeticError, LookupError, OSError, ValueError, TypeError) as error:
        reason = str(error).replace("\n", " ").strip()[:300]
        raise FileError(f"{file} cannot be read as Parquet: {reason}. Write it again, or give it as CSV.") from error


def open_parquet(file: Path) -> ParquetFile:
    """Return an open Parquet file."""
    parquet = _checks.optional("pyarrow.parquet", "parquet")
    with parquet_errors(file):
        return parquet.ParquetFile(file)


def _read_parquet(file: Path) -> pd.DataFrame:
    """Read Parquet as a frame: the columns alone, since what pandas noted beside them may be of another version."""
    source = open_parquet(file)
    with parquet_errors(file):
        table = source.read()
        table.validate(full=True)  # pandas would stumble over bytes that are no text when it comes to them
        return table.to_pandas(split_blocks=True, ignore_metadata=True)
