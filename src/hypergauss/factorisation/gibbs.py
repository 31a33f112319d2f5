r"""Gibbs sampling of the factorisation: each block from its conditional, all of them closed.

One sweep draws, in turn: all users' biases and factors given the items' (`system`); their filters, variances and scales
(`filters`); the same for items; the mean mu and the noise's precision tau. Under the ordered probit the ratings' latent
values and the thresholds come last (`ordinal`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.factorisation.grades import Cuts, Grades
from hypergauss.factorisation.normal_equations import (
    NormalEquations,
    features,
    normal_equations,
    scattered_noise,
    system,
)
from hypergauss.factorisation.ratings import View
from hypergauss.factorisation.spectral_prior import Hyperparameters, Side, draw_expansion

#: Inverse gamma prior of the noise's variance, and where chains start, on the scale of ratings of variance 1.
_NOISE_SHAPE, _NOISE_RATE = 1.0, 1.0
_START_VARIANCE, _START_SPREAD = 0.03, 0.1


class State(NamedTuple):
    """Where a chain is.

    Attributes
    ----------
    coordinates : two arrays, shape (N + L + Q, K)
        Users' and items' columns: their spectral part, levels, and the effects of relations. Column 0 is the bias.
    hyper : two Hyperparameters
        Of users and of items.
    mean, precision : float
        mu and tau.
    cuts : Cuts or None
        Latent values and thresholds of the ordered probit.
    """

    coordinates: tuple[np.ndarray, np.ndarray]
    hyper: tuple[Hyperparameters, Hyperparameters]
    mean: float
    precision: float
    cuts: Cuts | None


class Problem(NamedTuple):
    """What a chain draws given: ratings of mean 0 and variance 1, or grades, and the priors of both sides.

    Attributes
    ----------
    sides : two Side
        Users, items.
    views : two View
        The ratings as users see them, and as items do.
    values : array, shape (n,)
        The ratings on that scale; the latent values take their place where there are grades.
    grades : Grades or None
        Ratings as ordered classes.
    n_factors : int
        D.
    biases : bool
        Whether users and items have biases.
    tolerance : float
        Of conjugate gradients.
    """

    sides: tuple[Side, Side]
    views: tuple[View, View]
    values: np.ndarray
    grades: Grades | None
    n_factors: int
    biases: bool
    tolerance: float

    @property
    def free(self) -> np.ndarray:
        """Columns that are drawn."""
        return np.arange(0 if self.biases else 1, self.n_factors + 1)

    def factors(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows (b_i, u_i) and (c_j, w_j)."""
        users, items = (_factors(side, x) for side, x in zip(self.sides, state.coordinates, strict=True))
        return users, items


def start(problem: Problem, rng: np.random.Generator) -> State:
    """Return a random state: small factors, no biases."""
    dtype = problem.values.dtype
    coordinates, hyper = [], []
    for side in problem.sides:
        x = _START_SPREAD * rng.standard_normal((side.num_coordinates, problem.n_factors + 1), dtype=dtype)
        x[:, 0] = 0.0
        x[side.num_vertices :] = 0.0
        coordinates.append(x)
        hyper.append(side.start(problem.n_factors + 1, _START_VARIANCE))
    cuts = problem.grades.start() if problem.grades is not None else None
    return State((coordinates[0], coordinates[1]), (hyper[0], hyper[1]), 0.0, 1.0, cuts)


def sweep(problem: Problem, state: State, rng: np.random.Generator) -> State:
    """Draw every block once."""
    values = problem.values if state.cuts is None else state.cuts.latent
    coordinates, hyper = list(state.coordinates), list(state.hyper)
    for own, other in ((0, 1), (1, 0)):
        e = features(_factors(problem.sides[other], coordinates[other]))
        view = problem.views[own]
        equations = normal_equations(view.pattern, view.table(values), e)
        coordinates[own], hyper[own] = _draw_side(problem, own, coordinates[own], hyper[own], equations, e, state, rng)
    state = state._replace(coordinates=(coordinates[0], coordinates[1]), hyper=(hyper[0], hyper[1]))
    if problem.grades is None or state.cuts is None:
        mean, precision = _draw_noise(equations, _factors(problem.sides[1], coordinates[1]), values, state, rng)
        return state._replace(mean=mean, precision=precision)
    users, items = problem.factors(state)
    return state._replace(cuts=problem.grades.draw(state.cuts, users, items, rng))


def _draw_side(
    problem: Problem,
    own: int,
    x: np.ndarray,
    hyper: Hyperparameters,
    equations: NormalEquations,
    e: np.ndarray,
    state: State,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Hyperparameters]:
    """Draw one side's coordinates and hyperparameters given the other side."""
    side, free = problem.sides[own], problem.free
    chosen = hyper.of(free)
    columns = side.columns(chosen)
    conditional = system(equations, columns, mean=state.mean, precision=state.precision, free=free)
    noise = scattered_noise(problem.views[own].pattern, e[:, free], state.precision, rng)
    solution = conditional.draw(noise, problem.tolerance, rng)
    spectral = columns.rough * solution.rough + columns.spectral(solution.smooth)
    drawn = np.concatenate([spectral, columns.effects(solution.smooth)])
    chosen = side.draw(chosen, drawn, rng)
    expansion = draw_expansion(chosen, solution.factors, conditional.gram, conditional.linear, rng)
    drawn = drawn * (expansion / chosen.expansion).astype(drawn.dtype)
    x = x.copy()
    x[:, free] = drawn
    return x, _merged(hyper, chosen._replace(expansion=expansion), free)


def _merged(hyper: Hyperparameters, drawn: Hyperparameters, free: np.ndarray) -> Hyperparameters:
    """Return hyperparameters of all columns, those of the free ones drawn anew."""
    parts = []
    for old, new in zip(hyper, drawn, strict=True):
        if new is drawn.weights:
            parts.append(new)
            continue
        merged = old.copy()
        merged[free] = new
        parts.append(merged)
    return Hyperparameters(*parts)


def _draw_noise(
    equations: NormalEquations,
    items: np.ndarray,
    values: np.ndarray,
    state: State,
    rng: np.random.Generator,
) -> tuple[float, float]:
    r"""Draw mu, then tau, from sums that the items' system has already made.

    Prediction ij is g_j . e_i with g_j = (mu + c_j, w_j, 1) and e_i = (1, u_i, b_i). The sum of squared residuals is
    sum y^2 - 2 sum_j g_j . moments_j + sum_j g_j' gram_j g_j: no pass over the ratings.
    """
    gram, moments = equations
    g = np.concatenate([items, np.ones((len(items), 1), items.dtype)], axis=1)
    n = len(values)

    def total(left: np.ndarray, right: np.ndarray) -> float:
        return float(np.einsum("nk,nk->", left, right, dtype=np.float64))

    without_mean = total(moments[:, :1], np.ones_like(moments[:, :1])) - total(gram[:, 0], g)
    mean = float(rng.normal(without_mean / n, 1.0 / np.sqrt(state.precision * n)))
    g[:, 0] += items.dtype.type(mean)
    fitted = np.matmul(gram, g[:, :, None])[:, :, 0]
    squares = float(np.vdot(values.astype(np.float64), values)) - 2.0 * total(g, moments) + total(g, fitted)
    rate = _NOISE_RATE + 0.5 * max(squares, 0.0)
    return mean, float(rng.gamma(_NOISE_SHAPE + 0.5 * n) / rate)


def _factors(side: Side, x: np.ndarray) -> np.ndarray:
    own, effects = x[: side.num_vertices], x[side.num_vertices :]
    return own + side.features @ effects if len(effects) else own
