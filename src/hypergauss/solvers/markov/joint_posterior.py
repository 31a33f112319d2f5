r"""JointPosterior: a prior of several parts given its sites, from solves with the precisions of its fields.

With H as in `joint` and f = h + e, e ~ N(0, R) a vertex's own, rho = R W at the sites and R elsewhere unseen,

    f = rho z + (1 - rho) h + noise of variance R (1 - rho),    (K_tt + Sigma)^-1 = W - W H W,

z the sites' means relative to the prior's.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from hypergauss.operators import Block, column_slices, scattered
from hypergauss.solvers.base import Prior
from hypergauss.solvers.markov.joint import JointSystem, JointWorkspace
from hypergauss.solvers.pathwise import Estimate, PathwisePosterior, log_evidence
from hypergauss.solvers.sites import Sites

#: Residuals are this much below the error asked of means, which a residual exceeds by the system's condition.
_MARGIN = 0.1


class JointPosterior(PathwisePosterior[JointWorkspace]):
    """Conditioning of fields that are centred, scaled or added, and of features; see `MarkovPosterior`."""

    solver: ClassVar[str] = "markov"

    def __init__(self, prior: Prior, sites: Sites, workspace: JointWorkspace) -> None:
        super().__init__(prior, sites, workspace)
        operator = workspace.operator
        own = workspace.parts.arrays(prior.kernel).own
        #: R, rho, and what of h is in f, blocks of shape (N, 1).
        self._own = operator.vector(own[:, None])
        self._share = scattered(operator, sites.rows, own[sites.rows] / (sites.variance + own[sites.rows]))
        self._rest = operator.settle(1.0 - self._share)

    def mean(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._mean[rows]

    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint covariance, shape (m, m), by a solve for each vertex."""
        parts = []
        for some in column_slices(len(rows)):
            units = self._units(rows[some])
            found = self._rest * self._system.smoothed(self._rest * units).h + self._own * self._rest * units
            parts.append(self._operator.array(found, rows))
        covariance = np.hstack(parts) if parts else np.zeros((0, 0))
        return (covariance + covariance.T) / 2

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return rho + (1 - rho) H W between vertices and sites: a solve for each vertex asked for."""
        parts, at_sites = [], self.sites.rows
        for some in column_slices(len(rows)):
            units = self._units(rows[some])
            found = self._share * units + self._system.precision * self._system.smoothed(self._rest * units).h
            parts.append(self._operator.array(found, at_sites).T)
        return np.vstack(parts) if parts else np.zeros((0, len(at_sites)))

    def _shared(self, tolerance: float) -> JointSystem:
        return self.workspace.system(self.prior.kernel, self.sites.rows, self.sites.variance, tolerance)

    @cached_property
    def _system(self) -> JointSystem:
        return self._shared(_MARGIN * self.options.tolerance)

    @cached_property
    def _loose_system(self) -> JointSystem:
        return self._shared(self.options.sample_tolerance)

    @cached_property
    def _mean(self) -> np.ndarray:
        targets = scattered(self._operator, self.sites.rows, self.sites.mean - self.prior.mean)
        return self.prior.mean + self._operator.array(self._smoothed(targets))

    def _smoothed(self, targets: Block) -> Block:
        """Return the mean of f less the prior's, for targets at the sites."""
        h = self._system.smoothed(self._system.precision * targets).h
        return self._operator.settle(self._share * targets + self._rest * h)

    def _estimate(self) -> Estimate:
        targets = self.sites.mean - self.prior.mean
        quadratic = float((targets * self.dual_weights()).sum())
        of_probes = self.options.probe_tolerance
        system = JointSystem(self.workspace, self.prior.kernel, self.sites.rows, self.sites.variance, of_probes)
        whole = self.sites._replace(variance=self.sites.variance + system.arrays.own[self.sites.rows])
        return log_evidence(whole, quadratic, system.log_determinant().log_det, targets.shape[1])

    def dual_weights(self) -> np.ndarray:
        """Return Sigma^-1 (z - posterior mean) at the sites, shape (n, L)."""
        return (self.sites.mean - self._mean[self.sites.rows]) / self.sites.variance[:, None]

    def _deviations(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> tuple[Block, Block]:
        """Return draws of f less its mean, and W^1/2 z - W h, of covariance W - W H W."""
        h, of_sites = self._loose_system.draws(size, rng, signs=signs)
        dual = of_sites - self._loose_system.precision * h
        own = np.sqrt(self._own * self._rest) * self._operator.white_noise(size, rng)
        return self._operator.settle(self._rest * h + own), dual

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        parts = []
        for some in column_slices(residual.shape[1]):
            targets = scattered(self._operator, self.sites.rows, residual[:, some])
            parts.append(self._operator.array(self._smoothed(targets), rows))
        return np.hstack(parts)

    def _units(self, rows: np.ndarray) -> Block:
        units = np.zeros((self.prior.kernel.num_vertices, len(rows)))
        units[rows, np.arange(len(rows))] = 1.0
        return self._operator.vector(units)
