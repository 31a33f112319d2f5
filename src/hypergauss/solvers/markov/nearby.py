r"""Systems of a Markov field on the vertices around some, which few hyperedges of a grown hypergraph change.

With a_e a column of the normalised incidence before and b_e after, for those hyperedges e that new vertices join,

    Delta+ = Delta + sum over these e of (a_e a_e' - b_e b_e'),    M+ = (c + Delta+) / c,    B+ = M+^nu / s + W,

so that products need no copy of the incidence. On the vertices within some hops they read but their memberships.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.operators import LocalLaplacian, scattered
from hypergauss.solvers.base import Prior
from hypergauss.solvers.markov.field import Field
from hypergauss.solvers.sites import Sites

#: The share of all incidences that a part may read that is solved.
MOST_SOLVED = 0.15
#: Residuals that are this small beside the largest are not felt, others are met where they are if so few.
_FELT, _FEW = 1e-3, 50
#: Hops around these, and the relative residual of what is found there.
_HOPS, _NEARLY = 3, 0.002


class Ground(NamedTuple):
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


class Change(NamedTuple):
    """Delta+ - Delta = C' diag(signs) C: C has columns of A at the hyperedges that are joined, before and after.

    They are as long as there are ``spots``, members of these hyperedges inside and new vertices, N, N + 1, ...
    """

    num_new: int
    spots: np.ndarray
    C: sp.csr_array
    transpose: sp.csr_array
    signs: np.ndarray  # (2k, 1)

    @classmethod
    def none(cls) -> Change:
        """Return no change."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(0, nothing, sp.csr_array((0, 0)), sp.csr_array((0, 0)), np.zeros((0, 1)))

    @classmethod
    def of(cls, operator: LocalLaplacian, memberships: sp.csr_array, edge_weights: np.ndarray) -> Change:
        """Return the change by memberships r(v, e), shape (m, M), where no weight depends on a size."""
        (_, transpose), _, order, edges, null = operator.parts
        assert null is not None
        joined = np.unique(memberships.indices)
        inside = joined if edges is None else np.array([np.flatnonzero(edges == e)[0] for e in joined], dtype=int)
        members, columns = _on_met(transpose[inside])
        weights, new = edge_weights[joined], sp.csr_array(memberships[:, joined])
        # With t = sqrt(degree), A't = sqrt(w |e|) of each hyperedge e.
        sizes = (columns @ null[members if order is None else order[members]]) ** 2 / weights
        grown, degrees = sizes + new.sum(axis=0), new @ weights
        entries = new.data * np.sqrt(weights / grown)[new.indices]
        entries /= np.sqrt(np.repeat(degrees, np.diff(new.indptr)))
        own = sp.csr_array((entries, new.indices, new.indptr), shape=new.shape).T
        shrunk = columns.data * np.repeat(np.sqrt(sizes / grown), np.diff(columns.indptr))
        after = sp.csr_array((shrunk, columns.indices, columns.indptr), shape=columns.shape)
        spots = np.append(members, operator.size + np.arange(memberships.shape[0]))
        C = sp.csr_array(sp.block_array([[columns, sp.csr_array(own.shape)], [after, own]], format="csr"))
        signs = np.repeat([1.0, -1.0], len(joined))[:, None]
        return cls(memberships.shape[0], spots, C, sp.csr_array(C.T), signs)

    def product(self, X: np.ndarray) -> np.ndarray:
        """Return (Delta+ - Delta) X at the spots, from X there."""
        return np.asarray(self.transpose @ (self.signs * (self.C @ X)))


class Hops:
    """Vertices within so many hops of some, inside and in order; a hop leads to all members of hyperedges."""

    def __init__(self, operator: LocalLaplacian, vertices: np.ndarray) -> None:
        self._A, self._transpose = operator.parts[0]
        self._within = [np.sort(vertices)]

    def within(self, hops: int, share: float) -> np.ndarray | None:
        """Return those within so many hops, the first ones by none, or None if they have more than this share of A."""
        most = share * self._A.nnz
        while len(self._within) <= hops:
            edges = _met(self._A[self._within[-1]])
            if self._entries(self._transpose, edges) > 4 * most:  # members are met several times
                return None
            self._within.append(_met(self._transpose[edges]))  # each is a member of its own
        found = self._within[hops]
        return found if self._entries(self._A, found) <= most else None

    @staticmethod
    def _entries(matrix: sp.csr_array, rows: np.ndarray) -> int:
        return int((matrix.indptr[rows + 1] - matrix.indptr[rows]).sum())


