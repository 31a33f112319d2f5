"""Ratings of films: KPMF against myFM and Surprise on identical splits.

MovieLens 100K: the official split u1, and random ones with 20% and 80% held out. Each contender runs in a fresh process
and an environment of its own, `.venv-myfm` and `.venv-surprise`, made here if missing; all in turn, timed in seconds of
processor time on one thread, which other work on the machine does not lengthen, and by the clock. Targets: our time at
most myFM's, our RMSE and log density better. Skipped where HYPERGAUSS_DATA is not set.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import environment, fresh, is_quick, publish, table, verdict
from hypergauss.datasets import fetch_movielens_100k
from hypergauss.experiments.movielens_splits import splits

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("factorisation", "hypergraph", "kernels/filters.py", "likelihoods/ordinal.py", "operators", "spectrum")

OURS, MYFM = "KPMF", "myFM, rank 10"
OURS_ORDERED, MYFM_ORDERED = "KPMF, ordered probit", "myFM, ordered probit"
PAIRS = ((OURS, MYFM), (OURS_ORDERED, MYFM_ORDERED))


def write_problems(folder: Path, seeds: range) -> dict[tuple[str, int], Path]:
    """Write the splits as files that every environment can read."""
    data = fetch_movielens_100k()
    shape = np.array([data.ratings["user"].max() + 1, data.ratings["film"].max() + 1])
    paths = {}
    for split in splits(data, seeds):
        path = folder / f"{split.name.rstrip('%')}-{split.seed}.npz"
        parts = {"train": split.train, "test": split.test}
        columns = {
            f"{part}_{name}": frame[name].to_numpy()
            for part, frame in parts.items()
            for name in ("user", "film", "rating")
        }
        np.savez(path, shape=shape, **columns)
        paths[split.name, split.seed] = path
    return paths


def contenders(path: Path, *, quick: bool) -> dict[str, Any]:
    """Return what runs each contender on one split."""
    surprise = environment("surprise", "scikit-surprise==1.1.4", "numpy<2")
    myfm = environment("myfm", "myfm==0.4.0")
    tasks = {
        OURS: partial(fresh, "kpmf_worker", path, "gaussian"),
        MYFM: partial(fresh, "myfm_worker", path, "gaussian", python=myfm),
        OURS_ORDERED: partial(fresh, "kpmf_worker", path, "ordinal"),
        MYFM_ORDERED: partial(fresh, "myfm_worker", path, "ordinal", python=myfm),
        "KPMF, independent priors": partial(fresh, "kpmf_worker", path, "independent"),
        "Surprise SVD, tuned": partial(fresh, "surprise_worker", path, "svd", python=surprise),
        "Surprise SVD++": partial(fresh, "surprise_worker", path, "svdpp", python=surprise),
    }
    return {name: tasks[name] for name in list(tasks)[: 2 if quick else None]}


def main(*, quick: bool) -> None:
    if "HYPERGAUSS_DATA" not in os.environ:
        print("against_myfm is skipped: HYPERGAUSS_DATA does not name the folder of the development data.")
        return
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        paths = write_problems(Path(scratch), range(0 if quick else 3))
        for (split, _), path in paths.items():
            for name, task in contenders(path, quick=quick).items():
                found.setdefault(split, {}).setdefault(name, []).append(task())
    tables = [
        table(
            f"{split} ({len(own[OURS])} split{'s' * (len(own[OURS]) > 1)})",
            COLUMNS,
            [row(*item) for item in own.items()],
        )
        for split, own in found.items()
    ]
    publish("against_myfm", tables, [verdicts(found)], quick=quick)


COLUMNS = ("", "RMSE", "log density", "coverage of 90%", "processor time", "clock")


def row(name: str, outcomes: list[dict[str, float]]) -> list[str]:
    """Return the means of a contender's scores."""
    mean = {key: float(np.mean([outcome[key] for outcome in outcomes])) for key in outcomes[0]}
    cells = [
        f"{mean[key]:.{digits}f}" if key in mean else ""
        for key, digits in (("rmse", 4), ("density", 3), ("coverage", 3))
    ]
    return [name, *cells, f"{mean['seconds']:.1f} s", f"{mean['clock']:.1f} s"]


def verdicts(found: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    """Say, split by split and likelihood by likelihood, how we compare with myFM."""
    lines = []
    for split, own in found.items():
        for name, peer in PAIRS:
            if peer not in own:
                continue
            ours, theirs = (
                {key: float(np.mean([outcome[key] for outcome in own[who]])) for key in ("seconds", "rmse", "density")}
                for who in (name, peer)
            )
            ratio = ours["seconds"] / theirs["seconds"]
            better = ours["rmse"] < theirs["rmse"] and ours["density"] > theirs["density"]
            lines.append(
                f"{split}, {name}: {ratio:.2f} times myFM's time ({verdict(ratio, at_most=1)}); RMSE "
                f"{theirs['rmse'] - ours['rmse']:+.4f} and log density {ours['density'] - theirs['density']:+.4f} "
                f"better ({'met' if better else 'MISSED'})"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
