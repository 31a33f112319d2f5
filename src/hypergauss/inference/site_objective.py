r"""The loop that moves sites, and objectives whose every evaluation runs it.

Each approximation q of the posterior is prior times sites, and each way of finding it is a target for the sites given
the marginals they lead to. A step of length rho mixes the natural parameters,

    site <- (1 - rho) site + rho target,

and is taken only if it does not lower what the method maximises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mixing import Mixing, Settling
from hypergauss.learning.objective import Objective
from hypergauss.solvers.base import ExactSolver, Marginals
from hypergauss.solvers.sites import NaturalSites

#: The loop ends when a step gains less than this for each observation: while learning, and for a final answer.
LOOSE, TIGHT = 1e-8, 1e-12
#: Or after this many steps, or at this step length.
_MOST_STEPS, _SHORTEST = 300, 1e-6
#: How a step's length follows success and failure. Where full steps, of length 1, creep, longer ones do not.
_GROWTH, _SHRINKAGE, _LONGEST = 1.5, 0.3, 16.0
#: The top is near when a step gains less than this for each observation.
_NEAR = 1e-2
#: Steps that the next one is mixed from, the share of what they leave that is taken, and how many are tried at once.
_MEMORY, _DAMPING, _MOST_MIXED = 8, 0.3, 40
#: The gain of an iteration, for each observation, that ends a search over hyperparameters.
_LEAST_GAIN = 1e-7
#: The share of what lies between a value and the one it is compared with that a last step may gain, and the most for
#: each observation.
_SHARE, _COARSEST = 3e-3, 1e-4


class Settled(NamedTuple):
    """Where the loop ended: sites, the marginals they lead to, and what was maximised."""

    sites: NaturalSites
    marginals: Marginals
    value: float


class SiteObjective(Objective[LatentModel]):
    """An objective of hyperparameters whose every evaluation moves sites, from those of the best evaluation so far.

    The sites of a likelihood that is not log-concave can end in different places; starting from the best keeps the
    objective a function that a line search can follow.

    Parameters
    ----------
    solver : ExactSolver
        Prepared for the kernel at the observed vertices.
    y : array, shape (n,)
        What was observed.
    num_latents : int
        L, of the likelihood.
    start : NaturalSites, optional
        Where to begin.
    """

    #: The tolerances of sites while learning, and for a final answer.
    loose: ClassVar[float] = LOOSE
    tight: ClassVar[float] = TIGHT

    def __init__(self, solver: ExactSolver, y: np.ndarray, num_latents: int, start: NaturalSites | None = None) -> None:
        self.solver, self.y = solver, np.asarray(y, dtype=np.float64)
        self.sites = NaturalSites.empty(len(self.y), num_latents) if start is None else start
        self.tolerance = self.loose
        #: What the next value will be compared with, where that is all that it is for.
        self.rival: float | None = None
        self._highest = -np.inf

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.y)

    @property
    def least_gain(self) -> float:
        """What sites that have settled to their own tolerance leave no doubt of."""
        return _LEAST_GAIN

    @property
    def state(self) -> NaturalSites:
        """The sites of the best evaluation so far."""
        return self.sites

    @abstractmethod
    def settle(self, model: LatentModel) -> Settled:
        """Return the sites found from ``self.sites``, and the objective there."""

    @abstractmethod
    def gradient(self, model: LatentModel, found: Settled) -> np.ndarray:
        """Return the objective's gradient at settled sites, shape (p,)."""

    def value_and_gradient(self, model: LatentModel) -> tuple[float, np.ndarray]:  # noqa: D102
        found = self.settle(model)
        gradient = self.gradient(model, found)
        if found.value > self._highest and np.isfinite(gradient).all():
            self._highest, self.sites = found.value, found.sites
        return found.value, gradient

    def compared(self, model: LatentModel, rival: float) -> tuple[float, np.ndarray]:  # noqa: D102
        self.rival = rival
        try:
            return self.value_and_gradient(model)
        finally:
            self.rival = None

    def value(self, model: LatentModel) -> float:  # noqa: D102
        found = self.settle(model)
        if found.value > self._highest:
            self._highest, self.sites = found.value, found.sites
        return found.value


class Tried(NamedTuple):
    """Sites that were tried: what is maximised there, the marginals, and where a full step from there goes to."""

    value: float
    marginals: Marginals
    target: NaturalSites

    @property
    def is_possible(self) -> bool:
        """Whether prior times sites is a distribution, and has a value."""
        return self.marginals.is_proper and bool(np.isfinite(self.value))


