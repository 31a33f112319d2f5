"""The catalogue of data sets, by asking every loader that `hypergauss.datasets` has."""

import inspect

import pandas as pd

import hypergauss as hg
from hypergauss.cli.datasets import CATALOGUE

_COMMANDS = {loader: name for name, (_, loader) in CATALOGUE.items()}


def loaders():
    """Return the names of all loaders, those whose data come with the package first."""
    names = [name for name in hg.datasets.__all__ if name.startswith(("load_", "fetch_", "make_"))]
    return sorted(names, key=lambda name: (["load", "fetch", "make"].index(name.split("_")[0]), name))


def summary(name):
    """Return the first paragraph of a loader's documentation, without the word that all begin with."""
    first = inspect.getdoc(getattr(hg.datasets, name)).split("\n\n")[0].replace("\n", " ")
    text = first.removeprefix("Return ")
    return text[0].upper() + text[1:]


def target(values):
    """Return what a target is, in words."""
    known = values.dropna()
    if pd.api.types.is_numeric_dtype(known) and known.nunique() > 20:
        low, high = f"{known.min():,.0f}", f"{known.max():,.0f}"
        return f"{values.name}: {len(known):,} numbers from {low} to {high}"
    counts = known.value_counts()
    named = ", ".join(f"{label} ({count})" for label, count in counts.items())
    return f"{values.name}: {len(counts)} classes, {named}"


def section(name):
    """Return a data set's part of the page."""
    lines = [f"### `{name}`", "", summary(name), ""]
    if name.startswith("load_"):
        data = getattr(hg.datasets, name)()
        H = data.hypergraph
        sizes, degrees = (H.incidence > 0).sum(axis=0), (H.incidence > 0).sum(axis=1)
        columns = ", ".join(f"`{column}`" for column in data.table.columns)
        rows = {
            "vertices": f"{H.num_vertices:,}",
            "hyperedges": f"{H.num_edges:,}, of {_span(sizes)} vertices",
            "memberships": f"{H.incidence.nnz:,}, {_span(degrees)} of a vertex",
            "target": target(data.target),
            "columns of `table`": columns,
            "credit": data.description,
        }
        lines += ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows.items()), ""]
    given = inspect.signature(getattr(hg.datasets, name)).parameters.values()
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in given]
    call = f"hg.datasets.{name}{inspect.Signature(plain)}"
    lines += ["```python", call, "```", ""]
    if name in _COMMANDS:
        lines += ["As tables, from the command line:", "", "```", f"hypergauss datasets {_COMMANDS[name]}", "```", ""]
    return lines


def _span(counts):
    """Return the least and the largest of some counts, or the one that all are."""
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


def write(folder):
    """Write ``datasets.md``."""
    headings = {
        "load": "## They come with the package",
        "fetch": "## Read from a folder of yours, or downloaded\nTheir licences keep them out of the package. "
        "`HYPERGAUSS_DATA` names the folder; each loader's documentation says which files it reads there.",
        "make": "## Made to order",
    }
    lines = []
    for name in loaders():
        kind = name.split("_")[0]
        if kind in headings:
            lines += [headings.pop(kind), ""]
        lines += section(name)
    (folder / "datasets.md").write_text("\n".join(lines), encoding="utf-8")
