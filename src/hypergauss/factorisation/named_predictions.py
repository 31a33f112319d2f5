"""Predictions for users and items given by name, kept inside the bounds of ratings."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm

from hypergauss import _checks
from hypergauss.exceptions import UnseenWarning
from hypergauss.factorisation.mode import Mode
from hypergauss.factorisation.moods import Days
from hypergauss.factorisation.predictive import Kept, Predictive
from hypergauss.factorisation.ratings import Ratings
from hypergauss.hypergraph.names import as_list


class Prediction(NamedTuple):
    """Ratings foretold by name.

    Attributes
    ----------
    predictive : Predictive
        The distribution for pairs of rows.
    ratings : Ratings
        Those learned from, with the names of rows.
    bounds : (float, float) or None
        Least and largest rating.
    when : (Days, names), optional
        Days that moods are known of, and the day of each pair that is asked for.
    """

    predictive: Predictive
    ratings: Ratings
    bounds: tuple[float, float] | None
    when: tuple[Days, Iterable[Hashable]] | None = None

    def moments(self, users: Iterable[Hashable], items: Iterable[Hashable]) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean rating of each pair, within bounds, and the standard deviation of a new one."""
        predictive, user, item = self._asked(users, items)
        mean, std = predictive.moments(user, item)
        return self._within(mean), std

    def of_rows(self, user: np.ndarray, item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same of pairs of rows, on no day in particular."""
        mean, std = self.predictive.moments(user, item)
        return self._within(mean), std

    def interval(
        self, users: Iterable[Hashable], items: Iterable[Hashable], level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of central intervals of a given probability."""
        if not 0 < _checks.real("level", level) < 1:
            raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
        predictive, user, item = self._asked(users, items)
        levels = predictive.levels
        if levels is not None:
            cumulative = predictive.probabilities(user, item).cumsum(axis=1)
            ends = [(cumulative < share - 1e-12).sum(axis=1) for share in ((1 - level) / 2, (1 + level) / 2)]
            low, high = (levels[np.minimum(end, len(levels) - 1)] for end in ends)
            return low, high
        mean, std = predictive.moments(user, item)
        reach = norm.ppf(0.5 + level / 2) * std
        return self._within(mean - reach), self._within(mean + reach)

    def probabilities(self, users: Iterable[Hashable], items: Iterable[Hashable]) -> pd.DataFrame:
        """Return the probability of each rating level, one row a pair."""
        levels = self.predictive.levels
        if levels is None:
            raise ValueError("`predict_proba` needs ratings as ordered classes. Fit with likelihood='ordinal'.")
        predictive, user, item = self._asked(users, items)
        return pd.DataFrame(predictive.probabilities(user, item), columns=levels)

    def log_density(self, users: Iterable[Hashable], items: Iterable[Hashable], ratings: ArrayLike) -> np.ndarray:
        """Return the log predictive density of each rating; the log probability for ordered classes."""
        values = _checks.finite_array("ratings", ratings, missing="Leave those pairs out.")
        predictive, user, item = self._asked(users, items)
        _checks.same_length("users", len(user), "ratings", len(values))
        levels = self.predictive.levels
        if levels is not None and not np.isin(values, levels).all():
            raise ValueError(f"`ratings` must be among the levels seen in `fit`, {levels.tolist()}.")
        return predictive.log_density(user, item, values)

    def sample(
        self, users: Iterable[Hashable], items: Iterable[Hashable], size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw new ratings, shape (size, n)."""
        predictive, user, item = self._asked(users, items)
        return predictive.sample(user, item, _checks.count("size", size), rng)

    def _asked(self, users: Iterable[Hashable], items: Iterable[Hashable]) -> tuple[Predictive, np.ndarray, np.ndarray]:
        """Return the distribution for pairs given by name, on their days if these are given, and rows of both."""
        user, item = self.rows(users, items, stacklevel=5)
        if self.when is None:
            return self.predictive, user, item
        days, names = self.when
        return self.predictive.on(days.rows(user, names)), user, item

    def best(self, user: Hashable, n: int, *, include_seen: bool) -> pd.DataFrame:
        """Return the n items of the highest mean rating for a user, without those rated unless asked for."""
        table = self.ratings
        row = self.rows([user], table.items[:1])[0][0]
        return self.highest(n, None if include_seen else table.item[table.user == row], row)

    def highest(self, n: int, without: np.ndarray | None, row: int = -1) -> pd.DataFrame:
        """Return the n items of the highest mean rating for the user of a row, without those of some rows."""
        _checks.count("n", n)
        table = self.ratings
        rows = np.arange(len(table.items))
        if without is not None:
            rows = np.setdiff1d(rows, without)
        mean, std = self.of_rows(np.full(len(rows), row), rows)
        best = np.argsort(-mean, kind="stable")[:n]
        return pd.DataFrame({"item": table.items[rows[best]], "rating": mean[best], "std": std[best]})

    def rows(
        self, users: Iterable[Hashable], items: Iterable[Hashable], *, stacklevel: int = 4
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of pairs given by name; -1, and a warning, for those that were not there in `fit`."""
        rows = []
        for argument, names, index in (("users", users, self.ratings.users), ("items", items, self.ratings.items)):
            values = as_list(names)
            found = index.get_indexer(pd.Index(values, dtype=index.dtype if len(values) == 0 else None))
            unseen = np.flatnonzero(found < 0)
            if len(unseen):
                warnings.warn(
                    f"`{argument}` has {len(unseen):,} names that `fit` did not see, first {values[unseen[0]]!r}: "
                    "their predictions are those of the prior.",
                    UnseenWarning,
                    stacklevel=stacklevel,
                )
            rows.append(np.asarray(found))
        _checks.same_length("users", len(rows[0]), "items", len(rows[1]))
        return rows[0], rows[1]

    def _within(self, values: np.ndarray) -> np.ndarray:
        return values if self.bounds is None else np.clip(values, *self.bounds)


def as_draw(mode: Mode, *, variance: float, noise_variance: float, biases: bool) -> Kept:
    """Return a mode in the form of a single draw; those not seen have the kernels' mean variance."""
    columns = mode.users.shape[1]
    lone = np.full((1, columns), float(variance))
    lone[0, 0] *= biases
    none, shape, no_modes = np.zeros((1, 0)), np.zeros((1, 2, columns)), np.zeros((1, 0, columns))
    return Kept(
        users=mode.users[None],
        items=mode.items[None],
        lone_users=lone,
        lone_items=lone,
        mean=np.zeros(1),
        noise_variance=np.full(1, float(noise_variance)),
        thresholds=none,
        nu=shape,
        lengthscale=shape,
        variance=shape,
        user_weights=none,
        item_weights=none,
        user_smooth=no_modes,
        item_smooth=no_modes,
        user_slack=no_modes,
        item_slack=no_modes,
        user_noise=np.ones((1, len(mode.users))),
        item_noise=np.ones((1, len(mode.items))),
        lone_noise=np.ones((1, 2)),
        moods=none,
        mood_variance=np.zeros(1),
    )


def together(chains: list[Kept], *, without: str | None = None, most: int | None = None) -> Kept:
    """Return the draws of all chains, one after the other; without the rows of "users" or "items" if these are idle.

    If there are more than so many draws, every second, third, ... of each chain stands for them.
    """
    if most is not None:
        step = -(-sum(len(chain.mean) for chain in chains) // most)
        chains = [Kept(*(part[::step] for part in chain)) for chain in chains]
    if without is not None:
        chains = [chain._replace(**{without: getattr(chain, without)[:, :0]}) for chain in chains]
    return Kept(*(np.concatenate(part) for part in zip(*chains, strict=True)))
