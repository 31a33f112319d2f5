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
from typing import TYPE_CHECKING

import numpy as np

from hypergauss.factorisation.grades import THRESHOLD_SPREAD, Cuts
from hypergauss.factorisation.spectral_prior import RATE, SHAPE, Hyperparameters, Side

if TYPE_CHECKING:
    from hypergauss.factorisation.gibbs import State

#: Points of a window, and the least and largest distances between them: of angles, and of logarithms of scales.
_WINDOW = 8
_ANGLES, _LOG_SCALES = (0.003, 0.4), (0.02, 1.0)


def trade_means(sides: tuple[Side, Side], state: State, rng: np.random.Generator) -> State:
    """Move the means of items' factors against users' biases, and of users' factors against items' biases."""
    for own, other in ((0, 1), (1, 0)):
        state = _trade(sides, state, own, other, rng)
    return state


def _trade(sides: tuple[Side, Side], state: State, own: int, other: int, rng: np.random.Generator) -> State:
    """Add d to the other side's columns, and take u d from the own side's bias.

    In whitened coordinates, in which the prior is standard normal, let A be the squared lengths of the constant under
    each column's prior, B its products with the columns, and Z = (z_0, Z_u) all own columns under the bias's. Then
    -2 log p = d' (diag(A) + Z_u' Z_u) d + 2 d' (B - Z_u' z_0) + ..., and for d_0 alone A_0 d_0^2 + 2 B_0 d_0, which mu,
    or all thresholds with the latent values, make good.
    """
    x, mine = state.coordinates[other], state.coordinates[own]
    count = x.shape[1]
    one = sides[other].constant
    ones = sides[other].whitened(state.hyper[other], np.repeat(one[:, None], count, axis=1))
    A = np.einsum("nk,nk->k", ones, ones)
    B = np.einsum("nk,nk->k", ones, sides[other].whitened(state.hyper[other], x))
    z = sides[own].whitened(state.hyper[own].of(np.zeros(count, np.int64)), mine)
    step = np.zeros(count)
    precision = np.diag(A[1:]) + z[:, 1:].T @ z[:, 1:]
    root = np.linalg.cholesky(precision)
    white = rng.standard_normal((count,))
    step[1:] = np.linalg.solve(root.T, np.linalg.solve(root, z[:, 1:].T @ z[:, 0] - B[1:]) + white[1:])
    # The mean has a flat prior; under the ordered probit all thresholds go along, and the first has a normal one.
    first, known = (0.0, 0.0) if state.cuts is None else (state.cuts.thresholds[0], THRESHOLD_SPREAD**-2)
    step[0] = -(B[0] + known * first) / (A[0] + known) + white[0] / np.sqrt(A[0] + known)
    moved = x + (one[:, None] * step).astype(x.dtype)
    mine = mine.copy()
    mine[:, 0] -= (mine[:, 1:].astype(np.float64) @ step[1:]).astype(mine.dtype)
    coordinates = (mine, moved) if own == 0 else (moved, mine)
    state = state._replace(coordinates=coordinates)
    if state.cuts is None:
        return state._replace(mean=state.mean - float(step[0]))
    return state._replace(
        cuts=Cuts(state.cuts.latent + state.cuts.latent.dtype.type(step[0]), state.cuts.thresholds + step[0])
    )


def balance_scales(state: State, rng: np.random.Generator) -> State:
    """Move scale between users' and items' columns of factors."""
    squares = [hyper.expansion[1:] ** 2 for hyper in state.hyper]

    def log_density(t: np.ndarray) -> np.ndarray:
        return -0.5 * (squares[0] * np.exp(2 * t) + squares[1] * np.exp(-2 * t))

    steps = _window(_LOG_SCALES, len(squares[0]), rng)
    t = np.concatenate([[0.0], _chosen(steps, log_density(steps), rng)])
    coordinates, hyper = [], []
    for x, own, sign in zip(state.coordinates, state.hyper, (1.0, -1.0), strict=True):
        scale = np.exp(sign * t)
        coordinates.append(x * scale.astype(x.dtype))
        hyper.append(own._replace(expansion=own.expansion * scale))
    return state._replace(coordinates=(coordinates[0], coordinates[1]), hyper=(hyper[0], hyper[1]))


def turn_columns(sides: tuple[Side, Side], state: State, rng: np.random.Generator) -> State:
    """Turn pairs of columns of factors by an angle each; their variances are then to be drawn."""
    order = 1 + rng.permutation(state.coordinates[0].shape[1] - 1)
    first, second = order[0 : len(order) - 1 : 2], order[1::2]
    if not len(first):
        return state
    steps = _window(_ANGLES, len(first), rng)
    log_p = sum(
        _evidence(side, hyper, x, (first, second))(steps)
        for side, x, hyper in zip(sides, state.coordinates, state.hyper, strict=True)
    )
    angle = _chosen(steps, np.asarray(log_p), rng)
    turned = []
    for x in state.coordinates:
        moved, cos, sin = x.copy(), np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
        moved[:, first] = cos * x[:, first] + sin * x[:, second]
        moved[:, second] = cos * x[:, second] - sin * x[:, first]
        turned.append(moved)
    return state._replace(coordinates=(turned[0], turned[1]))


def _evidence(
    side: Side, hyper: Hyperparameters, x: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return log p of pairs of columns turned by angles, shape (m, pairs), at their filters, variances integrated out.

    Squares of turned columns are cos^2 kk + 2 cos sin km + sin^2 mm, in each mode and so in all.
    """
    ones = np.ones(len(hyper.point))
    plain = hyper._replace(variance=ones, level_variance=ones)
    split = -side.num_levels or None  # levels come last
    products = []
    for under in pairs:
        k, m = (side.whitened(plain.of(under), x[:, column]) for column in pairs)
        squares = [k * k, k * m, m * m]
        sums, levels = (
            [part[rows].sum(axis=0) for part in squares]
            for rows in (slice(split), slice(split, None) if split else slice(0))
        )
        products.append((np.stack(sums), np.stack(levels)))

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
