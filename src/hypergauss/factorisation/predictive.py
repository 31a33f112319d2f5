"""Draws of the factors, and the predictions that average over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from hypergauss.factorisation.grades import predictors
from hypergauss.likelihoods.ordinal import log_probability_between


class Scale(NamedTuple):
    """Ratings are ``center + spread * y`` for y on the model's scale.

    Where events are explained and not ratings, ``rate`` is the share of cells without one that the model has seen.
    """

    center: float
    spread: float
    rate: float = 1.0


class Kept(NamedTuple):
    """What is kept of draws; the first axis counts them, chain after chain.

    Attributes
    ----------
    users, items : array, shape (S, N, K) and (S, M, K)
        Rows (b_i, u_i) and (c_j, w_j).
    lone_users, lone_items : array, shape (S, K)
        Prior variances of a user or item of whom nothing is known.
    mean, noise_variance : array, shape (S,)
        mu and 1 / tau, on the model's scale.
    thresholds : array, shape (S, C - 1)
        Of the ordered probit; no columns for the Gaussian.
    nu, lengthscale, variance : array, shape (S, 2, K)
        Of users' and items' columns.
    user_weights, item_weights : array, shape (S, number of relations)
        Of relations.
    user_smooth, item_smooth : array, shape (S, r + L + Q, K)
        What modes, levels and hyperedges of relations say of a row of which nothing else is known (`row_priors`).
    user_slack, item_slack : array, shape (S, r, K)
        How uncertain the modes' part of that is.
    user_noise, item_noise : array, shape (S, N) and (S, M)
        How many times ``noise_variance`` a user's ratings, and an item's, have.
    lone_noise : array, shape (S, 2)
        The same of a user and of an item of whom nothing is known.
    moods : array, shape (S, Q)
        Of users on days; no columns where days are not told.
    mood_variance : array, shape (S,)
        Their variance; 0 where days are not told.
    """

    users: np.ndarray
    items: np.ndarray
    lone_users: np.ndarray
    lone_items: np.ndarray
    mean: np.ndarray
    noise_variance: np.ndarray
    thresholds: np.ndarray
    nu: np.ndarray
    lengthscale: np.ndarray
    variance: np.ndarray
    user_weights: np.ndarray
    item_weights: np.ndarray
    user_smooth: np.ndarray
    item_smooth: np.ndarray
    user_slack: np.ndarray
    item_slack: np.ndarray
    user_noise: np.ndarray
    item_noise: np.ndarray
    lone_noise: np.ndarray
    moods: np.ndarray
    mood_variance: np.ndarray


class Predictor(NamedTuple):
    """Mean and variance of eta for pairs under one draw, and the variance of the noise.

    That of eta is that of users and items not seen.
    """

    mean: np.ndarray
    variance: np.ndarray
    noise: np.ndarray


class Predictive:
    """The predictive distribution of ratings: a mixture over draws.

    Parameters
    ----------
    kept : Kept
        The draws.
    scale : Scale
        Of ratings; of no meaning for grades.
    levels : array, shape (C,), or None
        Ratings of the ordered classes.
    days : array of int, optional
        The user and day of each pair that is asked for, as a column of ``moods``; -1 for one not seen, as are all if
        not given.
    """

    def __init__(self, kept: Kept, scale: Scale, levels: np.ndarray | None, days: np.ndarray | None = None) -> None:
        self.kept, self.scale, self.levels, self.days = kept, scale, levels, days

    def on(self, days: np.ndarray) -> Predictive:
        """Return the distribution for pairs on days."""
        return Predictive(self.kept, self.scale, self.levels, days)

    def moments(self, user: np.ndarray, item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of a new rating for pairs of rows; -1 stands for one not seen."""
        if self.levels is not None:
            p = self.probabilities(user, item)
            mean = p @ self.levels
            return mean, np.sqrt(np.maximum(p @ self.levels**2 - mean**2, 0.0))
        first, second, inside = np.zeros(len(user)), np.zeros(len(user)), np.zeros(len(user))
        for eta in self._predictors(user, item):
            first += eta.mean
            second += eta.mean**2
            inside += eta.variance + eta.noise
        count = len(self.kept.mean)
        mean = first / count
        variance = np.maximum(second / count - mean**2, 0.0) + inside / count
        return self.scale.center + self.scale.spread * mean, self.scale.spread * np.sqrt(variance)

    def probabilities(self, user: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Return the probability of each level for pairs of rows, shape (n, C)."""
        assert self.levels is not None
        total = np.zeros((len(user), len(self.levels)))
        for number, eta in enumerate(self._predictors(user, item)):
            z = (self.kept.thresholds[number] - eta.mean[:, None]) / np.sqrt(eta.noise + eta.variance)[:, None]
            cumulative = np.pad(ndtr(z), ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
            total += at_rate(np.diff(cumulative, axis=1), self.scale.rate)
        return total / len(self.kept.mean)

    def log_density(self, user: np.ndarray, item: np.ndarray, ratings: np.ndarray) -> np.ndarray:
        """Return the log density of each rating, or for grades the log probability."""
        terms = np.empty((len(self.kept.mean), len(user)))
        if self.levels is None:
            y = (ratings - self.scale.center) / self.scale.spread
        else:
            label = np.searchsorted(self.levels, ratings)
        for number, eta in enumerate(self._predictors(user, item)):
            if self.levels is None:
                variance = eta.variance + eta.noise
                terms[number] = -0.5 * ((y - eta.mean) ** 2 / variance + np.log(2 * np.pi * variance))
            else:
                ends = np.concatenate([[-np.inf], self.kept.thresholds[number], [np.inf]])
                spread = np.sqrt(eta.noise + eta.variance)
                low, high = ((ends[place] - eta.mean) / spread for place in (label, label + 1))
                terms[number] = log_at_rate(log_probability_between(low, high), label, self.scale.rate)
        log_p = logsumexp(terms, axis=0) - np.log(len(terms))
        return log_p - (np.log(self.scale.spread) if self.levels is None else 0.0)

    def sample(self, user: np.ndarray, item: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw new ratings, shape (size, n), each row under one draw of the factors taken at random."""
        if self.scale.rate != 1.0:
            assert self.levels is not None
            return self.levels[(rng.random((size, len(user))) < self.probabilities(user, item)[:, 1]).astype(int)]
        rows = np.empty((size, len(user)))
        chosen = rng.integers(len(self.kept.mean), size=size)
        for place, number in enumerate(chosen):
            eta = self._predictor(int(number), user, item)
            rows[place] = eta.mean + np.sqrt(eta.variance + eta.noise) * rng.standard_normal(len(user))
            if self.levels is not None:
                rows[place] = self.levels[np.searchsorted(self.kept.thresholds[number], rows[place])]
        return rows if self.levels is not None else self.scale.center + self.scale.spread * rows

    def _predictors(self, user: np.ndarray, item: np.ndarray) -> Iterator[Predictor]:
        for number in range(len(self.kept.mean)):
            yield self._predictor(number, user, item)

    def _predictor(self, number: int, user: np.ndarray, item: np.ndarray) -> Predictor:
        """Return eta under one draw. A row of zeros stands for those not seen, and their prior for its variance."""
        kept = self.kept
        users, items = (np.vstack([rows[number], np.zeros_like(rows[number, :1])]) for rows in (kept.users, kept.items))
        mean = kept.mean[number] + predictors(users, items, user, item)
        variance = np.zeros(len(user))
        for rows, own, other, lone in (
            (items, user < 0, item, kept.lone_users[number]),
            (users, item < 0, user, kept.lone_items[number]),
        ):
            if own.any():
                variance[own] += lone[0] + rows[other[own], 1:] ** 2 @ lone[1:]
        both = (user < 0) & (item < 0)
        variance[both] += kept.lone_users[number, 1:] @ kept.lone_items[number, 1:]
        days = np.full(len(user), -1) if self.days is None else self.days
        mean += np.append(kept.moods[number], 0.0)[days]
        variance[days < 0] += kept.mood_variance[number]
        noise = kept.noise_variance[number] * np.ones(len(user))
        for rows, own, lone in zip(
            (kept.user_noise, kept.item_noise), (user, item), kept.lone_noise[number], strict=True
        ):
            noise *= np.append(rows[number], lone)[own]
        return Predictor(mean, variance, noise)


def at_rate(p: np.ndarray, rate: float) -> np.ndarray:
    """Return probabilities (not watched, watched), the last axis, among all cells from those among the cells seen."""
    if rate == 1.0:
        return p
    seen = p * [1.0, rate]
    return seen / seen.sum(axis=-1, keepdims=True)


def log_at_rate(log_p: np.ndarray, label: np.ndarray, rate: float) -> np.ndarray:
    """Return the logarithm of that for one of the two, label 1 being watched."""
    if rate == 1.0:
        return log_p
    p = np.exp(log_p)
    return np.where(label == 1, np.log(rate) + log_p - np.log1p((rate - 1.0) * p), log_p - np.log(p + rate * (1.0 - p)))


def as_kept(records: list[dict[str, np.ndarray]]) -> Kept:
    """Stack what single draws left."""
    return Kept(*(np.stack([record[name] for record in records]) for name in Kept._fields))
