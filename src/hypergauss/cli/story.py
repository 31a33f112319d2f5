"""The demonstration: from two plain files to scores, one prediction explained, a newcomer, and a page to open."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from scipy.stats import norm
from sklearn.metrics import r2_score

from hypergauss.cli import fit as fitting
from hypergauss.cli.outputs import results_folder, say, write_csv
from hypergauss.cli.parser import make_parser
from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.experiments.adverts import NAMED, Adverts, baselines, load_adverts
from hypergauss.experiments.tables import make_table
from hypergauss.metrics import gaussian_log_predictive_density, interval_coverage
from hypergauss.storage.models import load

_FILES = ["edges.csv", "labels.csv", *fitting.RESULTS]
#: What is said of a car that nobody has seen.
_NEWCOMER = ("make = bmw", "body-style = sedan", "drive-wheels = rwd")
_HALF = float(norm.ppf(0.95))


def tell(options: argparse.Namespace) -> None:
    """Write the files, run the command on them, and show what it is worth."""
    out = options.out
    adverts = load_adverts()
    with results_folder(out, _FILES, overwrite=True):
        _write(adverts, out)
    say(
        f"Cars for sale. {len(adverts.priced)} have a price. {len(adverts.held_out)} others are known by {NAMED} of "
        "the 11 things one could say of a car;\ntheir prices are held out. Two plain files say so:\n"
    )
    command = ["fit", str(out / "edges.csv"), str(out / "labels.csv"), "--out", str(out), "--folds", "3"]
    say(f"$ hypergauss {' '.join(command)}")
    fitting.fit(make_parser().parse_args([*command, "--overwrite", "--title", "Prices of cars from their adverts"]))
    model = load(out / fitting.MODEL)
    say("\nThe prices that were held out, beside what one would do without the hypergraph:")
    _score(model, adverts)
    _explain(model, adverts)
    _newcomer(model)
    say(f"\nOpen this page in a browser: {(out / fitting.REPORT).resolve()}")


def _write(adverts: Adverts, out: Path) -> None:
    memberships = adverts.hypergraph.to_frame(vertex="car", edge="shares")[["car", "shares"]]
    write_csv(memberships, out / "edges.csv", overwrite=True)
    prices = pd.DataFrame({"car": adverts.priced.index, "log price": adverts.priced.round(4).to_numpy()})
    write_csv(prices, out / "labels.csv", overwrite=True)


def _score(model: HypergraphGPRegressor, adverts: Adverts) -> None:
    y = adverts.held_out.to_numpy()
    methods = baselines(adverts) | {"hypergauss": model.predict(adverts.held_out.index, return_std=True)}
    rows = []
    for name, (mean, std) in methods.items():
        density, covered = gaussian_log_predictive_density(y, mean, std), interval_coverage(y, mean, std)
        rows.append([name, f"{r2_score(y, mean):.2f}", f"{density:.2f}", f"{covered:.0%}"])
    table = make_table("Log price of held-out cars", ["method", "R2", "log density", "90% interval holds"], rows)
    Console().print(table)


def _explain(model: HypergraphGPRegressor, adverts: Adverts) -> None:
    """Say why the dearest of the held-out cars is thought to be so."""
    cars = adverts.held_out.index
    mean, std = model.predict(cars, return_std=True)
    car = cars[int(np.argmax(mean))]
    at = int(np.argmax(mean))
    said = ", ".join(adverts.hypergraph.edges_of(car))
    say(f"\nOne of them, {car!r}: {said}.")
    say(f"Predicted {_dollars(mean[at], std[at])}; its price was ${np.exp(adverts.held_out[car]):,.0f}. Why:")
    say("\n".join(f"  {line}" for line in str(model.explain(car)).splitlines()))


def _newcomer(model: HypergraphGPRegressor) -> None:
    """Predict a car that was not there when the model was fitted, where models can."""
    if not hasattr(model, "predict_new"):
        return
    mean, std = model.predict_new({"new": list(_NEWCOMER)}, return_std=True)
    say(f"\nA car that nobody has seen, {', '.join(_NEWCOMER)}: {_dollars(mean[0], std[0])}.")


def _dollars(mean: float, std: float) -> str:
    low, middle, high = np.exp(mean + _HALF * std * np.array([-1.0, 0.0, 1.0]))
    return f"${middle:,.0f} (90%: ${low:,.0f} to ${high:,.0f})"
