"""Prices of cars from their categories: the hypergraph against what one would do without it.

201 cars with a known price, 66 hyperedges (a value of a category each), log price; ten random halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from sklearn.metrics import r2_score

from hypergauss.datasets import load_automobiles
from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.experiments.peers import Predictor, value_peers
from hypergauss.experiments.tables import make_table, mean_and_error, publish
from hypergauss.hypergraph import Hypergraph
from hypergauss.kernels import Matern
from hypergauss.metrics import gaussian_log_predictive_density, interval_coverage
from hypergauss.plotting.figures import predicted_against_observed, size_exponent_profile
from hypergauss.spectrum import Spectrum

_CATEGORICAL_NUMBERS = ["symboling", "price", "normalized-losses"]


class Problem(NamedTuple):
    """Cars of known price, their log prices, and what is known of all cars."""

    hypergraph: Hypergraph
    cars: np.ndarray
    log_price: np.ndarray
    measures: pd.DataFrame


def load_problem() -> Problem:
    """Return the automobiles; missing measures are filled in with their medians."""
    data = load_automobiles()
    known = data.target.dropna()
    measures = data.table.select_dtypes("number").drop(columns=_CATEGORICAL_NUMBERS)
    return Problem(
        data.hypergraph, known.index.to_numpy(), np.log(known.to_numpy()), measures.fillna(measures.median())
    )


def halves(n: int, seeds: range) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (seed, training positions, test positions) of random halves."""
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(n)
        yield seed, order[: n // 2], order[n // 2 :]


def predictors(problem: Problem) -> dict[str, Predictor]:
    """Return every method as a function (training cars, their log prices, test cars) -> mean and std."""

    def constant(_: np.ndarray, y: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(test), y.mean()), np.full(len(test), y.std(ddof=1))

    def ours(*arguments: object, **options: object) -> Predictor:
        def predict(train: np.ndarray, y: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            model = HypergraphGPRegressor(*arguments, random_state=0, **options).fit(train, y)  # type: ignore[arg-type]
            return model.predict(test, return_std=True)

        return predict

    H = problem.hypergraph
    return {
        "constant": constant,
        **value_peers(H),
        "binary clique graph": ours(H.clique_expansion(weighted=False)),
        "weighted clique graph": ours(H.clique_expansion()),
        "hypergraph (default)": ours(H),
        "hypergraph, the paper's Matern": ours(H, Matern(Spectrum.of(H))),
        "hypergraph, Bernstein filter": ours(H, "bernstein"),
        "hypergraph + measures": ours(H, None, problem.measures),
    }


def score(problem: Problem, seeds: range) -> pd.DataFrame:
    """Return R2, mean log predictive density and 90% coverage of each method on each half."""
    methods = predictors(problem)
    rows = []
    for seed, train, test in track(list(halves(len(problem.cars), seeds)), "halves", transient=True):
        for name, predict in methods.items():
            mean, std = predict(problem.cars[train], problem.log_price[train], problem.cars[test])
            y = problem.log_price[test]
            density, coverage = gaussian_log_predictive_density(y, mean, std), interval_coverage(y, mean, std)
            rows.append({"method": name, "seed": seed, "r2": r2_score(y, mean), "density": density, "cover": coverage})
    return pd.DataFrame(rows)


def draw(problem: Problem, path: Path) -> None:
    """Draw one half's predictions and its search for the size exponent."""
    _, train, test = next(halves(len(problem.cars), range(1)))
    model = HypergraphGPRegressor(problem.hypergraph, random_state=0).fit(problem.cars[train], problem.log_price[train])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    mean, std = model.predict(problem.cars[test], return_std=True)
    predicted_against_observed(problem.log_price[test], mean, std, ax=left)
    left.set_title("101 cars held out: log price")
    size_exponent_profile(model.size_exponent_profile_, ax=right)
    right.set_title("What the evidence says of hyperedge sizes")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write the table, and draw the figure."""
    problem = load_problem()
    scores = score(problem, range(2 if quick else 10))
    rows = mean_and_error(scores, "method", {"r2": ".3f", "density": ".3f", "cover": ".3f"})
    title = f"Log price of 101 held-out cars, mean ± standard error over {scores.seed.nunique()} random halves"
    table = make_table(title, ["method", "R2", "log predictive density", "90% interval covers"], rows)
    publish(console, out / "automobiles.txt", "hypergauss reproduce automobiles", [table])
    draw(problem, out / "automobiles.png")
