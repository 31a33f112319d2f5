"""What a Markov field is like before new vertices, what they change of its incidence, and which vertices are near."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.operators import LocalLaplacian, scattered
from hypergauss.solvers.base import Prior
from hypergauss.solvers.markov.field import Field
from hypergauss.solvers.sites import Sites

#: The share of all incidences that a part may read that is solved.
MOST_SOLVED = 0.15
#: Hops are not followed to what seems to be so many times more than is wanted.
_FAR_TOO_MANY = 4.0


class Known(NamedTuple):
    """What is known at some vertices and new ones.

    Attributes
    ----------
    own : array, shape (n, 1)
        What B has in I, p_0 + W (`Field.in_adjacency`).
    inverse : array, shape (n, 1)
        D^-1.
    left : array, shape (n, L)
        What the mean that is known left of its own system.
    """

    own: np.ndarray
    inverse: np.ndarray
    left: np.ndarray


@dataclass(frozen=True)
class Ground:
    """What all newcomers to a posterior have in common; all arrays inside the operator.

    Attributes
    ----------
    operator, field : LocalLaplacian and Field
        The Laplacian in double precision, and Q.
    precision : array, shape (N, 1)
        W.
    free : float
        D where nothing is measured.
    powers : list of nu arrays, shape (N, L)
        M^k x for k below nu, M = (c + Delta) / c.
    left : array, shape (N, L)
        What x leaves of its own system.
    level : array, shape (L,)
        The prior's mean.
    """

    operator: LocalLaplacian
    field: Field
    precision: np.ndarray
    free: float
    powers: list[np.ndarray]
    left: np.ndarray
    level: np.ndarray
    _everywhere: dict[int, Known] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, operator: LocalLaplacian, prior: Prior, sites: Sites, mean: np.ndarray) -> Ground:
        """Look at a posterior whose mean, shape (N, L), is known."""
        field = Field.of(prior.kernel)
        outside = (1.0 / sites.variance)[:, None], sites.mean - prior.mean
        precision, y = (operator.enter(scattered(operator, sites.rows, block)) for block in outside)
        x = operator.enter(mean - prior.mean)
        powers = [x]
        for _ in range(field.nu):
            powers.append(field.powers(operator, powers[-1], 1))
        left = precision * (y - x) - powers.pop() / field.s
        return cls(operator, field, precision, field.mean_eigenvalue(), powers, left, prior.mean)

    @cached_property
    def lift(self) -> float:
        """The number b q of the preconditioner."""
        return self.free * self.field.lift(self.share)

    @cached_property
    def share(self) -> float:
        """The mean of q / (q + w)."""
        return float((self.free / (self.free + self.precision)).mean())

    def condition(self, members: np.ndarray | slice) -> float:
        """Return 1 / l, l the Rayleigh quotient of D^-1 B at the smoothest function t = sqrt(degree), Q t = t / s.

        With w the mean of W there, weighted by t^2, l = (1 / s + w) / (D + w): on all vertices, or as if there were but
        some.
        """
        weights = self._smoothest[members]
        total = float(weights.sum())
        mean = float(weights @ self.precision[members, 0]) / total if total > 0 else 0.0
        return (self.free + mean) / (1.0 / self.field.s + mean)

    @cached_property
    def _smoothest(self) -> np.ndarray:
        assert self.operator.null is not None
        return self.operator.enter(self.operator.null[:, None])[:, 0] ** 2

    def known(self, members: np.ndarray | slice, num_new: int) -> Known:
        """Return what is known at some vertices, and at new ones: nothing."""
        precision, left = (
            np.vstack([block[members], np.zeros((num_new, block.shape[1]))]) for block in (self.precision, self.left)
        )
        return Known(self.field.in_adjacency()[0] + precision, 1.0 / (self.free + precision), left)

    def known_everywhere(self, num_new: int) -> Known:
        """Return what is known at all vertices, and at new ones; kept for the next that are as many."""
        if num_new not in self._everywhere:
            self._everywhere.clear()
            self._everywhere[num_new] = self.known(slice(None), num_new)
        return self._everywhere[num_new]


class Change(NamedTuple):
    """What new vertices change of A: columns at the hyperedges they join shrink, and have entries in rows of theirs.

    Attributes
    ----------
    joined : array of int, shape (k,)
        These hyperedges, inside and in order.
    members : array of int
        Those of their vertices that were there, inside.
    columns : csr array, shape (k, members)
        The columns before.
    shrink : array, shape (k, 1)
        What they are to be multiplied by.
    own : csr array, shape (m, k)
        Entries of the new vertices.
    """

    joined: np.ndarray
    members: np.ndarray
    columns: sp.csr_array
    shrink: np.ndarray
    own: sp.csr_array

    @classmethod
    def none(cls) -> Change:
        """Return no change."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, sp.csr_array((0, 0)), np.zeros((0, 1)), sp.csr_array((0, 0)))

    @classmethod
    def of(cls, operator: LocalLaplacian, memberships: sp.csr_array, edge_weights: np.ndarray) -> Change:
        """Return the change by memberships r(v, e), shape (m, M), where no weight depends on a size."""
        (_, transpose), _, order, _, null = operator.parts
        assert null is not None
        inside = operator.edges_inside(memberships.indices)
        joined, places = np.unique(inside, return_inverse=True)
        weights = np.empty(len(joined))
        weights[places] = edge_weights[memberships.indices]
        new = sp.csr_array((memberships.data, places, memberships.indptr), shape=(memberships.shape[0], len(joined)))
        members, columns = _on_met(transpose[joined])
        # With t = sqrt(degree), A't = sqrt(w |e|) of each hyperedge e.
        sizes = (columns @ null[members if order is None else order[members]]) ** 2 / weights
        grown, degrees = sizes + new.sum(axis=0), new @ weights
        entries = new.data * np.sqrt(weights / grown)[places]
        entries /= np.sqrt(np.repeat(degrees, np.diff(new.indptr)))
        own = sp.csr_array((entries, places, new.indptr), shape=new.shape)
        return cls(joined, members, columns, np.sqrt(sizes / grown)[:, None], own)

    @property
    def num_new(self) -> int:
        """The number of new vertices, m."""
        return self.own.shape[0]

    def difference(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (Delta+ - Delta) X at members and at new vertices, from X at members and zero at new vertices."""
        before = self.columns @ X
        after = self.shrink * before
        return self.columns.T @ (before - self.shrink * after), -(self.own @ after)


class Hops:
    """Vertices within so many hops of some, inside and in order; a hop leads to all members of hyperedges."""

    def __init__(self, operator: LocalLaplacian, vertices: np.ndarray) -> None:
        self._A, self._transpose = operator.parts[0]
        self._within = [np.sort(vertices)]
        self._sizes = [self._entries(self._A, vertices)]

    def within(self, hops: int, share: float) -> np.ndarray | None:
        """Return those within so many hops, the first ones by none, or None if they have more than this share of A.

        What the next hop would lead to is not looked up where it would be far too many if it grew as the last one did.
        """
        most = share * self._A.nnz
        while len(self._within) <= hops:
            growth = self._sizes[-1] / max(self._sizes[-2], 1) if len(self._sizes) > 1 else 1.0
            if self._sizes[-1] * growth > _FAR_TOO_MANY * most:
                return None
            edges = _met(self._A, self._within[-1])
            if self._entries(self._transpose, edges) > _FAR_TOO_MANY * most:  # members are met several times
                return None
            self._within.append(_met(self._transpose, edges))  # each is a member of its own
            self._sizes.append(self._entries(self._A, self._within[-1]))
        return self._within[hops] if self._sizes[hops] <= most else None

    @staticmethod
    def _entries(matrix: sp.csr_array, rows: np.ndarray) -> int:
        return int((matrix.indptr[rows + 1] - matrix.indptr[rows]).sum())


def _met(matrix: sp.csr_array, rows: np.ndarray) -> np.ndarray:
    """Return which columns have entries in some rows, in order."""
    starts, counts = matrix.indptr[rows], matrix.indptr[rows + 1] - matrix.indptr[rows]
    before = np.cumsum(counts) - counts
    is_met = np.zeros(matrix.shape[1], dtype=bool)
    is_met[matrix.indices[np.repeat(starts - before, counts) + np.arange(counts.sum())]] = True
    return np.flatnonzero(is_met)


def _on_met(rows: sp.csr_array) -> tuple[np.ndarray, sp.csr_array]:
    """Return which columns have entries, and the matrix on these alone."""
    met = np.unique(rows.indices)
    place = np.empty(rows.shape[1], dtype=rows.indices.dtype)
    place[met] = np.arange(len(met))
    return met, sp.csr_array((rows.data, place[rows.indices], rows.indptr), shape=(rows.shape[0], len(met)))
