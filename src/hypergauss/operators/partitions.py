"""Partitioned Parquet: one row a membership, read piece by piece where the work is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.operators.shards import Rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import ParquetFile

_Read = TypeVar("_Read")

#: Rows of a table that one task reads, in whole row groups.
_ROWS = 5_000_000
#: Classes of vertex numbers that rows are counted in, so that shards get about equally many.
_CLASSES = 4096


class Columns(NamedTuple):
    """Names of the columns of a table of memberships."""

    vertex: str
    edge: str
    weight: str | None


class Partition(NamedTuple):
    """Some row groups of a file."""

    path: str
    groups: tuple[int, ...]
    first_row: int


class Memberships(NamedTuple):
    """Rows of the table: a vertex, a hyperedge, and how strongly the one belongs to the other."""

    vertex: np.ndarray
    edge: np.ndarray
    weight: np.ndarray | None


def find_partitions(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Partition]:
    """Return the partitions of a folder of Parquet files, of a file, or of a list of files.

    A path may be an address that Arrow knows, such as ``s3://bucket/folder``.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    files = [file for item in paths for file in _files(os.fspath(item))]
    if not files:
        raise FileError(
            f"A hypergraph must have a Parquet file at least. {', '.join(map(str, paths)) or 'An empty list'} holds "
            "none. Name the folder that has files ending in .parquet."
        )
    return [partition for file in files for partition in _groups(file)]


def read_memberships(partition: Partition, columns: Columns, is_text: tuple[bool, bool]) -> Memberships:
    """Read a partition and check it, as `find_partitions` found it."""
    file = _open(partition.path)
    wanted = [column for column in columns if column is not None]
    for column in wanted:
        if column not in file.schema_arrow.names:
            raise _no_column(partition.path, column, file.schema_arrow.names)
    table = _arrow(partition.path, lambda: file.read_row_groups(list(partition.groups), columns=wanted))
    vertex, edge = (
        _names(table.column(column), column, partition, text) for column, text in zip(columns[:2], is_text, strict=True)
    )
    if columns.weight is None:
        return Memberships(vertex, edge, None)
    weight = _weights(table.column(columns.weight), columns.weight, partition)
    kept = weight > 0
    return Memberships(vertex[kept], edge[kept], weight[kept])


def text_columns(partition: Partition, columns: Columns) -> tuple[bool, bool]:
    """Return whether vertices, and hyperedges, are named by text: else by whole numbers."""
    arrow = _checks.optional("pyarrow", "dask")
    schema = _open(partition.path).schema_arrow
    found = []
    for column in columns[:2]:
        if column not in schema.names:
            raise _no_column(partition.path, column, schema.names)
        kind = schema.field(column).type
        kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
        if not (arrow.types.is_integer(kind) or _is_text(kind)):
            raise FileError(
                f"{partition.path} must have whole numbers or text in {column!r}. It has {kind}. Write the column anew."
            )
        found.append(_is_text(kind))
    return found[0], found[1]


def distinct(table: Memberships, column: int) -> np.ndarray:
    """Return the names in a column, each once."""
    return merged(np.asarray(table[column]))


def merged(*names: np.ndarray) -> np.ndarray:
    """Return all names, each once, in sorted order: the place of a name is its number."""
    import pandas as pd  # only workers that read names need it

    return np.sort(pd.unique(np.concatenate(names)))


def numbered(
    table: Memberships,
    partition: Partition,
    vertex: str,
    size: int,
    vertices: np.ndarray | None,
    edges: np.ndarray | None,
) -> Memberships:
    """Return names as their places in lists; a column without a list has numbers, of vertices from 0 to N - 1."""
    if vertices is not None:
        table = table._replace(vertex=_places(vertices, table.vertex))
    bad = np.flatnonzero((table.vertex < 0) | (table.vertex >= size))
    if len(bad):
        raise FileError(
            f"{partition.path} must have numbers from 0 to {size - 1:,} in {vertex!r}, since `n_vertices` is {size:,}. "
            f"Got {table.vertex[bad[0]]:,}{_checks.others(len(bad) - 1)}. Leave `n_vertices` out, and vertices are "
            "numbered in sorted order."
        )
    return table if edges is None else table._replace(edge=_places(edges, table.edge))


