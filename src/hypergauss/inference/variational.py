r"""Conjugate-computation variational inference: natural gradients on the full Gaussian posterior, as moving sites.

The best Gaussian q has the form prior times sites. A natural-gradient step of length rho replaces each site by a
mixture of itself and the likelihood's own gradient (Khan and Lin, 2017; Adam et al., 2021):

    precision <- (1 - rho) precision + rho (-2 d/dvariance E log p(y | f)),
    shift     <- (1 - rho) shift     + rho (d/dmean E log p(y | f) + new precision * mean),

and the bound is  ELBO = log Z + sum of ( E log p(y | f) - E log site(f) ).
At the fixed point its gradient in the hyperparameters, with the sites held, is that of the best bound.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.inference.conditioning import choose_solver, condition
from hypergauss.inference.learning import Objective
from hypergauss.inference.marginals import DenseSystem, LowRankSystem, Marginals, NaturalSites, System
from hypergauss.inference.posterior import Posterior, Prior
from hypergauss.inference.priors import Matched, log_prior
from hypergauss.inference.sites import Sites
from hypergauss.kernels import Kernel
from hypergauss.likelihoods import Likelihood

#: The inner loop ends when a full step gains less than this for each observation, or after this many steps.
_GAIN, _MOST_STEPS = 1e-9, 200
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
    def of(cls, kernel: Kernel, rows: np.ndarray, y: np.ndarray, solver: str = "auto") -> LatentData:
        """Gather what the chosen solver needs."""
        dense = choose_solver(kernel, len(rows), solver) == "dense"
        return cls(rows, parameters.as_array(y), (DenseSystem if dense else LowRankSystem).of(kernel, rows))


class State(NamedTuple):
    """One point of the inner loop."""

    sites: NaturalSites
    marginals: Marginals
    elbo: Float[Array, ""]
    step: Float[Array, ""]
    gain: Float[Array, ""]
    taken: Float[Array, ""]


def empty_sites(model: LatentModel, data: LatentData) -> NaturalSites:
    """Return sites that say nothing, where q is the prior."""
    zeros = jnp.zeros((len(data.rows), model.likelihood.num_latents))
    return NaturalSites(zeros, zeros)


def elbo(model: LatentModel, data: LatentData, sites: NaturalSites) -> tuple[Float[Array, ""], Marginals]:
    """Return the evidence lower bound at given sites, and the marginals there."""
    marginals = data.system(model.kernel, model.mean, sites)
    mean, variance, log_partition = marginals
    likelihood = model.likelihood.expected_log_density(mean, variance, data.y).sum()
    of_sites = (sites.shift * mean - sites.precision * (mean**2 + variance) / 2).sum()
    return log_partition + likelihood - of_sites, marginals


def best_sites(model: LatentModel, data: LatentData, start: NaturalSites) -> State:
    """Move sites by natural-gradient steps until the bound stops rising; no step is taken that lowers it."""
    value, marginals = elbo(model, data, start)
    big = jnp.asarray(jnp.inf)
    first = State(start, marginals, value, jnp.asarray(1.0), big, jnp.asarray(0))

    def unfinished(state: State) -> Array:
        return (state.gain > _GAIN * len(data.rows)) & (state.taken < _MOST_STEPS) & (state.step > 1e-6)

    def advance(state: State) -> State:
        here, mean = state.sites, state.marginals.mean
        if model.likelihood.is_shift_invariant:
            here, mean = _without_common_shift(here, mean, model.mean)
        target = likelihood_sites(model.likelihood, mean, state.marginals.variance, data.y)
        moved = jax.tree.map(lambda old, new: (1 - state.step) * old + state.step * new, here, target)
        value, marginals = elbo(model, data, moved)
        good = jnp.isfinite(value) & (marginals.variance > 0).all() & (value >= state.elbo)
        accepted = State(moved, marginals, value, jnp.minimum(1.0, 2 * state.step), value - state.elbo, state.taken + 1)
        # A step that overshoots is halved; the gain stays large so that the loop goes on.
        rejected = state._replace(step=state.step / 2, gain=big, taken=state.taken + 1)
        return jax.tree.map(lambda a, b: jnp.where(good, a, b), accepted, rejected)

    return jax.lax.while_loop(unfinished, advance, first)


def _without_common_shift(
    sites: NaturalSites, mean: Float[Array, "n L"], prior_mean: Float[Array, " L"]
) -> tuple[NaturalSites, Float[Array, "n L"]]:
    """Return sites, and their posterior mean, without what all latents have moved in common.

    A likelihood that cannot see a common shift leaves it at the prior's: the best q has it there, and sites that treat
    latents one by one approach that only slowly. With alpha = shift - precision * mean = K^-1 (mean - prior mean),
    moving every latent by -d, d = K a for the mean a of the alphas, takes the shifts by -a - precision * d.
    """
    d = (mean - prior_mean).mean(axis=1, keepdims=True)
    a = (sites.shift - sites.precision * mean).mean(axis=1, keepdims=True)
    return NaturalSites(sites.shift - a - sites.precision * d, sites.precision), mean - d


def likelihood_sites(
    likelihood: Likelihood, mean: Float[Array, "n L"], variance: Float[Array, "n L"], y: Float[Array, " n"]
) -> NaturalSites:
    """Return the sites that a full natural-gradient step goes to."""

    def expected(mean: Array, variance: Array) -> Array:
        return likelihood.expected_log_density(mean, variance, y).sum()

    slope, curvature = jax.grad(expected, argnums=(0, 1))(mean, variance)
    precision = -2 * curvature
    if likelihood.is_log_concave:
        precision = jnp.maximum(precision, 0.0)  # below zero by no more than the quadrature's error
    return NaturalSites(slope + precision * mean, precision)


class VariationalObjective(Objective):
    """The best bound at given hyperparameters, found from the sites of the last evaluation."""

    def __init__(self, model: LatentModel, data: LatentData) -> None:
        self.model, self.data = model, data
        self.sites = empty_sites(model, data)

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.data.rows)

    def best(self) -> State:
        """Return the sites that reach the best bound at the model's own hyperparameters."""
        return _best_sites(self.model, self.data, self.sites)

    def value_and_gradient(self, theta: np.ndarray, priors: Matched) -> tuple[float, np.ndarray]:  # noqa: D102
        value, gradient, sites = _best_bound(jnp.asarray(theta), self.model, self.data, self.sites, priors)
        if np.isfinite(value):
            self.sites = sites
        else:  # start afresh from where the sites say nothing
            self.sites = empty_sites(self.model, self.data)
        return float(value), np.asarray(gradient)


