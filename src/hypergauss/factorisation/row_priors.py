r"""What a draw says of one row of factors before its own ratings are looked at: the prior given everybody else.

Under one draw, column k of a side's factors is f = s + E g + sum_r A_r e_r, and levels g and effects e are known. The
spectral part s has the covariance b I + U diag(kappa - b) U', up to the column's variance. With c = U's the mean of a
vertex that is not among these, whose row of the eigenvectors is u, and its variance are (kriging)

    m = u diag(1 - b / kappa) c,        p = b + u diag(b (1 - b / kappa)) u',

and those of a vertex i that is, given all others, leave its own value out:

    m_i = (u_i diag(1 - b / kappa) c - l_i s_i) / (1 - l_i),  p_i = b / (1 - l_i),  l_i = u_i diag(1 - b / kappa) u_i'.

A newcomer has no row of U, but memberships a: the normalised incidence is A = U diag(sigma) V', so that a row of it
gives u = a V diag(1 / sigma). That takes hyperedges to keep their sizes, as the maps of vertices do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.factorisation.spectral_prior import Hyperparameters, Side

#: Leverages past this leave nothing to divide by.
_MOST_LEVERAGE = 1.0 - 1e-6


class SmoothPart(NamedTuple):
    """Of one draw: weights of modes, levels and effects, shape (r + L + Q, K), and b (1 - b / kappa), shape (r, K)."""

    weights: np.ndarray
    slack: np.ndarray


def smooth_part(side: Side, x: np.ndarray, hyper: Hyperparameters) -> SmoothPart:
    """Return what a draw's coordinates x say of rows that are not among the vertices."""
    kappa = side.modes.filters(hyper.point)
    share = np.maximum(1.0 - kappa[-1] / kappa[:-1], 0.0)
    coefficients = share * (side.modes.vectors.T @ x[: side.num_vertices])
    weights = np.concatenate([coefficients, x[side.num_vertices :]])
    slack = hyper.expansion**2 * hyper.variance * kappa[-1] * share
    return SmoothPart(weights.astype(np.float32), slack.astype(np.float32))


class Place(NamedTuple):
    """Where a vertex stands: its row u of the eigenvectors, shape (r,), and that of levels and relations, (L + Q,)."""

    modes: np.ndarray
    features: np.ndarray


class RowPrior(NamedTuple):
    """Mean and variance of a row under each draw, shape (S, K); columns are independent."""

    mean: np.ndarray
    variance: np.ndarray


def with_mood(prior: RowPrior, variance: np.ndarray) -> RowPrior:
    """Return the prior of a row whose bias has the mood of a day in it, of given variance under each draw."""
    both = prior.variance.copy()
    both[:, 0] += variance
    return prior._replace(variance=both)


class SideDraws(NamedTuple):
    """Draws of one side: rows (S, N, K), prior variances of a lone row (S, K), and the smooth parts."""

    rows: np.ndarray
    lone: np.ndarray
    weights: np.ndarray
    slack: np.ndarray

    def newcomer(self, place: Place) -> RowPrior:
        """Return the prior of a vertex that no draw has, shape (S, K) each."""
        phi = np.concatenate([place.modes, place.features])
        mean = np.einsum("m,smk->sk", phi, self.weights, optimize=True)
        return RowPrior(mean, self.lone + np.einsum("m,smk->sk", place.modes**2, self.slack, optimize=True))

    def population(self, size: int) -> RowPrior:
        """Return mean and variance over the first rows, those of the fit: anybody, whoever they stand beside."""
        rows = self.rows[:, :size].astype(np.float64)
        return RowPrior(rows.mean(axis=1), rows.var(axis=1))

    def known(self, row: int, place: Place) -> RowPrior:
        """Return the prior of a vertex that the draws have, given all others of its side."""
        rank = len(place.modes)
        known = np.einsum("m,smk->sk", place.features, self.weights[:, rank:], optimize=True)
        own = self.rows[:, row].astype(np.float64) - known
        smooth = np.einsum("m,smk->sk", place.modes, self.weights[:, :rank], optimize=True)
        leverage = np.minimum(np.einsum("m,smk->sk", place.modes**2, self._shares(), optimize=True), _MOST_LEVERAGE)
        mean = known + (smooth - leverage * own) / (1.0 - leverage)
        return RowPrior(mean, self.lone / (1.0 - leverage))

    def move(self, row: int, place: Place, drawn: np.ndarray) -> None:
        """Let the modes' weights know that a row is about to change: c = U's has a term for each vertex."""
        change = (drawn - self.rows[:, row])[:, None, :]
        self.weights[:, : len(place.modes)] += self._shares() * place.modes[:, None] * change

    def _shares(self) -> np.ndarray:
        """Return 1 - b / kappa, shape (S, r, K)."""
        lone = self.lone[:, None]
        return np.divide(self.slack, lone, out=np.zeros(self.slack.shape), where=lone > 0)


class Ground(NamedTuple):
    """How a side's vertices stand in the hypergraph of ratings and in relations, for those there and those to come.

    Attributes
    ----------
    vectors : array, shape (N, r)
        U.
    features : CSR array, shape (N, L + Q)
        Levels and hyperedges of relations.
    across : array, shape (M, r)
        V diag(1 / sigma): a row of the normalised incidence times it is a newcomer's of U.
    levels : CSR array, shape (M, L)
        The same for levels.
    voices, weights : array, shape (M,)
        w(e)^1/2 |e|^-1/2 and w(e) of each hyperedge, of which the normalised incidence is made.
    exponent, largest : float
        A newcomer that is itself a hyperedge, an item of n users, has the weight (n / largest)^exponent.
    scales : array, shape (number of relations,)
        By which rows of the relations' normalised incidences are multiplied.
    """

    vectors: np.ndarray
    features: sp.csr_array
    across: np.ndarray
    levels: sp.csr_array
    voices: np.ndarray
    weights: np.ndarray
    exponent: float
    largest: float
    scales: np.ndarray

    @property
    def num_effects(self) -> int:
        """Q."""
        return self.features.shape[1] - self.levels.shape[1]

    def of_known(self, row: int) -> Place:
        """Return where a vertex of the fit stands."""
        return Place(self.vectors[row].astype(np.float64), self.features[[row]].toarray()[0].astype(np.float64))

    def of_newcomer(self, memberships: np.ndarray, relations: np.ndarray) -> Place:
        """Return where a newcomer stands, by rows of the other side and by its row of relations, shape (Q,)."""
        degree = self.weights[memberships].sum()
        a = self.voices[memberships] / np.sqrt(degree) if degree > 0 else np.zeros(len(memberships))
        a = (len(memberships) / self.largest) ** (self.exponent / 2) * a
        levels = self.levels[memberships].T @ a
        return Place(a @ self.across[memberships], np.concatenate([levels, relations]))
