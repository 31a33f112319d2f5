"""Tables as CSV, TSV or Parquet files: one row a membership, or one row a hyperedge with a list of its members."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.assembly import Numbered
from hypergauss.io.files import existing_file, read_text, written_whole, wrong_encoding
from hypergauss.io.numbering import number_text

_TEXT = {".csv": ",", ".tsv": "\t", ".txt": None}
_PARQUET = (".parquet", ".pq")
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
    vertices: Iterable[Any] | None = None,
    edge_weight: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Hypergraph:
    """Read a hypergraph from a CSV, TSV or Parquet file (extra ``parquet``), told apart by the file's ending.

    Parameters
    ----------
    path : path
        The file, with a line of column names. CSV and TSV may be compressed (``.csv.gz``).
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
        frame = read_frame(file, text=[c for c in (edge, members) if c], separator=separator, encoding=encoding)
        return _from_lists(frame, file, edge, members, within, vertices, edge_weight)
    if edge_weight is not None:
        raise ValueError(
            "`edge_weight` goes with `members`, one row a hyperedge. Got a table with one row a membership."
        )
    table = _read_memberships(file, vertex, edge, weight, separator, encoding)
    used = list(table)
    try:
        return Hypergraph.from_table(table, vertex=used[0], edge=used[1], weight=weight, vertices=vertices)
    except (ValueError, TypeError) as error:
        raise FileError(f"{file} holds no hypergraph that can be used. {error}") from error


def _read_memberships(
    file: Path, vertex: str | None, edge: str | None, weight: str | None, separator: str | None, encoding: str
) -> dict[str, Any]:
    """Return the columns of vertices and hyperedges, their names numbered, and of weights if asked for."""
    is_parquet = _kind(file) == "parquet"
    whole: Any
    if is_parquet:
        whole = _open_parquet(file)
        columns = list(whole.schema_arrow.names)
    else:
        whole = read_frame(file, text=[vertex or 0, edge or 1], separator=separator, encoding=encoding)
        columns = list(whole.columns)
    if len(columns) < 2:
        only = ", ".join(map(str, columns))
        raise FileError(
            f"{file} must have two columns at least, vertex and hyperedge. It has {only!r}. "
            "Name what stands between columns with `separator`, or the column of lists with `members`."
        )
    used = [vertex or columns[0], edge or columns[1]] + ([weight] if weight else [])
    for column in used:
        _check_column(columns, column, file)
    table: dict[str, Any]
    if is_parquet:
        table = _numbered_parquet(whole, used[:2], weight, file)
    else:
        _no_gaps(whole, used[:2], file)
        table = {column: _numbered(whole[column], file) for column in used[:2]}
        if weight:
            table[weight] = whole[weight]
    if weight:
        table[weight] = _numbers(table[weight], weight, file)
    return table


def write_table(H: Hypergraph, path: str | os.PathLike[str], *, vertex: str = "vertex", edge: str = "edge") -> None:
    """Write one row a membership to a CSV, TSV or Parquet file, with a column "weight" if memberships have weights.

    Isolated vertices, empty hyperedges and hyperedge weights have no place in such a table: `write_hif` keeps all.
    """
    target = Path(path)
    matrix = H.incidence.tocoo()
    order = np.lexsort((matrix.row, matrix.col))
    frame = pd.DataFrame({vertex: H.vertices[matrix.row[order]], edge: H.edges[matrix.col[order]]})
    if (matrix.data != 1.0).any():
        frame["weight"] = matrix.data[order]
    kind = _kind(target)
    with written_whole(target) as file:
        if kind == "parquet":
            _checks.optional("pyarrow", "parquet")
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False, sep=_TEXT[kind] or ",", encoding="utf-8")


def read_frame(
    path: str | os.PathLike[str],
    *,
    text: Sequence[str | int] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
) -> pd.DataFrame:
    """Read a table as it stands, the columns ``text`` (by name or position) as text that nothing is made of.

    An error names what is wrong with the file and what to do.
    """
    file = existing_file(path)
    kind = _kind(file)
    if kind == "parquet":
        return _read_parquet(file)
    if file.stat().st_size == 0:
        raise FileError(f"{file} is empty. A line of column names is needed, and rows below it.")
    separator = separator or _TEXT[kind] or _guess_separator(file, encoding)
    try:
        head = pd.read_csv(file, sep=separator, encoding=encoding, nrows=0, **_OPTIONS)
        names = list(head.columns)
        as_text = {names[c] if isinstance(c, int) else c for c in text if not isinstance(c, int) or c < len(names)}
        return pd.read_csv(file, sep=separator, encoding=encoding, dtype=dict.fromkeys(as_text, str), **_OPTIONS)
    except UnicodeDecodeError as error:
        raise wrong_encoding(file, encoding, error) from error
    except LookupError as error:
        raise FileError(f"`encoding` must name a text encoding. Got {encoding!r}. Try 'utf-8' or 'latin-1'.") from error
    except pd.errors.EmptyDataError as error:
        raise FileError(f"{file} has no columns. A line of column names is needed, and rows below it.") from error
    except (ValueError, TypeError, OverflowError, EOFError, OSError, pd.errors.ParserError) as error:
        reason = str(error).replace("\n", " ").strip()
        raise FileError(
            f"{file} cannot be read as a table: {reason}. Is it text, with the same columns in each row?"
        ) from error


