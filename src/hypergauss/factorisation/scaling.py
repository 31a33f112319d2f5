r"""The scale of a side's factors, with their rough part integrated out.

Given all columns, the variance of one side's factors is known to a percent or so, and given the whitened coordinates
so is the expansion alpha: the ratings hardly tell u_i . w_j, rough on both sides, from noise, but rough parts that fit
chance at one scale hold the scale where it is. The other side's factors alone leave it twice to three times as free.
So the rough part h of

    f = alpha (rho h + B y)

is integrated out vertex by vertex (`System.evidence`), and steps of Metropolis on log alpha leave the smooth part
m = alpha B y as it is: with alpha' = c alpha the coordinates are y / c, n of them, and

    log p(r | m, c alpha) - log p(r | m, alpha) - (c^-2 - 1) |y|^2 / 2 - (c^2 - 1) alpha^2 / 2 - (n - 1) log c

decides. The factors must be drawn next, since these are not those of the new scale.
"""

from __future__ import annotations

import numpy as np

from hypergauss.factorisation.normal_equations import System
from hypergauss.factorisation.spectral_prior import Hyperparameters, Side

#: Steps, and their size over the root of the number of vertices: to about one over that root the scale is known.
_STEPS, _SPREAD = 3, 2.4


def step_scale(
    side: Side, hyper: Hyperparameters, conditional: System, y: np.ndarray, rng: np.random.Generator
) -> tuple[Hyperparameters, System]:
    """Return hyperparameters with another scale of all factors, and the system with it, given whitened coordinates."""
    smooth = conditional.columns.factors(y)
    of_factors = hyper.block == 1
    alpha, count = hyper.expansion[of_factors][0], y[:, of_factors].size
    square = float((y[:, of_factors].astype(np.float64) ** 2).sum())
    here, total = conditional.evidence(smooth), 0.0

    def log_prior(t: float) -> float:
        return -0.5 * (square * np.exp(-2 * t) + alpha**2 * np.exp(2 * t)) - (count - 1) * t

    start = hyper
    for step in _SPREAD / np.sqrt(side.num_vertices) * rng.standard_normal(_STEPS):
        proposed = start.scaled(np.where(of_factors, np.exp(total + step), 1.0))
        moved = System(side.columns(proposed), conditional.gram, conditional.linear)
        there = moved.evidence(smooth)
        if np.log(rng.random()) < there - here + log_prior(total + step) - log_prior(total):
            hyper, conditional, here, total = proposed, moved, there, total + step
    return hyper, conditional
