r"""Sweeps that single precision cannot carry are drawn in double precision.

In the system of one side's factors, I + C' blockdiag(G_i) C, the sums G_i of the ratings' features are known to eps
times their size. Where a column's prior variance v and its entry g of the largest G_i make v g > 1 / eps, these errors
outweigh the prior's I: the matrix need no longer be positive definite, and draws are of another posterior, whose scales
run away. Many ratings hold scales where this does not happen; a single user, or very few ratings, leave them to the
tails of half-Cauchy priors. Those tails end where double precision would be lost too: a sweep that leads there is not
taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from hypergauss.exceptions import NumericalError
from hypergauss.factorisation.gibbs import Problem, State
from hypergauss.factorisation.normal_equations import features
from hypergauss.factorisation.ratings import View
from hypergauss.factorisation.spectral_prior import Side

_DOUBLE = np.dtype(np.float64)
#: Below this share of what may break it, single precision will do; and so it does for so many ratings.
_MARGIN, _MANY = 0.01, 5_000
#: The share of what may break double precision where tails end: far enough from it for what one sweep can add.
_END_OF_TAILS = 1e-6


def carried(
    sweep: Callable[[Problem, State, np.random.Generator], State],
    problem: Problem,
    state: State,
    rng: np.random.Generator,
) -> State:
    """Return the next state, by double precision where single precision cannot carry it or breaks down.

    The state stays where not even double precision would carry the next.
    """
    single = problem.values.dtype
    if single == _DOUBLE:
        return sweep(problem, state, rng)
    before = rng.bit_generator.state
    if len(problem.values) >= _MANY or strain(problem, state) * np.finfo(single).eps < _MARGIN:
        try:
            return sweep(problem, _in(single, state), rng)
        except (NumericalError, np.linalg.LinAlgError):
            rng.bit_generator.state = before
    after = sweep(_in_double(problem), _in(_DOUBLE, state), rng)
    return after if strain(problem, after) * np.finfo(_DOUBLE).eps < _END_OF_TAILS else state


def strain(problem: Problem, state: State) -> float:
    """Return a bound on v g over all columns of both sides."""
    factors, most = problem.factors(state), 0.0
    for own, other in ((0, 1), (1, 0)):
        hyper, weights = state.hyper[own].of(problem.free), state.noise[other].each
        variances = hyper.expansion**2 * np.maximum(hyper.variance, hyper.level_variance)
        z = features(factors[other])[:, problem.free].astype(np.float64)
        squares = (weights[:, None] * z**2).max(axis=0)
        counts = np.diff(problem.views[own].pattern.indptr)
        ratings = float((counts * state.noise[own].each).max())
        most = max(most, state.precision * ratings * float((variances * squares).max()))
    return most


def _in_double(problem: Problem) -> Problem:
    users, items = (_side(side) for side in problem.sides)
    of_users, of_items = (View(sp.csr_array(view.pattern, dtype=_DOUBLE), view.order) for view in problem.views)
    grades = None if problem.grades is None else problem.grades._replace(dtype=_DOUBLE)
    values = problem.values.astype(_DOUBLE)
    return problem._replace(sides=(users, items), views=(of_users, of_items), values=values, grades=grades)


def _side(side: Side) -> Side:
    modes, relations = side.modes, side.relations
    modes = modes._replace(
        vectors=modes.vectors.astype(_DOUBLE),
        levels=sp.csr_array(modes.levels, dtype=_DOUBLE),
        kappa=modes.kappa.astype(_DOUBLE),
        inverse=modes.inverse.astype(_DOUBLE),
    )
    return Side(modes, relations._replace(features=sp.csr_array(relations.features, dtype=_DOUBLE)))


def _in(dtype: np.dtype, state: State) -> State:
    users, items = (x.astype(dtype) for x in state.coordinates)
    cuts = None if state.cuts is None else state.cuts._replace(latent=state.cuts.latent.astype(dtype))
    return state._replace(coordinates=(users, items), cuts=cuts)
