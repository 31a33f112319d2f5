r"""Mini-batches: stochastic natural gradients for the inducing variables, Adam for the hyperparameters.

Each latent is f = mean + F c + g with c ~ N(0, W) (`projection`), and q(c) = prior times exp(shift'c - c' P c / 2). A
batch B of the n observations, with the sites that its marginals ask for (`likelihood_sites`), moves q by

    P     <- (1 - rho) P     + rho n/|B| F_B' diag(precision) F_B,
    shift <- (1 - rho) shift + rho n/|B| F_B' (site shift - precision * mean),

and gives an unbiased estimate of the bound, sum of E log p(y | f) - KL(q(c) | prior). An evaluation costs
O(|B| J^2 + J^3), however large n is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.inference.latent import LatentModel
from hypergauss.solvers.marginals import Marginals, NaturalSites
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.solvers.projection import Inducing
from hypergauss.inference.variational import likelihood_sites

#: Length of natural-gradient steps in the first pass; pass t takes it times t^-_FADING, so that the noise dies out.
#: A batch of everything has no noise, and keeps the length.
_FIRST_STEP, _FADING = 0.5, 0.6
#: Of Adam, in the coordinates that learning moves (mostly logarithms).
_LEARNING_RATE = 0.03
#: Rows whose features are held at once when all observations are passed over.
_CHUNK = 8192


class Coefficients(NamedTuple):
    """What the data say of the inducing variables of each latent: natural parameters."""

    shift: Float[Array, "L J"]
    precision: Float[Array, "L J J"]


class Batch(NamedTuple):
    """Gathered inputs of some observations, what was observed, and how many observations each stands for."""

    inputs: Any
    y: Float[Array, " b"]
    weight: Float[Array, ""]

    @classmethod
    def of(cls, model: LatentModel, rows: np.ndarray, y: np.ndarray, part: Any, num_observations: int) -> Batch:
        """Gather some of the observations. All that differs between batches is an array: nothing is compiled anew."""
        inputs, observed = model.kernel.inputs(rows[part]), jnp.asarray(y[part], float)
        return cls(inputs, observed, jnp.asarray(num_observations / len(observed)))


class InBatches(NamedTuple):
    """The outcome: the learned model, sites of every observation, the bound, and its estimate after each pass."""

    model: LatentModel
    sites: NaturalSites
    elbo: float
    trace: np.ndarray


def learn_in_batches(
    model: LatentModel,
    rows: np.ndarray,
    y: np.ndarray,
    inducing: Inducing,
    *,
    batch_size: int,
    n_passes: int,
    learn: bool = True,
    priors: Matched = (),
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> InBatches:
    """Learn q and the hyperparameters together, a batch at a time.

    Parameters
    ----------
    model : LatentModel
        Where to start.
    rows, y : arrays, shape (n,)
        Observed vertices by index, and what was observed.
    inducing : Inducing
        The inducing variables.
    batch_size, n_passes : int
        Observations in a batch, and how often all are passed over.
    learn : bool
        Whether hyperparameters move; q always does.
    priors : Matched
        On hyperparameters (`match_priors`).
    seed : int
        For the order of the observations.
    report : callable, optional
        Called with a line of text after each pass.
    """
    inducing.check(model.kernel)
    rng = np.random.default_rng(seed)
    n, size = len(rows), min(batch_size, len(rows))
    theta = jnp.asarray(parameters.pack(model))
    limits = parameters.bounds(model)
    adam = optax.adam(_LEARNING_RATE)
    moments = adam.init(theta)
    L, J = model.likelihood.num_latents, len(inducing.weights(model.kernel))
    q = Coefficients(jnp.zeros((L, J)), jnp.zeros((L, J, J)))
    trace = []
    for number in range(1, n_passes + 1):
        fading = number**-_FADING if size < n else 1.0
        rho, estimates = jnp.asarray(_FIRST_STEP * fading), []
        for part in np.array_split(rng.permutation(n), max(n // size, 1)):
            batch = Batch.of(model, rows, y, part, n)
            q = _natural_step(theta, model, inducing, batch, q, rho)
            value, gradient = _estimate(theta, model, inducing, batch, q, priors)
            estimates.append(float(value))
            if learn and np.isfinite(gradient).all():
                update, moments = adam.update(-gradient / n, moments)
                theta = jnp.clip(theta + update, limits[:, 0], limits[:, 1])
        trace.append(float(np.mean(estimates)))
        if report is not None:
            report(f"bound {trace[-1]:,.2f} after {number} passes")
    learned = parameters.unpack(model, theta)
    sites, elbo = _pass_over(learned, rows, y, inducing, q)
    return InBatches(learned, sites, elbo, np.array(trace))


def _marginals(
    model: LatentModel, inducing: Inducing, inputs: Any, q: Coefficients
) -> tuple[Marginals, Float[Array, "b J"], Float[Array, ""]]:
    """Return the marginals of f, the features, and KL(q(c) | prior) summed over latents.

    With R = W^1/2 and M = I + R P R, c has covariance R M^-1 R; nothing divides by a weight.
    """
    projected = inducing.project(model.kernel)
    F, root = projected.features(inputs), jnp.sqrt(projected.weights())
    eye = jnp.eye(len(root))

    def one(of: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        mean, shift, precision = of
        factor = jnp.linalg.cholesky(eye + root[:, None] * precision * root)
        white = cho_solve((factor, True), root * shift)
        half = solve_triangular(factor, (F * root).T, lower=True)
        inverse = solve_triangular(factor, eye, lower=True)
        log_det = 2 * jnp.log(jnp.diagonal(factor)).sum()
        divergence = ((inverse**2).sum() + white @ white - len(root) + log_det) / 2
        return mean + F @ (root * white), (half**2).sum(axis=0), divergence

    means, variances, divergences = jax.lax.map(one, (model.mean, q.shift, q.precision))
    unexplained = projected.unexplained(inputs)[:, None]
    return Marginals(means.T, variances.T, jnp.zeros(()), jnp.asarray(True), unexplained), F, divergences.sum()


@eqx.filter_jit
def _natural_step(
    theta: Array, template: LatentModel, inducing: Inducing, batch: Batch, q: Coefficients, rho: Array
) -> Coefficients:
    model = parameters.unpack(template, theta)
    marginals, F, _ = _marginals(model, inducing, batch.inputs, q)
    sites = likelihood_sites(model.likelihood, marginals, batch.y)
    # A batch's negative precisions, scaled up, could make q improper.
    precision = jnp.maximum(sites.precision, 0.0)
    shift = sites.shift - sites.precision * marginals.mean + precision * (marginals.mean - model.mean)
    new_shift = batch.weight * (shift.T @ F)
    new_precision = batch.weight * jnp.einsum("bl,bj,bk->ljk", precision, F, F)
    return Coefficients(*((1 - rho) * old + rho * new for old, new in zip(q, (new_shift, new_precision), strict=True)))


@eqx.filter_jit
def _estimate(
    theta: Array, template: LatentModel, inducing: Inducing, batch: Batch, q: Coefficients, priors: Matched
) -> tuple[Array, Array]:
    """Return the batch's estimate of the bound (plus log prior), and its gradient."""

    def objective(theta: Array) -> Array:
        model = parameters.unpack(template, theta)
        marginals, _, divergence = _marginals(model, inducing, batch.inputs, q)
        expected = model.likelihood.expected_log_density(marginals.mean, marginals.total_variance, batch.y)
        return batch.weight * expected.sum() - divergence + log_prior(model, priors)

    return jax.value_and_grad(objective)(theta)


def _pass_over(
    model: LatentModel, rows: np.ndarray, y: np.ndarray, inducing: Inducing, q: Coefficients
) -> tuple[NaturalSites, float]:
    """Return every observation's site under q, and the bound itself."""
    parts, expected = [], 0.0
    divergence: Array | float = 0.0
    for part in _chunks(len(rows)):
        batch = Batch.of(model, rows, y, part, len(rows[part]))
        sites, value, divergence = _sites_of(model, inducing, batch, q)
        parts.append(sites)
        expected += float(value)
    shift, precision = (jnp.concatenate(leaves) for leaves in zip(*parts, strict=True))
    return NaturalSites(shift, precision), expected - float(divergence)


@eqx.filter_jit
def _sites_of(
    model: LatentModel, inducing: Inducing, batch: Batch, q: Coefficients
) -> tuple[NaturalSites, Array, Array]:
    marginals, _, divergence = _marginals(model, inducing, batch.inputs, q)
    expected = model.likelihood.expected_log_density(marginals.mean, marginals.total_variance, batch.y).sum()
    return likelihood_sites(model.likelihood, marginals, batch.y), expected, divergence


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, _CHUNK):
        yield slice(start, start + _CHUNK)
