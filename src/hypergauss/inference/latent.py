r"""Latent functions seen through a likelihood, and the loop that moves their sites.

Each approximation q of the posterior is prior times sites, and each way of finding it is a target for the sites given
the marginals they lead to. A step of length rho mixes the natural parameters,

    site <- (1 - rho) site + rho target,

and is taken only if it does not lower what the method maximises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.solvers.choose import Solver, choose_solver, condition
from hypergauss.learning.search import Objective
from hypergauss.solvers.marginals import (
    DenseSystem,
    LowRankSystem,
    Marginals,
    NaturalSites,
    SparseSystem,
    System,
)
from hypergauss.solvers.base import Posterior, Prior
from hypergauss.learning.priors import Matched
from hypergauss.solvers.projection import Inducing
from hypergauss.solvers.sites import Sites
from hypergauss.kernels import Kernel
from hypergauss.likelihoods import Likelihood, as_classification

#: The loop ends when a step gains less than this for each observation: while learning, and for a final answer.
LOOSE, TIGHT = 1e-7, 1e-10
#: Or after this many steps, or at this step length.
_MOST_STEPS, _SHORTEST = 300, 1e-6
#: How a step's length follows success and failure. Where full steps, of length 1, creep, longer ones do not.
_GROWTH, _SHRINKAGE, _LONGEST = 1.5, 0.3, 16.0
#: Precision below which a site says nothing.
_NO_PRECISION = 1e-12


class LatentModel(eqx.Module):
    """L latent functions with one kernel and a constant mean each, seen through a likelihood."""

    kernel: Kernel
    likelihood: Likelihood
    mean: Array = parameters.bounded(-1e2, 1e2)
    fixed: tuple[str, ...] = eqx.field(static=True, default=())


class LatentData(eqx.Module):
    """Observed vertices, what was observed, and the system that gives marginals there."""

    rows: np.ndarray
    y: Array
    system: System

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        rows: np.ndarray,
        y: np.ndarray,
        *,
        solver: Solver = "auto",
        inducing: Inducing | None = None,
    ) -> LatentData:
        """Gather what the chosen solver, or the inducing variables, need."""
        system: System
        if inducing is not None:
            inducing.check(kernel)
            system = SparseSystem.of(kernel, rows, inducing)
        elif choose_solver(kernel, len(rows), solver) == "dense":
            system = DenseSystem.of(kernel, rows)
        else:
            system = LowRankSystem.of(kernel, rows)
        return cls(rows, parameters.as_array(y), system)


class SiteObjective(Objective):
    """An objective of hyperparameters whose every evaluation moves sites, from those of the best evaluation so far.

    The sites of a likelihood that is not log-concave can end in different places; starting from the best keeps the
    objective a function that a line search can follow.

    Parameters
    ----------
    model : LatentModel
        Whose hyperparameters are to be set.
    data : LatentData
        What was observed.
    start : NaturalSites, optional
        Where to begin.
    """

    def __init__(self, model: LatentModel, data: LatentData, start: NaturalSites | None = None) -> None:
        self.model, self.data = model, data
        self.sites = empty_sites(model, data) if start is None else start
        self.tolerance = LOOSE
        self._highest = -np.inf

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.data.rows)

    @abstractmethod
    def evaluate(self, theta: Array, priors: Matched, tolerance: Array) -> tuple[Array, Array, NaturalSites]:
        """Return value, gradient, and the sites found from ``self.sites``, to a tolerance."""

    @abstractmethod
    def find(self, theta: Array, priors: Matched, tolerance: Array) -> tuple[Array, NaturalSites]:
        """Return value and sites alone."""

    def value_and_gradient(self, theta: np.ndarray, priors: Matched) -> tuple[float, np.ndarray]:  # noqa: D102
        # The tolerance is passed as an array, so that one program serves both.
        value, gradient, sites = self.evaluate(jnp.asarray(theta), priors, parameters.as_array(self.tolerance))
        if value > self._highest and np.isfinite(gradient).all():
            self._highest, self.sites = float(value), sites
        return float(value), np.asarray(gradient)

    def value(self, theta: np.ndarray, priors: Matched) -> float:  # noqa: D102
        value, sites = self.find(jnp.asarray(theta), priors, parameters.as_array(self.tolerance))
        if value > self._highest:
            self._highest, self.sites = float(value), sites
        return float(value)

    @property
    def state(self) -> NaturalSites:
        """The sites of the best evaluation so far."""
        return self.sites


def empty_sites(model: LatentModel, data: LatentData) -> NaturalSites:
    """Return sites that say nothing, where q is the prior."""
    zeros = jnp.zeros((len(data.rows), model.likelihood.num_latents))
    return NaturalSites(zeros, zeros)


class State(NamedTuple):
    """One point of the loop: the best sites so far, and those to be tried next."""

    sites: NaturalSites
    marginals: Marginals
    value: Float[Array, ""]
    target: NaturalSites
    step: Float[Array, ""]
    gain: Float[Array, ""]
    taken: Float[Array, ""]


def move_sites(
    model: LatentModel,
    data: LatentData,
    start: NaturalSites,
    *,
    value: Callable[[NaturalSites], tuple[Array, Marginals]],
    target: Callable[[Marginals], NaturalSites],
    tolerance: Array | float = TIGHT,
) -> State:
    """Move sites towards their targets until the value stops rising; no step is taken that lowers it.

    Parameters
    ----------
    model, data : LatentModel, LatentData
        Whose sites they are.
    start : NaturalSites
        Where to begin.
    value : callable (sites) -> (what is maximised, marginals)
        What the steps must not lower.
    target : callable (marginals) -> sites
        Where a full step goes to.
    tolerance : float
        The gain, for each observation, below which a step is the last.
    """
    shape = jax.eval_shape(value, start)[1]
    nowhere = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)
    lowest, one = jnp.asarray(-jnp.inf), jnp.asarray(1.0)
    first = State(start, nowhere, lowest, start, one, jnp.asarray(jnp.inf), jnp.asarray(0))

    def unfinished(state: State) -> Array:
        enough = tolerance * len(data.rows)
        return (state.gain > enough) & (state.taken < _MOST_STEPS) & (state.step > _SHORTEST)

    def advance(state: State) -> State:
        here = state.sites
        if model.likelihood.is_shift_invariant:
            here = _without_common_shift(here, state.marginals.mean, model.mean)
        trial = jax.tree.map(lambda old, new: (1 - state.step) * old + state.step * new, here, state.target)
        reached, marginals = value(trial)
        good = jnp.isfinite(reached) & marginals.is_proper & (reached >= state.value)
        # The first pass only evaluates the start: nothing is gained yet, and no step has proved good.
        is_start = state.taken == 0
        gain = jnp.where(is_start, jnp.inf, reached - state.value)
        longer = jnp.where(is_start, 1.0, jnp.minimum(_LONGEST, _GROWTH * state.step))
        accepted = State(trial, marginals, reached, target(marginals), longer, gain, state.taken + 1)
        # A step that overshoots is shortened; one that loses next to nothing was at the top already.
        lost = jnp.where(jnp.isfinite(reached), jnp.abs(reached - state.value), jnp.inf)
        rejected = state._replace(step=_SHRINKAGE * state.step, gain=lost, taken=state.taken + 1)
        return jax.tree.map(lambda a, b: jnp.where(good, a, b), accepted, rejected)

    return jax.lax.while_loop(unfinished, advance, first)


def _without_common_shift(
    sites: NaturalSites, mean: Float[Array, "n L"], prior_mean: Float[Array, " L"]
) -> NaturalSites:
    """Return sites without what all latents have moved in common.

    A likelihood that cannot see a common shift leaves it at the prior's: the best q has it there, and sites that treat
    latents one by one approach that only slowly. With alpha = shift - precision * mean = K^-1 (mean - prior mean),
    moving every latent by -d, d = K a for the mean a of the alphas, takes the shifts by -a - precision * d.
    """
    d = (mean - prior_mean).mean(axis=1, keepdims=True)
    a = (sites.shift - sites.precision * mean).mean(axis=1, keepdims=True)
    return NaturalSites(sites.shift - a - sites.precision * d, sites.precision)


class GaussianLatents(NamedTuple):
    """The latent functions under a Gaussian approximation: independent posteriors, one each."""

    posteriors: tuple[Posterior, ...]
    likelihood: Likelihood

    @classmethod
    def of(
        cls,
        model: LatentModel,
        rows: np.ndarray,
        sites: NaturalSites,
        solver: Solver = "auto",
        *,
        inducing: Inducing | None = None,
        workspace: Any = None,
    ) -> GaussianLatents:
        """Condition each latent function on its sites; ``workspace`` is what learning may have left behind."""
        posteriors = []
        for latent in range(model.likelihood.num_latents):
            precision = np.asarray(sites.precision[:, latent])
            precision = np.where(np.abs(precision) < _NO_PRECISION, _NO_PRECISION, precision)
            pseudo = np.asarray(sites.shift[:, latent]) / precision
            prior = Prior(model.kernel, np.asarray(model.mean[latent : latent + 1]))
            found = Sites(rows, pseudo[:, None], 1 / precision)
            posteriors.append(condition(prior, found, solver, inducing, workspace=workspace))
        return cls(tuple(posteriors), model.likelihood)

    @property
    def solver(self) -> str:
        """Which solver made them."""
        return self.posteriors[0].solver

    def conditionals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each latent at vertices given by index, shape (m, L)."""
        mean = np.hstack([posterior.mean(rows) for posterior in self.posteriors])
        variance = np.stack([posterior.variance(rows) for posterior in self.posteriors], axis=1)
        return mean, variance

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class at vertices given by index, shape (m, C)."""
        mean, variance = (parameters.as_array(moment) for moment in self.conditionals(rows))
        return np.asarray(as_classification(self.likelihood).probabilities(mean, variance))

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L)."""
        return np.concatenate([posterior.sample(rows, size, rng) for posterior in self.posteriors], axis=2)
