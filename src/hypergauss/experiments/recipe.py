r"""The paper's own training (Appendix A): small natural-gradient steps in turn with Adam, for a fixed number of steps.

Natural gradients and Adam both at rate 0.001; positive hyperparameters through the softplus function, starting from
nu = 1.5, lengthscale 5 and variance 1.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from hypergauss.inference.latent import LatentData, LatentModel, empty_sites
from hypergauss.solvers.marginals import NaturalSites
from hypergauss.inference.variational import elbo, likelihood_sites
from hypergauss.kernels import Matern

RATE, NUM_STEPS = 1e-3, 1000


class Trained(NamedTuple):
    """What a training leaves: the model, its sites, and the bound before each step and after the last."""

    model: LatentModel
    sites: NaturalSites
    trace: np.ndarray


def train_as_the_paper(model: LatentModel, data: LatentData, *, steps: int = NUM_STEPS, rate: float = RATE) -> Trained:
    """Train a model with a Matern kernel by the paper's recipe; the class means stay at zero, as the paper has none."""
    kernel = model.kernel
    if not isinstance(kernel, Matern):
        raise TypeError(f"The paper's recipe trains a Matern kernel. Got {type(kernel).__name__}.")
    start = jnp.log(jnp.expm1(jnp.stack([1.0 / kernel.inverse_nu, kernel.lengthscale, kernel.variance])))
    theta, sites, trace = _train(start, model, data, steps, rate)
    return Trained(_with_positive(model, theta), sites, np.asarray(trace))


def _with_positive(model: LatentModel, theta: Float[Array, " 3"]) -> LatentModel:
    """Return the model at softplus(theta) = (nu, lengthscale, variance)."""
    nu, lengthscale, variance = jax.nn.softplus(theta)
    return eqx.tree_at(
        lambda m: (m.kernel.inverse_nu, m.kernel.lengthscale, m.kernel.variance),
        model,
        (1.0 / nu, lengthscale, variance),
    )


@eqx.filter_jit
def _train(
    theta: Array, model: LatentModel, data: LatentData, steps: int, rate: float
) -> tuple[Array, NaturalSites, Array]:
    adam = optax.adam(rate)

    def step(carry: tuple, _: None) -> tuple[tuple, Array]:
        theta, moments, sites = carry
        here = _with_positive(model, theta)
        value, marginals = elbo(here, data, sites)
        target = likelihood_sites(here.likelihood, marginals, data.y)
        sites = jax.tree.map(lambda old, new: (1 - rate) * old + rate * new, sites, target)
        gradient = jax.grad(lambda t: elbo(_with_positive(model, t), data, sites)[0])(theta)
        update, moments = adam.update(-gradient, moments)
        return (theta + update, moments, sites), value

    first = (theta, adam.init(theta), empty_sites(model, data))
    (theta, _, sites), trace = jax.lax.scan(step, first, None, length=steps)
    last, _ = elbo(_with_positive(model, theta), data, sites)
    return theta, sites, jnp.append(trace, last)
