"""The solvers by products from ten thousand vertices to a million; --field is the Markov form alone at a million.

With --huge it is the mean at ten million, no more.

N = M, five incidences a vertex, a fifth of the vertices measured (see `benchmarks.planted`), each size in a process of
its own. The mean is timed at nu = 1.5 and lengthscale 5 (the median of three times, with products between them), as is
one evaluation of the log evidence with its gradient and curvature; at the largest size four hyperparameters and the
mean are learned, and standard deviations everywhere come from 64 pathwise draws. One product is the median of 21: our
own and SciPy's in turn, for their ratio; and each again and again with nothing between, as a polynomial has them, for
what the mean costs beside its products. Seconds are of the clock, and of all cores together in brackets. Targets at a
million: the mean at most 1.3 times its products' time, one product at least 1.5 times as fast as SciPy's on one thread,
R2 at least 0.75, memory below 8 GB; exponents from 10^5 on at most 1.15 (time) and 1.0 (memory). Beside it the Markov
form: the mean at nu = 2 (at most 60 products, at most 1.3 times their time), a fit with `learn=False` and the mean
after it (at most 1.5 times the mean), 64 exact draws (60 s), and at the largest size a default fit (at most 120 s, R2
at least 0.885, 90% intervals that hold 85 to 95% of the hidden signal), on as many draws of the problem as --field is
told to, intervals on the first. Of these, seconds are of processors. The exponent of SciPy's bare product tells what of
it is the machine's cache.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FormatStrFormatter

from benchmarks.common import RESULTS, fresh, publish, table, verdict
from benchmarks.growth import BLUE, VERMILION

MOST_SLOPE, MOST_MEMORY_SLOPE, MOST_MEMORY = 1.15, 1.0, 8.0
MOST_RATIO, LEAST_SPEED, LEAST_R2 = 1.3, 1.5, 0.75
MOST_PRODUCTS, MOST_FIXED, LEAST_FIELD_R2, COVERED = 60, 1.5, 0.885, (0.85, 0.95)
MOST_LEARNING, MOST_DRAWS, MOST_HUGE, MOST_HUGE_MEMORY = 120.0, 60.0, 30.0, 12.0
SLOPE_FROM = 100_000


def _seconds(pair: list[float]) -> str:
    return f"{pair[0]:.3g} s ({pair[1]:.3g})"


def _slope(sizes: np.ndarray, values: np.ndarray) -> float:
    late = sizes >= min(SLOPE_FROM, sizes[-2])
    return float(np.polyfit(np.log(sizes[late]), np.log(values[late]), 1)[0])


def draw(sizes: np.ndarray, seconds: dict[str, np.ndarray], memory: np.ndarray) -> None:
    """Write the figure results/scale.png: seconds by the clock, and peak memory."""
    mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    styles = {
        "posterior mean": ("o-", BLUE),
        "log evidence and gradient": ("s--", VERMILION),
        "a product by SciPy, one thread": ("^:", "0.45"),
    }
    for label, (style, colour) in styles.items():
        text = f"{label}: exponent {_slope(sizes, seconds[label]):.2f}"
        left.loglog(sizes, seconds[label], style, color=colour, label=text)
    left.set(ylabel="seconds by the clock", title="Time (exponents from 100,000 on)")
    left.set_ylim(top=100 * max(values.max() for values in seconds.values()))  # room for the legend
    left.legend(frameon=False, fontsize=9, loc="upper left")
    right.loglog(sizes, memory, "o-", color=BLUE, label=f"exponent {_slope(sizes, memory):.2f}")
    right.set(ylabel="GB", title="Peak memory of the process")
    right.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    right.yaxis.set_minor_formatter(FormatStrFormatter("%g"))
    right.legend(frameon=False, fontsize=9)
    for axes in (left, right):
        axes.set_xlabel("vertices N (five incidences each)")
        axes.grid(alpha=0.25)
    figure.savefig(RESULTS / "scale.png", dpi=150)


def field_notes(found: dict[str, Any]) -> list[str]:
    """Return what the Markov form does at one size, held against targets by seconds of processors.

    On a machine that does nothing else these are at least those of the clock; where it does, the clock counts others.
    """
    mean, draws = found["mean"], found["std"]
    fixed = found["learn_false"][1] / mean["seconds"][1]
    return [
        f"  Markov form, nu = 2: the mean in {_seconds(mean['seconds'])}, {mean['products']} products "
        f"({verdict(mean['products'], at_most=MOST_PRODUCTS)}), {mean['ratio'][1]:.2f} times their processor time "
        f"({verdict(mean['ratio'][1], at_most=MOST_RATIO)}), R2 {mean['r2']:.3f}",
        f"  fit with learn=False and the mean in {_seconds(found['learn_false'])}, {fixed:.2f} times the mean "
        f"({verdict(fixed, at_most=MOST_FIXED)}); 64 draws in {_seconds(draws['seconds'])} "
        f"({verdict(draws['seconds'][1], at_most=MOST_DRAWS)}), {draws['products']:,} products",
        *learning_notes(found["default"]),
    ]


def learning_notes(default: dict[str, Any]) -> list[str]:
    """Return what a default fit does, and its intervals if they were asked for."""
    notes = [
        f"  default fit in {_seconds(default['seconds'])} "
        f"({verdict(default['seconds'][1], at_most=MOST_LEARNING)}), {default['products']:,} products: "
        f"{default['kernel']}, R2 {default['r2']:.3f} ({verdict(default['r2'], at_least=LEAST_FIELD_R2)})",
    ]
    if "coverage" in default:
        covered = default["coverage"][0]
        within = "met" if COVERED[0] <= covered <= COVERED[1] else "MISSED"
        notes.append(
            f"  90% intervals hold {covered:.3f} of the hidden signal ({COVERED[0]:g} to {COVERED[1]:g}: {within}); "
            f"64 draws in {_seconds(default['std'])}"
        )
    return notes


def field(draws: int, *, quick: bool) -> None:
    """Record what the Markov form does on some draws of the problem: all of it on the first, learning on others.

    What is known is kept after each.
    """
    notes = []
    for seed in range(draws):
        found = fresh("scale_worker", 4_000 if quick else 1_000_000, "field-learning" if seed else "field", seed)
        print(json.dumps(found), flush=True)
        notes += [
            f"{found['size']:,} vertices and hyperedges, {found['incidences']:,} incidences, {found['observed']:,} "
            f"observed, draw {seed} (of processors in brackets):",
            *(learning_notes(found["markov"]["default"]) if seed else field_notes(found["markov"])),
            f"  peak memory {found['peak_gb']:.2f} GB ({verdict(found['peak_gb'], at_most=MOST_MEMORY)}); load of the "
            f"machine at the end: {os.getloadavg()[0]:.1f} processes want its {os.cpu_count()} cores",
        ]
        publish("scale --field", [], notes, quick=quick)


def huge(*, quick: bool) -> None:
    """Record the mean at ten million vertices, by the Markov form."""
    found = fresh("scale_worker", 4_000 if quick else 10_000_000, "field-mean")
    mean = found["markov"]["mean"]
    notes = [
        f"{found['size']:,} vertices and hyperedges, {found['incidences']:,} incidences, {found['observed']:,} sites",
        f"The operator and the density of eigenvalues in {_seconds(found['spectrum'])}",
        f"The posterior mean at nu = 2 in {_seconds(mean['seconds'])} "
        f"(of processors: {verdict(mean['seconds'][1], at_most=MOST_HUGE)}), {mean['products']:,} products, "
        f"R2 at unobserved vertices {mean['r2']:.3f}, peak memory {found['peak_gb']:.1f} GB "
        f"({verdict(found['peak_gb'], at_most=MOST_HUGE_MEMORY)})",
    ]
    publish("scale --huge", [], notes, quick=quick)


def main(*, quick: bool) -> None:
    sizes = [2_000, 4_000] if quick else [10_000, 30_000, 100_000, 300_000, 1_000_000]
    outcomes = []
    for size in sizes:
        outcomes.append(fresh("scale_worker", size, "learn" if size == sizes[-1] else "fixed"))
        print(json.dumps(outcomes[-1]), flush=True)
    largest = outcomes[-1]
    rows = [
        [
            f"{o['size']:,}",
            _seconds(o["scipy_alone"]),
            _seconds(o["mean"]["one_product"]),
            _seconds(o["mean"]["seconds"]),
            f"{o['mean']['products']:,}",
            f"{o['mean']['ratio'][0]:.2f} ({o['mean']['ratio'][1]:.2f})",
            _seconds(o["evaluation"]),
            _seconds(o["std"]["seconds"]),
            f"{o['peak_gb']:.2f} GB",
        ]
        for o in outcomes
    ]
    columns = ("vertices", "SciPy", "product", "mean", "products", "ratio", "evidence", "64 draws", "memory")
    counts = np.array(sizes)
    series = {
        "mean": np.array([o["mean"]["seconds"] for o in outcomes]),
        "evaluation": np.array([o["evaluation"] for o in outcomes]),
    }
    by_clock, exponents = ({k: _slope(counts, pairs[:, column]) for k, pairs in series.items()} for column in (0, 1))
    of_products, of_one, of_ratio, of_scipy = (
        _slope(counts, np.array(values, dtype=float))
        for values in (
            [o["mean"]["products"] for o in outcomes],
            [o["mean"]["one_product"][0] for o in outcomes],
            [o["mean"]["ratio"][0] for o in outcomes],
            [o["scipy_alone"][0] for o in outcomes],
        )
    )
    memory = _slope(counts, np.array([o["peak_gb"] for o in outcomes]))
    learning, ratio = largest["learning"], largest["mean"]["ratio"]
    speed = [a / b for a, b in zip(largest["scipy_product"], largest["product"], strict=True)]
    single = [a / b for a, b in zip(largest["scipy_product"], largest["product_single"], strict=True)]
    learned = ", ".join(f"{name} {value[0]:.4g}" for name, value in learning["hyperparameters"].items())
    notes = [
        *(
            f"Exponents of time from {SLOPE_FROM:,} on, {name}: by the clock {by_clock[key]:.2f} "
            f"({verdict(by_clock[key], at_most=MOST_SLOPE)}), of processors {exponents[key]:.2f} "
            f"({verdict(exponents[key], at_most=MOST_SLOPE)})"
            for name, key in (("mean", "mean"), ("log evidence and gradient", "evaluation"))
        ),
        f"Of the mean's exponent by the clock, {of_products:.2f} is that of the number of products, {of_one:.2f} that "
        f"of one product and {of_ratio:.2f} that of all else; SciPy's product on one thread has {of_scipy:.2f}",
        f"Exponent of memory from {SLOPE_FROM:,} on: {memory:.2f} ({verdict(memory, at_most=MOST_MEMORY_SLOPE)})",
        f"At {largest['size']:,} vertices, {largest['incidences']:,} incidences, {largest['observed']:,} observed:",
        f"  the mean costs {ratio[0]:.2f} times its products by the clock, {ratio[1]:.2f} in processor time "
        f"({verdict(ratio[0], at_most=MOST_RATIO)})",
        f"  one product, made in turn with SciPy's, is {speed[0]:.2f} times as fast by the clock "
        f"({verdict(speed[0], at_least=LEAST_SPEED)}), "
        f"{single[0]:.2f} in single precision; in processor time {speed[1]:.2f} and {single[1]:.2f}",
        f"  learned in {_seconds(learning['seconds'])}, {learning['evaluations']} evaluations: {learned}; log evidence "
        f"{learning['log_evidence']:,.0f} +- {learning['standard_error']:.1f}",
        f"  mean in {_seconds(largest['final_mean']['seconds'])}, R2 at unobserved vertices "
        f"{largest['final_mean']['r2']:.3f} ({verdict(largest['final_mean']['r2'], at_least=LEAST_R2)}); "
        f"{largest['mean']['r2']:.3f} before learning",
        f"  standard deviations in {_seconds(largest['std']['seconds'])}; 90% intervals hold "
        f"{largest['std']['coverage'][1]:.3f} of new measurements, and {largest['std']['coverage'][0]:.3f} of the "
        "hidden signal: what a Matern kernel cannot tell of it, it takes for noise",
        *field_notes(largest["markov"]),
        f"  the covariance form takes {largest['mean']['products'] / largest['markov']['mean']['products']:.0f} times "
        f"the products of the Markov form's mean, and its 64 draws {_seconds(largest['std']['seconds'])}",
        f"  load of the machine at the end: {os.getloadavg()[0]:.1f} processes want its {os.cpu_count()} cores",
        f"  peak memory {largest['peak_gb']:.2f} GB ({verdict(largest['peak_gb'], at_most=MOST_MEMORY)})",
    ]
    publish("scale", [table("The iterative solver as N grows", columns, rows)], notes, quick=quick)
    if not quick:
        draw(
            counts,
            {
                "posterior mean": series["mean"][:, 0],
                "log evidence and gradient": series["evaluation"][:, 0],
                "a product by SciPy, one thread": np.array([o["scipy_alone"][0] for o in outcomes]),
            },
            np.array([o["peak_gb"] for o in outcomes]),
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--huge", action="store_true", help="the mean at ten million vertices instead")
    parser.add_argument("--field", type=int, metavar="DRAWS", help="the Markov form alone, on so many draws, instead")
    arguments = parser.parse_args()
    if arguments.huge:
        huge(quick=arguments.quick)
    elif arguments.field is not None:
        field(arguments.field, quick=arguments.quick)
    else:
        main(quick=arguments.quick)
