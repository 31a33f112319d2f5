r"""Laplace's approximation: a Gaussian at the posterior's mode, with the likelihood's curvature there as sites.

Newton's method moves the sites to

    precision = -d^2/df^2 log p(y | f),    shift = d/df log p(y | f) + precision * f,

both at the current mean f, with steps that never lower log p(y | f) - (f - mean)' K^-1 (f - mean) / 2. Then

    log p(y) ~ log Z + sum of ( log p(y | f) - log site(f) )    at the mode.

Sites treat latents one by one, so of several latents' curvature only the diagonal is kept: the mode is exact, the
covariance leaves out how a likelihood ties latents together. With one latent it is the textbook's approximation
(Rasmussen and Williams, 2006, section 3.4).
"""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import gmres
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.inference.latent import TIGHT, LatentData, LatentModel, SiteObjective, State, move_sites
from hypergauss.solvers.marginals import Marginals, NaturalSites
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.likelihoods import Likelihood


def log_joint(model: LatentModel, data: LatentData, sites: NaturalSites) -> tuple[Float[Array, ""], Marginals]:
    """Return log p(y | f) - (f - mean)' K^-1 (f - mean) / 2 at the mean f that sites lead to, and the marginals."""
    marginals = data.system(model.kernel, model.mean, sites)
    f = marginals.mean
    alpha = sites.shift - sites.precision * f  # K^-1 (f - mean)
    prior = -(alpha * (f - model.mean)).sum() / 2
    return model.likelihood.log_density(f, data.y).sum() + prior, marginals


@eqx.filter_jit
def mode_sites(model: LatentModel, data: LatentData, start: NaturalSites, tolerance: Array | float = TIGHT) -> State:
    """Move sites by Newton steps to the posterior's mode."""
    return move_sites(
        model,
        data,
        start,
        value=partial(log_joint, model, data),
        target=lambda marginals: curvature_sites(model.likelihood, marginals.mean, data.y),
        tolerance=tolerance,
    )


def curvature_sites(likelihood: Likelihood, f: Float[Array, "n L"], y: Float[Array, " n"]) -> NaturalSites:
    """Return the second-order expansion of log p(y | f) around f, latent by latent."""

    def slope(f: Array) -> Array:
        return jax.grad(lambda f: likelihood.log_density(f, y).sum())(f)

    # Vertices do not interact, so one product with a unit vector gives a latent's curvature at all of them.
    units = jnp.eye(f.shape[1])
    columns = [jax.jvp(slope, (f,), (jnp.broadcast_to(unit, f.shape),))[1] @ unit for unit in units]
    precision = -jnp.stack(columns, axis=1)
    if likelihood.is_log_concave:
        precision = jnp.maximum(precision, 0.0)
    return NaturalSites(slope(f) + precision * f, precision)


def log_evidence(model: LatentModel, data: LatentData, f: Float[Array, "n L"]) -> Float[Array, ""]:
    """Return the approximate log evidence if the mode is f."""
    sites = curvature_sites(model.likelihood, f, data.y)
    marginals = data.system(model.kernel, model.mean, sites)
    of_sites = (sites.shift * f - sites.precision * f**2 / 2).sum()
    return marginals.log_partition + model.likelihood.log_density(f, data.y).sum() - of_sites


class LaplaceObjective(SiteObjective):
    """The approximate log evidence at given hyperparameters."""

    def __init__(self, model: LatentModel, data: LatentData, start: NaturalSites | None = None) -> None:
        if not model.likelihood.has_mode:
            raise ValueError(
                f"Laplace's approximation needs a likelihood with slopes. Got {type(model.likelihood).__name__}, whose "
                "log density is flat but for jumps. Use softmax, or variational inference."
            )
        super().__init__(model, data, start)

    def evaluate(self, theta: Array, priors: Matched, tolerance: Array) -> tuple[Array, Array, NaturalSites]:  # noqa: D102
        return _evidence_at_mode(theta, self.model, self.data, self.sites, priors, tolerance)

    def find(self, theta: Array, priors: Matched, tolerance: Array) -> tuple[Array, NaturalSites]:  # noqa: D102
        return _evidence_alone(theta, self.model, self.data, self.sites, priors, tolerance)


@eqx.filter_jit
def _evidence_alone(
    theta: Array,
    template: LatentModel,
    data: LatentData,
    start: NaturalSites,
    priors: Matched,
    tolerance: Array,
) -> tuple[Array, NaturalSites]:
    """Return the log evidence (plus log prior) at coordinates theta, and the sites at the mode."""
    model = parameters.unpack(template, theta)
    f = mode_sites(model, data, start, tolerance).marginals.mean
    # The evidence is not flat in f as the posterior is: a full step more squares what is left of the error.
    mode = _newton(model, data, f)
    value = log_evidence(model, data, mode) + log_prior(model, priors)
    return value, curvature_sites(model.likelihood, mode, data.y)


def _newton(model: LatentModel, data: LatentData, f: Float[Array, "n L"]) -> Float[Array, "n L"]:
    """Return where a full Newton step from f leads."""
    return data.system(model.kernel, model.mean, curvature_sites(model.likelihood, f, data.y)).mean


@eqx.filter_jit
def _evidence_at_mode(
    theta: Array,
    template: LatentModel,
    data: LatentData,
    start: NaturalSites,
    priors: Matched,
    tolerance: Array,
) -> tuple[Array, Array, NaturalSites]:
    """Return the log evidence (plus log prior), its gradient in the coordinates theta, and the sites at the mode.

    The mode f moves with theta. It solves f = newton(theta, f), so the gradient gains lambda' d newton / d theta with
    lambda = d value / df + (d newton / df)' lambda.
    """
    state = mode_sites(parameters.unpack(template, theta), data, start, tolerance)

    def objective(theta: Array, f: Array) -> Array:
        model = parameters.unpack(template, theta)
        return log_evidence(model, data, f) + log_prior(model, priors)

    def newton(theta: Array, f: Array) -> Array:
        return _newton(parameters.unpack(template, theta), data, f)

    mode = jax.lax.stop_gradient(newton(theta, state.marginals.mean))
    value, (direct, at_mode) = jax.value_and_grad(objective, argnums=(0, 1))(theta, mode)
    _, pull = jax.vjp(newton, theta, mode)
    adjoint, _ = gmres(lambda v: v - pull(v)[1], at_mode, tol=1e-10, atol=1e-12, restart=30, maxiter=10)
    return (
        value,
        direct + pull(adjoint)[0],
        curvature_sites(parameters.unpack(template, theta).likelihood, mode, data.y),
    )
