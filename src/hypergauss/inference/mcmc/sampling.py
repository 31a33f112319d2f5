r"""Markov chain Monte Carlo: latents and hyperparameters drawn together by elliptical slice sampling.

A model in whitened coordinates u (hyperparameters) and z (latents) is a likelihood of independent standard normals.
An elliptical slice step (Murray, Adams and MacKay, 2010) from x draws nu ~ N(0, I) and a level below the likelihood
of x, and shrinks a bracket of angles until

    x' = x cos(a) + nu sin(a)

lies above the level. It leaves the posterior as it is, has nothing to tune and asks for no gradient, so that it serves
every likelihood. One sweep is a step on u given z, where the latents f = m + L(theta) z move along with theta, and
several on z given u.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Bool, Float

from hypergauss import _checks
from hypergauss.exceptions import NumericalError, SamplingWarning
from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.latent import LatentModel
from hypergauss.learning.priors import LogNormal
from hypergauss.inference.mcmc.whitened import Hyperprior, WhitenedModel
from hypergauss.likelihoods import Classification
from hypergauss.parameters import as_array

#: Each sweep factorises about seven n x n covariances, a second or two at this n.
_MOST_VERTICES = 2000


class Coordinates(NamedTuple):
    """A point of the chain: u (p,) for the hyperparameters and z (n, L) for the latents."""

    u: Float[Array, " p"]
    z: Float[Array, "n L"]


class Record(NamedTuple):
    """What is kept of a draw: u, the latents f and log p(y | f) of each observation."""

    u: Any
    latents: Any
    log_densities: Any


def sample_posterior(
    model: LatentModel,
    rows: np.ndarray,
    y: np.ndarray,
    *,
    priors: Mapping[str, LogNormal] | None = None,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int = 200,
    thin: int = 10,
    latent_steps: int = 5,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Draws:
    """Draw from p(f, theta | y), exact up to Monte Carlo error: the standard to hold approximations against.

    Chains start at draws of the prior. Read R-hat and effective sample sizes from
    ``arviz.summary(draws.inference_data())`` before using the draws; if R-hat exceeds 1.01, raise ``thin``.
    Covariances are dense, O(n^3) a step: meant for hundreds of observed vertices, at most 2,000.

    Parameters
    ----------
    model : LatentModel
        Kernel, likelihood and constant means. What their ``fixed`` names is not drawn.
    rows : array of int, shape (m,)
        The vertex of each observation, by index.
    y : array, shape (m,)
        The observations; labels 0, 1, ..., C - 1 for classes.
    priors : dict of name to LogNormal, optional
        Names as `parameters.values` lists them, or their last part. Without one, a positive hyperparameter is
        log-normal with its current value as median and spread 1; one that may be negative is normal around its
        current value with standard deviation 2.
    chains, draws : int
        How many chains, and how many draws to keep of each.
    warm_up : int
        How many draws to throw away at the start of each chain, thinned as the others.
    thin : int
        Sweeps for each draw.
    latent_steps : int
        Steps on the latents in each sweep.
    seed : int
        Of the pseudo-random numbers; the same seed gives the same draws.
    report : callable, optional
        Called with a line of text after each draw. An interrupt (Ctrl-C) takes effect there; draws kept so far are
        returned, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from hypergauss import Hypergraph, Spectrum, kernels, likelihoods
    >>> from hypergauss.inference.latent import LatentModel
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> model = LatentModel(kernels.Matern(Spectrum.of(H)), likelihoods.Bernoulli(), np.zeros(1))
    >>> drawn = sample_posterior(model, np.array([0]), np.array([1]), chains=2, draws=50)
    >>> drawn.latents.shape, sorted(drawn.hyperparameters)
    ((2, 50, 1, 1), ['lengthscale', 'mean', 'nu', 'variance'])
    """
    _checks.optional("blackjax", "mcmc")  # said before any work is done
    for name, value in {"chains": chains, "draws": draws, "thin": thin, "latent_steps": latent_steps}.items():
        _checks.count(name, value)
    _checks.count("warm_up", warm_up, least=0)
    vertices, whitened = _check_problem(model, rows, y, priors)
    start_keys, keys = jax.random.split(jax.random.key(seed), (2, chains))
    states, finite = _start(whitened, start_keys, len(vertices))
    if not np.asarray(finite).all():
        raise NumericalError(
            "The likelihood is not finite at the model's hyperparameters. Likely causes: hyperparameters outside their "
            "range, or observations that the likelihood cannot produce."
        )
    kept: list[Record] = []
    total = warm_up + draws
    try:
        # One draw of each chain a compiled run, since that cannot be interrupted and may take a minute.
        for number in range(total):
            # The number is passed as an array, so that one program serves all draws.
            states, record = _draw(whitened, states, keys, jnp.asarray(number), thin, latent_steps)
            if number >= warm_up:
                kept.append(jax.tree.map(np.asarray, record))
            if report is not None:
                report(f"{number + 1:,} of {total:,} draws in each chain, the first {warm_up:,} to warm up")
    except KeyboardInterrupt:
        if not kept:
            raise
        warnings.warn(
            f"Interrupted: {len(kept):,} of {draws:,} draws in each chain are returned.", SamplingWarning, stacklevel=2
        )
    found = Record(*(np.stack(arrays, axis=1) for arrays in zip(*kept, strict=True)))
    return Draws(vertices, found.latents, found.log_densities, found.u, whitened)


def _check_problem(
    model: LatentModel, rows: np.ndarray, y: np.ndarray, priors: Mapping[str, LogNormal] | None
) -> tuple[np.ndarray, WhitenedModel]:
    """Return the observed vertices, each once, and the model with its observations."""
    checked = model.kernel.check_rows("rows", rows)
    targets = _checks.finite_array("y", y, missing="Leave unobserved vertices out: they are what is predicted.")
    if targets.ndim != 1 or len(targets) == 0:
        raise ValueError(f"`y` must have shape (m,), one entry or more. Got shape {targets.shape}.")
    _checks.same_length("rows", len(checked), "y", len(targets))
    if isinstance(model.likelihood, Classification):
        bad = targets[~np.isin(targets, np.arange(model.likelihood.num_classes))]
        if len(bad):
            raise ValueError(
                f"`y` must hold labels 0..{model.likelihood.num_classes - 1}. Got {bad[0]:g}"
                f"{_checks.others(len(bad) - 1)}. Number the classes from 0."
            )
    position, vertices = pd.factorize(checked)
    if len(vertices) > _MOST_VERTICES:
        raise ValueError(
            f"Sampling factorises dense covariances, of at most {_MOST_VERTICES:,} observed vertices. "
            f"Got {len(vertices):,}. Observe fewer, or use variational inference."
        )
    inputs = model.kernel.inputs(vertices)
    return vertices, WhitenedModel(Hyperprior.of(model, priors), inputs, position, as_array(targets))


@eqx.filter_jit
def _start(whitened: WhitenedModel, keys: Array, num_vertices: int) -> tuple[Coordinates, Bool[Array, " chains"]]:
    """Draw from the prior, as far as its hyperparameters can be evaluated, else at the model's own."""
    hyperprior = whitened.hyperprior
    shape = (num_vertices, hyperprior.template.likelihood.num_latents)

    def one(key: Array) -> tuple[Coordinates, Array]:
        for_u, for_z = jax.random.split(key)
        u, z = jax.random.normal(for_u, (hyperprior.num_coordinates,)), jax.random.normal(for_z, shape)
        u = jnp.where(jnp.isfinite(whitened.log_likelihood(u, z)), u, 0.0)
        return Coordinates(u, z), jnp.isfinite(whitened.log_likelihood(u, z))

    return jax.lax.map(one, keys)


