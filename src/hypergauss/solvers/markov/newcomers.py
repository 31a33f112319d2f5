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

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.exceptions import ConvergenceError
from hypergauss.solvers.markov.nearby import MOST_SOLVED, Change, Descent, Ground, Hops, Part, Place, Whole, inner
from hypergauss.solvers.markov.options import Markov

#: Largest nu of fields whose products reach no further than is looked at.
MOST_NU = 3
#: Hops that systems are first solved within.
_FIRST_HOPS = 1
#: The share of all incidences that a part may read that is only looked at.
_MOST_LOOKED_AT = 0.04
#: Relative residuals at which systems of a part are left, times the root of the tolerance.
_PART_MARGIN = 0.25
#: How many times the root of the condition number must be for signs that cancel not to make up for it.
_CANCELS = 5.0


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
        squares = inner(self.of_g, self.inverse * self.of_g)
        return np.diagonal(self.g[-m:]) + inner(self.g, self.of_g) + squares, squares

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
        self._change = Change.of(ground.operator, memberships, edge_weights)
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
        around, hops = Hops(ground.operator, change.spots[: -change.num_new]), max(_FIRST_HOPS, ground.field.nu - 1)
        last: tuple[Part, np.ndarray, np.ndarray] | None = None
        while (members := around.within(hops, MOST_SOLVED)) is not None:
            part = Part.of(ground, change, members)
            rhs = self._right_sides(part, ground.left[members])
            x = np.zeros_like(rhs) if last is None else last[0].embedded(last[1], part.members)
            descent = Descent(part, x, rhs if last is None else rhs - part.product(x))
            enough = _PART_MARGIN * np.sqrt(self.tolerance) * np.sqrt(inner(rhs, part.inverse * rhs))
            while (descent.norms > enough).any():
                descent.advance()
            last = part, descent.x, rhs
            wider = around.within(hops + ground.field.nu, _MOST_LOOKED_AT)
            if wider is not None:
                if len(wider) == len(members):  # there is no more
                    yield from self._going_on(part, descent.x, descent.left)
                place = Part.of(ground, change, wider)
                x = part.embedded(descent.x, place.members)
                left = self._right_sides(place, ground.left[wider]) - place.product(x)
                yield _Found(x[:, :L], x[:, L:], left[:, :L], left[:, L:], place.inverse)
            hops += max(1, hops // 2)
        yield from self._on_all(last)

    def _on_all(self, last: tuple[Part, np.ndarray, np.ndarray] | None) -> Iterator[_Found]:
        ground, L = self.ground, self._outputs
        whole = Whole(ground, self._change)
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

    def _going_on(self, place: Place, x: np.ndarray, left: np.ndarray) -> Iterator[_Found]:
        """Yield what each step of conjugate gradients comes to; of the system of means while these are asked for."""
        outputs = slice(self._outputs), slice(self._outputs, None)
        of_d, of_g = (Descent(place, x[:, some], left[:, some]) for some in outputs)
        for _ in range(self.max_steps):
            yield _Found(of_d.x, of_g.x, of_d.left, of_g.left, place.inverse)
            for descent in (of_d, of_g) if self._wants_means else (of_g,):
                descent.advance()
        raise ConvergenceError(
            f"Predictions of new vertices did not settle within {self.max_steps} steps. Likely cause: a lengthscale so "
            "large, or a noise variance so small beside the kernel's, that systems are ill-conditioned. Raise "
            "`tolerance` or `max_iterations` of `Markov`, or `update` with the new vertices."
        )

    def _right_sides(self, place: Place, left: np.ndarray) -> np.ndarray:
        """Return r and unit vectors at the new vertices, side by side."""
        units = np.zeros((len(place.precision), self._change.num_new))
        units[-self._change.num_new :] = np.eye(self._change.num_new)
        return np.hstack([place.leftover(self.ground.powers, left), units])
