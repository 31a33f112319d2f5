r"""Moods of a day: a rating of item j by user i on day d has m_id added, one number for all that a user rated that day.

    m_id ~ N(0, omega),      omega ~ inverse gamma (a, b),

so that a user's bias b_i is that of all days, and m_id how kind they were on one. Given all else a mood is Gaussian,
of precision 1 / omega + sum_j t_ij over the ratings of that day, t = tau g_i h_j their precisions, and omega is inverse
gamma. A day that `fit` has not seen has the prior.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.factorisation.ratings import Ratings
from hypergauss.hypergraph.names import as_list

#: Prior of omega, on the scale of ratings of variance 1: a mood of 0.1 or so, with a heavy tail.
MOOD_SHAPE, MOOD_RATE = 0.5, 0.005
_START_VARIANCE = 0.01


class Days(NamedTuple):
    """Which day of which user each rating is of; there are Q pairs of a user and a day.

    Attributes
    ----------
    user : array of int, shape (Q,)
        The row of the user.
    name : Index, length Q
        The name of the day.
    place : array of int, shape (n,)
        The pair that each rating is of, in the order of `Ratings`.
    """

    user: np.ndarray
    name: pd.Index
    place: np.ndarray

    @classmethod
    def of(cls, table: Ratings, users: Iterable[Hashable], items: Iterable[Hashable], days: Iterable[Hashable]) -> Self:
        """Return the days of ratings in the order of the table, given names in the order of ``days``."""
        user, item = (
            index.get_indexer(pd.Index(as_list(n))) for index, n in ((table.users, users), (table.items, items))
        )
        order = np.lexsort((item, user))
        name = check_days(days, len(user))[order]
        pairs = pd.MultiIndex.from_arrays([user[order], name])
        each = pairs.unique()
        return cls(each.get_level_values(0).to_numpy(), each.get_level_values(1), each.get_indexer(pairs))

    def rows(self, user: np.ndarray, days: Iterable[Hashable]) -> np.ndarray:
        """Return the pairs of rows of users and days by name; -1 for a day of a user without ratings."""
        pairs = pd.MultiIndex.from_arrays([self.user, self.name])
        return np.asarray(pairs.get_indexer(pd.MultiIndex.from_arrays([user, check_days(days, len(user))])))


def check_days(days: Iterable[Hashable], size: int) -> pd.Index:
    """Return the name of the day of each rating; none may be missing."""
    names = pd.Index(as_list(days), tupleize_cols=False)
    _checks.same_length("days", len(names), "users", size)
    missing = np.flatnonzero(names.isna())
    if len(missing):
        raise ValueError(
            f"`days` must name a day for each rating. Got none at position {missing[0]}"
            f"{_checks.others(len(missing) - 1)}. Give such a rating a day of its own, such as its number."
        )
    return names


class Moods(NamedTuple):
    """The moods m, shape (Q,), and their variance omega: of no days, none."""

    each: np.ndarray
    variance: float

    def draw(self, place: np.ndarray, residuals: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> Self:
        """Draw all moods, then omega, given what all else leaves of the ratings and the precisions of their noise."""
        size = len(self.each)
        total = 1.0 / self.variance + np.bincount(place, precision, minlength=size)
        mean = np.bincount(place, precision * residuals, minlength=size) / total
        each = mean + rng.standard_normal(size) / np.sqrt(total)
        rate = MOOD_RATE + 0.5 * float(each @ each)
        return type(self)(each, float(rate / rng.gamma(MOOD_SHAPE + 0.5 * size)))


def start_moods(size: int) -> Moods:
    """Return moods to begin with: none."""
    return Moods(np.zeros(size), _START_VARIANCE if size else 0.0)
