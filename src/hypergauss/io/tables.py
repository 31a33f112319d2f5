"""Tables as CSV, TSV or Parquet files: one row a membership, or one row a hyperedge with a list of its members."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.assembly import Numbered
from hypergauss.hypergraph.names import Name
from hypergauss.io.files import existing_file, written_whole
from hypergauss.io.frames import (
    TEXT,
    check_header,
    check_text_only,
    file_kind,
    open_parquet,
    parquet_errors,
    read_frame,
)
from hypergauss.io.given import check_hypergraph
from hypergauss.io.notes import membership_notes
from hypergauss.io.numbering import number_text

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

#: What a number has to look like so that writing it again gives the same text: 007 and +7 are names, not numbers.
_WHOLE_NUMBER = r"(?:0|-?[1-9][0-9]{0,17})"


def read_table(
    path: str | os.PathLike[str],
    *,
    vertex: str | None = None,
    edge: str | None = None,
    weight: str | None = None,
    members: str | None = None,
    within: str = ";",
    vertices: Iterable[Name] | None = None,
    edge_weight: str | None = None,
    time: str | None = None,
    direction: str | None = None,
    header: bool = True,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Hypergraph:
    """Read a hypergraph from a CSV, TSV or Parquet file (extra ``parquet``), told apart by the file's ending.

    Parameters
    ----------
    path : path
        The file. CSV and TSV may be compressed (``.csv.gz``).
    vertex, edge : str, optional
        The columns that name the vertex and the hyperedge of each row, the first two if not given.
    weight : str, optional
        The column of membership weights r(v, e) >= 0.
    members : str, optional
        One row a hyperedge: the column that lists its members. Its names are those of column ``edge``, or 0, 1, ...
    within : str, default ";"
        What separates members in text. Parquet's lists need nothing.
    vertices : iterable, optional
        All vertices, for those in no hyperedge, and to fix an order.
    edge_weight : str, optional
        With ``members``: the column of hyperedge weights w(e) > 0.
    time, direction : str, optional
        Columns that say when each membership was, and whether the vertex is in the "head" or the "tail" of its
        hyperedge. They are kept in ``attributes``, `write_hif` writes them, and no model looks at them.
    header : bool, default True
        Whether the first line of a text file names its columns; otherwise they are called "1", "2", ... A first line
        that looks like a row is refused, unless columns are named.
    separator : str, optional
        Between columns, if neither the file's ending nor its first line tells.
    encoding : str, default "utf-8"
        Of a text file.

    Notes
    -----
    A column of whole numbers gives whole numbers as names, any other gives text; a name such as 007 stays text. In
    text files an empty cell is a missing name and is refused; "NA" is a name like any other.
    """
    file = existing_file(path)
    if members is not None:
        if any(column is not None for column in (vertex, weight, time, direction)):
            raise ValueError(
                "`members` lists vertices, one row a hyperedge. Got `vertex`, `weight`, `time` or `direction` as well, "
                "which are columns of a table with one row a membership. Give either."
            )
        _checks.different_columns([c for c in (edge, members, edge_weight) if c])
        text = [c for c in (edge, members) if c]
        frame = read_frame(file, text=text, header=header, separator=separator, encoding=encoding)
        return _from_lists(frame, file, edge, members, within, vertices, edge_weight)
    if edge_weight is not None:
        raise ValueError(
            "`edge_weight` goes with `members`, one row a hyperedge. Got a table with one row a membership."
        )
    reading = {"header": header, "separator": separator, "encoding": encoding}
    table = _read_memberships(file, (vertex, edge), weight, [c for c in (time, direction) if c], **reading)
    used = list(table)
    try:
        H = Hypergraph.from_table(table, vertex=used[0], edge=used[1], weight=weight, vertices=vertices)
        if time is None and direction is None:
            return H
        times, directions = (None if column is None else table[column] for column in (time, direction))
        notes = membership_notes(table[used[0]], table[used[1]], times=times, directions=directions, file=file)
        return H.with_attributes(**notes)
    except (ValueError, TypeError) as error:
        raise FileError(f"{file} holds no hypergraph that can be used. {error}") from error


def _read_memberships(
    file: Path, names: tuple[str | None, str | None], weight: str | None, notes: Sequence[str], **reading: Any
) -> dict[str, Any]:
    """Return the columns of vertices and hyperedges, their names numbered, and of weights and notes if asked for."""
    vertex, edge = names
    is_parquet = file_kind(file, reading["separator"]) == "parquet"
    whole: Any
    if is_parquet:
        check_text_only(file, header=reading["header"], separator=reading["separator"])
        whole = open_parquet(file)
        columns = list(whole.schema_arrow.names)
    else:
        whole = read_frame(file, text=[vertex or 0, edge or 1], **reading)
        columns = list(whole.columns)
    if len(columns) < 2:
        only = ", ".join(map(str, columns))
        raise FileError(
            f"{file} must have two columns at least, vertex and hyperedge. It has {only!r}. "
            "Name what stands between columns with `separator` (--separator), or the column of lists with `members` "
            "(--members)."
        )
    more = ([weight] if weight else []) + list(notes)
    used = [vertex or columns[0], edge or columns[1], *more]
    _checks.different_columns(used)
    for column in used:
        _check_column(columns, column, file)
    table: dict[str, Any]
    if is_parquet:
        table = _numbered_parquet(whole, used[:2], more, file)
    else:
        if reading["header"] and not (vertex or edge or weight):  # who names columns knows that they have names
            check_header(whole, used, file)
        _no_gaps(whole, used[:2], file)
        table = {column: _numbered(whole[column], file) for column in used[:2]}
        table |= {column: whole[column] for column in more}
    if weight:
        table[weight] = _numbers(table[weight], weight, file)
    return table


def write_table(H: Hypergraph, path: str | os.PathLike[str], *, vertex: str = "vertex", edge: str = "edge") -> None:
    """Write one row a membership to a CSV, TSV or Parquet file, with a column "weight" if memberships have weights.

    Isolated vertices, empty hyperedges and hyperedge weights have no place in such a table: `write_hif` keeps all.
    """
    check_hypergraph(H)
    target = Path(path)
    frame = H.to_frame(vertex=vertex, edge=edge)
    if (frame["weight"] == 1.0).all():
        frame = frame.drop(columns="weight")
    kind = file_kind(target)
    with written_whole(target) as file:
        if kind == "parquet":
            _checks.optional("pyarrow", "parquet")
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False, sep=TEXT[kind] or ",", encoding="utf-8")


def _numbered_parquet(source: ParquetFile, names: Sequence[str], more: Sequence[str], file: Path) -> dict[str, Any]:
    """Read only the columns wanted, and number their names without a Python object a row."""
    wanted = list(dict.fromkeys([*names, *more]))
    with parquet_errors(file):
        table = source.read(columns=wanted)
        texts = [name for name in dict.fromkeys(names) if str(table.column(name).type) in ("string", "large_string")]
        for name in texts:
            if table.column(name).null_count:
                _refuse_gaps(table.column(name).is_null().to_numpy(), name, file)
        with ThreadPoolExecutor() as pool:  # neither Arrow nor NumPy holds Python's lock over a column
            columns = dict(zip(texts, pool.map(lambda name: number_text(table.column(name)), texts), strict=True))
        others = [name for name in wanted if name not in texts or name in more]
        frame = pd.DataFrame({name: table.column(name).to_pandas() for name in others})
    _no_gaps(frame, [name for name in names if name in frame], file)
    numbered = {n: _with_numbers(columns[n]) if n in columns else _numbered(frame[n], file) for n in names}
    return numbered | {name: frame[name] for name in more}


def _check_column(columns: Sequence[Name], column: str, file: Path) -> None:
    if column not in columns:
        names = [str(name) for name in columns]
        near = _checks.did_you_mean(str(column), names)
        raise FileError(f"{file} must have a column {column!r}.{near} Its columns are {', '.join(names)}.")
    if list(columns).count(column) > 1:
        raise FileError(f"{file} has the column {column!r} twice. Rename one.")


def _column(frame: pd.DataFrame, column: str, file: Path) -> pd.Series:
    _check_column(list(frame.columns), column, file)
    return frame[column]


def _no_gaps(frame: pd.DataFrame, columns: Sequence[str], file: Path) -> None:
    for column in columns:
        _refuse_gaps(frame[column].isna().to_numpy(), column, file)


def _refuse_gaps(is_missing: np.ndarray, column: str, file: Path) -> None:
    """Refuse rows without a name."""
    missing = np.flatnonzero(is_missing)
    if len(missing):
        raise FileError(
            f"{file} must name a vertex and a hyperedge in each row. Row {missing[0] + 1:,} has no {column!r}"
            f"{_checks.others(len(missing) - 1)}. Fill the cell, or take the row out."
        )


def _numbered(values: pd.Series, file: Path) -> Numbered | np.ndarray:
    """Return a column with its names numbered; whole numbers number themselves."""
    if values.dtype.kind in "iu":
        return values.to_numpy()
    try:
        codes, names = pd.factorize(values)
    except TypeError as error:
        raise FileError(
            f"{file} must hold text or numbers in {values.name!r}, one name a row. "
            f"Got {type(values.iloc[0]).__name__}. A column of lists is named with `members` (--members)."
        ) from error
    return _with_numbers(Numbered(codes, names))


def _with_numbers(column: Numbered) -> Numbered:
    """Return the same names, as whole numbers if all of them read so."""
    names = np.asarray(column.names, dtype=object)
    is_number = re.compile(_WHOLE_NUMBER).fullmatch
    if len(names) and all(isinstance(name, str) and is_number(name) for name in names):
        names = names.astype(np.int64)
    return Numbered(column.codes, names)


def _numbers(values: pd.Series, column: str, file: Path) -> np.ndarray:
    """Return a column of weights."""
    numbers = pd.to_numeric(values, errors="coerce")
    bad = np.flatnonzero(numbers.isna().to_numpy())
    if len(bad):
        raise FileError(
            f"{file} must have numbers in {column!r}. Row {bad[0] + 1:,} has {values.iloc[bad[0]]!r}"
            f"{_checks.others(len(bad) - 1)}."
        )
    return numbers.to_numpy(dtype=float)


def _from_lists(
    frame: pd.DataFrame,
    file: Path,
    edge: str | None,
    members: str,
    within: str,
    vertices: Iterable[Name] | None,
    edge_weight: str | None,
) -> Hypergraph:
    """Assemble from one row a hyperedge; an empty list is an empty hyperedge."""
    lists = _column(frame, members, file)
    names: Iterable[Name] = range(len(frame))
    if edge is not None:
        column = _column(frame, edge, file)
        _no_gaps(frame, [edge], file)
        if column.duplicated().any():
            twice = column[column.duplicated()].iloc[0]
            raise FileError(f"{file} must name each hyperedge once in {edge!r}. {twice!r} occurs twice. Join its rows.")
        numbered = _numbered(column, file)
        names = numbered.names if isinstance(numbered, Numbered) else numbered
    weights = None if edge_weight is None else _numbers(_column(frame, edge_weight, file), edge_weight, file)
    split = _split(lists, within) if pd.api.types.infer_dtype(lists.dropna()) in ("string", "categorical") else lists
    rows = pd.DataFrame({"edge": np.arange(len(frame)), "vertex": split.reset_index(drop=True)})
    long = rows.explode("vertex", ignore_index=True).dropna(subset="vertex")
    long = long[long["vertex"] != ""]
    columns = {"vertex": _numbered(long["vertex"], file), "edge": np.asarray(names)[long["edge"].to_numpy(np.int64)]}
    try:
        return Hypergraph.from_table(
            columns,
            vertex="vertex",
            edge="edge",
            vertices=vertices,
            edges=names,
            weights=weights,
        )
    except (ValueError, TypeError) as error:
        raise FileError(f"{file} holds no hypergraph that can be used. {error}") from error


def _split(texts: pd.Series, within: str) -> pd.Series:
    """Split text into lists, without the spaces around names."""
    if not within:
        raise ValueError("`within` must say what separates members. Got an empty text.")
    stripped = texts.astype("object").str.strip()
    return stripped.str.split(rf"\s*{re.escape(within.strip())}\s*" if within.strip() else r"\s+", regex=True)
