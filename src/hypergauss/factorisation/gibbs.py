r"""Gibbs sampling of the factorisation: each block from its conditional, all of them closed.

One sweep draws, in turn: the scale of users' factors without their rough part (`scaling`), all users' biases and
factors given the items' (`normal_equations`); their filters once given these and once along with them (`interweaving`,
`spectral_prior`), variances and scales, and the noise of each user (`noise`); the same for items; the mean mu and the
noise's precision tau; steps along directions that predictions do not see (`moves`); and users' moods, where days are
told (`moods`). Under the ordered probit the ratings' latent values and the thresholds come last (`grades`), after their
common scale (`stretching`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.factorisation.columns import SpectralColumns
from hypergauss.factorisation.grades import Cuts, Grades, predictors
from hypergauss.factorisation.interweaving import step_filters
from hypergauss.factorisation.moods import Moods, start_moods
from hypergauss.factorisation.moves import Moving, balance_scales, trade_means
from hypergauss.factorisation.noise import Precisions, draw_precision, start_precisions
from hypergauss.factorisation.normal_equations import (
    NormalEquations,
    Solution,
    System,
    features,
    normal_equations,
    scattered_noise,
    system,
)
from hypergauss.factorisation.ratings import View
from hypergauss.factorisation.scaling import step_scale
from hypergauss.factorisation.spectral_prior import Hyperparameters, Side, draw_expansion
from hypergauss.factorisation.stretching import stretch

#: Chains start with sweeps at fixed filters, variances and noise, on the scale of ratings of variance 1: with all
#: columns awake, which they are slow to become one by one.
_START_SPREAD, _START_VARIANCE, _START_PRECISION, _START_SWEEPS = 0.1, 0.2, 2.0, 8
#: Before each sweep both sides' factors are drawn in turn so often, and keep these shares of their distance from the
#: mean: below 0 they go past it, as far as the other side's is then to follow.
_KEPT = (0.0, -0.6)


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
    noise : two Precisions
        Of users and of items, as multiples of tau.
    moods : Moods
        Of users on days; none if days are not told.
    """

    coordinates: tuple[np.ndarray, np.ndarray]
    hyper: tuple[Hyperparameters, Hyperparameters]
    mean: float
    precision: float
    cuts: Cuts | None
    noise: tuple[Precisions, Precisions]
    moods: Moods


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
    individual : bool
        Whether users and items have noise of their own.
    days : array of int, shape (n,), or None
        The user and day that each rating is of, as a number.
    """

    sides: tuple[Side, Side]
    views: tuple[View, View]
    values: np.ndarray
    grades: Grades | None
    n_factors: int
    biases: bool
    tolerance: float
    individual: bool
    days: np.ndarray | None = None

    @property
    def free(self) -> np.ndarray:
        """Columns that are drawn."""
        return np.arange(0 if self.biases else 1, self.n_factors + 1)

    def factors(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows (b_i, u_i) and (c_j, w_j)."""
        users, items = (_factors(side, x) for side, x in zip(self.sides, state.coordinates, strict=True))
        return users, items

    def fitted(self, state: State) -> np.ndarray:
        """Return b_i + c_j + u_i . w_j of every rating."""
        pattern = self.views[0].pattern
        user = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        return predictors(*self.factors(state), user, pattern.indices)

    def response(self, state: State) -> np.ndarray:
        """Return the ratings, or their latent values."""
        return self.values if state.cuts is None else state.cuts.latent

    def moods(self, state: State) -> np.ndarray | float:
        """Return m_id of every rating, in the type of ratings; 0 where days are not told."""
        return 0.0 if self.days is None else state.moods.each[self.days].astype(self.values.dtype)

    def without_moods(self, state: State) -> np.ndarray:
        """Return what rows of users and items are to explain of the ratings, or of their latent values."""
        values = self.response(state)
        return values if self.days is None else values - self.moods(state)


