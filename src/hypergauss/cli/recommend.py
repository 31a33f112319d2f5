"""``hypergauss recommend``: items for users, known or new, from a table of ratings or a saved model."""

from __future__ import annotations

import argparse

import pandas as pd

from hypergauss import _checks
from hypergauss._progress import displayed
from hypergauss.cli import given, idle, targets, understood
from hypergauss.cli.outputs import hand_over
from hypergauss.factorisation import KPMF
from hypergauss.storage import load, save

_FACTORS = 10
#: Users, items and ratings.
Table = tuple[pd.Series, pd.Series, pd.Series]


def recommend(options: argparse.Namespace) -> None:
    """Fit the ratings, or open a model, and list the best items that each user asked for has not rated."""
    options = given.of_ratings(options)
    idle.check_output(options)
    _check_source(options)
    idle.check_text(options)
    newcomers = None if options.new is None else targets.ratings(options, "new")
    if options.model is not None:
        model = _opened(options)
        known = [str(name) for name in model.users_]
        _check(options, newcomers, known)
    else:
        rated = targets.ratings(options)
        known = rated[0].unique().tolist()
        _check(options, newcomers, known)
        understood.tell([understood.ratings(options.ratings, *rated)])
        with displayed("learning from ratings"):
            model = KPMF(options.factors or _FACTORS, bounds="observed", random_state=options.seed).fit(*rated)
    if options.save is not None:
        save(model, options.save)
    lists = _lists(model, options, newcomers, known)
    table = pd.concat(lists)[["user", "item", "rating", "std"]]
    hand_over(table, options, key="recommendations", title="Recommendations")


def _check_source(options: argparse.Namespace) -> None:
    if (options.ratings is None) == (options.model is None):
        raise ValueError(
            "Recommendations need a file of ratings or of a saved model, and one of them: --ratings FILE or "
            "--model FILE."
        )
    if options.model is not None:
        idle.refuse(options, ["factors", "save"], "goes with --ratings, and --model is fitted already. Leave it out.")
    if options.save is not None and options.save.exists() and not options.overwrite:
        raise FileExistsError(f"{options.save} is there already. Name another file, or replace it with --overwrite.")


def _opened(options: argparse.Namespace) -> KPMF:
    model = load(options.model)
    if not isinstance(model, KPMF):
        raise ValueError(f"--model must be a model of ratings. {options.model} holds a {type(model).__name__}.")
    return model


def _check(options: argparse.Namespace, newcomers: Table | None, known: list[str]) -> None:
    """Refuse users asked for who are not known, and newcomers who are."""
    everyone = frozenset(known)
    for user in options.user or []:
        if user not in everyone:
            near = _checks.did_you_mean(user, known)
            raise ValueError(f"--user must have rated something. Got {user!r}.{near}")
    for user in () if newcomers is None else newcomers[0].unique():
        if user in everyone:
            raise ValueError(
                f"--new must hold users who were not in the fit. {user!r} was: put their ratings among the others, and "
                "fit again."
            )


def _lists(model: KPMF, options: argparse.Namespace, newcomers: Table | None, known: list[str]) -> list[pd.DataFrame]:
    """Return a table a user: those asked for, or newcomers, or else everyone."""
    names = {str(name): name for name in (model.users_ if options.model is not None else ())}
    asked = options.user or ([] if newcomers is not None else sorted(known))
    found = [model.recommend(names.get(user, user), options.n).assign(user=user) for user in asked]
    if newcomers is None:
        return found
    items = {str(name): name for name in model.items_}
    frame = pd.DataFrame({"user": newcomers[0], "item": newcomers[1], "rating": newcomers[2]})
    for user, own in frame.groupby("user", sort=False):
        own_items = [items.get(item, item) for item in own["item"]]
        found.append(model.recommend_new(own_items, own["rating"], options.n).assign(user=user))
    return found
