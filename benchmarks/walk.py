"""How much of the library one call walks through: ``python -m benchmarks.walk``.

Files whose functions run, and borders between files: a function of one calls a function of another, itself or by way of
another library. They are what a reader has to open who follows the call with a finger. Functions that run because a
module is imported on the way do not count. Calls are on small bundled data, with default settings but for short chains.

Target: half as many as before the core was rebuilt.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, Self

import numpy as np

import hypergauss as hg
from benchmarks.common import is_quick, publish, table, verdict
from hypergauss import cli

MEASURES = (".",)
PACKAGE = f"{Path(hg.__file__).parent}{os.sep}"


class Figures(NamedTuple):
    """How many files, and how many borders between them."""

    files: int
    borders: int


#: Of commit 64863a8, by this script.
BEFORE = {
    "regressor.fit": Figures(29, 62),
    "regressor.predict": Figures(10, 12),
    "classifier.fit": Figures(34, 77),
    "classifier.predict_proba": Figures(15, 16),
    "KPMF.fit": Figures(20, 37),
    "hypergauss fit": Figures(53, 137),
}


class Walk:
    """While it is entered, every call of a function of the package leaves its file, and the border it crossed."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.borders: set[tuple[str, str]] = set()

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def figures(self) -> Figures:
        """Count them."""
        return Figures(len(self.files), len(self.borders))

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        here, *callers = _own(frame)
        if any(code.co_name == "<module>" for code in (here, *callers)):
            return  # it is being imported
        self.files.add(here.co_filename)
        if callers and callers[0].co_filename != here.co_filename:
            self.borders.add((callers[0].co_filename, here.co_filename))


def _own(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield the code of the package on the stack, innermost first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            yield frame.f_code
        frame = frame.f_back


def calls(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the calls by name, each ready to be made once."""
    cars = hg.datasets.load_automobiles()
    price = np.log(cars.target.dropna())
    regressor = hg.HypergraphGPRegressor(cars.hypergraph, random_state=0)
    yield "regressor.fit", lambda: regressor.fit(price.index[::2], price[::2])
    yield "regressor.predict", lambda: regressor.predict(price.index[1::2], return_std=True)
    zoo = hg.datasets.load_zoo()
    classifier = hg.HypergraphGPClassifier(zoo.hypergraph, random_state=0)
    yield "classifier.fit", lambda: classifier.fit(zoo.target.index[::2], zoo.target[::2])
    yield "classifier.predict_proba", lambda: classifier.predict_proba(zoo.target.index[1::2])
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 30)) < 0.5)
    kpmf = hg.KPMF(n_factors=2, chains=1, warm_up=3, draws=3, random_state=0)
    yield "KPMF.fit", lambda: kpmf.fit(users, items, rng.integers(1, 6, len(users)))
    hypergauss("datasets", "house-votes", "--out", f"{folder}/votes")
    tables = ["--edges", f"{folder}/votes/edges.csv", "--labels", f"{folder}/votes/labels.csv"]
    yield "hypergauss fit", lambda: hypergauss("fit", *tables, "--out", f"{folder}/results")


def hypergauss(*arguments: str) -> None:
    """Run a command of the command line; one that fails walks through less and must not count."""
    code = cli.main(arguments)
    assert code == 0, f"hypergauss {arguments[0]} ended with {code}"


def walks() -> dict[str, Figures]:
    """Make all calls, and return what each walked through."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for name, call in calls(Path(folder)):
            with Walk() as walk:
                call()
            found[name] = walk.figures()
    return found


def main(*, quick: bool) -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name, now in walks().items():
        before = BEFORE[name]
        goals = (verdict(new, at_most=old / 2) for new, old in zip(now, before, strict=True))
        cells = zip(map(str, now), map(str, before), goals, strict=True)
        rows.append([name, *(cell for part in cells for cell in part)])
    columns = ("", "files", "before", "target", "borders", "before", "target")
    publish("walk", [table("What one call walks through", columns, rows)], [], quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
