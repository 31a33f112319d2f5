"""Labels as plain lines, the companion of plain lists: line 1 is of vertex 1, and a second file may name the labels."""

from __future__ import annotations

import argparse

import pandas as pd

from hypergauss import _checks
from hypergauss.cli import idle
from hypergauss.cli.columns import is_known
from hypergauss.cli.reading import encoding, has_header
from hypergauss.exceptions import FileError
from hypergauss.io.lists import lines_of

#: Endings of files that may be a column of labels alone.
_MAYBE_LINES = (".txt", ".data", ".dat", ".lst", ".labels", ".csv")


def lines_of_labels(
    options: argparse.Namespace, vertices: pd.Index, first: int | None, notes: list[str]
) -> pd.Series | None:
    """Read labels that stand alone, a line a vertex, for members that are numbered; None where there is a table.

    Parameters
    ----------
    options : Namespace
        Which file, and how it is read.
    vertices : Index
        The names of vertices, in the order of their numbers.
    first : int or None
        The number that vertices are counted from, if they are.
    notes : list of str
        What the user should know is added.
    """
    path = options.labels
    may_be_lines = first is not None and path.suffix.lower() in _MAYBE_LINES
    lines = []
    if may_be_lines and not (options.label_vertex or options.target):
        lines = lines_of(path, encoding(options, "labels"))
    if first is None or not lines or any(separator in line for line in lines[:100] for separator in ",;\t"):
        idle.refuse(
            options,
            ["target_names"],
            "names labels that are numbers, a line a vertex, beside plain lists. These are a table. Leave it out.",
        )
        return None
    name = path.stem
    if path.suffix.lower() == ".csv" and has_header(options, "labels"):
        name, lines = lines[0], lines[1:]
    own = (
        vertices if options.names is not None else pd.Index([str(first + at) for at in range(len(lines))], dtype=object)
    )
    if len(lines) != len(own):
        raise FileError(
            f"{path} has a label a line, so it must have one for each of the {len(own):,} vertices, in the order of "
            f"{options.names}. It has {len(lines):,}."
        )
    if options.target_names is not None:
        lines = _named(lines, options)
    values = pd.Series(lines, index=own, dtype=object, name=name)
    absent = own[~own.isin(vertices)]
    kept = values[is_known(values) & own.isin(vertices)]
    if len(absent):
        notes.append(f"Labelled but in no hyperedge: {absent[0]!r}{_checks.others(len(absent) - 1)}, left out.")
    if kept.empty:
        raise FileError(f"{path} must hold a label of a vertex at least. No line does.")
    return kept


def _named(lines: list[str], options: argparse.Namespace) -> list[str]:
    """Return labels by name: number 1 is the first line of the names, or number 0 where one is there."""
    names = lines_of(options.target_names, encoding(options, "target-names"))
    first = 0 if "0" in lines else 1
    by_number = {str(number): name for number, name in enumerate(names, start=first)}
    strange = [label for label in lines if label and label not in by_number]
    if strange:
        raise FileError(
            f"{options.target_names} must name every label. {strange[0]!r}{_checks.others(len(set(strange)) - 1)} has "
            f"no line: there are {len(names):,}, counted from {first}."
        )
    return [by_number.get(label, "") for label in lines]
