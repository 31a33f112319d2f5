r"""A latent model in coordinates that are independent standard normals a priori.

With m the constant means and K = L L' the covariance of the observed vertices, both at hyperparameters theta,

    f = m + L(theta) z,    z ~ N(0, I),    theta = t(centre + spread u),    u ~ N(0, I),

where t is exp for a positive hyperparameter and nothing for others. All that is left of the posterior is the
likelihood: log p(u, z | y) = log p(y | f) - (|u|^2 + |z|^2) / 2 + constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple, Self

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.kernels import Kernel
from hypergauss.kernels.base import Inputs
from hypergauss.learning.priors import LogNormal, check_priors, match_priors
from hypergauss.parameters import Number

#: Added to a covariance, relative to its largest variance: enough for any Cholesky factorisation of a covariance.
_JITTER = 1e-10
#: The default prior of a positive hyperparameter: within a factor of e of its median with probability 0.68, of 7 with
#: 0.95. Wide beside what data say of a lengthscale, and narrow enough that a flat likelihood leaves no kernel that is
#: constant or white for all the computer can see.
_SPREAD = 1.0
#: The default standard deviation of a hyperparameter that may be negative, such as a constant mean. On the scale of
#: logits, and of targets with unit variance, 2 leaves open every probability from 0.02 to 0.98.
_DEVIATION = 2.0


@dataclass(frozen=True, eq=False)
class Hyperprior:
    """Independent Gaussian priors on the p free hyperparameters of a model, or on their logarithms.

    A positive hyperparameter is log-normal: as its ``LogNormal`` says, or else with its current value as the median
    and spread 1. One held as its reciprocal (nu) is log-normal as it is shown, which is the same for the reciprocal.
    One that may be negative is normal around its current value with standard deviation 2. All are restricted to the
    range within which the hyperparameter may lie.

    Attributes
    ----------
    template : LatentModel
        The model, at any hyperparameters.
    free : tuple of Slot
        Its free hyperparameters.
    centre, spread, lower, upper : arrays, shape (p,)
        Of the Gaussians, and the ends of their ranges.
    """

    template: LatentModel
    free: tuple[parameters.Slot, ...]
    centre: np.ndarray
    spread: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, model: LatentModel, priors: Mapping[str, LogNormal] | None = None) -> Self:
        """Match priors by name to the model's free hyperparameters, and give the others their defaults."""
        chosen = dict(match_priors(model, check_priors(priors)))
        shown, free = parameters.values(model), parameters.slots(model)
        columns = [np.zeros((4, 0))]
        for number, slot in enumerate(free):
            prior, is_log = chosen.get(number), slot.coordinate.is_positive
            if is_log and prior is None:
                _check_median(slot.name, shown[slot.name])
            middle = np.asarray(slot.value if prior is None else prior.median)
            width = prior.spread if prior is not None else _SPREAD if is_log else _DEVIATION
            ends: list[Any] = [
                slot.coordinate.inverse(np.asarray(end)) for end in (slot.coordinate.lower, slot.coordinate.upper)
            ]
            if is_log:
                with np.errstate(divide="ignore"):  # a range that begins at 0 begins at minus infinity in logarithms
                    middle, ends = np.log(middle), [np.log(end) for end in ends]
            columns.append(np.stack([np.broadcast_to(v, slot.shape).ravel() for v in (middle, width, *ends)]))
        return cls(model, free, *np.concatenate(columns, axis=1))

    @property
    def num_coordinates(self) -> int:
        """P, the number of free hyperparameters, entries counted."""
        return len(self.centre)

    def model(self, u: np.ndarray) -> LatentModel:
        """Return the model at standard normal coordinates u, shape (p,)."""
        model = self.template
        for slot, value in zip(self.free, self._held(u), strict=True):
            model = parameters.with_value(model, slot.path, np.asarray(value))
        return model

    def is_inside(self, u: np.ndarray) -> bool:
        """Return whether every hyperparameter lies within its range."""
        x = self.centre + self.spread * u
        return bool(((x >= self.lower) & (x <= self.upper)).all())

    def values(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Return hyperparameters by name as they are shown, for coordinates of shape (..., p)."""
        found = {}
        for slot, value in zip(self.free, self._held(u), strict=True):
            shown = slot.coordinate.shown_as
            found[slot.name] = value if shown is None else shown[1](value)
        return found

    def _held(self, u: np.ndarray) -> list[np.ndarray]:
        """Return what each hyperparameter's field holds."""
        parts = zip(self.free, parameters.split(self.free, self.centre + self.spread * u), strict=True)
        return [np.exp(part) if slot.coordinate.is_positive else part for slot, part in parts]


class Point(NamedTuple):
    """A point of the posterior, and what was computed there.

    Attributes
    ----------
    u : array, shape (p,)
        Hyperparameters, as standard normals.
    z : array, shape (n, L)
        Latents, as standard normals.
    model : LatentModel
        At u.
    root : array, shape (n, n)
        The Cholesky factor L of K.
    latents : array, shape (n, L)
        f = m + L z.
    value : float
        log p(y | f).
    """

    u: np.ndarray
    z: np.ndarray
    model: LatentModel
    root: np.ndarray
    latents: np.ndarray
    value: float


@dataclass(frozen=True, eq=False)
class WhitenedModel:
    """Observations of a latent model as a likelihood of standard normal coordinates u (p,) and z (n, L).

    Attributes
    ----------
    hyperprior : Hyperprior
        What u stands for.
    inputs
        The kernel's inputs at the n observed vertices.
    position : array of int, shape (m,)
        For each observation the position of its vertex among the observed ones; a vertex may be observed repeatedly.
    y : array, shape (m,)
        The observations.
    """

    hyperprior: Hyperprior
    inputs: Inputs
    position: np.ndarray
    y: np.ndarray

    def root(self, kernel: Kernel) -> np.ndarray:
        """Return the Cholesky factor L of K, shape (n, n); NaN where there is none."""
        K = kernel.cross(self.inputs, self.inputs)
        K[np.diag_indices_from(K)] += _JITTER * K.diagonal().max()
        try:
            return np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            return np.full_like(K, np.nan)

    def log_densities(self, model: LatentModel, latents: np.ndarray) -> np.ndarray:
        """Return log p(y | f) of each observation, shape (m,), for latents of shape (n, L)."""
        return model.likelihood.log_density(latents[self.position], self.y)

    def log_likelihood(self, model: LatentModel, latents: np.ndarray) -> float:
        """Return log p(y | f); minus infinity beyond what floats can carry."""
        value = float(self.log_densities(model, latents).sum())
        return value if isfinite(value) else -inf

    def point(self, u: np.ndarray, z: np.ndarray, near: Point | None = None) -> Point:
        """Return the point at some coordinates; its value is minus infinity outside the hyperparameters' range.

        ``near`` lends its factor of K where the kernel is the same.
        """
        model = self.hyperprior.model(u)
        # Hyperparameters of the likelihood, and means, leave the kernel the very object that it was.
        root = near.root if near is not None and model.kernel is near.model.kernel else self.root(model.kernel)
        latents = model.mean + root @ z
        value = self.log_likelihood(model, latents) if self.hyperprior.is_inside(u) else -inf
        return Point(u, z, model, root, latents, value)


def _check_median(name: str, shown: Number) -> None:
    """Explain if a hyperparameter's current value cannot be the median of its prior: an infinite nu above all."""
    if not (np.isfinite(shown) & (np.asarray(shown) > 0)).all():
        raise ValueError(
            f"`{name}` must be positive and finite to be the median of its own prior. Got {shown}. "
            f"Give it a prior, `priors={{{name!r}: LogNormal(...)}}`, or fix it."
        )