_best_sites = eqx.filter_jit(best_sites)


@eqx.filter_jit
def _best_bound(
    theta: Array, template: LatentModel, data: LatentData, start: NaturalSites, priors: Matched
) -> tuple[Array, Array, NaturalSites]:
    """Return the best bound (plus log prior), its gradient in the coordinates theta, and the sites that reach it."""
    state = best_sites(parameters.unpack(template, theta), data, start)
    sites = jax.lax.stop_gradient(state.sites)

    def objective(theta: Array) -> Array:
        model = parameters.unpack(template, theta)
        return elbo(model, data, sites)[0] + log_prior(model, priors)

    value, gradient = jax.value_and_grad(objective)(theta)
    return value, gradient, sites


def latent_posteriors(
    model: LatentModel, data: LatentData, sites: NaturalSites, solver: str = "auto"
) -> tuple[Posterior, ...]:
    """Return the posterior of each latent function under its sites."""
    posteriors = []
    for latent in range(model.likelihood.num_latents):
        precision = np.asarray(sites.precision[:, latent])
        precision = np.where(np.abs(precision) < _NO_PRECISION, _NO_PRECISION, precision)
        pseudo = np.asarray(sites.shift[:, latent]) / precision
        prior = Prior(model.kernel, np.asarray(model.mean[latent : latent + 1]))
        posteriors.append(condition(prior, Sites(data.rows, pseudo[:, None], 1 / precision), solver))
    return tuple(posteriors)
