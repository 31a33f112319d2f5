r"""Conjugate-computation variational inference: natural gradients on the full Gaussian posterior, as moving sites.

The best Gaussian q has the form prior times sites. A natural-gradient step of length rho replaces each site by a
mixture of itself and the likelihood's own gradient (Khan and Lin, 2017; Adam et al., 2021):

    precision <- (1 - rho) precision + rho (-2 d/dvariance E log p(y | f)),
    shift     <- (1 - rho) shift     + rho (d/dmean E log p(y | f) + new precision * mean),

and the bound is  ELBO = log Z + sum of ( E log p(y | f) - E log site(f) ).
At the fixed point its gradient in the hyperparameters, with the sites held, is that of the best bound.
"""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.inference.latent import TIGHT, LatentData, LatentModel, SiteObjective, State, move_sites
from hypergauss.solvers.marginals import Marginals, NaturalSites
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.likelihoods import Likelihood


def elbo(model: LatentModel, data: LatentData, sites: NaturalSites) -> tuple[Float[Array, ""], Marginals]:
    """Return the evidence lower bound at given sites, and the marginals there."""
    marginals = data.system(model.kernel, model.mean, sites)
    mean, variance = marginals.mean, marginals.variance
    likelihood = model.likelihood.expected_log_density(mean, marginals.total_variance, data.y).sum()
    of_sites = (sites.shift * mean - sites.precision * (mean**2 + variance) / 2).sum()
    return marginals.log_partition + likelihood - of_sites, marginals


@eqx.filter_jit
def best_sites(model: LatentModel, data: LatentData, start: NaturalSites, tolerance: Array | float = TIGHT) -> State:
    """Move sites by natural-gradient steps until the bound stops rising."""
    return move_sites(
        model,
        data,
        start,
        value=partial(elbo, model, data),
        target=lambda marginals: likelihood_sites(model.likelihood, marginals, data.y),
        tolerance=tolerance,
    )


def likelihood_sites(likelihood: Likelihood, marginals: Marginals, y: Float[Array, " n"]) -> NaturalSites:
    """Return the sites that a full natural-gradient step goes to."""

    def expected(mean: Array, variance: Array) -> Array:
        return likelihood.expected_log_density(mean, variance, y).sum()

    slope, curvature = jax.grad(expected, argnums=(0, 1))(marginals.mean, marginals.total_variance)
    precision = -2 * curvature
    if likelihood.is_log_concave:
        precision = jnp.maximum(precision, 0.0)  # below zero by no more than the quadrature's error
    return NaturalSites(slope + precision * marginals.mean, precision)


class VariationalObjective(SiteObjective):
    """The best bound at given hyperparameters."""

    def evaluate(self, theta: Array, priors: Matched, tolerance: Array) -> tuple[Array, Array, NaturalSites]:  # noqa: D102
        return _best_bound(theta, self.model, self.data, self.sites, priors, tolerance)

    def find(self, theta: Array, priors: Matched, tolerance: Array) -> tuple[Array, NaturalSites]:  # noqa: D102
        return _best_bound_alone(theta, self.model, self.data, self.sites, priors, tolerance)


@eqx.filter_jit
def _best_bound_alone(
    theta: Array,
    template: LatentModel,
    data: LatentData,
    start: NaturalSites,
    priors: Matched,
    tolerance: Array,
) -> tuple[Array, NaturalSites]:
    """Return the best bound (plus log prior) at coordinates theta, and the sites that reach it."""
    model = parameters.unpack(template, theta)
    state = best_sites(model, data, start, tolerance)
    return state.value + log_prior(model, priors), state.sites


@eqx.filter_jit
def _best_bound(
    theta: Array,
    template: LatentModel,
    data: LatentData,
    start: NaturalSites,
    priors: Matched,
    tolerance: Array,
) -> tuple[Array, Array, NaturalSites]:
    """Return the same with its gradient in theta."""
    state = best_sites(parameters.unpack(template, theta), data, start, tolerance)
    sites = jax.lax.stop_gradient(state.sites)

    def objective(theta: Array) -> Array:
        model = parameters.unpack(template, theta)
        return elbo(model, data, sites)[0] + log_prior(model, priors)

    value, gradient = jax.value_and_grad(objective)(theta)
    return value, gradient, sites
