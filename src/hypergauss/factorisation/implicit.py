r"""What was watched, without ratings: watched cells, and a sample of those where nothing was seen.

Whether user i watched item j is probit, p(watched) = Phi(mu + b_i + c_j + u_i . w_j): a grade of two levels, whose
latent values are drawn like those of others (Albert and Chib, 1993). Of the cells without an event, by far the most, a
share q is drawn once, uniformly, and enters as "not watched". Given all else such a sample leaves the odds of a cell
that is in it 1 / q times as high as they are among all cells (Bayes' rule: a watched cell is in it for certain, another
with probability q). So with p the probability that the model has learned,

    p(watched) = q p / (q p + 1 - p),

and the order of items for a user is the same either way. The hypergraph is made of watched cells alone.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from hypergauss import _checks
from hypergauss.factorisation.newcomers import Measured
from hypergauss.factorisation.ratings import Ratings

#: Tables of at most so many cells are gone through; in larger ones cells are drawn until enough are new.
_LISTED = 1 << 24


def with_unobserved(watched: Ratings, per_watched: float, rng: np.random.Generator) -> tuple[Ratings, float]:
    """Return watched cells as 1 with sampled others as 0, and the share q of the others that these are."""
    users, items = watched.shape
    free = users * items - len(watched.values)
    if free == 0:
        raise ValueError(
            "`likelihood='implicit'` needs items that some users have not watched. Got all pairs. Nothing tells them "
            "apart: use ratings, or only the most certain events."
        )
    count = int(min(free, max(1, round(per_watched * len(watched.values)))))
    taken = watched.user.astype(np.int64) * items + watched.item
    cells = _sampled(users * items, taken, count, rng)
    user, item = np.concatenate([watched.user, cells // items]), np.concatenate([watched.item, cells % items])
    values = np.concatenate([np.ones(len(taken)), np.zeros(count)])
    order = np.lexsort((item, user))
    return Ratings(watched.users, watched.items, user[order], item[order], values[order]), count / free


def _sampled(size: int, taken: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw so many different numbers below a size, none of those taken."""
    if size <= _LISTED:
        is_free = np.ones(size, bool)
        is_free[taken] = False
        return rng.choice(np.flatnonzero(is_free), count, replace=False)
    drawn = np.zeros(0, np.int64)
    while len(drawn) < count:
        more = rng.integers(size, size=2 * (count - len(drawn)) + 16)
        drawn = pd.unique(np.concatenate([drawn, more[~np.isin(more, taken)]]))
    return drawn[:count]


def watched_and_not(watched: np.ndarray, num_others: int, rate: float) -> Measured:
    """Return a newcomer's cells: what was watched, and of all else a sample at the rate of the fit, always the same."""
    rest = np.setdiff1d(np.arange(num_others), watched)
    chosen = rest[np.random.default_rng(len(rest)).random(len(rest)) < rate]
    return Measured(np.concatenate([watched, chosen]), np.concatenate([np.ones(len(watched)), np.zeros(len(chosen))]))


def check_given(ratings: ArrayLike | None, likelihood: str, count: int) -> ArrayLike:
    """Return ratings, which must be there unless the likelihood does without; then ones, one for each event."""
    if likelihood != "implicit":
        if ratings is None:
            raise ValueError(
                "`ratings` must be given, one for each pair. Got None. What was watched without ratings is for "
                "likelihood='implicit'."
            )
        return ratings
    if ratings is not None:
        raise ValueError(
            "`ratings` must be left out with likelihood='implicit', which looks at what was watched alone. Use "
            "'gaussian' or 'ordinal' for ratings."
        )
    return np.ones(_checks.count("users", count, least=0))
