"""Results: folders that hold nothing to be lost, tables of predictions, text or JSON."""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hypergauss.cli.spreadsheets import harmless
from hypergauss.estimators import HypergraphGPClassifier, VertexModel
from hypergauss.estimators.grown_relations import with_newcomers
from hypergauss.estimators.measurements import is_gaussian
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import Names
from hypergauss.io.files import written_together, written_whole


@contextmanager
def results_folder(folder: Path, names: Sequence[str], *, overwrite: bool) -> Iterator[None]:
    """Make sure, before any work, that results can be written, and let all appear or none.

    A folder made in vain is taken away again.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"--out must be a folder. {folder} is a file.")
    taken = [name for name in names if (folder / name).exists()]
    if taken and not overwrite:
        raise FileExistsError(
            f"{folder} already holds {', '.join(taken)}. Choose another folder, or replace them with --overwrite."
        )
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        _prepare(folder)
        with written_together():
            yield
    except BaseException:
        _remove(made)
        raise


def _prepare(folder: Path) -> None:
    """Make the folder, and try it with a file that has no name and so cannot be left behind."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise PermissionError(f"Nothing can be written to {folder} ({reason}). Choose another folder.") from error


def _remove(folders: Sequence[Path]) -> None:
    """Take away folders that are empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def predictions(model: VertexModel, vertices: Names, observed: pd.Series | None = None) -> pd.DataFrame:
    """Return a row a vertex: what was observed, what is predicted, and how sure that is."""
    table = pd.DataFrame({"vertex": [str(name) for name in vertices]})
    if observed is not None:
        table["observed"] = observed.reindex(vertices).to_numpy()
    if isinstance(model, HypergraphGPClassifier):
        proba = model.predict_proba(vertices)
        table["predicted"] = model.classes_[proba.argmax(axis=1)]
        for column, label in enumerate(model.classes_):
            table[f"probability_{label}"] = proba[:, column]
        return table
    mean, std = model.predict(vertices, return_std=True)
    low, median, high = model.predict_quantiles(vertices, [0.05, 0.5, 0.95]).T
    table = table.assign(predicted=mean, std=std, low_90=low, high_90=high)
    if is_gaussian(model.likelihood) and model.transform_ == "none":
        return table  # where the median is the mean
    table = table.assign(median=median)
    if model.levels_ is not None:
        for label, probability in zip(model.levels_, model.predict_proba(vertices).T, strict=True):
            table[f"probability_{label:g}" if isinstance(label, float) else f"probability_{label}"] = probability
    return table


def new_predictions(model: VertexModel, newcomers: Hypergraph) -> pd.DataFrame:
    """Return a row a vertex that is new: what a model that has taken them in predicts, and how sure that is."""
    relations, names = with_newcomers(model.H, newcomers)
    return predictions(copy.copy(model).update(relations), names)


def write_csv(table: pd.DataFrame, path: Path, *, overwrite: bool) -> None:
    """Write a table whole or not at all, with no cell that a spreadsheet would run."""
    with written_whole(path, overwrite=overwrite) as file:
        harmless(table).to_csv(file, index=False, encoding="utf-8")


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write JSON whole or not at all."""
    with written_whole(path) as file:
        file.write((json.dumps(plain(content), indent=2, allow_nan=False) + "\n").encode())


def hand_over(table: pd.DataFrame, options: argparse.Namespace, *, key: str, title: str) -> None:
    """Write a table to the file asked for, and print it, where it went, or JSON."""
    if options.out is not None:
        write_csv(table, options.out, overwrite=options.overwrite)
    if options.json:
        say_json({key: table.to_dict(orient="records")})
    elif options.out is not None:
        say(f"{title}: {options.out}")
    else:
        print_csv(table)


def print_csv(table: pd.DataFrame) -> None:
    """Print a table as it would be written."""
    harmless(table).to_csv(sys.stdout, index=False)


def say(text: str = "") -> None:
    """Print a line of results."""
    sys.stdout.write(f"{text}\n")


def say_json(content: Mapping[str, Any]) -> None:
    """Print results for a script."""
    say(json.dumps(plain(content), allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value as JSON has it; numbers that are none become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray | pd.Index):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
