"""Files into a problem: hypergraphs, targets and covariates, with every name as text.

Text on all sides: a vertex 7 of one file and "7" of another are the same vertex, and 007 is another.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.exceptions import FileError
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import unique_index
from hypergauss.io.frames import read_frame
from hypergauss.io.hif import read_hif
from hypergauss.io.tables import read_table

#: A column of so many different numbers is a measurement, not a category.
_CATEGORIES = 20
#: Whole numbers of at most so many different values are classes, unless the task is named.
_CLASSES = 10
#: The share of labels that may be of vertices without hyperedges before names seem not to match.
_STRANGERS = 0.01
#: Ways to write that something is not known.
_UNKNOWN = {"", "?", "na", "n/a", "nan", "null", "none"}


class Problem(NamedTuple):
    """What is to be fitted.

    Attributes
    ----------
    H : Hypergraph or dict of them
        On one set of vertices.
    target : Series indexed by vertex
        Observed labels (text) or values (numbers).
    is_classification : bool
        Which of the two.
    covariates : DataFrame indexed by vertex, or None
        Numbers known of every vertex.
    notes : list of str
        What was decided on the way and the user should know.
    """

    H: Any
    target: pd.Series
    is_classification: bool
    covariates: pd.DataFrame | None
    notes: list[str]


def hypergraph(options: argparse.Namespace) -> Hypergraph:
    """Read what ``--edges`` names."""
    if options.edges is None:
        raise ValueError("A hypergraph is needed: --edges FILE, a table of memberships or a HIF file.")
    return _read(options.edges, options)


def _read(path: Path, options: argparse.Namespace) -> Hypergraph:
    if path.suffix.lower() == ".json":
        return _with_text_names(read_hif(path))
    return _with_text_names(
        read_table(
            path,
            vertex=options.vertex,
            edge=options.edge,
            weight=options.weight,
            members=options.members,
            within=options.within,
            separator=options.separator,
            encoding=options.encoding,
        )
    )


def _with_text_names(H: Hypergraph) -> Hypergraph:
    vertices, edges = (
        unique_index([str(name) for name in index], of=of)
        for index, of in ((H.vertices, "vertices"), (H.edges, "edges"))
    )
    return Hypergraph(H.incidence, vertices=vertices, edges=edges, weights=H.weights)


def problem(options: argparse.Namespace) -> Problem:
    """Read everything that `hypergauss fit` was given."""
    if options.table is not None:
        if options.edges is not None or options.labels is not None:
            raise ValueError("--table stands in place of --edges and --labels. Give either.")
        return _from_wide_table(options)
    if options.labels is None:
        raise ValueError("Labels are needed: --labels FILE, a table of vertices and what is known of them.")
    H = hypergraph(options)
    notes: list[str] = []
    target = labels(options.labels, options.label_vertex, options.target, options)
    relations = {name: _read(Path(path), _without_columns(options)) for name, path in map(_named, options.relation)}
    vertices = H.vertices
    for relation in relations.values():
        vertices = vertices.union(relation.vertices, sort=False)
    vertices = _with_strangers(vertices, target, options, notes)
    aligned = {name: part.with_vertices(vertices) for name, part in {"edges": H, **relations}.items()}
    whole: Any = aligned if relations else aligned["edges"]
    covariates = None if options.covariates is None else _covariates(options.covariates, vertices, options)
    return _settled(whole, target, covariates, options.task, notes)


def labels(path: Path, vertex: str | None, column: str | None, options: Any) -> pd.Series:
    """Read a table of vertices and what was observed of them; rows without an observation are left out."""
    separator, encoding = getattr(options, "separator", None), getattr(options, "encoding", "utf-8")
    frame = read_frame(path, text=[vertex or 0, column or 1], separator=separator, encoding=encoding)
    if len(frame.columns) < 2:
        raise FileError(f"{path} must have two columns, a vertex and its label or value. It has {list(frame.columns)}.")
    names, values = (_column(frame, given or frame.columns[at], path) for at, given in enumerate((vertex, column)))
    known = _is_known(values)
    target = pd.Series(values[known].to_numpy(dtype=object), index=names[known].astype(str), name=str(values.name))
    if target.empty:
        raise FileError(f"{path} must hold a label or value at least. Column {values.name!r} is empty.")
    if target.index.isin(["nan", ""]).any():
        raise FileError(f"{path} must name a vertex in each row. Some rows have none.")
    return target


def ratings(options: argparse.Namespace) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Read a table of users, items and ratings: the first three columns, unless others are named."""
    path, named = options.ratings, (options.user_column, options.item_column, options.rating_column)
    text = [named[0] or 0, named[1] or 1]
    frame = read_frame(path, text=text, separator=options.separator, encoding=options.encoding)
    if len(frame.columns) < len(named):
        raise FileError(f"{path} must have three columns, user, item and rating. It has {list(frame.columns)}.")
    users, items, values = (_column(frame, given or frame.columns[at], path) for at, given in enumerate(named))
    numbers = pd.to_numeric(values, errors="coerce")
    bad = numbers.isna() | users.isna() | items.isna()
    if bad.any():
        row = int(bad.to_numpy().argmax())
        raise FileError(f"{path} must hold a user, an item and a number in each row. Row {row + 1} does not.")
    return users.astype(str), items.astype(str), numbers


