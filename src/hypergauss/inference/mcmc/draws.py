"""Draws: what sampling the posterior returns, and predictions from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.inference.latent import LatentModel
from hypergauss.inference.mcmc.whitened import WhitenedModel
from hypergauss.likelihoods import as_classification

#: Vertices predicted at once, so that memory does not grow with their number.
_ROWS = 512


class Conditionals(NamedTuple):
    """The Gaussians of the latent functions at m vertices given each of S draws, arrays of shape (S, m, L)."""

    mean: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the posterior of a latent model, hyperparameters included.

    Attributes
    ----------
    rows : array of int, shape (n,)
        The observed vertices, each once, in order of their first observation.
    hyperparameters : dict of name to array, shape (chains, draws, ...)
        Free hyperparameters in their own units, by the names of `parameters.values`.
    latents : array, shape (chains, draws, n, L)
        The latent functions at the observed vertices.
    log_likelihood : array, shape (chains, draws, m)
        log p(y | f) of each observation.
    coordinates : array, shape (chains, draws, p)
        The hyperparameters as the standard normals in which they were drawn.
    whitened : WhitenedModel
        The model and observations whose posterior this is.
    """

    rows: np.ndarray
    latents: np.ndarray
    log_likelihood: np.ndarray
    coordinates: np.ndarray
    whitened: WhitenedModel

    @property
    def hyperparameters(self) -> dict[str, np.ndarray]:  # noqa: D102
        return self.whitened.hyperprior.values(self.coordinates)

    def model(self, chain: int, draw: int) -> LatentModel:
        """Return the model with the hyperparameters of one draw."""
        return self.whitened.hyperprior.model(jnp.asarray(self.coordinates[chain, draw]))

    def median_model(self) -> LatentModel:
        """Return the model at the median of each hyperparameter."""
        return self.whitened.hyperprior.model(jnp.asarray(np.median(self.coordinates, axis=(0, 1))))

    def conditionals(self, rows: Iterable[int], *, every: int = 1) -> Conditionals:
        """Return, for each draw of theta and f, the Gaussian of the latent functions at some vertices.

        With K_tt the covariance of the observed vertices, it has mean m + K_*t K_tt^-1 (f - m) and variance
        k_** - K_*t K_tt^-1 K_t*. The posterior is the equal mixture of these Gaussians.

        Parameters
        ----------
        rows : array of int, shape (m,)
            Vertices by index.
        every : int, default 1
            Use one draw in so many of each chain.
        """
        parts = list(self._over_draws(_conditionals, rows, every))
        return Conditionals(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)))

    def probabilities(self, rows: Iterable[int], *, every: int = 1) -> np.ndarray:
        """Return the predictive probability of each class, shape (m, C): E p(y | f), averaged over draws.

        Parameters
        ----------
        rows : array of int, shape (m,)
            Vertices by index.
        every : int, default 1
            Use one draw in so many of each chain.
        """
        as_classification(self.whitened.hyperprior.template.likelihood)
        return np.concatenate(list(self._over_draws(_probabilities, rows, every)))

    def inference_data(self) -> Any:
        """Return the draws as ArviZ's ``InferenceData``, for `arviz.summary`, `arviz.ess`, `arviz.loo` and plots.

        Groups: ``posterior`` with each hyperparameter and with ``latents`` over (vertex, latent), ``log_likelihood``
        and ``observed_data`` with ``y`` over observation.
        """
        arviz = _checks.optional("arviz", "mcmc")
        outputs = self.latents.shape[-1]
        return arviz.from_dict(
            posterior={**self.hyperparameters, "latents": self.latents},
            log_likelihood={"y": self.log_likelihood},
            observed_data={"y": np.asarray(self.whitened.y)},
            coords={"vertex": self.rows, "latent": np.arange(outputs)},
            dims={"latents": ["vertex", "latent"], "mean": ["latent"], "y": ["observation"]},
        )

    def _over_draws(self, function: Any, rows: Iterable[int], every: int) -> Iterator[Any]:
        """Yield what a function of all draws gives at some vertices after others."""
        step = _checks.count("every", every)
        u, latents = (jnp.asarray(np.concatenate(array[:, ::step])) for array in (self.coordinates, self.latents))
        kernel = self.whitened.hyperprior.template.kernel
        checked = kernel.check_rows("rows", rows)
        for start in range(0, max(len(checked), 1), _ROWS):
            inputs = kernel.inputs(checked[start : start + _ROWS])
            yield jax.tree.map(np.asarray, function(self.whitened, u, latents, inputs))


def _conditional(
    whitened: WhitenedModel, u: Float[Array, " p"], latents: Float[Array, "n L"], inputs: Any
) -> tuple[LatentModel, Float[Array, "m L"], Float[Array, "m L"]]:
    """Return the model at one draw, and the mean and variance of its latent functions given their values in it."""
    model = whitened.hyperprior.model(u)
    root = whitened.root(model.kernel)
    cross = solve_triangular(root, model.kernel.cross(whitened.inputs, inputs), lower=True)
    mean = model.mean + cross.T @ solve_triangular(root, latents - model.mean, lower=True)
    variance = jnp.maximum(model.kernel.variances(inputs) - (cross**2).sum(axis=0), 0.0)
    return model, mean, jnp.broadcast_to(variance[:, None], mean.shape)


@eqx.filter_jit
def _conditionals(whitened: WhitenedModel, u: Array, latents: Array, inputs: Any) -> tuple[Array, Array]:
    def one(draw: tuple[Array, Array]) -> tuple[Array, Array]:
        _, mean, variance = _conditional(whitened, draw[0], draw[1], inputs)
        return mean, variance

    # One draw after another: an n x n factor for each draw at once would not fit in memory.
    return jax.lax.map(one, (u, latents))


@eqx.filter_jit
def _probabilities(whitened: WhitenedModel, u: Array, latents: Array, inputs: Any) -> Array:
    def add(total: Array, draw: tuple[Array, Array]) -> tuple[Array, None]:
        model, mean, variance = _conditional(whitened, draw[0], draw[1], inputs)
        return total + as_classification(model.likelihood).probabilities(mean, variance), None

    template = whitened.hyperprior.template
    shape = (len(template.kernel.variances(inputs)), as_classification(template.likelihood).num_classes)
    total, _ = jax.lax.scan(add, jnp.zeros(shape), (u, latents))
    return total / len(u)
