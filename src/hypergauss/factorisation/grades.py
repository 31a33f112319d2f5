r"""Ratings as ordered classes: thresholds b_1 < ... < b_{C-1} cut a latent value, p(r <= c) = Phi(b_c - eta).

A rating's latent value is y = eta + normal noise, known to lie between two thresholds (Albert and Chib, 1993). The
noise has precision 1, times those of user and item (`noise`). Given the latent values, all else is drawn as for a
Gaussian likelihood with precision 1. Thresholds given the latent values could hardly move, so they are drawn first
with latent values integrated out (Cowles, 1996): a random walk of Metropolis on the first threshold and the logarithms
of the gaps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from hypergauss.factorisation.noise import Precisions
from hypergauss.likelihoods.ordinal import log_probability_between

#: Ratings whose predictors are computed at once.
_CHUNK = 1 << 18
#: Prior of the first threshold, normal around 0, and of the logarithms of gaps: standard deviation.
THRESHOLD_SPREAD = 3.0
#: Steps of Metropolis a sweep.
_STEPS = 2
#: Probabilities below are taken by their logarithms: a difference of two values of Phi would lose digits.
_SMALL = 1e-8


class Cuts(NamedTuple):
    """Latent values, shape (n,), and thresholds, shape (C - 1,)."""

    latent: np.ndarray
    thresholds: np.ndarray


class Grades(NamedTuple):
    """Ratings as classes 0, ..., C - 1.

    Attributes
    ----------
    levels : array, shape (C,)
        The rating of each class, ascending.
    label : array of int, shape (n,)
        The class of each rating.
    user, item : array of int, shape (n,)
        Whose rating of what.
    dtype : dtype
        Of the latent values.
    """

    levels: np.ndarray
    label: np.ndarray
    user: np.ndarray
    item: np.ndarray
    dtype: np.dtype

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.levels)

    def start(self) -> Cuts:
        """Return thresholds that give each class its share if eta = 0, and latent values in the middle of theirs."""
        thresholds = self.start_thresholds()
        shares = np.concatenate([[0.0], ndtr(thresholds), [1.0]])
        middle = ndtri((shares[:-1] + shares[1:]) / 2)
        return Cuts(middle[self.label].astype(self.dtype), thresholds)

    def start_thresholds(self) -> np.ndarray:
        """Return the b_c that give each class its share if eta = 0."""
        counts = np.bincount(self.label, minlength=self.num_classes)
        return ndtri(np.cumsum(counts)[:-1] / counts.sum())

    def draw(
        self,
        cuts: Cuts,
        eta: np.ndarray,
        noise: tuple[Precisions, Precisions],
        rng: np.random.Generator,
    ) -> Cuts:
        """Draw thresholds given predictors and noise, then latent values given all."""
        root = np.sqrt(noise[0].each[self.user] * noise[1].each[self.item])
        thresholds = cuts.thresholds
        reached = self.log_likelihood(thresholds, eta, root)
        for _ in range(_STEPS):
            thresholds, reached = self._step(thresholds, reached, eta, root, rng)
        low, high = self._limits(thresholds, eta, root)
        return Cuts((eta + truncated_normal(low, high, rng) / root).astype(self.dtype), thresholds)

    def _limits(self, thresholds: np.ndarray, eta: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        return root * (ends[self.label] - eta), root * (ends[self.label + 1] - eta)

    def log_likelihood(self, thresholds: np.ndarray, eta: np.ndarray, root: np.ndarray) -> float:
        """Return the sum of log p(r | eta) over ratings, for roots of the noise's precisions."""
        low, high = _in_left_tail(*self._limits(thresholds, eta, root))[:2]
        p = ndtr(high) - ndtr(low)
        is_small = p < _SMALL
        p[is_small] = 1.0
        return float(np.log(p).sum() + log_probability_between(low[is_small], high[is_small]).sum())

    def _step(
        self, thresholds: np.ndarray, reached: float, eta: np.ndarray, root: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """One step of Metropolis in (b_1, log gaps) from thresholds whose log-likelihood is known.

        Steps are symmetric, and scaled alike wherever the chain is.
        """
        counts = np.bincount(self.label, minlength=self.num_classes)
        # Given eta, a threshold is known to about 1 / sqrt(ratings beside it); 2.4 / sqrt(d) is the best multiple.
        known = 1.0 / np.sqrt(np.minimum(counts[:-1], counts[1:]))
        spread = 2.4 / np.sqrt(len(known)) * known
        spread[1:] /= np.diff(self.start_thresholds())
        proposed = _from_coordinates(_coordinates(thresholds) + spread * rng.standard_normal(len(spread)))
        found = self.log_likelihood(proposed, eta, root)
        gain = found - reached + log_prior(proposed) - log_prior(thresholds)
        return (proposed, found) if np.log(rng.random()) < gain else (thresholds, reached)


def predictors(users: np.ndarray, items: np.ndarray, user: np.ndarray, item: np.ndarray) -> np.ndarray:
    """Return b_i + c_j + u_i . w_j for pairs of rows, a chunk at a time."""
    eta = np.empty(len(user))
    for first in range(0, len(user), _CHUNK):
        part = slice(first, first + _CHUNK)
        u, w = users[user[part]], items[item[part]]
        eta[part] = np.einsum("nk,nk->n", u[:, 1:], w[:, 1:]) + u[:, 0] + w[:, 0]
    return eta


def truncated_normal(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw standard normals between limits, by the inverse of Phi in the tail where it is small."""
    left, right, mirrored = _in_left_tail(low, high)
    below, above = ndtr(left), ndtr(right)
    drawn = ndtri(below + (above - below) * rng.random(len(low)))
    # Where even Phi(right) is zero, the limit itself is as good as any draw.
    drawn = np.clip(np.where(np.isfinite(drawn), drawn, right), left, right)
    return np.where(mirrored, -drawn, drawn)


def _in_left_tail(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return limits mirrored to the left tail, where Phi is small and keeps its digits, and which were mirrored."""
    mirrored = low + high > 0
    return np.where(mirrored, -high, low), np.where(mirrored, -low, high), mirrored


def _coordinates(thresholds: np.ndarray) -> np.ndarray:
    return np.concatenate([thresholds[:1], np.log(np.diff(thresholds))])


def _from_coordinates(t: np.ndarray) -> np.ndarray:
    return t[0] + np.concatenate([[0.0], np.cumsum(np.exp(t[1:]))])


def log_prior(thresholds: np.ndarray) -> float:
    """Return the log density of thresholds in their coordinates, normal in each."""
    return float(-0.5 * ((_coordinates(thresholds) / THRESHOLD_SPREAD) ** 2).sum())
