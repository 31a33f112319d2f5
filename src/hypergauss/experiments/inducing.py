"""How good is the bound with few inducing variables? The paper's selection, uniform selection, spectral features."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

from hypergauss.estimators import HypergraphGPClassifier
from hypergauss.experiments.congress import Problem, load_problem, papers_likelihood, partitions
from hypergauss.experiments.tables import make_table, publish
from hypergauss.inducing import select_inducing_vertices
from hypergauss.inference.projection import SpectralFeatures
from hypergauss.plotting import BLUE, GREEN, GREY, ORANGE

NUMBERS = (3, 6, 12, 24, 48)
COLOURS = {"the paper's selection": BLUE, "uniform selection": ORANGE, "spectral features": GREEN}


def bound(problem: Problem, train: np.ndarray, inducing: object) -> float:
    """Return the best bound that learning reaches with some inducing variables."""
    model = HypergraphGPClassifier(
        problem.hypergraph,
        likelihood=papers_likelihood(),
        size_exponent=0.0,
        inducing=inducing,
        max_iterations=60,
        random_state=0,
    )
    return model.fit(train, problem.groups[train]).elbo_


def compare(problem: Problem, numbers: tuple[int, ...], draws: int) -> pd.DataFrame:
    """Return the bound of each way to choose, for each number of inducing variables and each draw."""
    H, n = problem.hypergraph, problem.hypergraph.num_vertices
    _, train, _ = next(partitions(n, range(1)))
    rows = []
    for number in track(numbers, "inducing variables", transient=True):
        rows.append(("spectral features", number, 0, bound(problem, train, SpectralFeatures(number))))
        for seed in range(draws):
            chosen = select_inducing_vertices(H, number, n_clusters=3, random_state=seed)
            rows.append(("the paper's selection", number, seed, bound(problem, train, chosen)))
            uniform = np.random.default_rng(seed).choice(n, number, replace=False)
            rows.append(("uniform selection", number, seed, bound(problem, train, uniform)))
    return pd.DataFrame(rows, columns=["choice", "number", "draw", "elbo"])


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write the table, and draw the curve."""
    problem = load_problem(multiparty=False)
    numbers, draws = ((6, 12), 2) if quick else (NUMBERS, 20)
    found = compare(problem, numbers, draws)
    _, train, _ = next(partitions(problem.hypergraph.num_vertices, range(1)))
    full = bound(problem, train, None)
    rows = []
    for choice in COLOURS:
        by_number = found[found.choice == choice].groupby("number").elbo
        shown = [
            f"{mean:.1f} ± {error:.1f}" if np.isfinite(error) else f"{mean:.1f}"
            for mean, error in zip(by_number.mean(), by_number.sem(), strict=True)
        ]
        rows.append([choice, *shown])
    title = f"ELBO on congress, all bills, by the number of inducing variables (without any: {full:.1f})"
    publish(
        console,
        out / "inducing.txt",
        "hypergauss reproduce inducing",
        [make_table(title, ["chosen by", *map(str, numbers)], rows)],
        f"Partition 0; mean ± standard error over {draws} draws of the selection; hyperparameters learned each time. "
        "The paper's selection: three clusters, eigencentrality.",
    )
    figure, ax = plt.subplots(figsize=(5.4, 4), layout="constrained")
    for choice, colour in COLOURS.items():
        by_number = found[found.choice == choice].groupby("number").elbo
        mean, error = by_number.mean(), by_number.sem().fillna(0.0)
        ax.errorbar(mean.index, mean, error, fmt="o-", ms=4, lw=1.2, capsize=2, color=colour, label=choice)
    ax.axhline(full, color=GREY, lw=1, ls="--", label="no approximation")
    ax.set(xscale="log", xticks=numbers, xticklabels=numbers, xlabel="inducing variables", ylabel="ELBO")
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    figure.savefig(out / "inducing.png", dpi=150)
    plt.close(figure)
