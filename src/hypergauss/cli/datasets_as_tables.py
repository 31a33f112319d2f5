"""A data set as the two tables that `hypergauss fit` takes."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from hypergauss import datasets
from hypergauss.cli.outputs import results_folder, say, say_json, write_csv


def write(loader: str, folder: Path, options: argparse.Namespace) -> None:
    """Write memberships and what is known of vertices to a folder.

    Parameters
    ----------
    loader : str
        The function of `hypergauss.datasets` that has it.
    folder : path
        Where to.
    options : Namespace
        Whether to overwrite, and to print JSON.
    """
    found = getattr(datasets, loader)()
    with results_folder(folder, ["edges.csv", "labels.csv"], overwrite=options.overwrite):
        table = found.hypergraph.to_frame()[["vertex", "edge"]]
        table["vertex"] = table["vertex"].astype(str)
        table["edge"] = [" = ".join(map(str, e)) if isinstance(e, tuple) else str(e) for e in table["edge"]]
        labels = found.target.dropna()
        write_csv(table, folder / "edges.csv", overwrite=options.overwrite)
        write_csv(
            pd.DataFrame({"vertex": labels.index.astype(str), str(labels.name): labels.to_numpy()}),
            folder / "labels.csv",
            overwrite=options.overwrite,
        )
    if options.json:
        say_json({"edges": str(folder / "edges.csv"), "labels": str(folder / "labels.csv")})
    else:
        say(f"{found.description}\nWritten to {folder / 'edges.csv'} and {folder / 'labels.csv'}")
