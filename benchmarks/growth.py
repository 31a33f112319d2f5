"""How time and memory grow with the number of vertices, at M = 1,000 hyperedges.

The whole job (see `benchmarks.job_worker`) for N = 1,000 to 100,000, 5 incidences a vertex, half of the vertices
observed, each N in a process of its own, all sizes in turn and again. The exponent is the slope of log time against
log N from N = 10,000 on, for the second job of a process: what the first one loads is a constant that would flatter it.
Targets: exponent at most 1.1, peak memory below 3 GB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.common import RESULTS, alternate, fresh, is_quick, median, publish, table, verdict

EDGES, SLOPE_FROM = 1_000, 10_000
MOST_SLOPE, MOST_MEMORY = 1.1, 3.0
# Blue and vermilion of Okabe and Ito's palette, told apart by every kind of colour vision.
BLUE, VERMILION = "#0072B2", "#D55E00"


def slope(sizes: np.ndarray, seconds: np.ndarray) -> float:
    """Return the exponent of growth over the sizes from 10,000 on."""
    late = sizes >= SLOPE_FROM
    return float(np.polyfit(np.log(sizes[late]), np.log(seconds[late]), 1)[0])


def draw(sizes: np.ndarray, first: np.ndarray, again: np.ndarray, peak_gb: np.ndarray, exponent: float) -> None:
    """Write the figure results/growth.png."""
    mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.loglog(sizes, first, "o--", color=VERMILION, label="first of a process")
    left.loglog(sizes, again, "o-", color=BLUE, label=f"second: exponent {exponent:.2f} past {SLOPE_FROM:,}")
    late = sizes[sizes >= SLOPE_FROM]
    left.loglog(late, again[sizes >= SLOPE_FROM][0] * late / late[0], ":", color="0.4", label="proportional to N")
    left.set_yticks(ticks := [1, 2, 5, 10, 20, 50, 100], [str(tick) for tick in ticks])
    left.yaxis.minorticks_off()
    left.set(ylabel="seconds", title="Time of the whole job", ylim=(0.8 * again.min(), 4 * first.max()))
    left.legend(frameon=False, loc="upper left", fontsize=9)
    right.semilogx(sizes, peak_gb, "o-", color=BLUE)
    right.axhline(MOST_MEMORY, color="0.4", linestyle=":")
    right.annotate("target", (sizes[0], MOST_MEMORY), xytext=(0, -12), textcoords="offset points", color="0.4")
    right.set(ylabel="GB", title="Peak memory of the process", ylim=(0, 1.1 * max(MOST_MEMORY, peak_gb.max())))
    for axes in (left, right):
        axes.set_xlabel("vertices N")
        axes.set_xticks([1_000, 10_000, 100_000], ["1,000", "10,000", "100,000"])
        axes.grid(alpha=0.25)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "growth.png", dpi=150)


def main(*, quick: bool) -> None:
    counts = [1_000, 10_000, 20_000] if quick else [1_000, 3_000, 10_000, 30_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        problems = {count: Path(folder, f"{count}.npz") for count in counts}
        for count, path in problems.items():
            fresh("problem", count, EDGES, path)
        tasks = {count: (lambda path=path: fresh("job_worker", path)) for count, path in problems.items()}
        outcomes = alternate(tasks, 1 if quick else 2)
    sizes = np.array(counts)
    first, again, peak_gb, iterations = (
        np.array([median(outcomes[count], key) for count in counts])
        for key in ("first", "again", "peak_gb", "iterations")
    )
    exponent = slope(sizes, again)
    rows = [
        [f"{count:,}", f"{cold:.2f} s", f"{warm:.2f} s", f"{steps:.0f}", f"{gb:.2f} GB"]
        for count, cold, warm, steps, gb in zip(counts, first, again, iterations, peak_gb, strict=True)
    ]
    grown = table(
        f"The whole job as N grows, M = {EDGES:,}",
        ("vertices", "first of a process", "second", "iterations", "peak memory"),
        rows,
    )
    notes = [
        f"Time exponent past {SLOPE_FROM:,}: {exponent:.2f} of the second job "
        f"({verdict(exponent, at_most=MOST_SLOPE)}); {slope(sizes, first):.2f} of the first",
        "An iteration of learning costs the same for every N past M, and their number differs between draws: the "
        "exponent is that of the whole, learning and the parts that grow.",
        f"Peak memory at N = {counts[-1]:,}: {peak_gb[-1]:.2f} GB ({verdict(peak_gb[-1], at_most=MOST_MEMORY)})",
    ]
    publish("growth", [grown], notes, quick=quick)
    if not quick:
        draw(sizes, first, again, peak_gb, exponent)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
