r"""Filters drawn along with the factors: the other half of an interweaving strategy (Yu and Meng, 2011).

Given a column, its filter is nearly known: hundreds of coefficients say how large they are in each mode. So a filter
that is drawn given the column moves with the column alone, by little. Given the *whitened* coordinates (h, y) of

    f_k = rho h + B y,

the ratings alone speak for or against another filter, and the columns move with it. A step of Metropolis a block: a
neighbour on the grid of (nu, lengthscale), and v so that the leading modes keep their variance v kappa_q in the
geometric mean. With c the logarithm of that mean, v' = v exp(c - c') has the Jacobian exp(c - c').
"""

from __future__ import annotations

import numpy as np

from hypergauss.factorisation.columns import blockwise
from hypergauss.factorisation.normal_equations import Solution, System
from hypergauss.factorisation.spectral_prior import RATE, SHAPE, Hyperparameters, Side

#: Steps on the grid: lengthscales by so many points in the mean, nu by one or none.
_LENGTHSCALE_STEP = 6.0
#: Modes whose variance is kept.
_LEADING = 10


def step_filters(
    side: Side, hyper: Hyperparameters, conditional: System, solution: Solution, rng: np.random.Generator
) -> tuple[Hyperparameters, Solution]:
    """Propose another filter for each block at given whitened coordinates, and return what is accepted."""
    grid = side.modes.grid
    if len(grid.nu) == 1:
        return hyper, solution
    firsts = np.array([block[0] for block in hyper.blocks])
    of_block = np.searchsorted(hyper.block[firsts], hyper.block)
    point, inside = (each[of_block] for each in grid.neighbour(hyper.point[firsts], _LENGTHSCALE_STEP, rng))
    # The logarithm of the leading modes' variance, relative to v.
    before, after = (np.log(side.modes.filters(at)[:_LEADING]).mean(axis=0) for at in (hyper.point, point))
    variance = hyper.variance * np.exp(before - after)
    proposed = hyper._replace(point=point, variance=variance)
    columns = side.columns(proposed)
    factors = columns.rough * solution.rough + columns.factors(solution.smooth)
    gain = grid.log_weights[point] - grid.log_weights[hyper.point] + before - after
    gain += _log_prior(variance) - _log_prior(hyper.variance)
    gain = np.where(inside, gain, -np.inf)
    accepted = _accepted(conditional, solution.factors, factors, hyper.blocks, gain, rng)
    hyper = hyper._replace(
        point=np.where(accepted, point, hyper.point), variance=np.where(accepted, variance, hyper.variance)
    )
    return hyper, solution._replace(factors=np.where(accepted, factors, solution.factors))


def _accepted(
    conditional: System,
    old: np.ndarray,
    new: np.ndarray,
    blocks: list[np.ndarray],
    gain: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return which columns' steps are accepted, one block after another.

    The log likelihood is l . f - f' G f / 2, and a step d in some columns changes it by d . (l - G f) - d' G d / 2.
    """
    gram = conditional.gram
    slope = (conditional.linear - blockwise(gram, old)).T.astype(np.float64)
    steps = new.T.astype(np.float64) - old.T
    accepted = np.zeros(len(gain), bool)
    for block, level in zip(blocks, np.log(rng.random(len(blocks))), strict=True):
        step = steps[block]
        change = np.einsum("lkn,kn->ln", gram[:, block], step)
        rise = (step * (slope[block] - 0.5 * change[block])).sum()
        if level < rise + gain[block[0]]:
            accepted[block] = True
            slope -= change
    return accepted


def _log_prior(variance: np.ndarray) -> np.ndarray:
    """Return the log density of the inverse gamma prior, up to a constant."""
    return -(SHAPE + 1.0) * np.log(variance) - RATE / variance