def move_sites(
    model: LatentModel,
    start: NaturalSites,
    attempt: Callable[[NaturalSites], Tried],
    tolerance: float = TIGHT,
    rival: float | None = None,
) -> Settled:
    """Move sites towards their targets until the value stops rising.

    Far from the top by steps that never lower the value: a likelihood may have several tops. Near it targets overshoot,
    since they take latents and vertices one by one; there the last few steps are mixed so that what they leave cancels
    (`Mixing`), in some ten steps where shorter and shorter ones would take hundreds. Sites that settled under other
    hyperparameters are taken to be near. A likelihood that is not log-concave has plateaus on its way that look like
    tops, so from nothing its sites go all the way by plain steps.

    Parameters
    ----------
    model : LatentModel
        Whose sites they are.
    start : NaturalSites
        Where to begin.
    attempt : callable
        Tries sites.
    tolerance : float
        The gain, for each observation, below which a step is the last.
    rival : float, optional
        What the value will be compared with: a step is the last too where it gains little beside what lies between.
    """
    n = len(start.shift)
    near = _NEAR * n

    def enough(value: float) -> float:
        share = 0.0 if rival is None else min(_SHARE * abs(value - rival), _COARSEST * n)
        return max(tolerance * n, share)

    sites, here = start, attempt(start)
    if not here.is_possible:
        # Under other hyperparameters, sites of negative precision may leave nothing of the prior.
        sites = NaturalSites.empty(*start.shift.shape)
        here = attempt(sites)
    settled_before = bool(sites.precision.any())
    mixes = model.likelihood.is_log_concave or settled_before
    step, taken, gain = 1.0, 0, 0.0 if settled_before else np.inf
    while taken < _MOST_STEPS and step > _SHORTEST:
        if mixes and gain <= near:
            sites, here, more = _mix(model, sites, here, attempt, enough, near)
            taken, gain = taken + more, np.inf
            if more < _MOST_MIXED:
                break
        trial = _standing(model, sites, here).towards(here.target, step)
        there, taken = attempt(trial), taken + 1
        if not there.is_possible or there.value < here.value:
            # A step that overshoots is shortened; one that loses next to nothing was at the top already.
            step *= _SHRINKAGE
            if there.is_possible and here.value - there.value <= enough(here.value):
                break
            continue
        gain = there.value - here.value
        sites, here, step = trial, there, min(_LONGEST, _GROWTH * step)
        if gain <= enough(here.value):
            break
    return Settled(sites, here.marginals, here.value)


def _mix(
    model: LatentModel,
    sites: NaturalSites,
    here: Tried,
    attempt: Callable[[NaturalSites], Tried],
    enough: Callable[[float], float],
    near: float,
) -> tuple[NaturalSites, Tried, int]:
    """Mix steps until they change next to nothing, and return the best sites met, and how many steps it took.

    It took the most there may be where steps lead away from the top, or do not settle.
    """
    mixing, best, settling = Mixing(_MEMORY, _DAMPING), (sites, here), Settling(enough(here.value))
    settling.has_at(here.value)
    for taken in range(1, _MOST_MIXED):
        now = _standing(model, sites, here)
        sites = NaturalSites(*mixing.next(np.array(now), np.array(here.target)))
        there = attempt(sites)
        if not there.is_possible or there.value < best[1].value - near:
            break
        here = there
        if here.value > best[1].value:
            best = (sites, here)
        settling.enough = enough(here.value)
        if settling.has_at(here.value):
            return *best, taken
    return *best, _MOST_MIXED


def _standing(model: LatentModel, sites: NaturalSites, here: Tried) -> NaturalSites:
    """Return the sites that a step leaves from."""
    if not model.likelihood.is_shift_invariant:
        return sites
    return _without_common_shift(sites, here.marginals.mean, model.mean)


def _without_common_shift(sites: NaturalSites, mean: np.ndarray, prior_mean: np.ndarray) -> NaturalSites:
    """Return sites without what all latents have moved in common.

    A likelihood that cannot see a common shift leaves it at the prior's: the best q has it there, and sites that treat
    latents one by one approach that only slowly. With alpha = shift - precision * mean = K^-1 (mean - prior mean),
    moving every latent by -d, d = K a for the mean a of the alphas, takes the shifts by -a - precision * d.
    """
    share = np.full((len(prior_mean), 1), 1 / len(prior_mean))  # a product with it is a mean, and a quick one
    d = (mean - prior_mean) @ share
    a = (sites.shift - sites.precision * mean) @ share
    return NaturalSites(sites.shift - a - sites.precision * d, sites.precision)