def start(problem: Problem, rng: np.random.Generator) -> State:
    """Return a state near the posterior: small random factors, then some sweeps at fixed hyperparameters."""
    dtype = problem.values.dtype
    coordinates, hyper = [], []
    for side in problem.sides:
        x = _START_SPREAD * rng.standard_normal((side.num_coordinates, problem.n_factors + 1), dtype=dtype)
        x[:, 0] = 0.0
        x[side.num_vertices :] = 0.0
        coordinates.append(x)
        hyper.append(side.start(problem.n_factors + 1, _START_VARIANCE))
    graded = problem.grades is not None
    cuts = problem.grades.start() if problem.grades is not None else None
    noise = tuple(start_precisions(side.num_vertices, individual=problem.individual) for side in problem.sides)
    precision = 1.0 if graded else _START_PRECISION
    moods = start_moods(0 if problem.days is None else int(problem.days.max()) + 1)
    both = (coordinates[0], coordinates[1]), (hyper[0], hyper[1])
    state = State(*both, 0.0, precision, cuts, (noise[0], noise[1]), moods)
    for _ in range(_START_SWEEPS):
        for own in (0, 1):
            columns = problem.sides[own].columns(state.hyper[own].of(problem.free))
            drawn = _draw_factors(problem, state, own, columns, rng)
            state = _with_side(problem, state, own, _coordinates(columns, drawn))
        if problem.grades is not None:
            state = _draw_grades(problem, state, rng)
    return state


def sweep(problem: Problem, state: State, rng: np.random.Generator) -> State:
    """Draw every block once, after both sides' factors alone."""
    state, before = _alternate(problem, state, rng)
    for own in (0, 1):
        state, equations = _draw_side(problem, state, own, before[own], rng)
    if problem.grades is None:
        state = _draw_mean_and_noise(problem, state, equations, rng)
    state = _draw_moods(problem, _move(problem, state, rng), rng)
    return state if problem.grades is None else _draw_grades(problem, state, rng)


def _alternate(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Solution]]:
    """Draw both sides' factors in turn at fixed hyperparameters, and return the last draws too."""
    parts = zip(problem.sides, state.hyper, strict=True)
    columns = [side.columns(hyper.of(problem.free)) for side, hyper in parts]
    before: list[Solution] = []
    for kept in _KEPT:
        drawn = []
        for own in (0, 1):
            last = before[own] if before else None
            drawn.append(_draw_factors(problem, state, own, columns[own], rng, last, kept))
            state = _with_side(problem, state, own, _coordinates(columns[own], drawn[own]))
        before = drawn
    return state, before


def _draw_factors(
    problem: Problem,
    state: State,
    own: int,
    columns: SpectralColumns,
    rng: np.random.Generator,
    before: Solution | None = None,
    kept: float = 0.0,
) -> Solution:
    """Draw one side's factors given the other's and all hyperparameters, with a share kept of where they were."""
    _, conditional = _conditional(problem, state, own, columns)
    return _drawn(problem, conditional, rng, before, kept)


def _conditional(problem: Problem, state: State, own: int, columns: SpectralColumns) -> tuple[NormalEquations, System]:
    """Return one side's sums over ratings, and its system, given the other side."""
    other, view, free = 1 - own, problem.views[own], problem.free
    e = features(_factors(problem.sides[other], state.coordinates[other]))
    weights = state.noise[other].each
    equations = normal_equations(view.pattern, view.table(problem.without_moods(state)), e, weights)
    precision = state.precision * state.noise[own].each
    return equations, system(equations, columns, mean=state.mean, precision=precision, free=free)


def _drawn(
    problem: Problem,
    conditional: System,
    rng: np.random.Generator,
    before: Solution | None = None,
    kept: float = 0.0,
) -> Solution:
    return conditional.draw(scattered_noise(conditional.gram, rng), problem.tolerance, rng, before, kept)


