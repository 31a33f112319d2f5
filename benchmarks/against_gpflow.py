"""One whole fit of a classifier against GPflow: the bills of Peru's congress, 80 members labelled, three classes.

The same model for both: a robust-max likelihood, one Matern kernel on Zhou's Laplacian for three latent functions with
a learned constant mean each, started at nu 1.5, lengthscale 5 and variance 1, in float64. GPflow runs in an environment
of its own, `.venv-gpflow`, made here if it is missing, and is fitted by the paper's recipe, 1,000 steps of natural
gradients and Adam, at several learning rates, and by its wrapper of SciPy's L-BFGS-B (see `benchmarks.gpflow_worker`).
Each contender runs in a fresh process, all in turn and again; figures are medians. The second fit of a process is of
another partition of the members, with what was compiled for the first. Skipped where HYPERGAUSS_DATA is not set.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common import alternate, environment, fresh, is_quick, median, publish, table
from benchmarks.congress import partition
from hypergauss import Hypergraph, Spectrum

ENVIRONMENT = ("gpflow", "gpflow==2.11.2", "tensorflow==2.21.0")
TIMES = {"again": "fit", "first": "first fit"}
OURS = "hypergauss"
#: Learning rates of natural gradients and of Adam: the paper's, and two pairs that work; (0.2, 0.2), (0.3, 0.1) do not.
RATES = ((0.001, 0.001), (0.1, 0.01), (0.1, 0.2))


def contest(folder: Path, steps: int, repeats: int, python: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of the two tables, times and ratios."""
    problems = [partition(folder, seed) for seed in (0, 1)]
    with tempfile.TemporaryDirectory() as scratch:
        paths, dense = [Path(scratch, f"{number}.npz") for number in (0, 1)], Path(scratch, "laplacian.npy")
        for problem, path in zip(problems, paths, strict=True):
            problem.save(path)
        np.save(dense, Spectrum.of(Hypergraph.from_incidence(problems[0].incidence)).laplacian())
        gpflow = partial(partial, fresh, "gpflow_worker", *paths, dense, python=python)
        tasks = {OURS: partial(fresh, "classifier_worker", *paths), "GPflow, L-BFGS-B": gpflow("scipy")}
        tasks |= {f"GPflow, rates {natural:g}, {adam:g}": gpflow(natural, adam, steps) for natural, adam in RATES}
        outcomes = alternate(tasks, repeats)
    seconds = {name: {key: median(found, key) for key in TIMES} for name, found in outcomes.items()}
    bounds = {name: found[0]["bounds"] for name, found in outcomes.items()}
    times = [
        [name, *(f"{value:.3g} s" for value in own.values()), *(f"{bound:.3f}" for bound in bounds[name])]
        for name, own in seconds.items()
    ]
    ratios = []
    for name in list(outcomes)[1:]:
        faster = [seconds[name][key] / seconds[OURS][key] for key in TIMES]
        gains = [ours - other for ours, other in zip(bounds[OURS], bounds[name], strict=True)]
        ratios.append([name, *(f"{value:.3g}" for value in faster), *(f"{gain:+.3f}" for gain in gains)])
    return times, ratios


def main(*, quick: bool) -> None:
    python = environment(*ENVIRONMENT)
    if "HYPERGAUSS_DATA" not in os.environ:
        print("against_gpflow is skipped: HYPERGAUSS_DATA does not name the folder of the development data.")
        return
    folder = Path(os.environ["HYPERGAUSS_DATA"], "peru-congress-2006-2011")
    steps = 20 if quick else 1_000
    times, ratios = contest(folder, steps, 1 if quick else 3, python)
    parts = [
        table("Times", ("", *TIMES.values(), "bound", "bound, other partition"), times),
        table("How many times faster hypergauss is", ("", *TIMES.values(), "bound gained", "other partition"), ratios),
    ]
    notes = [
        f"rates: learning rates of natural gradients and of Adam, {steps:,} steps. fit: compiled before, on the other "
        "partition; first fit: that of a fresh process, with all that is compiled for it. bound: the evidence lower "
        "bound that the first fit reached, and the one on the other partition."
    ]
    publish("against_gpflow", parts, notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
