"""How each file is to be read: what is said of all of them, or of one by what it is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hypergauss.io.frames import PARQUET, read_frame

#: What files are called in front of "=": --encoding labels=latin-1. Relations have names of their own.
FILES = ("edges", "labels", "table", "covariates", "names", "target-names", "ratings", "new", "vertices", "new-edges")


def reading(path: Path, options: argparse.Namespace, of: str) -> dict[str, Any]:
    """Return how a text table is to be read; Parquet needs nothing."""
    if path.suffix.lower() in PARQUET:
        return {}
    return {
        "header": has_header(options, of),
        "separator": separator(options, of),
        "encoding": encoding(options, of),
    }


def read(path: Path, options: argparse.Namespace, of: str, *, text: Sequence[str | int] | None) -> pd.DataFrame:
    """Read a table in the way that was asked for."""
    return read_frame(path, text=text, **reading(path, options, of))


def has_header(options: argparse.Namespace, of: str) -> bool:
    """Tell whether a file begins with a line of column names."""
    for name in options.no_header_of:
        _check_name(name, options, "--no-header-of")
    return not (options.no_header or of in options.no_header_of)


def separator(options: argparse.Namespace, of: str) -> str | None:
    r"""Return what separates columns of a file, if that was said; a tab may be written as \t."""
    found = _said(options.separator, options, of, "--separator")
    return "\t" if found == "\\t" else found


def encoding(options: argparse.Namespace, of: str) -> str:
    """Return the encoding of a file."""
    return _said(options.encoding, options, of, "--encoding") or "utf-8"


def _said(given: Sequence[str], options: argparse.Namespace, of: str, option: str) -> str | None:
    """Return what was said last of this file, else what was said last of all."""
    own, common = None, None
    for text in given:
        name, found, value = text.partition("=")
        if found and name and value:
            _check_name(name, options, option)
            own = value if name == of else own
        else:
            common = text
    return own or common


def _check_name(name: str, options: argparse.Namespace, option: str) -> None:
    known = (*FILES, *(relation.partition("=")[0] for relation in getattr(options, "relation", [])))
    if name not in known:
        raise ValueError(f"{option} is of one of {', '.join(known)}. Got {name!r}.")
