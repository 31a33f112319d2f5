"""Options that would be ignored: each acts, or is refused with what it goes with."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

_OF_MEMBERSHIPS = ("vertex", "edge", "weight", "members", "within", "lists", "names")
_OF_EDGES = (*_OF_MEMBERSHIPS[1:], "target_names", "covariates", "relation", "isolated")  # a table has vertices too
_OF_TEXT = ("separator", "encoding", "no_header", "no_header_of")


def refuse(options: argparse.Namespace, names: Iterable[str], because: str) -> None:
    """Refuse the first of these options that was given."""
    for name in names:
        if getattr(options, name, None):
            raise ValueError(f"--{name.replace('_', '-')} {because}")


def check_memberships(options: argparse.Namespace) -> None:
    """Refuse what says nothing of the file of memberships that was given."""
    if options.edges.suffix.lower() == ".json":
        refuse(options, _OF_MEMBERSHIPS, f"is of tables, and {options.edges} is a HIF file. Leave it out.")
    if options.members is None:
        refuse(options, ["within"], "says what separates --members COLUMN. Name that, or leave it out.")
    if options.lists or options.names is not None:
        columns = ("vertex", "edge", "weight", "members", "within")
        refuse(options, columns, "is of tables, and --lists or --names say that there is none. Leave one out.")
    check_text(options)


def check_table(options: argparse.Namespace) -> None:
    """Refuse what goes with memberships and labels, of which a wide table stands in the place."""
    refuse(options, ["label_vertex"], "goes with --labels. With --table, --vertex names the column of vertices.")
    because = "goes with --edges, and --table stands in its place. Leave it out."
    refuse(options, _OF_EDGES, because)
    check_text(options)


def check_text(options: argparse.Namespace) -> None:
    """Refuse what is of text files where there is none."""
    from hypergauss.io.frames import PARQUET  # with all that reads files, which refusing does not need

    named = ("edges", "labels", "table", "covariates", "ratings", "new", "vertices", "new_edges")
    given = [getattr(options, name, None) for name in named]
    files = [path for path in given if path is not None] + [
        Path(relation.partition("=")[2]) for relation in getattr(options, "relation", [])
    ]
    if all(path.suffix.lower() in (".json", *PARQUET) for path in files):
        refuse(options, _OF_TEXT, "is of text tables (CSV, TSV), and none is given. Leave it out.")


def check_model(options: argparse.Namespace) -> None:
    """Refuse what says how to read a hypergraph where a saved model is described."""
    refuse(options, ["edges"], "and --model are two things to describe. Give either.")
    refuse(options, (*_OF_MEMBERSHIPS, *_OF_TEXT), "is of tables, and --model names a saved model. Leave it out.")


def check_output(options: argparse.Namespace) -> None:
    """Refuse leave to overwrite where nothing is written."""
    if options.out is None:
        refuse(options, ["overwrite"], "goes with --out. Name a file, or leave it out.")
