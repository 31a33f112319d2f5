"""Likelihood: how an observation arises from the latent functions at its vertex."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from hypergauss.likelihoods.quadrature import expectation


class Likelihood(eqx.Module):
    """p(y | f), f the values of L latent functions at one vertex.

    All methods work on n vertices at once: latents have shape (n, L), observations shape (n,). Everything an inference
    method needs follows from `log_density` and its expectation under independent Gaussians.
    """

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """L, the number of latent functions."""

    @property
    def is_shift_invariant(self) -> bool:
        """Whether adding one number to all latents of a vertex changes nothing."""
        return False

    @property
    def sets_level(self) -> bool:
        """Whether hyperparameters of its own do what a constant mean of the latents would."""
        return False

    @property
    def has_mode(self) -> bool:
        """Whether log p(y | f) has slopes that lead to a mode of the posterior and curvature there."""
        return True

    @property
    @abstractmethod
    def is_log_concave(self) -> bool:
        """Whether log p(y | f) is concave in f, so that no site has a negative precision."""

    @abstractmethod
    def log_density(self, latents: Float[Array, "n L"], y: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return log p(y | f) at each vertex."""

    @abstractmethod
    def expected_log_density(
        self, mean: Float[Array, "n L"], variance: Float[Array, "n L"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        """Return E log p(y | f) for independent f_l ~ N(mean_l, variance_l)."""


class OneLatent(Likelihood):
    """A likelihood of a single latent function; expectations are one-dimensional quadrature."""

    @property
    def num_latents(self) -> int:  # noqa: D102
        return 1

    @abstractmethod
    def pointwise(self, latent: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """Return log p(y | f) for latents with any further axes."""

    def log_density(self, latents: Float[Array, "n 1"], y: Float[Array, " n"]) -> Float[Array, " n"]:  # noqa: D102
        return self.pointwise(latents[:, 0], y)

    def expected_log_density(  # noqa: D102
        self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"], y: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        return expectation(lambda f: self.pointwise(f, y[:, None]), mean[:, 0], variance[:, 0])


class Classification(Likelihood):
    """A likelihood of class labels 0, 1, ..., C - 1."""

    num_classes: eqx.AbstractVar[int]

    @abstractmethod
    def probabilities(self, mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Float[Array, "n C"]:
        """Return E p(y = c | f) for every class, rows summing to one."""


def as_classification(likelihood: Likelihood) -> Classification:
    """Return the likelihood if it is one of class labels, else explain."""
    if not isinstance(likelihood, Classification):
        raise TypeError(
            f"Class probabilities need a likelihood of class labels. Got {type(likelihood).__name__}. "
            "Use `conditionals` for the latent functions."
        )
    return likelihood


class Moments(NamedTuple):
    """Mean and variance of a new observation at each vertex, shape (n,)."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]


class Measurement(Likelihood):
    """A likelihood of numbers: measurements or counts."""

    @abstractmethod
    def moments(self, mean: Float[Array, "n L"], variance: Float[Array, "n L"]) -> Moments:
        """Return E y and Var y = E Var(y | f) + Var E(y | f) for independent f_l ~ N(mean_l, variance_l)."""
