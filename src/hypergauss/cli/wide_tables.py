"""One row a vertex: which column names it, which are hyperedges, which covariates."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pandas as pd

from hypergauss.cli import understood
from hypergauss.cli.columns import CATEGORIES, as_numbers, check_cells, column, is_known, without_ignored
from hypergauss.cli.problems import Problem, settled
from hypergauss.cli.reading import read
from hypergauss.cli.targets import check_target
from hypergauss.cli.understood import Understood
from hypergauss.exceptions import FileError
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import unique_index
from hypergauss.io.files import existing_file

#: How columns of identifiers are called: id, user_id, userId, customer no, name.
_ID = re.compile(r"(?i:(?:.*[^a-z])?(?:id|key|no|nr|number|code|index|uuid|name))|.*[a-z]I[dD]")


def from_wide_table(options: argparse.Namespace) -> Problem:
    """Read one row a vertex: categories are hyperedges, measurements covariates."""
    existing_file(options.table)
    if options.target is None:
        raise ValueError(
            f"{options.table} alone is taken for a table, one row a vertex, and needs --target COLUMN, what is to be "
            "predicted. If it says who took part in what, give a second file of what is known: hypergauss fit "
            "edges.csv labels.csv."
        )
    path = options.table
    frame = without_ignored(read(path, options, "table", text=None), path, options)
    values = column(frame, options.target, path)
    observed = is_known(values)
    if not observed.any():
        raise FileError(f"{path} must hold a label or value at least. Column {options.target!r} is empty.")
    check_target(values, path, options.task)
    rest = frame.drop(columns=[options.target])
    for name in rest.columns.drop(options.vertex or [], errors="ignore"):
        cure = f"If it names the vertices, say --vertex {name}; for categories, begin each with a letter."
        check_cells(rest[name], path, most=CATEGORIES, cure=cure)
    known = pd.DataFrame({name: is_known(rest[name]) for name in rest.columns}, index=rest.index)
    vertex = options.vertex or _vertex_column(rest, known)
    if vertex == options.target:
        raise ValueError(f"--vertex and --target must be two columns. Got {vertex!r} for both.")
    names = _names(rest, vertex, path)
    alike = [c for c in rest.columns if c == vertex or not _tells_apart(rest[c], known[c])]
    features = rest[[c for c in alike if c != vertex]]
    measured = [c for c in features.columns if _is_measured(features[c][known[c]])]
    categories = features.drop(columns=measured)
    binned = measured if options.bins else []
    for name in binned:
        categories = categories.assign(**{name: _ranges(features[name].where(known[name]), options.bins)})
    measured = [] if options.bins else measured
    left_out = [c for c in rest.columns if c not in alike]
    if categories.shape[1] == 0:
        cure = " Make ranges of its numbers with --bins 5." if measured else ""
        raise FileError(f"{path} must have a column of categories beside the target, to make hyperedges of.{cure}")
    columns = _columns_note(vertex, list(categories.columns), measured, left_out, binned)
    covariates = None
    if measured:
        numbers = rest[measured].where(known[measured]).apply(as_numbers)
        covariates = numbers.fillna(numbers.median()).set_axis(names)
    texts = categories.where(known[list(categories.columns)]).map(lambda value: value if pd.isna(value) else str(value))
    H = Hypergraph.from_attributes(texts.set_axis(names))
    H = Hypergraph(H.incidence, vertices=H.vertices, edges=_said(H.edges), weights=H.weights)
    target = pd.Series(values[observed].to_numpy(dtype=object), index=names[observed], name=options.target)
    problem = settled(H, target, covariates, options, [])
    lines = [
        Understood(path.name, columns),
        understood.counts(H),
        understood.target(problem.target, is_classification=problem.is_classification, said=options.task != "auto"),
        understood.known(len(problem.target), H.num_vertices),
    ]
    return problem._replace(understood=lines)


def _vertex_column(table: pd.DataFrame, known: pd.DataFrame) -> str | None:
    """Return the first column that is different in every row and can be a name, or None.

    Text can. Whole numbers can where they come first, run on without a gap, or are called as identifiers are; others
    may be measurements that happen to differ.
    """
    for position, name in enumerate(table.columns):
        values = table[name]
        if len(values) < 2 or not known[name].all() or not values.is_unique:
            continue
        numbers = as_numbers(values)
        if numbers.isna().any():
            return str(name)
        is_whole = (numbers == numbers.round()).all()
        if is_whole and (position == 0 or _ID.fullmatch(str(name)) or numbers.max() - numbers.min() == len(values) - 1):
            return str(name)
    return None


def _names(table: pd.DataFrame, vertex: str | None, path: Path) -> pd.Index:
    if vertex is None:
        return pd.Index([str(row) for row in range(1, len(table) + 1)], dtype=object)
    return unique_index(column(table, vertex, path).astype(str).tolist(), of="vertices")


def _tells_apart(values: pd.Series, known: pd.Series) -> bool:
    """Tell text that is different in every row, of which there are many: it relates no two vertices."""
    held = values[known]
    return len(held) > CATEGORIES and held.is_unique and bool(as_numbers(held).isna().any())


def _is_measured(values: pd.Series) -> bool:
    numbers = as_numbers(values)
    return bool(len(numbers) and numbers.notna().all() and numbers.nunique() > CATEGORIES)


def _ranges(values: pd.Series, bins: int) -> pd.Series:
    """Return numbers as the range that each is in; ranges hold as many vertices each, as far as values differ."""
    ranges = pd.qcut(as_numbers(values), bins, duplicates="drop", precision=3)
    return ranges.map(lambda cell: f"{cell.left:g} to {cell.right:g}", na_action="ignore").astype(object)


def _columns_note(
    vertex: str | None, categories: list[str], measured: list[str], left_out: list[str], binned: list[str]
) -> str:
    """Say which columns were taken for what."""
    parts = ["vertices are numbered by row" if vertex is None else f"{vertex!r} names the vertex"]
    parts.append(f"hyperedges come of {', '.join(map(repr, categories))}")
    if binned:
        parts.append(f"{', '.join(map(repr, binned))} in ranges")
    if measured:
        parts.append(f"{', '.join(map(repr, measured))} are covariates, their gaps filled with the median")
    if left_out:
        parts.append(f"{', '.join(map(repr, left_out))} are left out, as they differ in every row")
    return f"{'; '.join(parts)} (--vertex, --ignore say otherwise)"


def _said(edges: pd.Index) -> pd.Index:
    """Name the hyperedge of a column's value as it would be said."""
    return unique_index([f"{name} = {value}" for name, value in edges], of="edges")
