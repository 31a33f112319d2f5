r"""Vertices that are new, predicted from a posterior that is there: a small change of the precision, met where it is.

Who joins k hyperedges changes k columns of A, where their members are, and has a row of their own. With a_e the column
of a hyperedge before and b_e after, and x the mean that is known less the prior's, 0 at new vertices,

    Delta+ = Delta + sum over these e of (a_e a_e' - b_e b_e'),    B+ = Q+ + W,    r = W y - B+ x,

and r is next to nothing but within some hyperedges of the new vertex v. Its mean and variance come from two systems,

    B+ d = r,    B+ g = u_v,    mean x_v + g' r,    variance g_v,    u_v the unit vector.

Approximations that leave r_d and r_g of them give, with the preconditioner D in place of B+,

    d_v + g' r_d + r_g' D^-1 r_d,    g_v + g' r_g + r_g' D^-1 r_g,

whose errors r_g' (B+^-1 - D^-1) r_d and r_g' (B+^-1 - D^-1) r_g are products of what both leave: two digits of each
give four. They are taken to be at most |r_g|' D^-1 |r_d|, in which no signs cancel, times what D^-1 B+ may be so badly
conditioned by that this does not make up for it: its eigenvalues may be as small as 1 / (s D), but only few are. Both
systems are solved on the vertices around v, hop by hop further, and on all vertices where that is not enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.exceptions import ConvergenceError
from hypergauss.operators import LocalLaplacian, scattered
from hypergauss.solvers.base import Prior
from hypergauss.solvers.markov.field import Field
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.sites import Sites

#: Largest nu of fields whose products reach no further than is looked at.
MOST_NU = 3
#: Hops that systems are first solved within.
_FIRST_HOPS = 1
#: The share of all incidences that a part may read that is solved, and one that is only looked at.
_MOST_SOLVED, _MOST_LOOKED_AT = 0.15, 0.04
#: Relative residuals at which systems of a part are left, times the root of the tolerance.
_PART_MARGIN = 0.25
#: How many times the root of the condition number must be for signs that cancel not to make up for it.
_CANCELS = 5.0
#: Residuals that are this small beside the largest are not felt, others are met where they are if so few.
_FELT, _FEW = 1e-3, 50
#: Relative residual of what is found around them.
_NEARLY = 0.002


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


class _Change(NamedTuple):
    """Delta+ - Delta = C' diag(signs) C: C has columns of A at the hyperedges that are joined, before and after.

    They are as long as there are ``spots``, members of these hyperedges inside and new vertices, N, N + 1, ...
    """

    num_new: int
    spots: np.ndarray
    C: sp.csr_array
    transpose: sp.csr_array
    signs: np.ndarray  # (2k, 1)

    @classmethod
    def none(cls) -> _Change:
        """Return no change."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(0, nothing, sp.csr_array((0, 0)), sp.csr_array((0, 0)), np.zeros((0, 1)))

    @classmethod
    def of(cls, operator: LocalLaplacian, memberships: sp.csr_array, edge_weights: np.ndarray) -> _Change:
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


class _Hops:
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


class _Place(ABC):
    """B+ on vertices inside, the new ones last."""

    def __init__(self, ground: Ground, change: _Change, spots: np.ndarray, precision: np.ndarray) -> None:
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


class _Part(_Place):
    """M+ on some vertices, by the hyperedges that these share: right for what is zero but at the inner ones."""

    def __init__(self, ground: Ground, change: _Change, members: np.ndarray, columns: sp.csr_array) -> None:
        N, m = ground.operator.size, change.num_new
        self.members, self._columns, self._rows = np.append(members, N + np.arange(m)), columns, columns.T
        super().__init__(ground, change, np.searchsorted(self.members, change.spots), ground.precision[members])

    @classmethod
    def of(cls, ground: Ground, change: _Change, members: np.ndarray) -> _Part:
        """Return the part on some vertices, in order."""
        A = ground.operator.parts[0][0]
        return cls(ground, change, members, _on_met(A[members])[1])

    def before(self, X: np.ndarray) -> np.ndarray:
        c = self.field.c
        # SciPy's kernel for one vector is quicker than that for several.
        moved = np.stack([self._columns @ (self._rows @ column) for column in X.T], axis=1)
        return (1.0 + 1.0 / c) * X - moved / c

    def embedded(self, X: np.ndarray, there: np.ndarray) -> np.ndarray:
        """Return what is known here on more vertices, and zero at the rest."""
        found = np.zeros((len(there), X.shape[1]))
        found[np.searchsorted(there, self.members)] = X
        return found


