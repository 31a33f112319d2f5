r"""The loop that moves sites, and objectives whose every evaluation runs it.

Each approximation q of the posterior is prior times sites, and each way of finding it is a target for the sites given
the marginals they lead to. A step of length rho mixes the natural parameters,

    site <- (1 - rho) site + rho target,

and is taken only if it does not lower what the method maximises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hypergauss.inference.latent_model import LatentModel
from hypergauss.learning.search import Objective
from hypergauss.solvers.base import ExactSolver, Marginals
from hypergauss.solvers.sites import NaturalSites

#: The loop ends when a step gains less than this for each observation: while learning, and for a final answer.
LOOSE, TIGHT = 1e-9, 1e-12
#: Or after this many steps, or at this step length.
_MOST_STEPS, _SHORTEST = 300, 1e-6
#: How a step's length follows success and failure. Where full steps, of length 1, creep, longer ones do not.
_GROWTH, _SHRINKAGE, _LONGEST = 1.5, 0.3, 16.0


class Settled(NamedTuple):
    """Where the loop ended: sites, the marginals they lead to, and what was maximised."""

    sites: NaturalSites
    marginals: Marginals
    value: float


class SiteObjective(Objective):
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

    def __init__(
        self, solver: ExactSolver, y: np.ndarray, num_latents: int, start: NaturalSites | None = None
    ) -> None:
        self.solver, self.y = solver, np.asarray(y, dtype=np.float64)
        self.sites = NaturalSites.empty(len(self.y), num_latents) if start is None else start
        self.tolerance = LOOSE
        self._highest = -np.inf

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.y)

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

    def value(self, model: LatentModel) -> float:  # noqa: D102
        found = self.settle(model)
        if found.value > self._highest:
            self._highest, self.sites = found.value, found.sites
        return found.value


def move_sites(
    model: LatentModel,
    start: NaturalSites,
    *,
    value: Callable[[NaturalSites], tuple[float, Marginals, NaturalSites]],
    tolerance: float = TIGHT,
) -> Settled:
    """Move sites towards their targets until the value stops rising; no step is taken that lowers it.

    Parameters
    ----------
    model : LatentModel
        Whose sites they are.
    start : NaturalSites
        Where to begin.
    value : callable (sites) -> (what is maximised, marginals, target)
        What the steps must not lower, and where a full step goes to.
    tolerance : float
        The gain, for each observation, below which a step is the last.
    """
    sites = start
    best, marginals, target = value(start)
    enough = tolerance * len(start.shift)
    step = 1.0
    for _ in range(_MOST_STEPS):
        if step < _SHORTEST:
            break
        here = sites
        if model.likelihood.is_shift_invariant:
            here = _without_common_shift(sites, marginals.mean, model.mean)
        trial = here.towards(target, step)
        reached, there, next_target = value(trial)
        if np.isfinite(reached) and there.is_proper and not reached < best:
            gain = reached - best
            sites, best, marginals, target = trial, reached, there, next_target
            step = min(_LONGEST, _GROWTH * step)
        else:
            # A step that overshoots is shortened; one that loses next to nothing was at the top already.
            gain = abs(reached - best) if np.isfinite(reached) else np.inf
            step *= _SHRINKAGE
        if gain <= enough:
            break
    return Settled(sites, marginals, best)


def _without_common_shift(sites: NaturalSites, mean: np.ndarray, prior_mean: np.ndarray) -> NaturalSites:
    """Return sites without what all latents have moved in common.

    A likelihood that cannot see a common shift leaves it at the prior's: the best q has it there, and sites that treat
    latents one by one approach that only slowly. With alpha = shift - precision * mean = K^-1 (mean - prior mean),
    moving every latent by -d, d = K a for the mean a of the alphas, takes the shifts by -a - precision * d.
    """
    d = (mean - prior_mean).mean(axis=1, keepdims=True)
    a = (sites.shift - sites.precision * mean).mean(axis=1, keepdims=True)
    return NaturalSites(sites.shift - a - sites.precision * d, sites.precision)
