r"""Systems of a Markov field on the vertices around some, or on all, of a hypergraph that has grown a little.

With A+ the normalised incidence after new vertices have joined hyperedges, whose columns alone are other than in A,

    Delta+ = I - A+ A+',    M+ = (c + Delta+) / c,    B+ = M+^nu / s + W.

On the vertices within some hops products read but their memberships; on all vertices they need no copy of A.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from hypergauss.solvers.conjugate_gradients import NUMPY
from hypergauss.solvers.markov.nearby import MOST_SOLVED, Change, Ground, Hops, Known

#: Residuals that are this small beside the largest are not felt, others are met where they are if so few.
_FELT, _FEW = 1e-3, 50
#: Hops around these, and the relative residual of what is found there.
_HOPS, _NEARLY = 3, 5e-4


class Place(ABC):
    """B+ on some vertices inside, or on all, the new ones last.

    Attributes
    ----------
    spots : array of int
        Where the members of the hyperedges that are joined stand here.
    """

    def __init__(self, ground: Ground, change: Change, spots: np.ndarray, known: Known, lift: float) -> None:
        self.field, self.change, self.spots = ground.field, change, spots
        self.own, self.inverse, self.left = known
        self._steps, self._lift = ground.field.in_adjacency()[1:], lift

    @abstractmethod
    def onto_edges(self, X: np.ndarray) -> np.ndarray:
        """Return A+' X, at the hyperedges that any of these vertices are in."""

    @abstractmethod
    def from_edges(self, Z: np.ndarray) -> np.ndarray:
        """Return A+ Z, in place of which there may be something else then."""

    def precondition(self, R: np.ndarray) -> np.ndarray:
        """Return (D^-1 + b q D^-1 A+ A+' D^-1) R (see `system`)."""
        found = self.inverse * R
        if self._lift:
            further = self.from_edges(self.onto_edges(found))
            further *= self._lift
            further += R
            found = np.multiply(self.inverse, further, out=further)
        return found

    def power(self, X: np.ndarray) -> np.ndarray:
        """Return M+ X."""
        image = self.from_edges(self.onto_edges(X))
        image /= -self.field.c
        image += (1.0 + 1.0 / self.field.c) * X
        return image

    def product(self, X: np.ndarray) -> np.ndarray:
        """Return B+ X."""
        return self.product_by(self.onto_edges(X), X)

    def product_by(self, Z: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return B+ X from Z = A+' X, in place of which there is something else then.

        It is (p_0 + W) X + A+ (p_1 Z + G (p_2 Z + ...)), G = A+' A+: 2 nu passes over the incidences, and few others.
        """
        *steps, last = self._steps
        if not steps:
            Z *= last
            return self._joined(Z, X)
        inner = last * Z
        for step in reversed(steps):
            inner = self.onto_edges(self.from_edges(inner))
            inner += step * Z
        return self._joined(inner, X)

    def _joined(self, Z: np.ndarray, X: np.ndarray) -> np.ndarray:
        image = self.from_edges(Z)
        image += self.own * X
        return image

    def leftover(self, powers: list[np.ndarray]) -> np.ndarray:
        """Return r = W y - B+ x, what the mean that is known leaves of the grown system.

        It is what it left of its own and (M^nu - M+^nu) x / s, from M^k x for k below nu on all vertices: this reaches
        nu - 1 hops from the members of the hyperedges that are joined.
        """
        moved, m, c = np.zeros_like(self.left), self.change.num_new, self.field.c  # M+^k x - M^k x
        for k, power in enumerate(powers):
            moved = self.power(moved) if k else moved
            at_members, at_new = self.change.difference(power[self.change.members])
            moved[self.spots] += at_members / c
            moved[len(moved) - m :] += at_new / c
        return self.left - moved / self.field.s


class Part(Place):
    """M+ on some vertices, by the hyperedges that these share: right for what is zero but at the inner ones."""

    def __init__(self, ground: Ground, change: Change, members: np.ndarray) -> None:
        N, m = ground.operator.size, change.num_new
        spots = np.searchsorted(members, change.members)
        super().__init__(ground, change, spots, ground.known(members, m), ground.lift)
        self.members = np.append(members, np.arange(N, N + m))
        self.edges, self._rows = _grown(ground.operator.parts[0][0][members], change)
        self._columns = self._rows.T

    def onto_edges(self, X: np.ndarray) -> np.ndarray:  # noqa: D102
        return _by_columns(self._columns, X)

    def from_edges(self, Z: np.ndarray) -> np.ndarray:  # noqa: D102
        return _by_columns(self._rows, Z)

    def within(self, place: Place) -> np.ndarray:
        """Return where these vertices stand at a larger place."""
        return np.searchsorted(place.members, self.members) if isinstance(place, Part) else self.members


class Whole(Place):
    """B+ on all vertices."""

    def __init__(self, ground: Ground, change: Change, lift: float) -> None:
        super().__init__(ground, change, change.members, ground.known_everywhere(change.num_new), lift)
        self._operator = ground.operator

    def onto_edges(self, X: np.ndarray) -> np.ndarray:  # noqa: D102
        old, joined = len(X) - self.change.num_new, self.change.joined
        on_edges = self._operator.onto_edges(X[:old])
        on_edges[joined] = self.change.shrink * on_edges[joined] + self.change.own.T @ X[old:]
        return on_edges

    def from_edges(self, Z: np.ndarray) -> np.ndarray:  # noqa: D102
        old, joined = self._operator.size, self.change.joined
        image = np.empty((old + self.change.num_new, Z.shape[1]))
        image[old:] = self.change.own @ Z[joined]
        Z[joined] *= self.change.shrink
        self._operator.from_edges(Z, out=image[:old])
        return image

    def product_from(self, part: Part, of_part: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return B+ X for what is zero but on a part."""
        on_edges = np.zeros((self._operator.parts[0][1].shape[0], X.shape[1]))
        on_edges[part.edges] = part.onto_edges(of_part)
        return self.product_by(on_edges, X)


class Descent:
    """Conjugate gradients that go on while they are asked to, x and what it leaves in place.

    Each column is a system of its own.
    """

    def __init__(self, place: Place, x: np.ndarray, left: np.ndarray) -> None:
        self.place, self.x, self.left = place, x, left
        self._direction: np.ndarray | None = None
        self._towards: np.ndarray | None = None  # P^-1 r, P^-1 the preconditioner, once it is asked for
        self._size = self._before = np.ones(1)

    @property
    def size(self) -> np.ndarray:
        """The number r' P^-1 r of each column."""
        if self._towards is None:
            self._towards = self.place.precondition(self.left)
            self._size = inner(self.left, self._towards)
        return self._size

    def go_on(self, enough: np.ndarray) -> None:
        """Take steps until the root of r' P^-1 r of each column is small enough."""
        while (np.sqrt(self.size) > enough).any():
            self.advance()

    def advance(self) -> None:
        """Take a step."""
        size, direction = self.size, self._direction
        assert self._towards is not None
        if direction is None:
            direction = self._direction = self._towards
        else:
            direction *= size / _positive(self._before)
            direction += self._towards
        image = self.place.product(direction)
        step = size / _positive(inner(direction, image))
        self.x += step * direction
        image *= step
        self.left -= image
        self._before, self._towards = size, None


def inner(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the inner product of each column of one block with that of another, shape (m,)."""
    return NUMPY.dot(X, Y)


def _positive(squares: np.ndarray) -> np.ndarray:
    return np.where(squares > 0, squares, np.inf)


def solved(ground: Ground, enough: float, most: int) -> np.ndarray | None:
    """Return B^-1 r, inside, for what is left at few vertices, r = ``ground.left``, or None if these are many.

    First on the vertices around them, from which conjugate gradients on all have less far to go, until no column leaves
    more than ``enough``, by its norm.
    """
    size = np.abs(ground.left).max(axis=1)
    felt = np.flatnonzero(size > _FELT * size.max())
    members = None if len(felt) > _FEW else Hops(ground.operator, felt).within(_HOPS, MOST_SOLVED)
    if members is None:
        return None
    members = np.union1d(members, felt)  # those without hyperedges too
    part = Part(ground, Change.none(), members)
    near = ground.left[members]
    start = Descent(part, np.zeros_like(near), near.copy())
    start.go_on(_NEARLY * np.sqrt(inner(near, part.inverse * near)))
    whole, x = Whole(ground, Change.none(), ground.lift), np.zeros_like(ground.left)
    x[members] = start.x
    left = ground.left - whole.product_from(part, start.x, x)
    descent = Descent(whole, x, left)
    for _ in range(most):
        if np.sqrt(inner(left, left).max()) <= enough:
            return x
        descent.advance()
    return None


def _grown(rows: sp.csr_array, change: Change) -> tuple[np.ndarray, sp.csr_array]:
    """Return hyperedges that some vertices or new ones are in, and A+ on these vertices, the new ones last."""
    is_met = np.zeros(rows.shape[1], dtype=bool)
    is_met[rows.indices] = is_met[change.joined] = True
    edges = np.flatnonzero(is_met)
    place = np.empty(rows.shape[1], dtype=rows.indices.dtype)
    place[edges] = np.arange(len(edges))
    shrink = np.ones(len(edges))
    shrink[place[change.joined]] = change.shrink[:, 0]
    indices, own = place[rows.indices], change.own
    arrays = (
        np.concatenate([rows.data * shrink[indices], own.data]),
        np.concatenate([indices, place[change.joined[own.indices]]]),
        np.concatenate([rows.indptr, (rows.indptr[-1] + own.indptr[1:]).astype(rows.indptr.dtype)]),
    )
    return edges, sp.csr_array(arrays, shape=(rows.shape[0] + own.shape[0], len(edges)))


def _by_columns(matrix: sp.sparray, X: np.ndarray) -> np.ndarray:
    """Return a product: SciPy's kernel for one vector is quicker than that for several."""
    if X.shape[1] == 1:
        return (matrix @ X[:, 0])[:, None]
    return np.stack([matrix @ column for column in X.T], axis=1)
