"""How good is the bound with few inducing variables? The paper's selection, uniform selection, spectral features.

Every choice is judged with one set of hyperparameters, those of the full bound, so that nothing but the choice differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from rich.console import Console
from rich.progress import track

from hypergauss.estimators import HypergraphGPClassifier
from hypergauss.experiments.congress import Problem, load_problem, papers_likelihood, partitions
from hypergauss.experiments.tables import make_table, publish
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.selection import select_inducing_vertices
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Kernel, Matern
from hypergauss.plotting.figures import BLUE, GREEN, GREY, ORANGE, RED
from hypergauss.solvers.base import ExactSolver
from hypergauss.solvers.choose import solver_for
from hypergauss.solvers.projection import Inducing, InducingVertices, SpectralFeatures
from hypergauss.solvers.sites import NaturalSites
from hypergauss.spectrum import Spectrum

NUMBERS = (3, 6, 12, 24, 48)
COLOURS = {
    "the paper's selection, 3 clusters": BLUE,
    "the paper's selection, a cluster for every two": GREEN,
    "uniform selection": ORANGE,
    "spectral features": RED,
}
_NOTES = (
    "Partition 0; mean ± standard error over {draws} draws of the selection. Matern and robust-max with epsilon 0.001, "
    "hyperparameters as the full bound learns them. The paper's selection: k-means, eigencentrality; the groups are 3."
)


def learn(problem: Problem) -> tuple[Kernel, Callable[[Inducing | None], float]]:
    """Return the kernel that the full bound learns, and the best bound with it as a function of inducing variables."""
    _, train, _ = next(partitions(len(problem.groups), range(1)))
    _, codes = np.unique(problem.groups[train], return_inverse=True)
    likelihood = papers_likelihood()
    papers = Matern(Spectrum.of(problem.hypergraph))
    full = HypergraphGPClassifier(problem.hypergraph, papers, likelihood=likelihood, random_state=0)
    full.fit(train, problem.groups[train])
    model = LatentModel(full.kernel_, likelihood, full.hyperparameters_["mean"])
    nothing = NaturalSites.empty(len(train), likelihood.num_latents)

    def bound(inducing: Inducing | None) -> float:
        solver = cast(ExactSolver, solver_for(model.kernel, train, inducing=inducing))
        return best_sites(model, solver, codes.astype(float), nothing).value

    return model.kernel, bound


def choices(problem: Problem, number: int, draws: int) -> Iterator[tuple[str, int, np.ndarray | None]]:
    """Yield (way to choose, draw, vertices by position); None stands for spectral features."""
    H, n = problem.hypergraph, problem.hypergraph.num_vertices
    three, pairs, uniform, spectral = COLOURS
    for seed in range(draws):
        yield three, seed, select_inducing_vertices(H, number, n_clusters=3, random_state=seed)
        yield pairs, seed, select_inducing_vertices(H, number, n_clusters=max(number // 2, 1), random_state=seed)
        yield uniform, seed, np.random.default_rng(seed).choice(n, number, replace=False)
    yield spectral, 0, None


def compare(problem: Problem, numbers: tuple[int, ...], draws: int) -> tuple[float, pd.DataFrame]:
    """Return the full bound, and that of each choice for each number of inducing variables and each draw."""
    kernel, bound = learn(problem)
    rows = []
    for number in track(numbers, "inducing variables", transient=True):
        for choice, seed, chosen in choices(problem, number, draws):
            inducing = SpectralFeatures(number) if chosen is None else InducingVertices.of(kernel, chosen)
            rows.append((choice, number, seed, bound(inducing)))
    return bound(None), pd.DataFrame(rows, columns=["choice", "number", "draw", "elbo"])


def _cells(found: pd.DataFrame, choice: str) -> list[str]:
    by_number = found[found.choice == choice].groupby("number").elbo
    return [
        f"{mean:.1f} ± {error:.1f}" if np.isfinite(error) else f"{mean:.1f}"
        for mean, error in zip(by_number.mean(), by_number.sem(), strict=True)
    ]


def _draw(ax: Axes, title: str, full: float, found: pd.DataFrame) -> None:
    for choice, colour in COLOURS.items():
        by_number = found[found.choice == choice].groupby("number").elbo
        mean, error = by_number.mean(), by_number.sem().fillna(0.0)
        ax.errorbar(mean.index, mean, error, fmt="o-", ms=4, lw=1.2, capsize=2, color=colour, label=choice)
    ax.axhline(full, color=GREY, lw=1, ls="--", label="no approximation")
    numbers = sorted(found.number.unique())
    ax.set(xscale="log", xticks=numbers, xticklabels=numbers, xlabel="inducing variables", ylabel="ELBO", title=title)
    ax.minorticks_off()


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write the tables, and draw the curves."""
    numbers, draws = ((6, 12), 2) if quick else (NUMBERS, 20)
    figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
    tables = []
    for ax, (title, multiparty) in zip(axes, (("all bills", False), ("cross-group bills", True)), strict=True):
        full, found = compare(load_problem(multiparty=multiparty), numbers, draws)
        rows = [[choice, *_cells(found, choice)] for choice in COLOURS]
        whole = f"ELBO on congress, {title}, by the number of inducing variables (without any: {full:.1f})"
        tables.append(make_table(whole, ["chosen by", *map(str, numbers)], rows))
        _draw(ax, title, full, found)
    publish(console, out / "inducing.txt", "hypergauss reproduce inducing", tables, _NOTES.format(draws=draws))
    axes[1].legend(frameon=False, fontsize="small", loc="lower right")
    figure.savefig(out / "inducing.png", dpi=150)
    plt.close(figure)