def _draw_side(
    problem: Problem, state: State, own: int, before: Solution, rng: np.random.Generator
) -> tuple[State, NormalEquations]:
    """Draw one side's coordinates along with filters and scales, and its noise, given the other side."""
    side, free = problem.sides[own], problem.free
    chosen = state.hyper[own].of(free)
    equations, conditional = _conditional(problem, state, own, side.columns(chosen))
    chosen, conditional = step_scale(side, chosen, conditional, before.smooth, rng)
    solution = _drawn(problem, conditional, rng)
    chosen, solution = step_filters(side, chosen, conditional, solution, rng)
    drawn = _coordinates(side.columns(chosen), solution)
    expansion = draw_expansion(chosen, solution.factors, conditional.gram, conditional.linear, rng)
    drawn = drawn * (expansion / chosen.expansion).astype(drawn.dtype)
    state = _with_side(problem, state, own, drawn, chosen._replace(expansion=expansion))
    if problem.individual:
        squares = equations.residuals(_factors(side, state.coordinates[own]), state.mean)
        counts = np.diff(problem.views[own].pattern.indptr)
        drawn_noise = state.noise[own].draw(counts, state.precision * squares, rng)
        state = state._replace(noise=(drawn_noise, state.noise[1]) if own == 0 else (state.noise[0], drawn_noise))
    return state, equations


def _coordinates(columns: SpectralColumns, solution: Solution) -> np.ndarray:
    """Return the spectral part, levels and effects that a solution stands for."""
    spectral = columns.rough * solution.rough + columns.spectral(solution.smooth)
    return np.concatenate([spectral, columns.effects(solution.smooth)])


def _with_side(
    problem: Problem, state: State, own: int, drawn: np.ndarray, chosen: Hyperparameters | None = None
) -> State:
    """Return a state in which one side's free columns, and their hyperparameters if given, are those drawn."""
    coordinates, hyper = list(state.coordinates), list(state.hyper)
    coordinates[own] = coordinates[own].copy()
    coordinates[own][:, problem.free] = drawn
    if chosen is not None:
        hyper[own] = _merged(hyper[own], chosen, problem.free)
    return state._replace(coordinates=(coordinates[0], coordinates[1]), hyper=(hyper[0], hyper[1]))


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


def _draw_mean_and_noise(problem: Problem, state: State, equations: NormalEquations, rng: np.random.Generator) -> State:
    """Draw mu, then tau, from sums that the items' system has already made."""
    items, weights = _factors(problem.sides[1], state.coordinates[1]), state.noise[1].each
    f = np.concatenate([items, np.ones((len(items), 1), items.dtype)], axis=1)
    left = equations.moments[:, 0] - np.einsum("kn,nk->n", equations.gram[0], f, dtype=np.float64)
    total = float(weights @ equations.gram[0, 0])
    mean = float(rng.normal(weights @ left / total, 1.0 / np.sqrt(state.precision * total)))
    squares = float(weights @ equations.residuals(items, mean))
    return state._replace(mean=mean, precision=draw_precision(len(problem.values), squares, rng))


def _move(problem: Problem, state: State, rng: np.random.Generator) -> State:
    """Step along directions that predictions do not see; draw filters and variances given the columns."""
    sides, free = problem.sides, problem.free
    moving = Moving.of(sides, state)
    if problem.biases:
        moving = trade_means(sides, moving, rng)
    moving = balance_scales(moving, rng)
    users, items = (
        _merged(hyper, side.draw(hyper.of(free), portrait.columns(free), rng), free)
        for side, hyper, portrait in zip(sides, moving.hyper, moving.portraits, strict=True)
    )
    return moving._replace(hyper=(users, items)).arrived(sides, state)


def _draw_moods(problem: Problem, state: State, rng: np.random.Generator) -> State:
    """Draw users' moods on days, if these are told, and their variance."""
    if problem.days is None:
        return state
    pattern = problem.views[0].pattern
    left = problem.response(state) - state.mean - problem.fitted(state)
    precision = state.precision * np.repeat(state.noise[0].each, np.diff(pattern.indptr))
    precision *= state.noise[1].each[pattern.indices]
    return state._replace(moods=state.moods.draw(problem.days, left, precision, rng))


def _draw_grades(problem: Problem, state: State, rng: np.random.Generator) -> State:
    assert problem.grades is not None
    state, eta = stretch(problem, state, problem.fitted(state) + problem.moods(state), rng)
    assert state.cuts is not None
    return state._replace(cuts=problem.grades.draw(state.cuts, eta, state.noise, rng))


def _factors(side: Side, x: np.ndarray) -> np.ndarray:
    own, effects = x[: side.num_vertices], x[side.num_vertices :]
    return own + side.features @ effects if len(effects) else own