@eqx.filter_jit
def _draw(
    whitened: WhitenedModel,
    states: Coordinates,
    keys: Array,
    number: Array,
    thin: int,
    latent_steps: int,
) -> tuple[Coordinates, Record]:
    """Make the next draw of each chain, of this number; arrays have a first axis of chains."""
    elliptical_slice = _checks.optional("blackjax", "mcmc").elliptical_slice

    def slice_step(key: Array, position: Array, log_likelihood: Callable[[Array], Array]) -> Array:
        # Every coordinate is a standard normal.
        step = elliptical_slice(log_likelihood, mean=jnp.zeros(position.size), cov=jnp.ones(position.size))
        return step.step(key, step.init(position))[0].position

    def sweep(state: Coordinates, key: Array) -> tuple[Coordinates, None]:
        for_u, for_z = jax.random.split(key)
        u, z = state
        if u.size:
            u = slice_step(for_u, u, lambda u: whitened.log_likelihood(u, z))
        model = whitened.hyperprior.model(u)
        root = whitened.root(model.kernel)

        def of_latents(z: Array) -> Array:
            return whitened.log_densities(model, model.mean + root @ z).sum()

        z, _ = jax.lax.scan(
            lambda z, key: (slice_step(key, z, of_latents), None), z, jax.random.split(for_z, latent_steps)
        )
        return Coordinates(u, z), None

    def chain(state_and_key: tuple[Coordinates, Array]) -> tuple[Coordinates, Record]:
        start, key = state_and_key
        state, _ = jax.lax.scan(sweep, start, jax.random.split(jax.random.fold_in(key, number), thin))
        model = whitened.hyperprior.model(state.u)
        latents = whitened.latents(model, state.z)
        return state, Record(state.u, latents, whitened.log_densities(model, latents))

    # One chain after another: side by side, every step would take as long as its slowest chain.
    return jax.lax.map(chain, (states, keys))
