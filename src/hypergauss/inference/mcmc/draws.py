"""Draws: what sampling the posterior returns, and predictions from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from hypergauss import _checks
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mcmc.whitened import WhitenedModel
from hypergauss.kernels.base import Inputs
from hypergauss.likelihoods import as_classification

if TYPE_CHECKING:
    from arviz import InferenceData

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
        return self.whitened.hyperprior.model(self.coordinates[chain, draw])

    def median_model(self) -> LatentModel:
        """Return the model at the median of each hyperparameter."""
        return self.whitened.hyperprior.model(np.median(self.coordinates, axis=(0, 1)))

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
        parts = []
        for inputs in self._inputs(rows):
            found = list(self._given_draws(inputs, every))
            parts.append([np.stack(moments) for moments in list(zip(*found, strict=True))[1:]])
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
        parts = []
        for inputs in self._inputs(rows):
            found = [
                as_classification(model.likelihood).probabilities(mean, variance)
                for model, mean, variance in self._given_draws(inputs, every)
            ]
            parts.append(np.mean(found, axis=0))
        return np.concatenate(parts)

    def inference_data(self) -> InferenceData:
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

    def _inputs(self, rows: Iterable[int]) -> Iterator[Inputs]:
        """Yield the kernel's inputs at some vertices after others."""
        kernel = self.whitened.hyperprior.template.kernel
        checked = kernel.check_rows("rows", rows)
        for start in range(0, max(len(checked), 1), _ROWS):
            yield kernel.inputs(checked[start : start + _ROWS])

    def _given_draws(self, inputs: Inputs, every: int) -> Iterator[tuple[LatentModel, np.ndarray, np.ndarray]]:
        """Yield the model at one draw after another, and mean and variance of its latent functions, shape (m, L)."""
        step = _checks.count("every", every)
        whitened, kernel = self.whitened, None
        for u, latents in zip(
            *(np.concatenate(array[:, ::step]) for array in (self.coordinates, self.latents)), strict=True
        ):
            model = whitened.hyperprior.model(u)
            if model.kernel is not kernel:  # it is the same object if none of its hyperparameters is drawn
                kernel = model.kernel
                root = whitened.root(kernel)
                cross = solve_triangular(root, kernel.cross(whitened.inputs, inputs), lower=True)
                variance = np.maximum(kernel.variances(inputs) - (cross**2).sum(axis=0), 0.0)
            mean = model.mean + cross.T @ solve_triangular(root, latents - model.mean, lower=True)
            yield model, mean, np.broadcast_to(variance[:, None], mean.shape)
