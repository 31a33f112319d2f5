"""What is new to a fitted factorisation: newcomers' ratings checked, rows conditioned, draws grown."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from hypergauss import _checks
from hypergauss.factorisation.newcomers import Measured, row_posterior, side_draws
from hypergauss.factorisation.noise import drawn_variances
from hypergauss.factorisation.predictive import Kept, Scale
from hypergauss.factorisation.ratings import Ratings, check_bounds, check_kind, tabulate
from hypergauss.factorisation.row_priors import Ground, RowPrior, SideDraws
from hypergauss.hypergraph.names import as_list, locate, plain

#: Times that the rows concerned are drawn anew, users and items in turn.
_SWEEPS = 3


class Rules(NamedTuple):
    """What ratings must be: their scale, the levels of grades if they are some, and bounds if there are any."""

    scale: Scale
    levels: np.ndarray | None
    bounds: tuple[float, float] | None

    def check(self, ratings: ArrayLike, *, count: int, of: str) -> np.ndarray:
        """Return ratings as numbers, one for each of some names, in bounds and among the levels."""
        values = _checks.finite_array("ratings", ratings, missing="Leave pairs that are not rated out.")
        if values.ndim != 1:
            raise ValueError(f"`ratings` must be a list of numbers. Got shape {values.shape}.")
        _checks.same_length(of, count, "ratings", len(values))
        check_bounds(values, self.bounds)
        if self.levels is not None and not np.isin(values, self.levels).all():
            odd = values[~np.isin(values, self.levels)][0]
            raise ValueError(
                f"`ratings` must be among the levels seen in `fit`, {self.levels.tolist()}. Got {odd:g}. A level that "
                "is new needs a fit."
            )
        return values


def newcomer_ratings(
    names: Iterable[Hashable], ratings: ArrayLike, rules: Rules, index: pd.Index, *, argument: str
) -> Measured:
    """Return what a newcomer rated, or who rated it, by rows of those known."""
    given = as_list(names)
    cure = "Leave them out, or bring them in by `update`."
    if len(given):
        rows = locate(index, given, argument=argument, owner=f"the {argument} of the fit ({len(index):,})", cure=cure)
    else:
        rows = np.zeros(0, np.int64)
    twice = np.flatnonzero(pd.Index(rows).duplicated())
    if len(twice):
        raise ValueError(
            f"`{argument}` must be rated once each. {plain(index[rows[twice[0]]])!r} is there twice"
            f"{_checks.others(len(twice) - 1)}. Keep the last rating, or their mean."
        )
    return Measured(rows, rules.check(ratings, count=len(rows), of=argument))


class Grown(NamedTuple):
    """Ratings and draws after an update."""

    ratings: Ratings
    kept: Kept


def grow(
    kept: Kept,
    before: Ratings,
    new: tuple[Iterable[Hashable], Iterable[Hashable], ArrayLike],
    rules: Rules,
    grounds: tuple[Ground, Ground],
    rng: np.random.Generator,
) -> Grown:
    """Return ratings with more in them, and draws in which the rows concerned are drawn anew, given all others.

    Users first, given items that the draws have, then items given users; and so in turn, a few sweeps.
    """
    names = [as_list(part) for part in new[:2]]
    values = rules.check(new[2], count=len(names[0]), of="users")
    _checks.same_length("users", len(names[0]), "items", len(names[1]))
    table, fresh = _joined(before, names[0], names[1], values)
    if not len(fresh):
        return Grown(before, kept)
    kept = _with_rows(kept, table.shape, rng)
    concerned = [np.unique(part[fresh]) for part in (table.user, table.item)]
    counted = table.item < before.shape[1]  # items that are new have no row yet
    for _ in range(_SWEEPS):
        kept = _redrawn(kept, 0, concerned[0], table, counted, rules, grounds, rng)
        counted = np.ones(len(table.values), bool)
        kept = _redrawn(kept, 1, concerned[1], table, counted, rules, grounds, rng)
    return Grown(table, kept)


def _joined(before: Ratings, users: Iterable, items: Iterable, values: np.ndarray) -> tuple[Ratings, np.ndarray]:
    """Return all ratings, those known first by name, and positions of the new ones; a contradiction is refused."""
    if len(values) == 0:
        return before, np.zeros(0, np.int64)
    new = tabulate(users, items, values, bounds=None)
    indices = []
    for index, given, argument in ((before.users, new.users, "users"), (before.items, new.items, "items")):
        joined = index.append(given.difference(index, sort=False))
        check_kind(joined, argument)
        indices.append(joined)
    user, item = (
        index.get_indexer(given)[place]
        for index, given, place in zip(indices, (new.users, new.items), (new.user, new.item), strict=True)
    )
    width = len(indices[1])
    there = pd.Index(before.user * width + before.item).get_indexer(user * width + item)
    again = np.flatnonzero(there >= 0)
    wrong = again[before.values[there[again]] != new.values[again]]
    if len(wrong):
        at = wrong[0]
        pair = (plain(indices[0][user[at]]), plain(indices[1][item[at]]))
        raise ValueError(
            f"An update must not contradict a rating. {pair} has the rating {before.values[there[at]]:g}, and got "
            f"{new.values[at]:g}{_checks.others(len(wrong) - 1)}. Leave the pair out, or fit again with what holds now."
        )
    is_new = there < 0
    user, item = np.concatenate([before.user, user[is_new]]), np.concatenate([before.item, item[is_new]])
    both = np.concatenate([before.values, new.values[is_new]])
    order = np.lexsort((item, user))
    fresh = np.flatnonzero(order >= len(before.values))
    return Ratings(indices[0], indices[1], user[order], item[order], both[order]), fresh


def _with_rows(kept: Kept, shape: tuple[int, int], rng: np.random.Generator) -> Kept:
    """Return draws with rows of zeros for newcomers, noise from its prior, and arrays that may be written to."""
    grown, noise = [], []
    sides = zip((kept.users, kept.items), (kept.user_noise, kept.item_noise), kept.lone_noise.T, shape, strict=True)
    for rows, own, lone, size in sides:
        count = size - rows.shape[1]
        more = np.zeros((rows.shape[0], count, rows.shape[2]), rows.dtype)
        grown.append(np.concatenate([rows, more], axis=1))
        noise.append(np.concatenate([own, drawn_variances(lone, count, rng).astype(own.dtype)], axis=1))
    smooth = {name: getattr(kept, name).copy() for name in ("user_smooth", "item_smooth")}
    return kept._replace(users=grown[0], items=grown[1], user_noise=noise[0], item_noise=noise[1], **smooth)


def _redrawn(
    kept: Kept,
    side: int,
    rows: np.ndarray,
    table: Ratings,
    counted: np.ndarray,
    rules: Rules,
    grounds: tuple[Ground, Ground],
    rng: np.random.Generator,
) -> Kept:
    """Draw rows of one side anew, one after the other, each given all else."""
    ground = grounds[side]
    own, other = (table.user, table.item) if side == 0 else (table.item, table.user)
    for row in rows:
        chosen = np.flatnonzero((own == row) & counted)
        measured = Measured(other[chosen], table.values[chosen], int(row))
        draws = side_draws(kept, side)
        prior = row_prior(draws, ground, int(row), measured.others)
        drawn = row_posterior(kept, side, prior, measured, rules.scale, rules.levels).draw(rng)
        if row < len(ground.vectors):
            draws.move(int(row), ground.of_known(int(row)), drawn)
        draws.rows[:, row] = drawn
    return kept


def row_prior(draws: SideDraws, ground: Ground, row: int, others: np.ndarray) -> RowPrior:
    """Return the prior of a row given all others: of the fit, or come since, by the rows that it has ratings with."""
    if row < len(ground.vectors):
        return draws.known(row, ground.of_known(row))
    memberships = others[others < len(ground.voices)]
    return draws.newcomer(ground.of_newcomer(memberships, np.zeros(ground.num_effects)))


def as_chains(kept: Kept, chains: list[Kept]) -> list[Kept]:
    """Return draws of all chains as those of each, in the lengths that they had."""
    ends = np.cumsum([len(chain.mean) for chain in chains])[:-1]
    return [Kept(*parts) for parts in zip(*(np.split(part, ends) for part in kept), strict=True)]
