"""The report: one self-contained HTML page about a fitted model, which opens offline and can be passed on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hypergauss.analysis.assessment import Assessment
from hypergauss.estimators import VertexModel
from hypergauss.hypergraph.names import ByName
from hypergauss.io.files import written_whole
from hypergauss.report.content import page_content

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["report_html", "write_report"]

#: The page's script, in the order in which one part stands on another; all share one scope.
_SCRIPTS = (
    "data",
    "state",
    "colours",
    "figures",
    "map",
    "gestures",
    "panels",
    "controls",
    "search",
    "table",
    "judged",
    "learned",
    "start",
)
_STYLES = ("base", "map", "panels", "tables")


def write_report(
    model: VertexModel,
    path: str | os.PathLike[str],
    observed: pd.Series | ByName[Any],
    *,
    assessment: Assessment | None = None,
    title: str = "Predictions on a hypergraph",
    notes: Sequence[str] = (),
    overwrite: bool = True,
) -> None:
    """Write a page to explore a fitted model: a map, tables, hyperedges, scores, mistakes, and what was learned.

    It is one file that asks nothing of any network. From 50,000 vertices on it is light: the map shows how many lie
    where, 5,000 vertices can be searched, and the rest is for `predict`.

    Parameters
    ----------
    model : HypergraphGPRegressor or HypergraphGPClassifier
        Fitted.
    path : path
        Where to; the file appears whole or not at all.
    observed : Series indexed by vertex, or dict
        What was observed.
    assessment : Assessment, optional
        Held-out scores from `assess`; without it, the page has none.
    title : str
        Its heading.
    notes : sequence of str
        Sentences to put on top.
    overwrite : bool
        Whether a file that is there may be replaced.
    """
    page = report_html(model, observed, assessment=assessment, title=title, notes=notes)
    with written_whole(path, overwrite=overwrite) as file:
        file.write(page.encode("utf-8", errors="replace"))


def report_html(
    model: VertexModel,
    observed: pd.Series | ByName[Any],
    *,
    assessment: Assessment | None = None,
    title: str = "Predictions on a hypergraph",
    notes: Sequence[str] = (),
) -> str:
    """Return the page itself; the arguments are those of `write_report`."""
    content = page_content(model, observed, assessment=assessment, notes=notes)
    parts = {
        "title": escape(title),
        "style": "".join(_part(f"{name}.css") for name in _STYLES),
        "script": f'"use strict";\n(() => {{\n{"".join(_part(f"{name}.js") for name in _SCRIPTS)}}})();',
        # No < leaves the data: whatever names contain, the element that holds them cannot end early.
        "data": json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    page = _part("page.html")
    before, after = page.split("{{data}}")
    for name in ("title", "style", "script"):
        before, after = (piece.replace(f"{{{{{name}}}}}", parts[name]) for piece in (before, after))
    return before + parts["data"] + after


def _part(name: str) -> str:
    return files("hypergauss.report").joinpath("page", name).read_text(encoding="utf-8")
