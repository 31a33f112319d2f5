r"""Moves along directions that no prediction sees: the ratings' likelihood stays, and the prior decides.

Factors given the other side's can take only small steps along some directions, however long the posterior is there:

- `trade_means`: w_k + d_k 1 with b - sum_k d_k u_k is the same prediction, and so is c + d_0 1 with mu - d_0. Given
  all else d is Gaussian.
- `balance_scales`: u_k s with w_k / s. On the expansions, alpha s and beta / s, the density of log s is
  -(alpha^2 s^2 + beta^2 / s^2) / 2.
- `turn_columns`: a rotation of two columns by one angle on both sides. The priors' variances are integrated out, and
  must be drawn anew afterwards (`Side.draw`).

Where no conditional is of a known kind, the step is drawn among the points of a window: places 0, ..., m - 1 at a
random distance from one another, the state at a place taken at random. Every point of the window is as likely to
have chosen it, so that drawing one by its density leaves the posterior as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hypergauss.factorisation.grades import THRESHOLD_SPREAD, Cuts
from hypergauss.factorisation.portraits import Portrait
from hypergauss.factorisation.spectral_prior import RATE, SHAPE, Hyperparameters, Side

if TYPE_CHECKING:
    from hypergauss.factorisation.gibbs import State

#: Points of a window, and the least and largest distances between them: of angles, and of logarithms of scales.
_WINDOW = 8
_ANGLES, _LOG_SCALES = (0.003, 0.4), (0.02, 1.0)


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
    """Move scale between users' and items' columns of factors."""
    squares = [hyper.expansion[1:] ** 2 for hyper in moving.hyper]

    def log_density(t: np.ndarray) -> np.ndarray:
        return -0.5 * (squares[0] * np.exp(2 * t) + squares[1] * np.exp(-2 * t))

    steps = _window(_LOG_SCALES, len(squares[0]), rng)
    t = np.concatenate([[0.0], _chosen(steps, log_density(steps), rng)])
    users, items = (
        own._replace(expansion=own.expansion * np.exp(sign * t))
        for own, sign in zip(moving.hyper, (1.0, -1.0), strict=True)
    )
    scales = np.append(np.exp(t), 1.0)
    return moving._replace(hyper=(users, items)).turned(np.diag(scales), np.diag(1.0 / scales))


def turn_columns(sides: tuple[Side, Side], moving: Moving, rng: np.random.Generator) -> Moving:
    """Turn pairs of columns of factors by an angle each; their variances are then to be drawn."""
    count = len(moving.hyper[0].point)
    order = 1 + rng.permutation(count - 1)
    first, second = order[0 : len(order) - 1 : 2], order[1::2]
    if not len(first):
        return moving
    steps = _window(_ANGLES, len(first), rng)
    log_p = sum(
        _evidence(side, hyper, portrait, (first, second))(steps)
        for side, portrait, hyper in zip(sides, moving.portraits, moving.hyper, strict=True)
    )
    angle = _chosen(steps, np.asarray(log_p), rng)
    turn = np.eye(count + 1)
    turn[first, first] = turn[second, second] = np.cos(angle)
    turn[second, first], turn[first, second] = np.sin(angle), -np.sin(angle)
    return moving.turned(turn, turn)


def _evidence(
    side: Side, hyper: Hyperparameters, portrait: Portrait, pairs: tuple[np.ndarray, np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return log p of pairs of columns turned by angles, shape (m, pairs), at their filters, variances integrated out.

    Squares of turned columns are cos^2 kk + 2 cos sin km + sin^2 mm, in each mode and so in all.
    """
    k, m = pairs
    found = side.products(hyper, portrait)
    products = [[np.stack([each[j, k, k], each[j, k, m], each[j, m, m]]) for each in found] for j in pairs]

    def log_p(angle: np.ndarray) -> np.ndarray:
        cos, sin = np.cos(angle), np.sin(angle)
        of_first = np.stack([cos**2, 2 * cos * sin, sin**2])
        of_second = np.stack([sin**2, -2 * cos * sin, cos**2])
        total = np.zeros(angle.shape)
        for weights, (own, levels) in zip((of_first, of_second), products, strict=True):
            for shape, q in ((side.shape, own), (SHAPE + 0.5 * side.num_levels, levels)):
                total -= shape * np.log(RATE + 0.5 * np.maximum(np.einsum("amp,ap->mp", weights, q), 0.0))
        return total

    return log_p


def _window(reach: tuple[float, float], size: int, rng: np.random.Generator) -> np.ndarray:
    """Return steps to the points of windows, shape (m, size); one of each is 0."""
    low, high = np.log(reach)
    distance = np.exp(rng.uniform(low, high, size=size))
    return distance * (np.arange(_WINDOW)[:, None] - rng.integers(_WINDOW, size=size))


def _chosen(steps: np.ndarray, log_p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    place = (log_p + rng.gumbel(size=log_p.shape)).argmax(axis=0)
    return steps[place, np.arange(steps.shape[1])]
