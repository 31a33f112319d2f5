"""Does the evidence find the size exponent? Signals drawn at a known one, on hyperedges of 2 to 50 vertices."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.experiments.tables import make_table, publish
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Matern, Standardised
from hypergauss.plotting.figures import BLUE, GREY
from hypergauss.spectrum import Spectrum

TRUTHS = (0.0, 1.0, 2.0)
NUM_VERTICES, NUM_EDGES, NUM_OBSERVED, NUM_SIGNALS = 500, 300, 400, 3
NOISE = 0.01


def mixed_sizes(rng: np.random.Generator) -> Hypergraph:
    """Return a hypergraph with sizes spread evenly in logarithm from 2 to 50.

    Hyperedges of fewer than ten gather vertices alike in one trait, larger ones vertices alike in another, so that it
    matters which of them speak louder.
    """
    traits = rng.uniform(size=(2, NUM_VERTICES))
    members = []
    for size in np.exp(rng.uniform(np.log(2), np.log(50.999), NUM_EDGES)).astype(int):
        distance = np.abs(traits[int(size >= 10)] - rng.uniform())
        distance = np.minimum(distance, 1 - distance)  # traits lie on a circle
        nearness = np.exp(-((distance / 0.05) ** 2) / 2)
        members.append(rng.choice(NUM_VERTICES, size, replace=False, p=nearness / nearness.sum()).tolist())
    return Hypergraph.from_edges(members, vertices=range(NUM_VERTICES))


def recover(truth: float, seed: int) -> dict[str, float]:
    """Draw signals at a known exponent, learn from most of the vertices, and return what was found."""
    rng = np.random.default_rng([int(10 * truth), seed])
    H = mixed_sizes(rng)
    # From the prior that kernels by name have: the paper's puts nearly all of so smooth a signal into sqrt(degree).
    kernel = Standardised(Matern(Spectrum.of(H, size_exponent=truth), nu=3.0, lengthscale=30.0), individuality=0.01)
    f = kernel.prior_draws(np.arange(NUM_VERTICES), NUM_SIGNALS, rng)
    order = rng.permutation(NUM_VERTICES)
    observed, hidden = order[:NUM_OBSERVED], order[NUM_OBSERVED:]
    y = f[observed] + np.sqrt(NOISE) * rng.standard_normal((NUM_OBSERVED, NUM_SIGNALS))
    learned = HypergraphGPRegressor(H, "matern", random_state=0).fit(observed, y)
    zhou = HypergraphGPRegressor(H, "matern", size_exponent=0.0, random_state=0).fit(observed, y)
    return {
        "truth": truth,
        "learned": learned.size_exponent_,
        "r2": _r2(f[hidden], learned.predict(hidden)),
        "r2_zhou": _r2(f[hidden], zhou.predict(hidden)),
    }


def _r2(y: np.ndarray, mean: np.ndarray) -> float:
    return float(1 - ((y - mean) ** 2).sum() / ((y - y.mean(axis=0)) ** 2).sum())


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write the table of truths and what was learned, and draw them."""
    jobs = [(truth, seed) for truth in TRUTHS for seed in range(2 if quick else 10)]
    found = pd.DataFrame([recover(*job) for job in track(jobs, "draws", transient=True)])
    rows = []
    for truth in TRUTHS:
        group = found[found.truth == truth]
        error = (group.learned - truth).abs().mean()
        rows.append(
            [
                f"{truth:g}",
                f"{group.learned.mean():.2f} ± {group.learned.std():.2f}",
                f"{error:.2f}",
                f"{group.r2.mean():.3f}",
                f"{group.r2_zhou.mean():.3f}",
            ]
        )
    header = ["true exponent", "learned, mean ± sd", "mean absolute error", "R2 of the hidden signal", "R2 with a = 0"]
    title = f"Size exponent learned by the evidence, {len(found) // len(TRUTHS)} draws each"
    publish(
        console,
        out / "size-exponent.txt",
        "hypergauss reproduce size-exponent",
        [make_table(title, header, rows)],
        f"{NUM_VERTICES} vertices, {NUM_EDGES} hyperedges of 2 to 50 members, {NUM_OBSERVED} observed; "
        f"{NUM_SIGNALS} Matern signals, nu 3, lengthscale 30, centred, of variance 1 at every vertex, of which next to "
        f"nothing is a vertex's own; noise variance {NOISE}.",
    )
    figure, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
    jitter = np.random.default_rng(0).uniform(-0.06, 0.06, len(found))
    ax.plot(TRUTHS, TRUTHS, color=GREY, lw=1, zorder=0)
    ax.plot(found.truth + jitter, found.learned, "o", color=BLUE, ms=5, alpha=0.7)
    ax.set(xlabel="true size exponent", ylabel="learned", xticks=TRUTHS)
    figure.savefig(out / "size-exponent.png", dpi=150)
    plt.close(figure)
