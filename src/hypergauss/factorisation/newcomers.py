r"""A user, or an item, that was not there in the fit: one row conditioned on its ratings under every draw kept.

The other side's rows, all hyperparameters and the noise stay as they were drawn. Under each draw the newcomer's row has
a Gaussian prior (`row_priors`), and given its ratings a Gaussian posterior (`row_posteriors`); predictions average over
the draws. What is left out is what the newcomer's ratings would tell of everybody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from hypergauss.factorisation.predictive import Kept, Predictive, Predictor, Scale, at_rate
from hypergauss.factorisation.row_posteriors import RowPosterior, Sites, condition, propagate
from hypergauss.factorisation.row_priors import RowPrior, SideDraws

#: Pairs whose variances are computed at once.
_CHUNK = 512


class Measured(NamedTuple):
    """Ratings that one row has: rows of the other side, and values on the scale of ratings.

    ``row`` is the row itself, or -1 for one that the draws do not have.
    """

    others: np.ndarray
    values: np.ndarray
    row: int = -1


def side_draws(kept: Kept, side: int) -> SideDraws:
    """Return the draws of users (0) or of items (1)."""
    if side == 0:
        return SideDraws(kept.users, kept.lone_users, kept.user_smooth, kept.user_slack)
    return SideDraws(kept.items, kept.lone_items, kept.item_smooth, kept.item_slack)


def noise_variances(kept: Kept, side: int, others: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the variance of the noise of ratings with rows of the other side, shape (S, n): own, theirs and common."""
    theirs = kept.user_noise if side else kept.item_noise
    return (kept.noise_variance * own)[:, None] * theirs[:, others]


def _own_noise(kept: Kept, side: int, row: int) -> np.ndarray:
    """Return a row's own noise for its ratings to be weighed by, shape (S,).

    A newcomer's precision g is not known. The log-likelihood of ratings is linear in g, and in the mean over its prior
    has the precision E[g] = 1; that of a rating to come has the variance E[1 / g], which is more.
    """
    return np.ones(len(kept.mean)) if row < 0 else (kept.item_noise if side else kept.user_noise)[:, row]


def row_sites(
    kept: Kept, side: int, prior: RowPrior, measured: Measured, scale: Scale, levels: np.ndarray | None
) -> Sites:
    """Return a row's ratings as measurements of z . x: as they are, or for grades by expectation propagation."""
    z, offset = features(kept, side, measured.others)
    noise = noise_variances(kept, side, measured.others, _own_noise(kept, side, measured.row))
    if levels is None:
        y = (measured.values - scale.center) / scale.spread - offset
        return Sites(z, y, 1.0 / noise)
    ends = np.pad(kept.thresholds, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    label = np.searchsorted(levels, measured.values)
    return propagate(prior, z, offset, ends[:, label], ends[:, label + 1], noise)


def row_posterior(
    kept: Kept, side: int, prior: RowPrior, measured: Measured, scale: Scale, levels: np.ndarray | None
) -> RowPosterior:
    """Return the posterior of one row under each draw."""
    return condition(prior, row_sites(kept, side, prior, measured, scale, levels))


class NewcomerPredictive(Predictive):
    """The predictive distribution of one newcomer's ratings; pairs are rows of the other side, twice."""

    def __init__(self, kept: Kept, side: int, row: RowPosterior, scale: Scale, levels: np.ndarray | None) -> None:
        super().__init__(kept, scale, levels)
        self._side, self._row = side, row

    def probabilities(self, user: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Return the probability of each level, all draws at once."""
        found = []
        for part in _parts(user if self._side else item):
            mean, variance, noise = self._batch(part)
            z = (self.kept.thresholds[:, None] - mean[:, :, None]) / np.sqrt(noise + variance)[:, :, None]
            cumulative = np.pad(ndtr(z), ((0, 0), (0, 0), (1, 1)), constant_values=((0, 0), (0, 0), (0.0, 1.0)))
            found.append(at_rate(np.diff(cumulative, axis=2), self.scale.rate).mean(axis=0))
        return np.concatenate(found)

    def _predictors(self, user: np.ndarray, item: np.ndarray) -> Iterator[Predictor]:
        found = [self._batch(part) for part in _parts(user if self._side else item)]
        joined = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
        return (Predictor(*each) for each in zip(*joined, strict=True))

    def _predictor(self, number: int, user: np.ndarray, item: np.ndarray) -> Predictor:
        one = Kept(*(part[number : number + 1] for part in self.kept))
        row = RowPosterior(*(part[number : number + 1] for part in self._row))
        return next(iter(NewcomerPredictive(one, self._side, row, self.scale, self.levels)._predictors(user, item)))

    def _batch(self, others: np.ndarray) -> Predictor:
        """Return what is known of ratings with some rows under all draws, shape (S, n) each."""
        z, offset = features(self.kept, self._side, others)
        mean = offset + np.matmul(z, self._row.mean[:, :, None])[:, :, 0]
        variance = np.einsum("snk,snk->sn", np.matmul(z, self._row.covariance), z)
        # The mean of 1 / g is the variance of a rating; probabilities of grades are nearer to those at the mean of g.
        own = self.kept.lone_noise[:, self._side] if self.levels is None else np.ones(len(mean))
        return Predictor(mean, variance, noise_variances(self.kept, self._side, others, own))


def _parts(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[first : first + _CHUNK] for first in range(0, max(len(rows), 1), _CHUNK)]


def features(kept: Kept, side: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return z = (1, w), shape (S, n, K), and mu + c, shape (S, n), of rows of the other side."""
    z = (kept.users if side else kept.items)[:, others].astype(np.float64)
    offset = kept.mean[:, None] + z[:, :, 0]
    z[:, :, 0] = 1.0
    return z, offset
