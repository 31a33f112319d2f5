r"""Vertices that are new, predicted from a posterior that is there: a small change of the precision, met where it is.

Who joins k hyperedges changes k columns of A, where their members are, and has a row of their own. With B+ = Q+ + W of
the grown hypergraph, and x the mean that is known less the prior's, 0 at new vertices, let

    r = W y - B+ x:

it is next to nothing but within some hyperedges of the new vertex v. Its mean and variance come from two systems,

    B+ d = r,    B+ g = u_v,    mean x_v + g' r,    variance g_v,    u_v the unit vector.

Approximations that leave r_d and r_g of them give, with the preconditioner D in place of B+,

    d_v + g' r_d + r_g' D^-1 r_d,    g_v + g' r_g + r_g' D^-1 r_g,

whose errors are r_g' (B+^-1 - D^-1) r_d and the same with r_g for r_d. With l and h the smallest and the largest
eigenvalue of D^-1 B+ they are at most

    max(1 / l - 1, 1 - 1 / h) |r_g| |r_d|,    |r|^2 = r' D^-1 r:

products of what both leave, so that two digits of each give four. h is at most ((c + 1) / c)^nu / (s D). Smooth
functions have the smallest eigenvalues, and l is taken for what the smoothest has of it, on all vertices or around the
new ones, whichever is smaller; where no part is small enough to begin with, for what `Field.least` expects. Neither is
a bound from below: how large errors are is measured (docs/theory/growth.md). Both systems are solved on the vertices
around v, hop by hop further, and on all where that is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.exceptions import ConvergenceError
from hypergauss.solvers.markov.nearby import MOST_SOLVED, Change, Ground, Hops
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.markov.places import Descent, Part, Place, Whole, inner

#: Largest nu of fields whose products reach no further than is looked at.
MOST_NU = 3
#: Hops that systems are first solved within.
_FIRST_HOPS = 2
#: The share of all incidences that a part may read that is only looked at.
_MOST_LOOKED_AT = 0.04


class _OnPart(NamedTuple):
    """The right-hand sides of both systems on a part, and approximations that are nothing elsewhere."""

    part: Part
    sides: tuple[np.ndarray, ...]
    systems: tuple[np.ndarray, ...]

    def at(self, place: Place) -> Iterator[Descent]:
        """Return both systems at a larger place."""
        there = self.part.within(place)
        for side, own, is_r in zip(self.sides, self.systems, (True, False), strict=True):
            x = np.zeros((len(place.left), own.shape[1]))
            x[there] = own
            image = place.product_from(self.part, own, x) if isinstance(place, Whole) else place.product(x)
            left = np.negative(image, out=image)
            if is_r:  # elsewhere it is what was left before
                left += place.left
            left[there] += side - place.left[there] if is_r else side
            yield Descent(place, x, left)


class _Found:
    """Approximations d and g, and exactly what they leave, on some vertices outside of which g leaves nothing.

    It is of what two descents have come to, and is to be asked before they go on.
    """

    def __init__(self, of_d: Descent, of_g: Descent) -> None:
        self._d, self._g = of_d, of_g

    @cached_property
    def variance(self) -> tuple[np.ndarray, np.ndarray]:
        """Variances, shape (m,), and bounds of their errors but for the condition."""
        g, left = self._g.x, self._g.left
        squares = inner(left, self._g.place.inverse * left)
        return np.diagonal(g[-g.shape[1] :]) + inner(g, left) + squares, squares

    @cached_property
    def shift(self) -> tuple[np.ndarray, np.ndarray]:
        """How far means are from the prior's, shape (m, L), and bounds of their errors but for the condition."""
        g, left = self._g.x, self._d.left
        scaled = self._d.place.inverse * left
        found = self._d.x[-g.shape[1] :] + g.T @ left + self._g.left.T @ scaled
        return found, np.sqrt(np.outer(self.variance[1], inner(left, scaled)))


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
        self.ground = ground
        self._search = _Search(ground, Change.of(ground.operator, memberships, edge_weights), options)
        self._found = self._search.ever_better()
        self._latest = next(self._found)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean of each, shape (m, L)."""
        self._search.wants_means = True
        while True:
            shift, error = self._latest.shift
            deviation = np.sqrt(np.maximum(self._latest.variance[0], 0.0))
            if (error.max(axis=1, initial=0.0) <= self._search.enough * deviation).all():
                return self.ground.level + shift
            self._latest = next(self._found)

    @cached_property
    def variance(self) -> np.ndarray:
        """The variance of each, shape (m,)."""
        self._search.wants_means = False
        while True:
            variance, error = self._latest.variance
            if (error <= self._search.enough * variance).all():
                return variance
            self._latest = next(self._found)


class _Search:
    """How approximations are found: it does not know its generator, so that memory is free once that is done with."""

    def __init__(self, ground: Ground, change: Change, options: Markov) -> None:
        self.ground, self.change, self.options = ground, change, options
        self.wants_means = False
        self._condition = ground.condition(slice(None))

    @property
    def enough(self) -> float:
        """How small the bounds of errors have to be, relative to standard deviations of means and to variances."""
        field = self.ground.field
        return self.options.tolerance / max(self._condition - 1.0, 1.0 - field.s * self.ground.free / field.condition)

    def ever_better(self) -> Iterator[_Found]:
        """Yield approximations by larger and larger parts, where what they leave is known at little cost; then by all.

        Of one on the vertices within some hops, nu more tell all that it leaves.
        """
        ground, change = self.ground, self.change
        around, hops = Hops(ground.operator, change.members), _FIRST_HOPS
        if around.within(hops, MOST_SOLVED) is None:
            hops = max(1, ground.field.nu - 1)
        last: _OnPart | None = None
        while (members := around.within(hops, MOST_SOLVED)) is not None:
            part = Part(ground, change, members)
            self._condition = max(self._condition, ground.condition(members))
            sides = self._right_sides(part)
            systems = self._begun(part, sides) if last is None else tuple(last.at(part))
            for descent, side in zip(systems, sides, strict=True):
                descent.go_on(np.sqrt(self.options.tolerance * inner(side, part.inverse * side)))
            last = _OnPart(part, sides, tuple(descent.x for descent in systems))
            wider = around.within(hops + ground.field.nu, _MOST_LOOKED_AT)
            if wider is not None:
                if len(wider) == len(members):  # there is no more
                    yield from self._going_on(*systems)
                yield _Found(*last.at(Part(ground, change, wider)))
            hops += max(1, hops // 2)
        whole = Whole(ground, change, lift=0.0)  # few steps are taken there
        if last is not None:
            yield from self._going_on(*last.at(whole))
        # What a part's solution leaves is far from smooth. Where there is none, walks say more.
        self._condition = max(self._condition, 1.0 / ground.field.least(ground.share))
        yield from self._going_on(*self._begun(whole, self._right_sides(whole)))

    def _right_sides(self, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Return r, and unit vectors at the new vertices."""
        units = np.zeros((len(place.left), self.change.num_new))
        units[-self.change.num_new :] = np.eye(self.change.num_new)
        return place.leftover(self.ground.powers), units

    @staticmethod
    def _begun(place: Place, sides: tuple[np.ndarray, ...]) -> tuple[Descent, ...]:
        return tuple(Descent(place, np.zeros_like(side), side.copy()) for side in sides)

    def _going_on(self, of_d: Descent, of_g: Descent) -> Iterator[_Found]:
        """Yield what each step of conjugate gradients comes to; of the system of means while these are asked for.

        One more step is often enough, and D^-1 alone makes that the cheapest.
        """
        yield _Found(of_d, of_g)
        of_g.advance()
        yield _Found(of_d, of_g)
        if isinstance(of_g.place, Whole):
            whole = Whole(self.ground, self.change, self.ground.lift)
            of_d, of_g = (Descent(whole, descent.x, descent.left) for descent in (of_d, of_g))
        for _ in range(self.options.max_iterations):
            for descent in (of_d, of_g) if self.wants_means else (of_g,):
                descent.advance()
                yield _Found(of_d, of_g)
        raise ConvergenceError(
            f"Predictions of new vertices did not settle within {self.options.max_iterations} steps. Likely cause: a "
            "lengthscale so large, or a noise variance so small beside the kernel's, that systems are ill-conditioned. "
            "Raise `tolerance` or `max_iterations` of `Markov`, or `update` with the new vertices."
        )
