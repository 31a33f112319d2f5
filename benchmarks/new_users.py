"""A user left out of the fit, ten of their ratings given: the rest, predicted without a refit and with one.

MovieLens 100K. For each seed 100 users of at least 30 ratings are drawn, and left out of the fit altogether; ten
ratings of each, drawn too, are then given to `KPMF.predict_new`, and the others are predicted. A refit has all other
users and the ten ratings of each newcomer. Both are `KPMF` as it is, but for the length of the chains (`LENGTH`), with
random states of their own. Films that no other user rated are left out. Time is that of `predict_new` for one user,
ratings, prediction and all.

Cold start: the same users, with nothing but what `user_relations` (age, sex, occupation) say of them. Skipped where
HYPERGAUSS_DATA is not set.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.common import is_quick, publish, table, timed, verdict
from hypergauss import KPMF, Hypergraph
from hypergauss.datasets import MovieLens, fetch_movielens_100k
from hypergauss.exceptions import UnseenWarning
from hypergauss.experiments.movielens import relations

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("factorisation", "hypergraph", "kernels/filters.py", "likelihoods/ordinal.py", "operators", "spectrum")

GIVEN, LEAST = 10, 30
#: Of the choice between priors, which was made on seeds 100 to 102, none is a seed here.
SEEDS = {"gaussian": (0, 1, 2), "ordinal": (0,)}
#: Short chains, which by R-hat have not agreed yet: those of `draws="auto"` take several times as long.
LENGTH = {"chains": 2, "draws": 60}
MOST_LOSS, MOST_MILLISECONDS = 0.005, 20.0


class Newcomers(NamedTuple):
    """Ratings of those who are there, ratings given of newcomers, and those to be predicted."""

    known: pd.DataFrame
    given: pd.DataFrame
    rest: pd.DataFrame


def left_out(data: MovieLens, seed: int, count: int) -> Newcomers:
    """Draw newcomers and ten ratings of each."""
    ratings, rng = data.ratings, np.random.default_rng(seed)
    counts = ratings.groupby("user").size()
    chosen = rng.choice(counts.index[counts >= LEAST], count, replace=False)
    known = ratings[~ratings["user"].isin(chosen)]
    theirs = ratings[ratings["user"].isin(chosen) & ratings["film"].isin(known["film"])]
    theirs = theirs.iloc[rng.permutation(len(theirs))]
    is_given = theirs.groupby("user").cumcount() < GIVEN
    return Newcomers(known, theirs[is_given], theirs[~is_given])


def fitted(frame: pd.DataFrame, options: dict[str, Any]) -> KPMF:
    return KPMF(bounds=(1, 5), **options).fit(frame["user"], frame["film"], frame["rating"])


def rmse(frame: pd.DataFrame, mean: pd.Series) -> float:
    return float(np.sqrt(((frame["rating"] - mean) ** 2).mean()))


def predicted(model: KPMF, split: Newcomers, prior: str | None) -> tuple[pd.Series, float]:
    """Return predictions of the rest, and the median milliseconds of a user."""
    found, times = pd.Series(0.0, index=split.rest.index), []
    given = dict(iter(split.given.groupby("user")))
    for user, rest in split.rest.groupby("user"):
        own = given[user]
        predict = partial(model.predict_new, prior=prior)
        seconds, mean = timed(predict, own["film"], own["rating"], rest["film"])
        found[rest.index] = mean
        times.append(1e3 * seconds)
    return found, float(np.median(times))


def compared(
    data: MovieLens, likelihood: str, seed: int, count: int, quick: dict[str, Any]
) -> tuple[list[str], float, float]:
    """Return a row of the table, the loss against a refit, and the milliseconds."""
    split = left_out(data, seed, count)
    options = {"likelihood": likelihood, **quick}
    model = fitted(split.known, {**options, "random_state": seed})
    refit = fitted(pd.concat([split.known, split.given]), {**options, "random_state": seed + 1000})
    mean = pd.Series(refit.predict(split.rest["user"], split.rest["film"]), index=split.rest.index)
    other, _ = predicted(model, split, "hypergraph")
    ours, milliseconds = predicted(model, split, None)  # the population
    best = rmse(split.rest, mean)
    apart = [float(np.sqrt(((found - mean) ** 2).mean())) for found in (other, ours)]
    row = [
        f"{likelihood}, seed {seed}",
        f"{len(split.rest):,}",
        f"{best:.4f}",
        f"{rmse(split.rest, other):.4f}",
        f"{apart[0]:.3f}",
        f"{rmse(split.rest, ours):.4f}",
        f"{apart[1]:.3f}",
        f"{milliseconds:.1f} ms",
    ]
    return row, rmse(split.rest, ours) - best, milliseconds


def cold_start(data: MovieLens, seed: int, count: int, quick: dict[str, Any]) -> str:
    """Say how well users of whom only age, sex and occupation are known are predicted."""
    split = left_out(data, seed, count)
    everyone = relations(data, split.known)["user_relations"]
    gone = split.rest["user"].unique()
    names = ("age", "sex", "occupation")
    known = {name: everyone[name].without(vertices=gone) for name in names}
    model = fitted(split.known, {"user_relations": known, "random_state": seed, **quick})
    with_relations, alone = (pd.Series(0.0, index=split.rest.index) for _ in range(2))
    for user, rest in split.rest.groupby("user"):
        told = {name: _edges(everyone[name], user) for name in names}
        with_relations[rest.index] = model.predict_new([], [], rest["film"], relations=told)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenWarning)
            alone[rest.index] = model.predict_new([], [], rest["film"])
    side, prior = rmse(split.rest, with_relations), rmse(split.rest, alone)
    return (
        f"Cold start, seed {seed}: RMSE {side:.4f} by age, sex and occupation alone, {prior:.4f} by the prior "
        f"(better: {'met' if side < prior else 'MISSED'})."
    )


def _edges(H: Hypergraph, user: Any) -> list[Any]:
    return list(H.edges_of(user))


COLUMNS = ("", "ratings", "refit", "hypergraph", "apart", "population", "apart", "a user")


def main(*, quick: bool) -> None:
    if "HYPERGAUSS_DATA" not in os.environ:
        print("new_users is skipped: HYPERGAUSS_DATA does not name the folder of the development data.")
        return
    data = fetch_movielens_100k()
    count, fewer = (10, {"chains": 1, "warm_up": 3, "draws": 5}) if quick else (100, LENGTH)
    seeds = {"gaussian": (0,)} if quick else SEEDS
    found = [compared(data, kind, seed, count, fewer) for kind, own in seeds.items() for seed in own]
    loss, slowest = max(each[1] for each in found), max(each[2] for each in found)
    lines = [
        f"Worst loss of RMSE against a refit, by the population: {loss:+.4f} ({verdict(loss, at_most=MOST_LOSS)}).",
        f"Median time of a user: {slowest:.1f} ms at most ({verdict(slowest, at_most=MOST_MILLISECONDS)}).",
        cold_start(data, 0, count, fewer),
        "Refit, hypergraph, population: RMSE of the ratings not given, by a refit with the newcomers' ten, and without "
        "one by either prior. Apart: root of the mean squared difference from the refit's predictions.",
    ]
    length = f"{fewer['chains']} chain(s) of {fewer['draws']} draws"
    title = f"RMSE for {count} users left out of the fit, {GIVEN} ratings of each given, {length}"
    publish("new_users", [table(title, COLUMNS, [each[0] for each in found])], lines, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
