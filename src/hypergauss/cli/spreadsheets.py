"""Text that no spreadsheet runs: a cell that begins with =, +, - or @ would be taken for a formula."""

from __future__ import annotations

import re

import pandas as pd

#: What makes a formula of the text behind it, also behind apostrophes, so that what is added can be told when read.
_RUNS = re.compile(r"'*[=+\-@\t\r\n].", re.DOTALL)


def harmless(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose text begins with an apostrophe where it would be run; numbers stay as they are."""
    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{name: table[name].astype(object).map(_quoted) for name in text})


def as_named(text: str) -> str:
    """Return the name that was written as this text."""
    return text[1:] if text.startswith("'") and _RUNS.match(text) else text


def _quoted(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and _RUNS.match(cell) and not _is_number(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
