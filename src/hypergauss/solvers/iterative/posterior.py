"""IterativePosterior: the prior given its sites, from products alone. O(incidences) in time and memory."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from hypergauss.operators import Block, column_slices, scattered
from hypergauss.solvers.iterative.determinant import log_determinant
from hypergauss.solvers.iterative.system import System, Workspace, evidence_system
from hypergauss.solvers.pathwise import Estimate, PathwisePosterior, log_evidence

#: Residuals are this much below the error asked of means, which a residual exceeds by the system's condition.
_MARGIN = 0.1
#: The smallest residual that is ever asked for.
_FINEST = 1e-12


class IterativePosterior(PathwisePosterior[Workspace]):
    r"""Conditioning by preconditioned conjugate gradients on B = I + W^1/2 K W^1/2.

    Means are exact to the tolerance. Variances of a few vertices are too, by a solve each; those of many come from
    draws by pathwise conditioning (Wilson et al., 2021), f + K alpha with alpha solved for the draw's own residual.

    Parameters
    ----------
    prior, sites : Prior and Sites
        What is conditioned, and on what.
    workspace : Workspace
        Of the prior's kernel, and what has been found for it before.
    start : array, shape (N, L), optional
        Of the mean at every vertex, where the solve for it begins.

    Attributes
    ----------
    log_evidence : float
        An estimate; `log_evidence_estimate` has its standard error.
    """

    solver: ClassVar[str] = "iterative"

    @cached_property
    def _system(self) -> System:
        return System(self.workspace, self.prior.kernel, self._precision, _MARGIN * self.options.tolerance)

    @cached_property
    def _loose_system(self) -> System:
        return System(self.workspace, self.prior.kernel, self._precision, self.options.sample_tolerance)

    @cached_property
    def _alpha(self) -> Block:
        """(K_tt + Sigma)^-1 (z - mean), zero where nothing is observed, shape (N, L)."""
        targets = scattered(self._operator, self.sites.rows, self.sites.mean - self.prior.mean)
        if self._start is None:
            return self._solve(self._system, targets)
        # A mean f leaves (z - f) / s^2 for alpha, which is W^1/2 times what is solved for.
        left = (self.sites.mean - self._start[self.sites.rows]) / np.sqrt(self.sites.variance)[:, None]
        return self._solve(self._system, targets, scattered(self._operator, self.sites.rows, left))

    @cached_property
    def _mean(self) -> np.ndarray:
        return self.prior.mean + self._operator.array(self._system.covariance @ self._alpha)

    def _estimate(self) -> Estimate:
        targets = self.sites.mean - self.prior.mean
        quadratic = float((targets * self.dual_weights()).sum())
        self.workspace.find_subspace()  # which steadies the log determinant
        system = evidence_system(self.workspace, self.prior.kernel, self._precision)
        return log_evidence(self.sites, quadratic, log_determinant(system).estimate, targets.shape[1])

    def mean(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._mean[rows]

    def _deviations(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> tuple[Block, Block]:  # noqa: ARG002
        """Return draws of f less the posterior mean, and of a variable of covariance C^-1 at the sites, (N, size).

        With f of the prior and white noise e, C^-1 (f + Sigma^1/2 e) has the covariance C^-1 C C^-1.
        """
        system = self._loose_system
        draws = system.covariance.draws(size, rng)
        noise = system.sample_noise(size, rng)
        dual = self._operator.settle(system.root * system.solve(system.root * draws + noise).x)
        return draws - system.covariance @ dual, dual

    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint covariance, shape (m, m), by a solve for each vertex."""
        parts = []
        for some in column_slices(len(rows)):
            columns = self._columns(rows[some])
            solved = self._solve(self._system, columns)
            parts.append(self._operator.array(columns - self._system.covariance @ solved, rows))
        covariance = np.hstack(parts) if parts else np.zeros((0, 0))
        return (covariance + covariance.T) / 2

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        # As the transpose of C^-1 K_t*: a solve for each vertex asked for, not for each site. A residual weighs more
        # here, where no product with K smooths it.
        finer = max(self._system.tolerance / np.sqrt(self._system.condition), _FINEST)
        system = System(self.workspace, self.prior.kernel, self._precision, finer)
        parts = []
        for some in column_slices(len(rows)):
            columns = self._columns(rows[some])
            parts.append(self._operator.array(self._solve(system, columns), self.sites.rows).T)
        return np.vstack(parts) if parts else np.zeros((0, len(self.sites.rows)))

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        return self._operator.array(self._alpha, self.sites.rows)

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        parts = []
        for some in column_slices(residual.shape[1]):
            solved = self._solve(self._system, scattered(self._operator, self.sites.rows, residual[:, some]))
            parts.append(self._operator.array(self._system.covariance @ solved, rows))
        return np.hstack(parts)

    def _columns(self, rows: np.ndarray) -> Block:
        """Return columns of K, of a vertex named twice twice."""
        units = np.zeros((self.prior.kernel.num_vertices, len(rows)))
        units[rows, np.arange(len(rows))] = 1.0
        return self._system.covariance @ self._operator.vector(units)

    @staticmethod
    def _solve(system: System, block: Block, start: Block | None = None) -> Block:
        """Return W^1/2 B^-1 W^1/2 of a block, from a start of B^-1 W^1/2 if there is one."""
        return system.operator.settle(system.root * system.solve(system.root * block, start).x)
