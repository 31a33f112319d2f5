"""Tables of results: the same rows on the screen and in a text file, with the command that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from hypergauss.experiments.origin import origin


def mean_and_error(scores: pd.DataFrame, by: str, columns: Mapping[str, str]) -> list[list[str]]:
    """Return a row for each group: the mean of each column, plus or minus its standard error.

    ``columns`` gives each column's format, such as ``{"r2": ".3f"}``; groups keep their order of appearance.
    """
    rows = []
    for name in scores[by].unique():
        group = scores[scores[by] == name]
        cells = [f"{group[c].mean():{f}} ± {group[c].sem():{f}}" for c, f in columns.items()]
        rows.append([name, *cells])
    return rows


def make_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table, first column left, others right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table


def publish(console: Console, path: Path, command: str, tables: Sequence[Table], notes: str = "") -> None:
    """Print tables and notes, and write them with the command and the code that made them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    heading = f"$ {command}\n{origin()}\n"  # before an earlier outcome is written over
    with path.open("w", encoding="utf-8") as file:
        paper = Console(file=file, width=140)
        paper.print(heading, highlight=False, soft_wrap=True)
        for out in (console, paper):
            for table in tables:
                out.print(table)
            if notes:
                out.print(notes, highlight=False, markup=False)
    console.print(f"Written to {path}", highlight=False)
