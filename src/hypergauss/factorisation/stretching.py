r"""All of an ordered probit's latent scale at once: thresholds and predictors times c, the noise as it is.

Where ratings have a value, the noise's precision is drawn given all else. An ordered probit has noise of precision 1,
and what stands for it is how far thresholds and predictors reach together: given either, the other is known to half
a percent, so that drawn in turn both creep. With latent values integrated out, a step of Metropolis on log c moves
both:

    log p(r | c b, c eta) - log p(r | b, eta) + log p(c b) - log p(b) + (m + 1) log c - (c^2 - 1) / 2 sum alpha^2,

where c is taken by the expansions alpha, m of them, of users' blocks and of items' bias: items' factors stay. Moods
of days go along with their variance, c^2 omega.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hypergauss.factorisation.grades import log_prior
from hypergauss.factorisation.moods import MOOD_RATE, MOOD_SHAPE
from hypergauss.factorisation.spectral_prior import Hyperparameters

if TYPE_CHECKING:
    from hypergauss.factorisation.gibbs import Problem, State

#: A step's size, over the root of the number of ratings: to about one over that root the scale is known.
_SPREAD = 2.4


def stretch(problem: Problem, state: State, eta: np.ndarray, rng: np.random.Generator) -> tuple[State, np.ndarray]:
    """Propose one c, and return the state and the predictors, stretched or not; latent values are then to be drawn."""
    grades, cuts = problem.grades, state.cuts
    assert grades is not None
    assert cuts is not None
    t = _SPREAD / np.sqrt(len(eta)) * rng.standard_normal()
    c = float(np.exp(t))
    columns = problem.free, problem.free[problem.free == 0]
    alphas = np.concatenate([_expansions(hyper.of(own)) for hyper, own in zip(state.hyper, columns, strict=True)])
    root = np.sqrt(state.noise[0].each[grades.user] * state.noise[1].each[grades.item])
    thresholds = c * cuts.thresholds
    gain = grades.log_likelihood(thresholds, c * eta, root) - grades.log_likelihood(cuts.thresholds, eta, root)
    gain += log_prior(thresholds) - log_prior(cuts.thresholds)
    gain += (len(alphas) + 1) * t - 0.5 * (c**2 - 1.0) * float(alphas @ alphas)
    moods = state.moods
    if problem.days is not None:
        gain -= 2.0 * MOOD_SHAPE * t + MOOD_RATE / moods.variance * (c**-2 - 1.0)
        moods = moods._replace(each=c * moods.each, variance=c**2 * moods.variance)
    if np.log(rng.random()) >= gain:
        return state, eta
    coordinates, hyper = [], []
    for x, own, chosen in zip(state.coordinates, state.hyper, columns, strict=True):
        scale = np.ones(len(own.expansion))
        scale[chosen] = c
        coordinates.append(x * scale.astype(x.dtype))
        hyper.append(own.scaled(scale))
    stretched = state._replace(
        coordinates=(coordinates[0], coordinates[1]),
        hyper=(hyper[0], hyper[1]),
        cuts=cuts._replace(thresholds=thresholds),
        moods=moods,
    )
    return stretched, c * eta


def _expansions(hyper: Hyperparameters) -> np.ndarray:
    """Return alpha, one number a block."""
    return np.array([hyper.expansion[block[0]] for block in hyper.blocks])
