r"""Ratings of films: ours by Gibbs sampling, and the paper's factorisation at its mode (`movielens_paper`).

Splits: the official u1; and for seeds s = 0, 1, ..., ``np.random.default_rng(s).permutation(100000)`` over the rows of
u.data, the first 20% or 80% held out. Hypergraphs come from training ratings only. Users and films without a training
rating are predicted by the prior. Scores are written as they come, the rows of most interest first, and a study that is
interrupted, or run for some rows (``only``), goes on from them: tables are of what there is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hypergauss.datasets import MovieLens, fetch_movielens_100k
from hypergauss.exceptions import SamplingWarning, UnseenWarning
from hypergauss.experiments import movielens_paper
from hypergauss.experiments.movielens_splits import Split, splits
from hypergauss.experiments.tables import make_table, publish
from hypergauss.factorisation import KPMF
from hypergauss.factorisation.convergence import worst_rhat
from hypergauss.hypergraph import Hypergraph
from hypergauss.metrics import ndcg

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("factorisation", "hypergraph", "kernels/filters.py", "likelihoods/ordinal.py", "operators", "spectrum")

_GIBBS: dict[str, Any] = {"bounds": (1.0, 5.0)}
#: Rows of random splits and of u1, in the order in which they are made.
_MODELS: dict[str, dict[str, Any]] = {
    "Gibbs": _GIBBS,
    "Gibbs, ordered probit": {**_GIBBS, "likelihood": "ordinal"},
    "Gibbs, independent priors": {**_GIBBS, "kernel": "independent"},
}
#: Rows of u1 alone, with side information, and the row that they are made after.
_SIDE = {"Gibbs, side information": "Gibbs", "Gibbs, ordered probit, side information": "Gibbs, ordered probit"}
_PAPER = "paper"
_DAY = 24 * 3600
_COLUMNS = ["model", "split", "seed", "rmse", "density", "coverage", "ndcg", "rhat", "draws", "seconds"]
ROWS = (*_MODELS, *_SIDE, _PAPER)
_NOTES = (
    "The paper's model: factors without biases, nu = 1.5 and lengthscale 5, variance as said, noise variance 1 and 10 "
    "factors, at most 25 steps. Its Appendix A starts at variance 1; whether ratings are centred it does not say. "
    "Diffusion: exp(-0.01 L), L = D - W of the weighted clique expansion. Sparse: 45 inducing users and 80 inducing "
    "films. Biases only: mean deviations of users and films, shrunk by n / (n + 5).\n"
    "Gibbs: KPMF() as it is, 8 factors, or 3 with 80% held out, {chains} chains; R-hat: the worst over predictions, "
    "noise or thresholds, identified biases and the factors' variance, and over splits; draws: of each chain.\n"
    "Side information: genres and release periods of films; age bands, sex, occupation and weeks of rating of users; "
    "the days of ratings, those to be predicted too.\n"
    "Density: mean log predictive density; for the ordered probit, of the rating as a class, which does not compare "
    "with a density.\nCoverage: share of held-out ratings inside 90% intervals; those of the ordered probit end at "
    "whole ratings, and so cover more.\nIn parts: scores are kept in movielens-scores.csv, those of most interest made "
    "first; a run that was ended goes on when it is started again, and `--only ROW` makes that row alone ('paper': the "
    "paper's). The tables are of all that there is."
)


def relations(data: MovieLens, train: pd.DataFrame) -> dict[str, dict[str, Hypergraph]]:
    """Return what is known of films and users besides ratings, as hypergraphs."""
    years = pd.to_datetime(data.films["release_date"], format="%d-%b-%Y").dt.year
    periods = pd.cut(years, [0, 1940, 1950, 1960, 1970, 1980, 1985, 1990, *range(1992, 1999)]).astype(str)
    ages = pd.cut(data.users["age"], [0, 17, 22, 27, 32, 37, 42, 47, 52, 100]).astype(str)
    weeks = (train["timestamp"] - train["timestamp"].min()) // (7 * _DAY)
    return {
        "item_relations": {"genre": data.genres, "period": Hypergraph.from_attributes(periods.to_frame())},
        "user_relations": {
            "age": Hypergraph.from_attributes(ages.to_frame()),
            "sex": Hypergraph.from_attributes(data.users[["sex"]]),
            "occupation": Hypergraph.from_attributes(data.users[["occupation"]]),
            "week": Hypergraph.from_table({"user": train["user"], "week": weeks}, vertex="user", edge="week"),
        },
    }


def score(model: KPMF, split: Split, *, days: bool = False) -> dict[str, Any]:
    """Fit a model, told of the days of ratings if asked for, and return its scores."""
    before, then = (part["timestamp"] // _DAY if days else None for part in (split.train, split.test))
    clock = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)  # the table has R-hat
        warnings.filterwarnings("error", "Interrupted", SamplingWarning)  # such a fit is not to be kept
        model.fit(split.train["user"], split.train["film"], split.train["rating"], days=before)
    seconds = time.process_time() - clock
    users, films, y = split.test["user"], split.test["film"], split.test["rating"].to_numpy(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)  # films of which only the held-out part has ratings
        mean = model.predict(users, films, days=then)
        low, high = model.predict_interval(users, films, level=0.9, days=then)
        density = model.log_density(users, films, y, days=then).mean()
    return {
        "split": split.name,
        "seed": split.seed,
        "rmse": float(np.sqrt(((mean - y) ** 2).mean())),
        "density": float(density),
        "coverage": float(((y >= low) & (y <= high)).mean()),
        "ndcg": ndcg(users, y, mean, n=10),
        "rhat": worst_rhat(model.draws_, model.ratings_, model.likelihood),
        "draws": len(model.draws_[0].mean),
        "seconds": seconds,
    }


def scores(
    data: MovieLens, seeds: range, quick: dict[str, Any], path: Path, only: Collection[str] = ROWS
) -> pd.DataFrame:
    """Return the scores of models on every split; those that the file has already are not made again."""
    rows: list[dict[Any, Any]] = pd.read_csv(path).to_dict("records") if path.is_file() else []
    done = {(row["split"], row["seed"], row["model"]) for row in rows}
    found = list(splits(data, seeds))
    jobs: list[tuple[str, Split, dict[str, Any]]] = []
    for name, options in _MODELS.items():
        jobs += [(name, split, options) for split in found]
        told = relations(data, found[0].train)
        jobs += [(side, found[0], {**options, **told}) for side, plain in _SIDE.items() if plain == name]
    for name, split, options in track(jobs, "rows", transient=True):
        if name in only and (split.name, split.seed, name) not in done:
            model = KPMF(**options, **quick, random_state=split.seed)
            rows.append({"model": name, **score(model, split, days=name in _SIDE)})
            path.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(rows).to_csv(path, index=False)
    return pd.DataFrame(rows, columns=_COLUMNS)


def table_rows(found: pd.DataFrame, split: str) -> list[list[str]]:
    """Return a row a model: mean and standard error over seeds."""
    rows = []
    here = found[found["split"] == split]
    for name in ROWS:
        own = here[here["model"] == name]
        if own.empty:
            continue
        spread = own["rmse"].to_numpy(float).std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
        error = f" ± {spread:.4f} ({len(own)})" if len(own) > 1 else ""
        rows.append(
            [
                name,
                f"{own['rmse'].mean():.4f}{error}",
                f"{own['density'].mean():.3f}",
                f"{own['coverage'].mean():.3f}",
                f"{own['rhat'].max():.2f}",
                f"{own['draws'].mean():.0f}",
                f"{own['seconds'].mean():.1f} s",
            ]
        )
    return rows


def gains(found: pd.DataFrame) -> str:
    """Say how much the hypergraph takes off the RMSE, split by split, in standard errors, where both rows are there."""
    wide = found.pivot_table(index=["split", "seed"], columns="model", values="rmse")
    if not {"Gibbs, independent priors", "Gibbs"} <= set(wide.columns):
        return "The gain by the hypergraph needs rows that are not made yet."
    both, lines = (wide["Gibbs, independent priors"] - wide["Gibbs"]).dropna(), []
    for split in [name for name in ("20%", "80%", "u1") if name in both.index.get_level_values(0)]:
        gain = both.loc[[split]].to_numpy(float)
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        apart = f", {gain.mean() / error:.0f} standard errors over {len(gain)} seeds" if len(gain) > 1 else ""
        lines.append(f"{split}: RMSE {gain.mean():.4f} lower than with independent priors{apart}.")
    return "\n".join(lines)


def missing(found: pd.DataFrame, seeds: range) -> str:
    """Say which rows are not made yet, or nothing."""
    counts = found.groupby(["model", "split"]).size()
    lines = []
    for name in (*_MODELS, *_SIDE):
        for split in ("u1",) if name in _SIDE else ("u1", "20%", "80%"):
            wanted = 1 if split == "u1" else len(seeds)
            if (there := int(counts.get((name, split), 0))) < wanted:
                lines.append(f"{name}, {split}: {there} of {wanted}")
    return "" if not lines else f"Not made yet: {'; '.join(lines)}.\n\n"


def run(
    out: Path, console: Console, *, quick: bool = False, seeds: range = range(10), only: Collection[str] = ROWS
) -> None:
    """Print and write the tables, of rows named by ``only`` and of those made before."""
    unknown = [row for row in only if row not in ROWS]
    if unknown:
        raise ValueError(f"`only` must name rows: {'; '.join(ROWS)}. Got {unknown[0]!r}.")
    data = fetch_movielens_100k()
    seeds = range(2) if quick else seeds
    fewer = {"chains": 1, "warm_up": 2, "draws": 3} if quick else {}
    kind = "-quick" if quick else ""
    found = scores(data, seeds, fewer, out / f"movielens-scores{kind}.csv", only)
    header = ["model", "RMSE", "density", "coverage", "R-hat", "draws", "processor time"]
    titles = {split: f"{split} held out: mean ± standard error (splits)" for split in ("20%", "80%")}
    titles["u1"] = "The official split u1"
    tables = [make_table(title, header, table_rows(found, split)) for split, title in titles.items()]
    tables.append(_of_paper(data, seeds, out, kind, is_made=_PAPER in only, quick=quick))
    notes = _NOTES.format(chains=KPMF().chains)
    text = f"{missing(found, seeds)}{gains(found)}\n\n{notes}"
    publish(console, out / "movielens.txt", "hypergauss reproduce movielens", tables, text)


def _of_paper(data: MovieLens, seeds: range, out: Path, kind: str, *, is_made: bool, quick: bool) -> Table:
    """Return the paper's table and draw its figure, or the table of what there is."""
    random_splits = list(splits(data, seeds))[1:]
    # Where the order of kernels turns, and of a seed that no setting is judged by.
    curve = next(split for split in splits(data, range(100, 101)) if split.name == "80%")
    path = out / f"movielens-paper-scores{kind}.csv"
    found = movielens_paper.scores(random_splits, curve, path, max_iterations=2 if quick else 25, is_made=is_made)
    if is_made:
        movielens_paper.figure(found, curve, out / f"movielens-variance{kind}.png")
    return movielens_paper.paper_table(found, random_splits)
