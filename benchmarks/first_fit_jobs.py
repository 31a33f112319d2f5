"""The jobs of `benchmarks.first_fit`: each lets ours and the other run in fresh processes and returns their times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks import against_gpflow, against_gpjax, report
from benchmarks.common import alternate, bare, environment, fresh, median, timed
from benchmarks.congress import partition, read
from benchmarks.problem import Problem
from hypergauss import Hypergraph, Spectrum, datasets

REPEATS = 3
DATA = "HYPERGAUSS_DATA"
Outcomes = Sequence[dict[str, Any]]


class Times(NamedTuple):
    """Seconds of processor time, ours and the other's: after import, and with imports; None if moot."""

    after: tuple[float, float] | None
    whole: tuple[float, float] | None

    def ratios(self) -> tuple[float | None, ...]:
        """Return how many times as long ours takes, after import and with imports."""
        return tuple(None if pair is None else pair[0] / pair[1] for pair in self)


def automobiles(folder: Path, *, quick: bool) -> dict[str, Times]:
    cars = datasets.load_automobiles()
    price = np.log(cars.target.to_numpy(float))
    return against_sklearn("automobiles", "regression", cars.hypergraph, price, 100, folder, quick=quick)


def zoo(folder: Path, *, quick: bool) -> dict[str, Times]:
    animals = datasets.load_zoo()
    _, kind = np.unique(animals.target, return_inverse=True)
    return against_sklearn("zoo", "classification", animals.hypergraph, kind, 60, folder, quick=quick)


def congress(folder: Path, *, quick: bool) -> dict[str, Times]:
    problems = [partition(Path(os.environ[DATA], "peru-congress-2006-2011"), seed) for seed in (0, 1)]
    paths, dense = save(folder, problems), save_laplacian(folder, problems[0].incidence)
    python = environment(*against_gpflow.ENVIRONMENT)
    ours = partial(fresh, "classifier_worker", *paths)
    gpflow = partial(fresh, "gpflow_worker", *paths, dense, "scipy", python=python)
    return first_and_second("congress", *contest(ours, gpflow, quick=quick))


def gpjax(folder: Path, *, quick: bool) -> dict[str, Times]:
    python, path, found = environment(*against_gpjax.ENVIRONMENT), folder / "problem.npz", {}
    for size in (500,) if quick else (1_000, 2_000):
        fresh("problem", size, against_gpjax.EDGES, path)
        dense = save_laplacian(folder, Problem.load(path).incidence)
        ours = partial(fresh, "first_fit_worker", "evidence", path, path)
        other = partial(fresh, "gpjax_worker", path, dense, "scipy", python=python)
        first, _ = first_and_second(f"{size:,} vertices", *contest(ours, other, quick=quick)).items()
        found |= [first]  # a second fit is `benchmarks.against_gpjax`'s concern
    return found


def mushroom(folder: Path, *, quick: bool) -> dict[str, Times]:
    source = Path(os.environ[DATA], "mushroom")
    R, classes = read(source / "vertices.csv", source / "hyperedges.txt")
    order = np.random.default_rng(0).permutation(len(classes))[: 1_000 if quick else None]
    labelled = np.arange(len(order) // 20)
    paths = save(folder, [Problem(R[order], labelled, classes[order[labelled]])])
    return beside(f"mushroom, {len(order):,} vertices", "classification", *paths, "bare", quick=quick)


def svd(folder: Path, *, quick: bool) -> dict[str, Times]:
    (count, edges), path = (2_000, 200) if quick else (20_000, 1_000), folder / "problem.npz"
    fresh("problem", count, edges, path)
    return beside(f"{count:,} x {edges:,}", "regression", path, "svd", quick=quick)


def command(folder: Path, *, quick: bool) -> dict[str, Times]:
    run = partial(report.timed, report.COMMAND)
    run(["datasets", "house-votes", "--out", f"{folder}/votes"])

    def fit() -> dict[str, float]:
        out = tempfile.mkdtemp(dir=folder)
        tables = ["--edges", f"{folder}/votes/edges.csv", "--labels", f"{folder}/votes/labels.csv"]
        took = run(["fit", *tables, "--out", f"{out}/results"], HYPERGAUSS_CACHE=f"{out}/cache")
        return {"ours": took.processor, "bare": timed(bare)[0]}

    [found] = contest(fit, quick=quick)
    return {"hypergauss fit": Times(None, (median(found, "ours"), median(found, "bare")))}


def imports(folder: Path, *, quick: bool) -> dict[str, Times]:  # noqa: ARG001
    codes = ("import hypergauss; hypergauss.HypergraphGPClassifier", "import sklearn.gaussian_process")
    for code in codes:
        report.timed(code)  # the files of every package come from the disk once
    ours, other = contest(*(lambda code=code: report.timed(code)._asdict() for code in codes), quick=quick)
    return {"import": Times(None, (median(ours, "processor"), median(other, "processor")))}


JOBS = {"automobiles": automobiles, "zoo": zoo, "congress": congress, "gpjax": gpjax, "mushroom": mushroom}
JOBS |= {"svd": svd, "command": command, "import": imports}
NEED_DATA = ("congress", "mushroom")


def contest(*tasks: Callable[[], dict[str, Any]], quick: bool) -> list[Outcomes]:
    """Run tasks in turn, and return the outcomes of each."""
    return list(alternate(dict(enumerate(tasks)), 1 if quick else REPEATS).values())


def first_and_second(job: str, ours: Outcomes, other: Outcomes) -> dict[str, Times]:
    """Return the times of first and of second fits; for a second one nothing is imported any more."""
    started, first, again = (
        np.array([median(ours, key), median(other, key)]) for key in ("start_up", "first", "again")
    )
    return {
        f"{job}, first": Times(tuple(first), tuple(started + first)),
        f"{job}, second": Times(tuple(again), None),
    }


def against_sklearn(
    name: str, job: str, H: Hypergraph, y: np.ndarray, count: int, folder: Path, *, quick: bool
) -> dict[str, Times]:
    """Let the defaults of both learn from ``count`` vertices of known y, twice, and predict the others."""
    known = np.flatnonzero(np.isfinite(y))
    chosen = [np.random.default_rng(seed).permutation(known)[:count] for seed in (0, 1)]
    paths = save(folder, (Problem(H.incidence, rows, y[rows]) for rows in chosen))
    tasks = (partial(fresh, worker, job, *paths) for worker in ("first_fit_worker", "sklearn_worker"))
    return first_and_second(name, *contest(*tasks, quick=quick))


def beside(name: str, job: str, path: Path, yardstick: str, *, quick: bool) -> dict[str, Times]:
    """Measure a first fit by what the same process did after it."""
    [found] = contest(partial(fresh, "first_fit_worker", job, path, "--beside", yardstick), quick=quick)
    started, first, other = (median(found, key) for key in ("start_up", "first", "beside"))
    return {name: Times((first, other), (started + first, other))}


def save(folder: Path, problems: Iterable[Problem]) -> list[Path]:
    """Write problems to files, where contenders find them."""
    paths = []
    for number, problem in enumerate(problems):
        paths.append(folder / f"{number}.npz")
        problem.save(paths[-1])
    return paths


def save_laplacian(folder: Path, R: sp.csr_array) -> Path:
    """Write the Laplacian of an incidence matrix, for those who cannot make it."""
    path = folder / "laplacian.npy"
    np.save(path, Spectrum.of(Hypergraph.from_incidence(R)).laplacian())
    return path
