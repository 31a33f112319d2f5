"""Posterior: what conditioning returns, whatever the solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from hypergauss.solvers.sites import Sites
from hypergauss.kernels import Kernel


class Prior(NamedTuple):
    """A Gaussian process prior: a kernel and a constant mean for each of L outputs."""

    kernel: Kernel
    mean: np.ndarray


class LeaveOneOut(NamedTuple):
    """Predictions of each observation from all others: mean (n, L), and variance (n,) including its noise."""

    mean: np.ndarray
    variance: np.ndarray


class Posterior(ABC):
    """The Gaussian process given its sites. Vertices are indices; variances are those of the latent function.

    Attributes
    ----------
    log_evidence : float
        The log density of the sites under the prior.
    solver : str
        Which solver made it.
    """

    solver: ClassVar[str]
    log_evidence: float

    def __init__(self, prior: Prior, sites: Sites) -> None:
        self.prior = prior
        self.sites = sites
        #: For each vertex its position among the sites, or -1.
        self._position = np.full(prior.kernel.num_vertices, -1)
        self._position[sites.rows] = np.arange(len(sites.rows))

    @abstractmethod
    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Return K_*t (K_tt + Sigma)^-1 residual, shape (m, S), for residuals of shape (n, S)."""

    @abstractmethod
    def variance(self, rows: np.ndarray) -> np.ndarray:
        """Return the posterior variance at each vertex, shape (m,), the same for all outputs."""

    @abstractmethod
    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint posterior covariance, shape (m, m)."""

    @abstractmethod
    def leave_one_out(self) -> LeaveOneOut:
        """Return the prediction of each site's observation from all other sites, in closed form."""

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return K_*t (K_tt + Sigma)^-1, shape (m, n): how much of each site goes into the mean at each vertex."""
        return self._smooth(rows, np.eye(len(self.sites.rows)))

    def dual_weights(self) -> np.ndarray:
        """Return (K_tt + Sigma)^-1 (z - mean), shape (n, L): the mean elsewhere is K_*t times this.

        In general from Sigma (K_tt + Sigma)^-1 r = r - K_tt (K_tt + Sigma)^-1 r.
        """
        targets = np.asarray(self.sites.mean) - self.prior.mean
        return (targets - self._smooth(self.sites.rows, targets)) / np.asarray(self.sites.variance)[:, None]

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """Return the posterior mean at each vertex, shape (m, L)."""
        return self.prior.mean + self._smooth(rows, np.asarray(self.sites.mean) - self.prior.mean)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L), by correcting draws of the prior (Matheron's rule).

        f + K_*t (K_tt + Sigma)^-1 (z - f_t - noise) has exactly the posterior's mean and covariance.
        """
        targets = np.asarray(self.sites.mean) - self.prior.mean
        n, outputs = targets.shape
        if (np.asarray(self.sites.variance) < 0).any():
            return self._sample_by_covariance(rows, size, rng)
        draws = self.prior.kernel.prior_draws(np.concatenate([rows, self.sites.rows]), size * outputs, rng)
        at_rows, at_sites = draws[: len(rows)], draws[len(rows) :]
        noise = np.sqrt(np.asarray(self.sites.variance))[:, None] * rng.standard_normal((n, size * outputs))
        corrected = at_rows + self._smooth(rows, np.tile(targets, size) - at_sites - noise)
        return self.prior.mean + corrected.reshape(len(rows), size, outputs).swapaxes(0, 1)

    def _sample_by_covariance(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws from the covariance itself: there is no noise of negative variance to be drawn."""
        distinct, back = np.unique(rows, return_inverse=True)
        values, vectors = np.linalg.eigh(self.covariance(distinct))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        mean = self.mean(distinct)
        z = rng.standard_normal((len(distinct), size * mean.shape[1]))
        return (mean[None] + (root @ z).reshape(len(distinct), size, -1).swapaxes(0, 1))[:, back]


def leave_one_out(sites: Sites, prior: Prior, alpha: np.ndarray, precision: np.ndarray) -> LeaveOneOut:
    """Return z - alpha / q and 1 / q, where q is the diagonal of (K + Sigma)^-1 and alpha = (K + Sigma)^-1 z."""
    targets = np.asarray(sites.mean) - prior.mean
    return LeaveOneOut(prior.mean + targets - alpha / precision[:, None], 1.0 / precision)