def _column(frame: pd.DataFrame, column: Any, path: Path) -> pd.Series:
    if column not in frame.columns:
        names = [str(name) for name in frame.columns]
        raise FileError(
            f"{path} must have a column {column!r}.{_checks.did_you_mean(str(column), names)} "
            f"Its columns are {', '.join(names)}."
        )
    return frame[column]


def _is_known(values: pd.Series) -> np.ndarray:
    return ~(values.isna() | values.astype(str).str.strip().str.casefold().isin(_UNKNOWN)).to_numpy()


def _named(relation: str) -> tuple[str, str]:
    name, found, path = relation.partition("=")
    if not (name and found and path):
        raise ValueError(f"--relation must be NAME=FILE. Got {relation!r}.")
    return name, path


def _without_columns(options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of a further table, which has columns of its own: the first two."""
    return argparse.Namespace(**{**vars(options), "vertex": None, "edge": None, "weight": None, "members": None})


def _with_strangers(vertices: pd.Index, target: pd.Series, options: argparse.Namespace, notes: list[str]) -> pd.Index:
    """Add labelled vertices that are in no hyperedge, if they are few or asked for."""
    strangers = target.index[~target.index.isin(vertices)].unique()
    if len(strangers) == 0:
        return vertices
    if not options.isolated and len(strangers) > _STRANGERS * len(target):
        near = _checks.did_you_mean(strangers[0], vertices.tolist()[:5000])
        raise ValueError(
            f"Labels must be of vertices in the hypergraph ({len(vertices):,}). Got {strangers[0]!r}"
            f"{_checks.others(len(strangers) - 1)}.{near} If they are right and in no hyperedge, say --isolated."
        )
    notes.append(
        f"Labelled but in no hyperedge: {strangers[0]!r}{_checks.others(len(strangers) - 1)}, taken as isolated."
    )
    return vertices.append(pd.Index(strangers, dtype=object))


def _covariates(path: Path, vertices: pd.Index, options: argparse.Namespace) -> pd.DataFrame:
    frame = read_frame(path, text=[0], separator=options.separator, encoding=options.encoding)
    if len(frame.columns) < 2:
        raise FileError(f"{path} must have a column of vertices and one of numbers at least.")
    table = frame.set_index(frame.columns[0])
    table.index = table.index.astype(str)
    for name in table.columns:
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise FileError(
                f"{path} must hold numbers. Column {name!r} does not: make hyperedges of it with --relation."
            )
    absent = vertices[~vertices.isin(table.index)]
    if len(absent):
        raise FileError(
            f"{path} must have a row for every vertex. {absent[0]!r}{_checks.others(len(absent) - 1)} has none."
        )
    return table


def _from_wide_table(options: argparse.Namespace) -> Problem:
    """Read one row a vertex: categories are hyperedges, measurements covariates."""
    if options.target is None:
        raise ValueError("--table needs --target COLUMN, what is to be predicted.")
    path = options.table
    frame = read_frame(path, separator=options.separator, encoding=options.encoding)
    values = _column(frame, options.target, path)
    if options.vertex is None:
        names = pd.Index([str(row) for row in range(1, len(frame) + 1)], dtype=object)
    else:
        names = unique_index(_column(frame, options.vertex, path).astype(str).tolist(), of="vertices")
    rest = frame.drop(columns=[options.target, *([options.vertex] if options.vertex else [])])
    known = rest.apply(_is_known)
    measured = [c for c in rest.columns if _is_measurement(rest[c][known[c]])]
    notes = []
    covariates = None
    if measured:
        numbers = rest[measured].where(known[measured]).apply(pd.to_numeric, errors="coerce")
        covariates = numbers.fillna(numbers.median()).set_axis(names)
        notes.append(f"Columns of measurements ({', '.join(measured)}) are covariates; their gaps hold the median.")
    categories = rest.drop(columns=measured)
    texts = categories.where(known[categories.columns]).map(lambda value: value if pd.isna(value) else str(value))
    if texts.shape[1] == 0:
        raise FileError(f"{path} must have a column of categories beside the target, to make hyperedges of.")
    H = Hypergraph.from_attributes(texts.set_axis(names))
    H = Hypergraph(H.incidence, vertices=H.vertices, edges=_said(H.edges), weights=H.weights)
    is_known = _is_known(values)
    target = pd.Series(values[is_known].to_numpy(dtype=object), index=names[is_known], name=options.target)
    if target.empty:
        raise FileError(f"{path} must hold a label or value at least. Column {options.target!r} is empty.")
    return _settled(H, target, covariates, options.task, notes)


def _said(edges: pd.Index) -> pd.Index:
    """Name the hyperedge of a column's value as it would be said."""
    return unique_index([f"{column} = {value}" for column, value in edges], of="edges")


def _is_measurement(values: pd.Series) -> bool:
    numbers = pd.to_numeric(values, errors="coerce")
    return bool(len(values) and numbers.notna().all() and numbers.nunique() > _CATEGORIES)


def _settled(H: Any, target: pd.Series, covariates: pd.DataFrame | None, task: str, notes: list[str]) -> Problem:
    """Tell regression from classification, and give each vertex one target."""
    numbers = pd.to_numeric(target, errors="coerce")
    all_numbers = bool(numbers.notna().all()) and not target.map(lambda value: isinstance(value, bool)).any()
    if task == "regression" and not all_numbers:
        odd = target[numbers.isna()].iloc[0]
        raise ValueError(f"Regression needs numbers. {target.name!r} holds {odd!r}. Use --task classification.")
    whole = all_numbers and bool((numbers == numbers.round()).all())
    few = target.nunique() <= _CLASSES
    is_classification = task == "classification" or (task == "auto" and not (all_numbers and not (whole and few)))
    if task == "auto":
        kind, other = ("classes", "regression") if is_classification else ("numbers", "classification")
        notes.append(f"{target.name!r} was taken for {kind} (--task {other} for the other).")
    if is_classification:
        return Problem(H, _one_label_each(target.astype(str)), True, covariates, notes)
    if not np.isfinite(numbers).all():
        raise ValueError(f"Values must be finite. {target.name!r} holds an infinite one.")
    values = numbers.astype(float)
    if values.index.has_duplicates:
        notes.append(f"{int(values.index.duplicated().sum()):,} repeated measurements were averaged.")
        values = values.groupby(level=0, sort=False).mean()
    return Problem(H, values, False, covariates, notes)


def _one_label_each(target: pd.Series) -> pd.Series:
    clash = target.groupby(level=0, sort=False).nunique()
    if (clash > 1).any():
        names = clash.index[clash > 1]
        raise ValueError(f"Each vertex must have one label. {names[0]!r}{_checks.others(len(names) - 1)} has two.")
    once = target[~target.index.duplicated()]
    if once.nunique() < 2:
        raise ValueError(f"Labels of two classes at least are needed. All are {once.iloc[0]!r}.")
    return once
