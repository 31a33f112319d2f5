r"""Ratings of films: the paper's factorisation at its mode, and ours by Gibbs sampling (paper, section 4.3).

Splits: the official u1; and for seeds s = 0, 1, ..., ``np.random.default_rng(s).permutation(100000)`` over the rows of
u.data, the first 20% or 80% held out. Hypergraphs come from training ratings only. Users and films without a training
rating are predicted by the prior. Scores are written as they come, and an interrupted study goes on from them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

from hypergauss.datasets import MovieLens, fetch_movielens_100k
from hypergauss.exceptions import UnseenWarning
from hypergauss.experiments.tables import make_table, publish
from hypergauss.factorisation import KPMF
from hypergauss.hypergraph import Hypergraph
from hypergauss.metrics import ndcg

_SHARES = (0.2, 0.8)
#: The paper's table 4: RMSE of the diffusion kernel, the full and the sparse hypergraph kernel.
_PAPER = {"MAP, diffusion": ("1.39", "1.51"), "MAP, full": ("1.21", "1.27"), "MAP, sparse": ("1.40", "1.56")}
_MODE: dict[str, Any] = {"n_factors": 10, "inference": "map", "biases": False, "variance": 0.1, "max_iterations": 25}
_GIBBS: dict[str, Any] = {"bounds": (1.0, 5.0)}
_MODELS: dict[str, dict[str, Any]] = {
    "MAP, diffusion": {**_MODE, "kernel": "diffusion"},
    "MAP, full": _MODE,
    "MAP, sparse": {**_MODE, "inducing": (45, 80)},
    "Gibbs, independent priors": {**_GIBBS, "kernel": "independent"},
    "Gibbs": _GIBBS,
    "Gibbs, ordered probit": {**_GIBBS, "likelihood": "ordinal"},
}
_SIDE = "Gibbs, side information"
_NOTES = (
    "MAP as in the paper: factors without biases, of ratings less their mean, nu = 1.5, lengthscale 5; variance 0.1, "
    "noise variance 1 and 10 factors, which the paper does not state. Diffusion: exp(-0.01 L), L = D - W of the "
    "weighted clique expansion.\nSparse: 45 inducing users and 80 inducing films. Gibbs: KPMF() as it is, 10 factors, "
    "2 chains of 40 sweeps to warm up and 60 draws.\nSide information: genres and release periods of films; age bands, "
    "sex, occupation and weeks of rating of users.\nDensity: mean log predictive density; for the ordered probit, of "
    "the rating as a class, which does not compare with a density.\nCoverage: share of held-out ratings inside 90% "
    "intervals; those of the ordered probit end at whole ratings, and so cover more."
)


class Split(NamedTuple):
    """Ratings to learn from and to predict, and what the split is called."""

    name: str
    seed: int
    train: pd.DataFrame
    test: pd.DataFrame


def splits(data: MovieLens, seeds: range) -> Iterator[Split]:
    """Yield the official split and the random ones, seed after seed."""
    yield Split("u1", 0, *data.official)
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(data.ratings))
        for share in _SHARES:
            held_out = round(share * len(order))
            test, train = data.ratings.iloc[order[:held_out]], data.ratings.iloc[order[held_out:]]
            yield Split(f"{share:.0%}", seed, train, test)


def relations(data: MovieLens, train: pd.DataFrame) -> dict[str, dict[str, Hypergraph]]:
    """Return what is known of films and users besides ratings, as hypergraphs."""
    years = pd.to_datetime(data.films["release_date"], format="%d-%b-%Y").dt.year
    periods = pd.cut(years, [0, 1940, 1950, 1960, 1970, 1980, 1985, 1990, *range(1992, 1999)]).astype(str)
    ages = pd.cut(data.users["age"], [0, 17, 22, 27, 32, 37, 42, 47, 52, 100]).astype(str)
    weeks = (train["timestamp"] - train["timestamp"].min()) // (7 * 24 * 3600)
    return {
        "item_relations": {"genre": data.genres, "period": Hypergraph.from_attributes(periods.to_frame())},
        "user_relations": {
            "age": Hypergraph.from_attributes(ages.to_frame()),
            "sex": Hypergraph.from_attributes(data.users[["sex"]]),
            "occupation": Hypergraph.from_attributes(data.users[["occupation"]]),
            "week": Hypergraph.from_table({"user": train["user"], "week": weeks}, vertex="user", edge="week"),
        },
    }


def score(model: KPMF, split: Split) -> dict[str, Any]:
    """Fit a model and return its scores."""
    clock = time.perf_counter()
    model.fit(split.train["user"], split.train["film"], split.train["rating"])
    seconds = time.perf_counter() - clock
    users, films, y = split.test["user"], split.test["film"], split.test["rating"].to_numpy(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)  # films of which only the held-out part has ratings
        mean = model.predict(users, films)
        low, high = model.predict_interval(users, films, level=0.9)
        density = model.log_density(users, films, y).mean()
    return {
        "split": split.name,
        "seed": split.seed,
        "rmse": float(np.sqrt(((mean - y) ** 2).mean())),
        "density": float(density),
        "coverage": float(((y >= low) & (y <= high)).mean()),
        "ndcg": ndcg(users, y, mean, n=10),
        "seconds": seconds,
    }


def scores(data: MovieLens, seeds: range, quick: dict[str, Any], path: Path) -> pd.DataFrame:
    """Return the scores of every model on every split; those that the file has already are not made again."""
    rows: list[dict[Any, Any]] = pd.read_csv(path).to_dict("records") if path.is_file() else []
    done = {(row["split"], row["seed"], row["model"]) for row in rows}
    for split in track(list(splits(data, seeds)), "splits", transient=True):
        models = {name: {**options, **_quicker(options, quick)} for name, options in _MODELS.items()}
        if split.name == "u1":
            models[_SIDE] = {**_GIBBS, **quick, **relations(data, split.train)}
        for name, options in models.items():
            if (split.name, split.seed, name) not in done:
                rows.append({"model": name, **score(KPMF(**options, random_state=split.seed), split)})
                path.parent.mkdir(parents=True, exist_ok=True)
                pd.DataFrame(rows).to_csv(path, index=False)
    return pd.DataFrame(rows)


def _quicker(options: dict[str, Any], quick: dict[str, Any]) -> dict[str, Any]:
    if not quick:
        return {}
    return {"max_iterations": 3} if options.get("inference") == "map" else quick


def table_rows(found: pd.DataFrame, split: str) -> list[list[str]]:
    """Return a row a model: mean and standard error over seeds, and what the paper says."""
    rows = []
    place = {"20%": 0, "80%": 1}.get(split)
    here = found[found["split"] == split]
    for name in here["model"].unique():
        own = here[here["model"] == name]
        error = f" ± {own['rmse'].sem():.4f}" if len(own) > 1 else ""
        paper = _PAPER[name][place] if place is not None and name in _PAPER else ""
        rows.append(
            [
                name,
                f"{own['rmse'].mean():.4f}{error}",
                paper,
                f"{own['density'].mean():.3f}",
                f"{own['coverage'].mean():.3f}",
                f"{own['seconds'].mean():.1f} s",
            ]
        )
    return rows


def gains(found: pd.DataFrame) -> str:
    """Say how much the hypergraph takes off the RMSE, split by split, in standard errors."""
    wide = found.pivot_table(index=["split", "seed"], columns="model", values="rmse")
    lines = []
    for split in ("20%", "80%", "u1"):
        gain = (wide["Gibbs, independent priors"] - wide["Gibbs"]).loc[[split]].to_numpy(float)
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        apart = f", {gain.mean() / error:.0f} standard errors over {len(gain)} seeds" if len(gain) > 1 else ""
        lines.append(f"{split}: RMSE {gain.mean():.4f} lower than with independent priors{apart}.")
    return "\n".join(lines)


def run(out: Path, console: Console, *, quick: bool = False) -> None:
    """Print and write the tables."""
    data = fetch_movielens_100k()
    seeds = range(2 if quick else 10)
    fewer = {"chains": 1, "warm_up": 2, "draws": 3} if quick else {}
    found = scores(data, seeds, fewer, out / f"movielens-scores{'-quick' if quick else ''}.csv")
    header = ["model", "RMSE", "paper", "density", "coverage", "time"]
    titles = {
        "20%": f"20% held out, mean ± standard error over {len(seeds)} splits",
        "80%": f"80% held out, mean ± standard error over {len(seeds)} splits",
        "u1": "The official split u1",
    }
    tables = [make_table(title, header, table_rows(found, split)) for split, title in titles.items()]
    publish(console, out / "movielens.txt", "hypergauss reproduce movielens", tables, f"{gains(found)}\n\n{_NOTES}")