#: Only an empty cell is missing: NA may be Namibia.
_OPTIONS: dict[str, Any] = {"keep_default_na": False, "na_values": [""], "skipinitialspace": True, "low_memory": False}


def _kind(path: Path) -> str:
    """Return "parquet", or the ending of a text file without that of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in _PARQUET:
        return "parquet"
    plain = [ending for ending in endings[-2:] if ending not in (".gz", ".bz2", ".xz", ".zst")]
    if plain and plain[-1] in _TEXT:
        return plain[-1]
    raise FileError(
        f"A table's file must end in {', '.join([*_TEXT, *_PARQUET])}. Got {path.name!r}. Rename it to say what it is."
    )


def _guess_separator(file: Path, encoding: str) -> str:
    """Return the commonest of tab, semicolon and comma in the first line."""
    first = (read_text(file, encoding).splitlines() or [""])[0] if file.suffix == ".txt" else ""
    return max("\t;,", key=first.count)


@contextmanager
def _parquet_errors(file: Path) -> Iterator[None]:
    """Say in one sentence what Arrow finds wrong with a file."""
    arrow = _checks.optional("pyarrow", "parquet")
    try:
        yield
    except (arrow.ArrowException, ArithmeticError, LookupError, OSError, ValueError, TypeError) as error:
        reason = str(error).replace("\n", " ").strip()[:300]
        raise FileError(f"{file} cannot be read as Parquet: {reason}. Write it again, or give it as CSV.") from error


def _open_parquet(file: Path) -> Any:
    parquet = _checks.optional("pyarrow.parquet", "parquet")
    with _parquet_errors(file):
        return parquet.ParquetFile(file)


def _read_parquet(file: Path) -> pd.DataFrame:
    """Read Parquet as a frame: the columns alone, since what pandas noted beside them may be of another version."""
    source = _open_parquet(file)
    with _parquet_errors(file):
        table = source.read()
        table.validate(full=True)  # pandas would stumble over bytes that are no text when it comes to them
        return table.to_pandas(split_blocks=True, ignore_metadata=True)


def _numbered_parquet(source: Any, names: Sequence[str], weight: str | None, file: Path) -> dict[str, Any]:
    """Read only the columns wanted, and number their names without a Python object a row."""
    wanted = list(dict.fromkeys([*names, *([weight] if weight else [])]))
    with _parquet_errors(file):
        table = source.read(columns=wanted)
        texts = [name for name in dict.fromkeys(names) if str(table.column(name).type) in ("string", "large_string")]
        for name in texts:
            if table.column(name).null_count:
                _refuse_gaps(table.column(name).is_null().to_numpy(), name, file)
        with ThreadPoolExecutor() as pool:  # neither Arrow nor NumPy holds Python's lock over a column
            columns = dict(zip(texts, pool.map(lambda name: number_text(table.column(name)), texts), strict=True))
        others = [name for name in wanted if name not in texts or name == weight]
        frame = pd.DataFrame({name: table.column(name).to_pandas() for name in others})
    _no_gaps(frame, [name for name in names if name in frame], file)
    numbered = {n: _with_numbers(columns[n]) if n in columns else _numbered(frame[n], file) for n in names}
    return numbered | ({weight: frame[weight]} if weight else {})


def _check_column(columns: Sequence[Any], column: str, file: Path) -> None:
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


def _numbered(values: pd.Series, file: Path) -> Any:
    """Return a column with its names numbered; whole numbers number themselves."""
    if values.dtype.kind in "iu":
        return values.to_numpy()
    try:
        codes, names = pd.factorize(values)
    except TypeError as error:
        raise FileError(
            f"{file} must hold text or numbers in {values.name!r}, one name a row. "
            f"Got {type(values.iloc[0]).__name__}. A column of lists is named with `members`."
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
    vertices: Iterable[Any] | None,
    edge_weight: str | None,
) -> Hypergraph:
    """Assemble from one row a hyperedge; an empty list is an empty hyperedge."""
    lists = _column(frame, members, file)
    names: Any = range(len(frame))
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
