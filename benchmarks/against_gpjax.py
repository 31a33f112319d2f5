"""One evidence with its gradient, and one whole fit, against GPJax 1.0 and against dense code.

N = 1,000 and 2,000 vertices, M = 200 hyperedges, half of the vertices observed; the same model, starting values and
float64 for all (see `benchmarks.contest`). GPJax runs in an environment of its own, `.venv-gpjax`, made here if it is
missing, and is fitted in two ways: by its own optimiser, and as a careful user would (see `benchmarks.gpjax_worker`).
Each contender runs in a fresh process, all in turn and again; figures are medians. GPJax's own optimiser, the slowest,
runs once. The log evidence of what each learned is computed by one function of SciPy's.

Target: at least 30 times faster than GPJax, to an evidence at least as high (to 0.01, where optimisers stop).
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common import alternate, environment, fresh, is_quick, median, publish, table
from benchmarks.contest import judge
from benchmarks.problem import Problem
from hypergauss import Hypergraph, Spectrum

ENVIRONMENT = ("gpjax", "gpjax==1.0.0")
EDGES, TARGET, SAME_EVIDENCE = 200, 30.0, 0.01
TIMES = {"evaluation": "evaluation", "again": "fit", "first": "first fit"}
OURS, DENSE, CAREFUL, OWN = "hypergauss", "dense NumPy", "GPJax + SciPy", "GPJax fit_lbfgs"


def contest(num_vertices: int, repeats: int, python: str, *, with_own: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of the two tables, times and ratios, at one size."""
    with tempfile.TemporaryDirectory() as folder:
        path, dense = Path(folder, "problem.npz"), Path(folder, "laplacian.npy")
        fresh("problem", num_vertices, EDGES, path)
        problem = Problem.load(path)
        laplacian = Spectrum.of(Hypergraph.from_incidence(problem.incidence)).laplacian()
        np.save(dense, laplacian)
        tasks = {
            OURS: partial(fresh, "hypergauss_worker", path),
            DENSE: partial(fresh, "dense_worker", path, dense),
            CAREFUL: partial(fresh, "gpjax_worker", path, dense, "scipy", python=python),
        }
        outcomes = alternate(tasks, repeats)
        if with_own:
            outcomes[OWN] = [fresh("gpjax_worker", path, dense, "own", python=python)]
    evidence = {
        name: judge(laplacian, problem.rows, problem.targets, found[0]["learned"]) for name, found in outcomes.items()
    }
    seconds = {name: {key: median(found, key) for key in TIMES} for name, found in outcomes.items()}
    label = f"N = {num_vertices:,}"
    times = [
        [
            f"{label}: {name}",
            f"{1e3 * own['evaluation']:.3g} ms",
            f"{own['again']:.3g} s",
            f"{own['first']:.3g} s",
            f"{evidence[name]:.4f}",
        ]
        for name, own in seconds.items()
    ]
    ratios = []
    for name in outcomes:
        if name == OURS:
            continue
        faster = {key: seconds[name][key] / seconds[OURS][key] for key in TIMES}
        gain = evidence[OURS] - evidence[name]
        target = "" if name == DENSE else _target(faster, gain)
        ratios.append([f"{label}: {name}", *(f"{value:.3g}" for value in faster.values()), f"{gain:+.4f}", target])
    return times, ratios


def _target(faster: dict[str, float], gain: float) -> str:
    """Say which ratios, if any, miss the target."""
    missed = [TIMES[key] for key, value in faster.items() if value < TARGET]
    if gain < -SAME_EVIDENCE:
        missed.append("evidence")
    return f"MISSED: {'; '.join(missed)}" if missed else "met"


def main(*, quick: bool) -> None:
    python = environment(*ENVIRONMENT)
    sizes = [500] if quick else [1_000, 2_000]
    contests = [contest(size, 1 if quick else 3, python, with_own=not quick) for size in sizes]
    columns = ("", *TIMES.values())
    times = table("Times", (*columns, "log evidence"), [row for rows, _ in contests for row in rows])
    ratios = table(
        "How many times faster hypergauss is",
        (*columns, "evidence gained", f"target: {TARGET:g}"),
        [row for _, rows in contests for row in rows],
    )
    notes = [
        f"M = {EDGES} hyperedges, half of the vertices observed. evaluation: one log evidence with its gradient; fit: "
        "from incidence matrix or Laplacian to learned hyperparameters, compiled before, where the library allows it "
        "(fit_lbfgs compiles every time); first fit: that of a fresh process, with all that is compiled for it."
    ]
    publish("against_gpjax", [times, ratios], notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
