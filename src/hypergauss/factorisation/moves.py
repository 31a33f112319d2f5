r"""Moves along directions that no prediction sees: the ratings' likelihood stays, and the prior decides.

Factors given the other side's can take only small steps along some directions, however long the posterior is there:

- `trade_means`: w_k + d_k 1 with b - sum_k d_k u_k is the same prediction, and so is c + d_0 1 with mu - d_0. Given
  all else d is Gaussian.
- `balance_scales`: s U with W / s. On the expansions, alpha s and beta / s, the density of log s is
  -(alpha^2 s^2 + beta^2 / s^2) / 2. It is drawn among the points of a window: places 0, ..., m - 1 at a random distance
  from one another, the state at a place taken at random. Every point of the window is as likely to have chosen it, so
  that drawing one by its density leaves the posterior as it is.

Rotations of all factors on both sides need no move: since factors share their prior, nothing at all sees them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hypergauss.factorisation.grades import THRESHOLD_SPREAD, Cuts
from hypergauss.factorisation.portraits import Portrait
from hypergauss.factorisation.spectral_prior import Hyperparameters, Side

if TYPE_CHECKING:
    from hypergauss.factorisation.gibbs import State

#: Points of a window, and the least and largest distances between them, of logarithms of scales.
_WINDOW = 8
_LOG_SCALES = (0.02, 1.0)


class Moving(NamedTuple):
    """A state whose columns are seen by their portraits alone."""

    portraits: tuple[Portrait, Portrait]
    hyper: tuple[Hyperparameters, Hyperparameters]
    mean: float
    cuts: Cuts | None

    @classmethod
    def of(cls, sides: tuple[Side, Side], state: State) -> Moving:
        """Return a state that is about to move."""
        users, items = (side.portrait(x) for side, x in zip(sides, state.coordinates, strict=True))
        return cls((users, items), state.hyper, state.mean, state.cuts)

    def arrived(self, sides: tuple[Side, Side], state: State) -> State:
        """Return where the state that was about to move has come."""
        parts = zip(sides, state.coordinates, self.portraits, strict=True)
        users, items = (side.turned(x, portrait.turn) for side, x, portrait in parts)
        return state._replace(coordinates=(users, items), hyper=self.hyper, mean=self.mean, cuts=self.cuts)

    def turned(self, of_users: np.ndarray, of_items: np.ndarray) -> Moving:
        """Return it with both sides' columns turned."""
        users, items = self.portraits
        return self._replace(portraits=(users.turned(of_users), items.turned(of_items)))


def trade_means(sides: tuple[Side, Side], moving: Moving, rng: np.random.Generator) -> Moving:
    """Move the means of items' factors against users' biases, and of users' factors against items' biases."""
    for own, other in ((0, 1), (1, 0)):
        moving = _trade(sides, moving, own, other, rng)
    return moving


def _trade(sides: tuple[Side, Side], moving: Moving, own: int, other: int, rng: np.random.Generator) -> Moving:
    """Add d to the other side's columns, and take u d from the own side's bias.

    Let A be the squared lengths of the constant under each column's prior, B its products with the columns, and
    Z'Z those of all own columns (z_0, Z_u) under the bias's prior. Then
    -2 log p = d' (diag(A) + Z_u' Z_u) d + 2 d' (B - Z_u' z_0) + ..., and for d_0 alone A_0 d_0^2 + 2 B_0 d_0, which mu,
    or all thresholds with the latent values, make good.
    """
    theirs = _precisions(sides[other], moving.hyper[other], moving.portraits[other])
    count = len(theirs)
    bias = moving.hyper[own].of(np.zeros(1, np.int64))
    mine = _precisions(sides[own], bias, moving.portraits[own])[0]
    A, B = theirs[:, -1, -1], theirs[np.arange(count), -1, np.arange(count)]
    step = np.zeros(count)
    root = np.linalg.cholesky(np.diag(A[1:]) + mine[1:-1, 1:-1])
    white = rng.standard_normal((count,))
    step[1:] = np.linalg.solve(root.T, np.linalg.solve(root, mine[1:-1, 0] - B[1:]) + white[1:])
    # The mean has a flat prior; under the ordered probit all thresholds go along, and the first has a normal one.
    cuts = moving.cuts
    first, known = (0.0, 0.0) if cuts is None else (cuts.thresholds[0], THRESHOLD_SPREAD**-2)
    step[0] = -(B[0] + known * first) / (A[0] + known) + white[0] / np.sqrt(A[0] + known)
    shift, taken = np.eye(count + 1), np.eye(count + 1)
    shift[-1, :-1] = step
    taken[1:-1, 0] = -step[1:]
    moving = moving.turned(taken, shift) if own == 0 else moving.turned(shift, taken)
    if cuts is None:
        return moving._replace(mean=moving.mean - float(step[0]))
    return moving._replace(cuts=Cuts(cuts.latent + cuts.latent.dtype.type(step[0]), cuts.thresholds + step[0]))


def _precisions(side: Side, hyper: Hyperparameters, portrait: Portrait) -> np.ndarray:
    """Return products of columns, and of the constant, under each column's prior precision, shape (K, K + 1, K + 1)."""
    own, levels = side.products(hyper, portrait)
    return own / hyper.variance[:, None, None] + levels / hyper.level_variance[:, None, None]


def balance_scales(moving: Moving, rng: np.random.Generator) -> Moving:
    """Move scale between users' and items' factors."""
    of_users, of_items = (hyper.expansion[1] ** 2 for hyper in moving.hyper)
    low, high = np.log(_LOG_SCALES)
    steps = np.exp(rng.uniform(low, high)) * (np.arange(_WINDOW) - rng.integers(_WINDOW))
    log_p = -0.5 * (of_users * np.exp(2 * steps) + of_items * np.exp(-2 * steps))
    scale = np.exp(steps[(log_p + rng.gumbel(size=_WINDOW)).argmax()])
    scales = np.full(len(moving.hyper[0].expansion), scale)
    scales[0] = 1.0
    users, items = (own.scaled(by) for own, by in zip(moving.hyper, (scales, 1.0 / scales), strict=True))
    both = np.append(scales, 1.0)
    return moving._replace(hyper=(users, items)).turned(np.diag(both), np.diag(1.0 / both))