def _places(names: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return where each name stands in a list."""
    import pandas as pd

    return pd.Index(names).get_indexer(wanted)


def moved(table: Memberships, places: np.ndarray) -> Memberships:
    """Return a table whose vertices are numbered by their places in an order."""
    return table._replace(vertex=places[table.vertex])


def counts(table: Memberships, size: int) -> np.ndarray:
    """Return how many rows each class of neighbouring vertices has."""
    return np.bincount(table.vertex * _CLASSES // max(size, 1), minlength=_CLASSES)


def boundaries(size: int, number: int, *by_class: np.ndarray) -> np.ndarray:
    """Return where to cut 0..N so that at most ``number`` pieces have about equally many rows and vertices."""
    ends = -(-np.arange(1, _CLASSES + 1) * size // _CLASSES)
    rows = np.cumsum(sum(by_class)).astype(np.float64)
    load = rows / max(rows[-1], 1.0) + ends / max(size, 1)
    inner = ends[np.searchsorted(load, 2.0 * np.arange(1, number) / number)]
    return np.unique(np.concatenate([[0], inner, [size]]).astype(np.int64))


def split(table: Memberships, bounds: np.ndarray) -> list[Memberships]:
    """Return a table's rows for each shard."""
    shard = np.searchsorted(bounds, table.vertex, side="right") - 1
    order = np.argsort(shard, kind="stable")
    cuts = np.searchsorted(shard[order], np.arange(1, len(bounds) - 1))
    return [
        Memberships(table.vertex[rows], table.edge[rows], None if table.weight is None else table.weight[rows])
        for rows in np.split(order, cuts)
    ]


def part(tables: list[Memberships], shard: int) -> Memberships:
    """Return the rows for one shard."""
    return tables[shard]


def joined(start: int, vertices: np.ndarray, *parts: Memberships) -> Rows:
    """Return rows of the incidence from ``start`` on, which are these vertices, from all partitions' memberships.

    A pair that occurs twice counts once, or adds up if there are weights.
    """
    vertex, edge = (np.concatenate(columns) for columns in list(zip(*parts, strict=True))[:2])
    weight = None if parts[0].weight is None else np.concatenate([part.weight for part in parts])
    edges, columns = np.unique(edge, return_inverse=True)
    data = np.ones(len(vertex)) if weight is None else weight
    matrix = sp.csr_array((data, (vertex - start, columns)), shape=(len(vertices), len(edges)))
    if weight is None:
        matrix.data[:] = 1.0
    return Rows(vertices, edges, matrix, {})


# ---------------------------------------------------------------- files


def _files(path: str) -> list[str]:
    """Return the Parquet files at a path, sorted."""
    fs = _checks.optional("pyarrow.fs", "dask")
    if "://" not in path:
        path = str(Path(path).absolute())  # a worker may be elsewhere
    system, inside = _system(path)
    info = system.get_file_info(inside)
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(f"There is no file or folder {path}. Workers read it too: use a path that all have.")
    if info.type == fs.FileType.File:
        return [path]
    found = system.get_file_info(fs.FileSelector(inside, recursive=True))
    prefix = path[: len(path) - len(inside)] if path.endswith(inside) else ""
    names = sorted(item.path for item in found if item.type == fs.FileType.File)
    return [prefix + name for name in names if name.lower().endswith((".parquet", ".pq"))]


def _system(path: str) -> tuple[FileSystem, str]:
    fs = _checks.optional("pyarrow.fs", "dask")
    return fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)


def _open(path: str) -> ParquetFile:
    parquet = _checks.optional("pyarrow.parquet", "dask")
    system, inside = _system(path)
    return _arrow(path, lambda: parquet.ParquetFile(inside, filesystem=system))


def _arrow(path: str, read: Callable[[], _Read]) -> _Read:
    """Return what Arrow reads, or say that the file is none of its."""
    arrow = _checks.optional("pyarrow", "dask")
    try:
        return read()
    except FileNotFoundError as error:
        raise FileError(f"There is no file {path} where a worker looks for it. Use a path that all have.") from error
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).replace("\n", " ").strip()[:300]
        raise FileError(f"{path} cannot be read as Parquet: {reason}. Write this partition again.") from error


def _groups(path: str) -> list[Partition]:
    """Return a file's row groups, gathered into partitions of a few million rows."""
    metadata = _open(path).metadata
    found: list[Partition] = []
    groups: list[int] = []
    first = row = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        row += metadata.row_group(group).num_rows
        if row - first >= _ROWS:
            found.append(Partition(path, tuple(groups), first))
            groups, first = [], row
    if groups or not found:
        found.append(Partition(path, tuple(groups), first))
    return found


def _no_column(path: str, column: str, names: Sequence[str]) -> FileError:
    near = _checks.did_you_mean(column, list(names))
    return FileError(f"{path} must have a column {column!r}.{near} Its columns are {', '.join(names)}.")


def _is_text(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _names(column: pa.ChunkedArray, name: str, partition: Partition, is_text: bool) -> np.ndarray:
    """Return a column of names as an array of whole numbers or of text."""
    if column.null_count:
        row = partition.first_row + int(np.argmax(column.is_null().to_numpy())) + 1
        raise FileError(
            f"{partition.path} must name a vertex and a hyperedge in each row. Row {row:,} has no {name!r}"
            f"{_checks.others(column.null_count - 1)}. Fill the cell, or take the row out."
        )
    arrow = _checks.optional("pyarrow", "dask")
    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    if _is_text(kind) != is_text or not (is_text or arrow.types.is_integer(kind)):
        wanted = "text" if is_text else "whole numbers"
        raise FileError(
            f"{partition.path} must have {wanted} in {name!r}, as the first partition has. It has {kind}. Write the "
            "partition anew."
        )
    values = column.to_pandas().to_numpy()
    return np.asarray(values, dtype=object) if is_text else np.asarray(values, dtype=np.int64)


def _weights(column: pa.ChunkedArray, name: str, partition: Partition) -> np.ndarray:
    import pandas as pd

    numbers = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if len(bad):
        raise FileError(
            f"{partition.path} must have finite weights of 0 or more in {name!r}. Row "
            f"{partition.first_row + bad[0] + 1:,} has {column[int(bad[0])].as_py()!r}{_checks.others(len(bad) - 1)}. "
            "Correct them, or take those rows out."
        )
    return numbers
