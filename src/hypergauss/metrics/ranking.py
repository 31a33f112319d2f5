"""How good an order is: the best first, for each user, and the mean over users."""

from __future__ import annotations

import numpy as np

from hypergauss import _checks
from hypergauss._checks import Labels, Values


def ndcg(users: Labels, relevance: Values, scores: Values, n: int | None = 10) -> float:
    r"""Return the normalised discounted cumulative gain of each user's first n items, averaged over users.

    With relevances r of a user's items in the order of descending scores,

        DCG = sum_{k <= n} r_k / log2(k + 1),        NDCG = DCG / DCG in the best order.

    Items of equal score share their places: each counts as the mean over all orders of them. Users without anything
    relevant have no best order and do not count.

    Parameters
    ----------
    users : array, shape (m,)
        Whose each row is.
    relevance : array, shape (m,)
        How much each item was worth, at least 0: a rating, or 1 and 0.
    scores : array, shape (m,)
        What the order is by, as predicted ratings.
    n : int or None
        How many places count; all if None.

    Examples
    --------
    >>> round(ndcg(["a", "a", "a", "b", "b"], [3, 1, 2, 1, 0], [0.9, 0.5, 0.1, 0.2, 0.8], n=2), 4)
    0.7414
    """
    shares = []
    for gains, order in _by_user(users, relevance, scores):
        discounts = _first(1.0 / np.log2(np.arange(2, len(gains) + 2)), n)
        best = np.sort(gains)[::-1] @ discounts
        if best > 0:
            shares.append(_collected(gains, order, discounts) / best)
    return _mean(shares)


def recall_at(users: Labels, relevant: Values, scores: Values, n: int = 10) -> float:
    r"""Return the share of each user's relevant items that are among the n of highest score, averaged over users.

    Items of equal score share their places, as in `ndcg`. Users without a relevant item do not count.

    Parameters
    ----------
    users : array, shape (m,)
        Whose each row is.
    relevant : array of bool, or of 0 and 1, shape (m,)
        Which items were the right ones.
    scores : array, shape (m,)
        What the order is by.
    n : int
        How many places count.

    Examples
    --------
    >>> recall_at(["a", "a", "a", "b", "b"], [1, 0, 1, 1, 0], [0.9, 0.5, 0.1, 0.2, 0.8], n=1)
    0.25
    """
    flags = np.asarray(relevant)
    if not np.isin(flags, (0, 1)).all():
        raise ValueError("`relevant` must be True or False, or 1 or 0, for each row. Compare: `ratings >= 4`.")
    shares = [
        _collected(hits, order, _first(np.ones(len(hits)), n)) / hits.sum()
        for hits, order in _by_user(users, flags, scores)
        if hits.any()
    ]
    return _mean(shares)


def _by_user(users: Labels, relevance: Values, scores: Values) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return relevances and scores of each user."""
    names = _checks.labels("users", users, missing="Leave those rows out.")
    gains, order = (
        _checks.finite_array(name, values, missing="Leave those rows out.")
        for name, values in (("relevance", relevance), ("scores", scores))
    )
    _checks.same_length("users", len(names), "relevance", len(gains))
    _checks.same_length("users", len(names), "scores", len(order))
    if gains.ndim != 1 or order.ndim != 1:
        raise ValueError(f"`relevance` and `scores` must be lists of numbers. Got shapes {gains.shape}, {order.shape}.")
    if gains.min() < 0:
        raise ValueError(f"`relevance` must not be negative. Got {gains.min():g}. Subtract the least of all.")
    _, place = np.unique(names, return_inverse=True)
    by_place = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place))[:-1]
    return list(zip(np.split(gains[by_place], ends), np.split(order[by_place], ends), strict=True))


def _first(weights: np.ndarray, n: int | None) -> np.ndarray:
    """Return weights of places that are 0 past the first n."""
    if n is not None:
        weights[_checks.count("n", n) :] = 0.0
    return weights


def _collected(gains: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
    """Return the sum of gains times the weights of their places, the mean over orders of what has equal scores."""
    _, group = np.unique(-scores, return_inverse=True)
    sizes = np.bincount(group)
    mean_gains = np.bincount(group, gains) / sizes
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return float(mean_gains @ np.add.reduceat(weights, starts))


def _mean(shares: list[float]) -> float:
    if not shares:
        raise ValueError("`relevance` must be positive for an item of some user. Got none: there is nothing to find.")
    return float(np.mean(shares))