class _Whole(_Place):
    """B+ on all vertices."""

    def __init__(self, ground: Ground, change: _Change) -> None:
        super().__init__(ground, change, change.spots, ground.precision)
        self._operator = ground.operator

    def before(self, X: np.ndarray) -> np.ndarray:
        return self.field.powers(self._operator, X, 1)


class _Descent:
    """Conjugate gradients that go on while they are asked to; each column is a system of its own."""

    def __init__(self, place: _Place, x: np.ndarray, left: np.ndarray) -> None:
        self._place, self.x, self.left = place, x, left
        self._direction = place.inverse * left
        self._size = _inner(left, self._direction)

    @property
    def norms(self) -> np.ndarray:
        """The root of r' D^-1 r of each column."""
        return np.sqrt(self._size)

    def advance(self) -> None:
        """Take a step."""
        image = self._place.product(self._direction)
        step = self._size / _positive(_inner(self._direction, image))
        self.x = self.x + step * self._direction
        self.left = self.left - step * image
        towards = self._place.inverse * self.left
        size = _inner(self.left, towards)
        self._direction = towards + size / _positive(self._size) * self._direction
        self._size = size


def _inner(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", X, Y)


def _positive(squares: np.ndarray) -> np.ndarray:
    return np.where(squares > 0, squares, np.inf)


class _Found(NamedTuple):
    """Approximations d and g, and exactly what they leave, on some vertices outside of which g leaves nothing."""

    d: np.ndarray
    g: np.ndarray
    of_d: np.ndarray
    of_g: np.ndarray
    inverse: np.ndarray

    @property
    def variance(self) -> tuple[np.ndarray, np.ndarray]:
        """Variances, shape (m,), and bounds of their errors, signs aside."""
        m = self.g.shape[1]
        squares = _inner(self.of_g, self.inverse * self.of_g)
        return np.diagonal(self.g[-m:]) + _inner(self.g, self.of_g) + squares, squares

    @property
    def shift(self) -> tuple[np.ndarray, np.ndarray]:
        """How far means are from the prior's, shape (m, L), and the largest error of each, signs aside."""
        scaled, m = self.inverse * self.of_d, self.g.shape[1]
        found = self.d[-m:] + self.g.T @ self.of_d + self.of_g.T @ scaled
        return found, (np.abs(self.of_g).T @ np.abs(scaled)).max(axis=1, initial=0.0)


class Newcomers:
    """Means and variances of vertices that are new to a posterior, each found when it is first asked for.

    Parameters
    ----------
    ground : Ground
        Of the posterior.
    memberships : csr array, shape (m, M)
        r(v, e) of the new vertices in hyperedges that are there.
    edge_weights : array, shape (M,)
        w(e) of all hyperedges, which does not depend on their sizes.
    options : Markov
        Settings: the error asked for is relative to posterior standard deviations.
    """

    def __init__(self, ground: Ground, memberships: sp.csr_array, edge_weights: np.ndarray, options: Markov) -> None:
        self.ground, self.tolerance, self.max_steps = ground, options.tolerance, options.max_iterations
        self._change = _Change.of(ground.operator, memberships, edge_weights)
        self._outputs = ground.left.shape[1]
        self._enough = self.tolerance / max(1.0, np.sqrt(ground.free * ground.field.s) / _CANCELS)
        self._wants_means = False
        self._found = self._ever_better()
        self._latest = next(self._found)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean of each, shape (m, L)."""
        self._wants_means = True
        while True:
            shift, error = self._latest.shift
            if (error <= self._enough * np.sqrt(self._latest.variance[0])).all():
                return self.ground.level + shift
            self._latest = next(self._found)

    @cached_property
    def variance(self) -> np.ndarray:
        """The variance of each, shape (m,)."""
        self._wants_means = False
        while True:
            variance, error = self._latest.variance
            if (error <= self._enough * variance).all():
                return variance
            self._latest = next(self._found)

    def _ever_better(self) -> Iterator[_Found]:
        """Yield approximations by larger and larger parts, where what they leave is known at little cost; then by all.

        Of one on the vertices within some hops, nu more tell all that it leaves.
        """
        ground, change, L = self.ground, self._change, self._outputs
        around, hops = _Hops(ground.operator, change.spots[: -change.num_new]), max(_FIRST_HOPS, ground.field.nu - 1)
        last: tuple[_Part, np.ndarray, np.ndarray] | None = None
        while (members := around.within(hops, _MOST_SOLVED)) is not None:
            part = _Part.of(ground, change, members)
            rhs = self._right_sides(part, ground.left[members])
            x = np.zeros_like(rhs) if last is None else last[0].embedded(last[1], part.members)
            descent = _Descent(part, x, rhs if last is None else rhs - part.product(x))
            enough = _PART_MARGIN * np.sqrt(self.tolerance) * np.sqrt(_inner(rhs, part.inverse * rhs))
            while (descent.norms > enough).any():
                descent.advance()
            last = part, descent.x, rhs
            wider = around.within(hops + ground.field.nu, _MOST_LOOKED_AT)
            if wider is not None:
                if len(wider) == len(members):  # there is no more
                    yield from self._going_on(part, descent.x, descent.left)
                place = _Part.of(ground, change, wider)
                x = part.embedded(descent.x, place.members)
                left = self._right_sides(place, ground.left[wider]) - place.product(x)
                yield _Found(x[:, :L], x[:, L:], left[:, :L], left[:, L:], place.inverse)
            hops += max(1, hops // 2)
        yield from self._on_all(last)

    def _on_all(self, last: tuple[_Part, np.ndarray, np.ndarray] | None) -> Iterator[_Found]:
        ground, L = self.ground, self._outputs
        whole = _Whole(ground, self._change)
        if last is None:
            rhs = self._right_sides(whole, ground.left)
            x, left = np.zeros_like(rhs), rhs
        else:
            part, there = last[0], np.arange(len(whole.precision))
            rhs, x = (part.embedded(block, there) for block in (last[2], last[1]))
            elsewhere = np.ones(ground.operator.size, dtype=bool)
            elsewhere[part.members[: -self._change.num_new]] = False
            rhs[: ground.operator.size, :L][elsewhere] = ground.left[elsewhere]
            left = rhs - np.hstack([whole.product(x[:, [j]]) for j in range(x.shape[1])])
        yield from self._going_on(whole, x, left)

    def _going_on(self, place: _Place, x: np.ndarray, left: np.ndarray) -> Iterator[_Found]:
        """Yield what each step of conjugate gradients comes to; of the system of means while these are asked for."""
        outputs = slice(self._outputs), slice(self._outputs, None)
        of_d, of_g = (_Descent(place, x[:, some], left[:, some]) for some in outputs)
        for _ in range(self.max_steps):
            yield _Found(of_d.x, of_g.x, of_d.left, of_g.left, place.inverse)
            for descent in (of_d, of_g) if self._wants_means else (of_g,):
                descent.advance()
        raise ConvergenceError(
            f"Predictions of new vertices did not settle within {self.max_steps} steps. Likely cause: a lengthscale so "
            "large, or a noise variance so small beside the kernel's, that systems are ill-conditioned. Raise "
            "`tolerance` or `max_iterations` of `Markov`, or `update` with the new vertices."
        )

    def _right_sides(self, place: _Place, left: np.ndarray) -> np.ndarray:
        """Return r and unit vectors at the new vertices, side by side."""
        units = np.zeros((len(place.precision), self._change.num_new))
        units[-self._change.num_new :] = np.eye(self._change.num_new)
        return np.hstack([place.leftover(self.ground.powers, left), units])


def nearly(ground: Ground) -> np.ndarray | None:
    """Return nearly B^-1 r, inside, for what is left at few vertices, r = ``ground.left``, or None if these are many.

    It is the solution on the vertices around them, from which conjugate gradients on all have less far to go.
    """
    size = np.abs(ground.left).max(axis=1)
    felt = np.flatnonzero(size > _FELT * size.max())
    members = None if len(felt) > _FEW else _Hops(ground.operator, felt).within(_FIRST_HOPS + 2, _MOST_SOLVED)
    if members is None:
        return None
    members = np.union1d(members, felt)  # those without hyperedges too
    part = _Part.of(ground, _Change.none(), members)
    left = ground.left[members]
    descent = _Descent(part, np.zeros_like(left), left)
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