class Place(ABC):
    """B+ on vertices inside, the new ones last."""

    def __init__(self, ground: Ground, change: Change, spots: np.ndarray, precision: np.ndarray) -> None:
        self.field, self.change, self.spots = ground.field, change, spots
        self.precision = np.vstack([precision, np.zeros((change.num_new, 1))])
        self.inverse = 1.0 / (ground.free + self.precision)

    @abstractmethod
    def before(self, X: np.ndarray) -> np.ndarray:
        """Return M X on the vertices that were there."""

    def power(self, X: np.ndarray) -> np.ndarray:
        """Return M+ X."""
        c, old = self.field.c, len(X) - self.change.num_new
        image = np.vstack([self.before(X[:old]), (1.0 + 1.0 / c) * X[old:]])
        image[self.spots] += self.change.product(X[self.spots]) / c
        return image

    def product(self, X: np.ndarray) -> np.ndarray:
        """Return B+ X."""
        image = X
        for _ in range(self.field.nu):
            image = self.power(image)
        return image / self.field.s + self.precision * X

    def leftover(self, powers: list[np.ndarray], left: np.ndarray) -> np.ndarray:
        """Return what the mean that is known leaves of the grown system, from what it left of its own here."""
        old = self.change.spots[: -self.change.num_new]
        new = np.zeros((self.change.num_new, left.shape[1]))
        moved = np.zeros((len(self.precision), left.shape[1]))  # M+^k x - M^k x
        for k, power in enumerate(powers):
            moved = self.power(moved) if k else moved
            moved[self.spots] += self.change.product(np.vstack([power[old], new])) / self.field.c
        return np.vstack([left, new]) - moved / self.field.s


class Part(Place):
    """M+ on some vertices, by the hyperedges that these share: right for what is zero but at the inner ones."""

    def __init__(self, ground: Ground, change: Change, members: np.ndarray, columns: sp.csr_array) -> None:
        N, m = ground.operator.size, change.num_new
        self.members, self._columns, self._rows = np.append(members, N + np.arange(m)), columns, columns.T
        super().__init__(ground, change, np.searchsorted(self.members, change.spots), ground.precision[members])

    @classmethod
    def of(cls, ground: Ground, change: Change, members: np.ndarray) -> Part:
        """Return the part on some vertices, in order."""
        A = ground.operator.parts[0][0]
        return cls(ground, change, members, _on_met(A[members])[1])

    def before(self, X: np.ndarray) -> np.ndarray:
        """Return M X by the hyperedges that these vertices share."""
        c = self.field.c
        # SciPy's kernel for one vector is quicker than that for several.
        moved = np.stack([self._columns @ (self._rows @ column) for column in X.T], axis=1)
        return (1.0 + 1.0 / c) * X - moved / c

    def embedded(self, X: np.ndarray, there: np.ndarray) -> np.ndarray:
        """Return what is known here on more vertices, and zero at the rest."""
        found = np.zeros((len(there), X.shape[1]))
        found[np.searchsorted(there, self.members)] = X
        return found


class Whole(Place):
    """B+ on all vertices."""

    def __init__(self, ground: Ground, change: Change) -> None:
        super().__init__(ground, change, change.spots, ground.precision)
        self._operator = ground.operator

    def before(self, X: np.ndarray) -> np.ndarray:
        """Return M X by the old Laplacian."""
        return self.field.powers(self._operator, X, 1)


class Descent:
    """Conjugate gradients that go on while they are asked to; each column is a system of its own."""

    def __init__(self, place: Place, x: np.ndarray, left: np.ndarray) -> None:
        self._place, self.x, self.left = place, x, left
        self._direction = place.inverse * left
        self._size = inner(left, self._direction)

    @property
    def norms(self) -> np.ndarray:
        """The root of r' D^-1 r of each column."""
        return np.sqrt(self._size)

    def advance(self) -> None:
        """Take a step."""
        image = self._place.product(self._direction)
        step = self._size / _positive(inner(self._direction, image))
        self.x = self.x + step * self._direction
        self.left = self.left - step * image
        towards = self._place.inverse * self.left
        size = inner(self.left, towards)
        self._direction = towards + size / _positive(self._size) * self._direction
        self._size = size


def inner(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the inner product of each column of one block with that of another, shape (m,)."""
    return np.einsum("ij,ij->j", X, Y)


def _positive(squares: np.ndarray) -> np.ndarray:
    return np.where(squares > 0, squares, np.inf)


def nearly(ground: Ground) -> np.ndarray | None:
    """Return nearly B^-1 r, inside, for what is left at few vertices, r = ``ground.left``, or None if these are many.

    It is the solution on the vertices around them, from which conjugate gradients on all have less far to go.
    """
    size = np.abs(ground.left).max(axis=1)
    felt = np.flatnonzero(size > _FELT * size.max())
    members = None if len(felt) > _FEW else Hops(ground.operator, felt).within(_HOPS, MOST_SOLVED)
    if members is None:
        return None
    members = np.union1d(members, felt)  # those without hyperedges too
    part = Part.of(ground, Change.none(), members)
    left = ground.left[members]
    descent = Descent(part, np.zeros_like(left), left)
    enough = _NEARLY * descent.norms
    while (descent.norms > enough).any():
        descent.advance()
    return part.embedded(descent.x, np.arange(ground.operator.size))


def _met(rows: sp.csr_array) -> np.ndarray:
    """Return which columns have entries, in order."""
    is_met = np.zeros(rows.shape[1], dtype=bool)
    is_met[rows.indices] = True
    return np.flatnonzero(is_met)


def _on_met(rows: sp.csr_array) -> tuple[np.ndarray, sp.csr_array]:
    """Return which columns have entries, and the matrix on these alone."""
    met = _met(rows)
    place = np.empty(rows.shape[1], dtype=rows.indices.dtype)
    place[met] = np.arange(len(met))
    return met, sp.csr_array((rows.data, place[rows.indices], rows.indptr), shape=(rows.shape[0], len(met)))
