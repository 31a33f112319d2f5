r"""A latent model in coordinates that are independent standard normals a priori.

With m the constant means and K = L L' the covariance of the observed vertices, both at hyperparameters theta,

    f = m + L(theta) z,    z ~ N(0, I),    theta = t(centre + spread u),    u ~ N(0, I),

where t is exp for a positive hyperparameter and nothing for others. All that is left of the posterior is the
likelihood: log p(u, z | y) = log p(y | f) - (|u|^2 + |z|^2) / 2 + constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from hypergauss import parameters
from hypergauss.inference.latent import LatentModel
from hypergauss.learning.priors import LogNormal, check_priors, match_priors
from hypergauss.kernels import Kernel

#: Added to a covariance, relative to its largest variance: enough for any Cholesky factorisation of a covariance.
_JITTER = 1e-10
#: The default prior of a positive hyperparameter: within a factor of e of its median with probability 0.68, of 7 with
#: 0.95. Wide beside what data say of a lengthscale, and narrow enough that a flat likelihood leaves no kernel that is
#: constant or white for all the computer can see.
_SPREAD = 1.0
#: The default standard deviation of a hyperparameter that may be negative, such as a constant mean. On the scale of
#: logits, and of targets with unit variance, 2 leaves open every probability from 0.02 to 0.98.
_DEVIATION = 2.0


class Hyperprior(eqx.Module):
    """Independent Gaussian priors on the p free hyperparameters of a model, or on their logarithms.

    A positive hyperparameter is log-normal: as its ``LogNormal`` says, or else with its current value as the median
    and spread 1. One held as its reciprocal (nu) is log-normal as it is shown, which is the same for the reciprocal.
    One that may be negative is normal around its current value with standard deviation 2. All are restricted to the
    range within which the hyperparameter may lie.
    """

    template: LatentModel
    centre: Float[Array, " p"]
    spread: Float[Array, " p"]
    lower: Float[Array, " p"]
    upper: Float[Array, " p"]

    @classmethod
    def of(cls, model: LatentModel, priors: Mapping[str, LogNormal] | None = None) -> Self:
        """Match priors by name to the model's free hyperparameters, and give the others their defaults."""
        chosen = dict(match_priors(model, check_priors(priors)))
        shown = parameters.values(model)
        columns = [np.zeros((4, 0))]
        for number, slot in enumerate(parameters.slots(model)):
            prior, is_log = chosen.get(number), slot.coordinate.is_positive
            if is_log and prior is None:
                _check_median(slot.name, shown[slot.name])
            middle = np.asarray(slot.of(model) if prior is None else prior.median)
            width = prior.spread if prior is not None else _SPREAD if is_log else _DEVIATION
            ends = [slot.coordinate.inverse(np.asarray(end)) for end in (slot.coordinate.lower, slot.coordinate.upper)]
            if is_log:
                with np.errstate(divide="ignore"):  # a range that begins at 0 begins at minus infinity in logarithms
                    middle, ends = np.log(middle), [np.log(end) for end in ends]
            columns.append(np.stack([np.broadcast_to(v, slot.shape).ravel() for v in (middle, width, *ends)]))
        return cls(model, *parameters.as_array(np.concatenate(columns, axis=1)))

    @property
    def num_coordinates(self) -> int:
        """P, the number of free hyperparameters, entries counted."""
        return len(self.centre)

    def model(self, u: Float[Array, " p"]) -> LatentModel:
        """Return the model at standard normal coordinates u."""
        return parameters.replace(self.template, self._held(self.centre + self.spread * u, jnp.exp))

    def is_inside(self, u: Float[Array, " p"]) -> Bool[Array, ""]:
        """Return whether every hyperparameter lies within its range."""
        x = self.centre + self.spread * u
        return ((x >= self.lower) & (x <= self.upper)).all()

    def values(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Return hyperparameters by name as they are shown, for coordinates of shape (..., p)."""
        held = self._held(np.asarray(self.centre) + np.asarray(self.spread) * u, np.exp)
        found = {}
        for slot, value in zip(parameters.slots(self.template), held, strict=True):
            shown = slot.coordinate.shown_as
            found[slot.name] = value if shown is None else shown[1](value)
        return found

    def _held(self, x: Any, exp: Any) -> list[Any]:
        """Return what each hyperparameter's field holds."""
        free = parameters.slots(self.template)
        parts = parameters.split(free, x)
        return [exp(part) if slot.coordinate.is_positive else part for slot, part in zip(free, parts, strict=True)]


class WhitenedModel(eqx.Module):
    """Observations of a latent model as a likelihood of standard normal coordinates u (p,) and z (n, L).

    Attributes
    ----------
    hyperprior : Hyperprior
        What u stands for.
    inputs : pytree
        The kernel's inputs at the n observed vertices.
    position : array of int, shape (m,)
        For each observation the position of its vertex among the observed ones; a vertex may be observed repeatedly.
    y : array, shape (m,)
        The observations.
    """

    hyperprior: Hyperprior
    inputs: Any
    position: Int[np.ndarray, " m"]
    y: Float[Array, " m"]

    def root(self, kernel: Kernel) -> Float[Array, "n n"]:
        """Return the Cholesky factor L of K."""
        K = kernel.cross(self.inputs, self.inputs)
        return jnp.linalg.cholesky(K + _JITTER * K.diagonal().max() * jnp.eye(len(K)))

    def latents(self, model: LatentModel, z: Float[Array, "n L"]) -> Float[Array, "n L"]:
        """Return f = m + L z."""
        return model.mean + self.root(model.kernel) @ z

    def log_densities(self, model: LatentModel, latents: Float[Array, "n L"]) -> Float[Array, " m"]:
        """Return log p(y | f) of each observation."""
        return model.likelihood.log_density(latents[self.position], self.y)

    def log_likelihood(self, u: Float[Array, " p"], z: Float[Array, "n L"]) -> Float[Array, ""]:
        """Return log p(y | f); minus infinity outside the hyperparameters' range or beyond what floats can carry."""
        model = self.hyperprior.model(u)
        value = self.log_densities(model, self.latents(model, z)).sum()
        return jnp.where(self.hyperprior.is_inside(u) & jnp.isfinite(value), value, -jnp.inf)


def _check_median(name: str, shown: Any) -> None:
    """Explain if a hyperparameter's current value cannot be the median of its prior: an infinite nu above all."""
    if not (np.isfinite(shown) & (np.asarray(shown) > 0)).all():
        raise ValueError(
            f"`{name}` must be positive and finite to be the median of its own prior. Got {shown}. "
            f"Give it a prior, `priors={{{name!r}: LogNormal(...)}}`, or fix it."
        )
