"""Posteriors averaged over hyperparameters: mixtures whose components are posteriors at single values of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.likelihoods import Likelihood
from hypergauss.solvers.base import LeaveOneOut, Posterior, Prior
from hypergauss.solvers.sites import Sites


def mixed_moments(weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of mixtures from those of their components, stacked on the first axis."""
    mean = np.tensordot(weights, means, axes=1)
    return mean, np.tensordot(weights, variances + (means - mean) ** 2, axes=1)


class MixedPosterior(NamedTuple):
    """The function given measurements, averaged over hyperparameters: the heaviest component first.

    It answers what a `Posterior` answers, with the moments of the mixture. ``prior``, ``sites`` and ``solver`` are
    those of the heaviest component.
    """

    components: tuple[Posterior, ...]
    weights: np.ndarray
    #: At the mode of the hyperparameters.
    log_evidence: float

    @property
    def solver(self) -> str:
        """Which solver made them."""
        return self.components[0].solver

    @property
    def is_by_products(self) -> bool:
        """Whether means are products with the Laplacian itself."""
        return self.components[0].is_by_products

    @property
    def prior(self) -> Prior:
        """The heaviest component's."""
        return self.components[0].prior

    @property
    def sites(self) -> Sites:
        """The heaviest component's."""
        return self.components[0].sites

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """Return the mean at each vertex, shape (m, L)."""
        return np.tensordot(self.weights, np.stack([part.mean(rows) for part in self.components]), axes=1)

    def variance(self, rows: np.ndarray) -> np.ndarray:
        """Return the variance at each vertex, shape (m,); with several outputs, averaged over them."""
        return self.moments(rows)[1]

    def moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance at each vertex, of each component at once."""
        means, variances = (np.stack(each) for each in zip(*(c.moments(rows) for c in self.components), strict=True))
        mean = np.tensordot(self.weights, means, axes=1)
        return mean, np.tensordot(self.weights, variances + ((means - mean) ** 2).mean(axis=2), axes=1)

    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint covariance, shape (m, m); with several outputs, averaged over them."""
        means = np.stack([part.mean(rows) for part in self.components])
        away = means - np.tensordot(self.weights, means, axes=1)
        within = sum(w * part.covariance(rows) for w, part in zip(self.weights, self.components, strict=True))
        return within + np.einsum("k,kil,kjl->ij", self.weights, away, away) / means.shape[2]

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L), each of a component drawn by its weight."""
        return _sampled(self.components, self.weights, rows, size, rng)

    def leave_one_out(self) -> LeaveOneOut:
        """Return the mixture of the components' predictions of each observation from all others."""
        found = [part.leave_one_out() for part in self.components]
        means = np.stack([each.mean for each in found])
        mean = np.tensordot(self.weights, means, axes=1)
        spread = ((means - mean) ** 2).mean(axis=2)
        return LeaveOneOut(mean, np.tensordot(self.weights, np.stack([e.variance for e in found]) + spread, axes=1))


class MixedLatents(NamedTuple):
    """Latent functions under Gaussian approximations averaged over hyperparameters: the heaviest component first."""

    components: tuple[GaussianLatents, ...]
    weights: np.ndarray
    #: The approximate log evidence of each component, by which further data weigh them anew; files may not have it.
    log_evidences: np.ndarray | None = None

    @property
    def solver(self) -> str:
        """Which solver made them."""
        return self.components[0].solver

    @property
    def likelihood(self) -> Likelihood:
        """The heaviest component's."""
        return self.components[0].likelihood

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        """The heaviest component's, one for each latent function."""
        return self.components[0].posteriors

    def conditionals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each latent at vertices given by index, shape (m, L)."""
        found = [part.conditionals(rows) for part in self.components]
        return mixed_moments(self.weights, *(np.stack(each) for each in zip(*found, strict=True)))

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class at vertices given by index, shape (m, C)."""
        return np.tensordot(self.weights, np.stack([part.probabilities(rows) for part in self.components]), axes=1)

    def left_out_probabilities(self) -> np.ndarray:
        """Return the probability of each class at each observed vertex, its own site left out, shape (n, C)."""
        found = np.stack([part.left_out_probabilities() for part in self.components])
        return np.tensordot(self.weights, found, axes=1)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L), each of a component drawn by its weight."""
        return _sampled(self.components, self.weights, rows, size, rng)


def _sampled(
    components: Sequence[Posterior | GaussianLatents],
    weights: np.ndarray,
    rows: np.ndarray,
    size: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return draws of all components, as many of each as its weight has it, in random order."""
    counts = rng.multinomial(size, weights / weights.sum())
    parts = [part.sample(rows, int(n), rng) for n, part in zip(counts, components, strict=True) if n]
    return np.concatenate(parts)[rng.permutation(size)]


def components(
    posterior: Posterior | MixedPosterior | GaussianLatents | MixedLatents | SampledLatents,
) -> list[tuple[float, Any]]:
    """Return what a posterior is averaged from, with weights; itself, if it is no average."""
    if isinstance(posterior, MixedPosterior | MixedLatents):
        return list(zip(posterior.weights.tolist(), posterior.components, strict=True))
    return [(1.0, posterior)]


def heaviest(posterior: Posterior | MixedPosterior | GaussianLatents | MixedLatents) -> Any:
    """Return the component that weighs most; a posterior itself, if it is no average."""
    return components(posterior)[0][1]
