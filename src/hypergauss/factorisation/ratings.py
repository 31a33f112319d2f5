"""Ratings by name -> two sparse tables of numbers, one for each side, on one scale."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from hypergauss import _checks
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import as_list, locate, plain, unique_index


class Ratings(NamedTuple):
    """Who rated what, and how: n ratings of M items by N users.

    Attributes
    ----------
    users, items : Index
        Their names, in order of appearance; those known from relations alone come last.
    user, item : array of int, shape (n,)
        The user and the item of each rating, ordered by user, then item.
    values : array, shape (n,)
        The ratings as given.
    """

    users: pd.Index
    items: pd.Index
    user: np.ndarray
    item: np.ndarray
    values: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """N and M."""
        return len(self.users), len(self.items)

    def hypergraph(self) -> Hypergraph:
        """Return users as vertices, and for each item the hyperedge of those who rated it."""
        return Hypergraph.from_incidence(self.pattern(), vertices=self.users, edges=self.items)

    def pattern(self, dtype: DTypeLike = np.float64) -> sp.csr_array:
        """Return the N x M table with a one for each rating; its entries are in the order of ``values``."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.user, minlength=len(self.users)))])
        return sp.csr_array((np.ones(len(self.values), dtype), self.item, starts), shape=self.shape)


class View(NamedTuple):
    """The ratings as one side sees them: a row for each of its vertices.

    Attributes
    ----------
    pattern : CSR array
        Ones where there is a rating.
    order : array of int, shape (n,)
        Position among the ratings of each entry of the pattern.
    """

    pattern: sp.csr_array
    order: np.ndarray

    def table(self, values: np.ndarray) -> sp.csr_array:
        """Return the pattern with a value for each rating."""
        return sp.csr_array((values[self.order], self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)


def views(ratings: Ratings, dtype: DTypeLike) -> tuple[View, View]:
    """Return the ratings with users as rows, and with items as rows."""
    by_user = ratings.pattern(dtype)
    numbered = sp.csr_array((np.arange(by_user.nnz), by_user.indices, by_user.indptr), shape=by_user.shape)
    by_item = sp.csr_array(numbered.T)
    ones = sp.csr_array((np.ones(by_item.nnz, dtype), by_item.indices, by_item.indptr), shape=by_item.shape)
    return View(by_user, np.arange(by_user.nnz)), View(ones, by_item.data)


def check_order(users: object, items: object, ratings: object, days: object = None) -> None:
    """Refuse columns of pandas whose indexes disagree: paired by position, they would be of different rows."""
    columns = {"users": users, "items": items, "ratings": ratings, "days": days}
    indexed = {name: column.index for name, column in columns.items() if isinstance(column, pd.Series)}
    first = next(iter(indexed), "")
    for name, index in indexed.items():
        if not index.equals(indexed[first]):
            raise ValueError(
                f"`{first}` and `{name}` must have one index, that of their rows. Got two. Take the columns of one "
                "table, or if they stand in one order, `.to_numpy()` of each."
            )


def tabulate(
    users: Iterable[Hashable],
    items: Iterable[Hashable],
    ratings: ArrayLike,
    *,
    bounds: tuple[float, float] | None,
    more_users: Iterable[pd.Index] = (),
    more_items: Iterable[pd.Index] = (),
) -> Ratings:
    """Check ratings given by name and put them in order.

    A pair must not be rated twice: which of two ratings holds, or whether their mean does, is for the caller to say.
    """
    values = _checks.finite_array("ratings", ratings, missing="Leave pairs that are not rated out.")
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"`ratings` must be a list of numbers, at least one. Got shape {values.shape}.")
    user, user_index = _numbered(users, "users", len(values), more_users)
    item, item_index = _numbered(items, "items", len(values), more_items)
    check_bounds(values, bounds)
    order = np.lexsort((item, user))
    user, item, values = user[order], item[order], values[order]
    twice = np.flatnonzero((np.diff(user) == 0) & (np.diff(item) == 0))
    if len(twice):
        pair = (plain(user_index[user[twice[0]]]), plain(item_index[item[twice[0]]]))
        raise ValueError(
            f"A pair of user and item must be rated once. {pair} is rated twice{_checks.others(len(twice) - 1)}. Keep "
            "the last rating of each, or their mean: `frame.groupby([user, item]).mean()`."
        )
    return Ratings(user_index, item_index, user, item, values)


def _numbered(
    names: Iterable[Hashable], argument: str, n_ratings: int, more: Iterable[pd.Index]
) -> tuple[np.ndarray, pd.Index]:
    """Return the position of each name and the index of all, those in the ratings first."""
    given = as_list(names)
    _checks.same_length(argument, len(given), "ratings", n_ratings)
    seen = unique_index(pd.unique(pd.Series(given)), of=argument)
    check_kind(seen, argument)
    index = seen
    for other in more:
        index = index.append(other.difference(index, sort=False))
    return locate(index, given, argument=argument, owner="the ratings", cure=""), index


def check_kind(index: pd.Index, argument: str) -> None:
    """Refuse text among numbers: "7" and 7 would be two users, which is never meant."""
    kinds = {"text" if isinstance(name, str) else "other" for name in index}
    if len(kinds) > 1:
        text = next(name for name in index if isinstance(name, str))
        other = next(name for name in index if not isinstance(name, str))
        raise TypeError(
            f"`{argument}` must be names of one kind. Got {text!r} and {other!r}, text among others: 7 and '7' would "
            "be different. Turn all of them into text, or all into numbers."
        )


def check_bounds(values: np.ndarray, bounds: tuple[float, float] | None) -> None:
    """Refuse ratings out of bounds, if there are any."""
    if bounds is None:
        return
    outside = np.flatnonzero((values < bounds[0]) | (values > bounds[1]))
    if len(outside):
        raise ValueError(
            f"`ratings` must lie in the bounds, {bounds[0]:g} to {bounds[1]:g}. Got {values[outside[0]]:g} at position "
            f"{outside[0]}{_checks.others(len(outside) - 1)}. Correct them, or pass other `bounds`."
        )
