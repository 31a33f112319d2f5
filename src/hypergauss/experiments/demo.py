"""The demonstration: prices of cars from their categories, in one minute, from bundled data."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.console import Console
from scipy.stats import norm
from sklearn.metrics import r2_score

from hypergauss.datasets import load_automobiles
from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.experiments.automobiles import halves, load_problem, predictors
from hypergauss.experiments.tables import make_table
from hypergauss.metrics import gaussian_log_predictive_density, interval_coverage
from hypergauss.plotting.figures import predicted_against_observed, spectrum_and_filter

_SHOWN = ("constant", "ridge on the incidence matrix", "weighted clique graph")


def run(out: Path, console: Console) -> None:
    """Fit half of the cars, predict the others, and say where the results are."""
    out.mkdir(parents=True, exist_ok=True)
    problem = load_problem()
    _, train, test = next(halves(len(problem.cars), range(1)))
    console.print(f"{problem.hypergraph}: cars that share a make, a body style, a fuel system, ...")
    console.print(f"Learning log prices from {len(train)} cars, predicting {len(test)} others.")
    with console.status("learning"):
        model = HypergraphGPRegressor(problem.hypergraph, random_state=0)
        model.fit(problem.cars[train], problem.log_price[train])
        y = problem.log_price[test]
        rows = []
        for name in _SHOWN:
            predict = predictors(problem)[name]
            rows.append(_scores(name, y, *predict(problem.cars[train], problem.log_price[train], problem.cars[test])))
    mean, std = model.predict(problem.cars[test], return_std=True)
    rows.append(_scores("hypergraph GP", y, mean, std))
    console.print(make_table("Held-out cars", ["method", "R2", "log density", "90% interval covers"], rows))

    predictions = _predictions(model, held_out=problem.cars[test])
    unpriced = predictions[predictions.price.isna()]
    cells = [
        [f"{r.make} {r.body}", f"{r.predicted:,.0f}", f"{r.low:,.0f} to {r.high:,.0f}"] for r in unpriced.itertuples()
    ]
    console.print(make_table("Cars without a price", ["car", "predicted, $", "90% interval, $"], cells))
    predictions.to_csv(out / "predictions.csv", index_label="car")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    predicted_against_observed(y, mean, std, ax=left)
    left.set_title("Log price of held-out cars")
    spectrum_and_filter(model.kernel_, ax=right)
    right.set_title("The learned filter")
    figure.savefig(out / "demo.png", dpi=150)
    plt.close(figure)
    console.print(f"Figure:      {out / 'demo.png'}\nPredictions: {out / 'predictions.csv'}", highlight=False)


def _scores(name: str, y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> list[str]:
    density = gaussian_log_predictive_density(y, mean, std)
    return [name, f"{r2_score(y, mean):.3f}", f"{density:.3f}", f"{interval_coverage(y, mean, std):.0%}"]


def _predictions(model: HypergraphGPRegressor, held_out: np.ndarray) -> pd.DataFrame:
    """Return a row a car: what is known, the predicted price and its 90% interval in dollars."""
    data = load_automobiles()
    mean, std = model.predict(data.hypergraph.vertices, return_std=True)
    half = norm.ppf(0.95) * std
    return pd.DataFrame(
        {
            "make": data.table["make"],
            "body": data.table["body-style"],
            "price": data.target,
            "held_out": data.target.index.isin(held_out),
            "predicted": np.exp(mean),
            "low": np.exp(mean - half),
            "high": np.exp(mean + half),
        }
    )
