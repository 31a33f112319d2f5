"""``hypergauss recommend``: items for users, from a table of ratings."""

from __future__ import annotations

import argparse

import pandas as pd

from hypergauss import _checks
from hypergauss._progress import displayed
from hypergauss.cli import idle, targets
from hypergauss.cli.outputs import hand_over
from hypergauss.factorisation import KPMF


def recommend(options: argparse.Namespace) -> None:
    """Fit the ratings, and list the best items that each user asked for has not rated."""
    idle.check_output(options)
    idle.check_text(options)
    users, items, ratings = targets.ratings(options)
    known = users.unique().tolist()
    asked = options.user or sorted(known)
    everyone = frozenset(known)
    for user in asked:
        if user not in everyone:
            near = _checks.did_you_mean(user, known)
            raise ValueError(f"--user must have rated something. Got {user!r}.{near}")
    with displayed("learning from ratings"):
        model = KPMF(options.factors, bounds="observed", random_state=options.seed).fit(users, items, ratings)
        lists = [model.recommend(user, options.n).assign(user=user) for user in asked]
    table = pd.concat(lists)[["user", "item", "rating", "std"]]
    hand_over(table, options, key="recommendations", title="Recommendations")
