"""IterativePosterior: the prior given its sites, from products alone. O(incidences) in time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hypergauss.inference.iterative.determinant import Probes, log_determinant
from hypergauss.inference.iterative.options import Iterative
from hypergauss.inference.iterative.system import System, Workspace
from hypergauss.inference.posterior import LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.inference.sites import Sites

#: Residuals are this much below the error asked of means, which a residual exceeds by the system's condition.
_MARGIN = 0.1
#: Columns that are solved for at once.
_AT_ONCE = 16


class Estimate(NamedTuple):
    """A number known up to a standard error."""

    value: float
    standard_error: float


class IterativePosterior(Posterior):
    r"""Conditioning by preconditioned conjugate gradients on B = I + W^1/2 K W^1/2.

    Means are exact to the tolerance. Variances of a few vertices are too, by a solve each; those of many come from
    draws by pathwise conditioning (Wilson et al., 2021), f + K alpha with alpha solved for the draw's own residual.

    Attributes
    ----------
    log_evidence : float
        An estimate; `log_evidence_estimate` has its standard error.
    """

    solver: ClassVar[str] = "iterative"

    def __init__(
        self, prior: Prior, sites: Sites, options: Iterative | None = None, workspace: Workspace | None = None
    ) -> None:
        super().__init__(prior, sites)
        precision = 1.0 / np.asarray(sites.variance)
        if not (precision >= 0).all():
            raise ValueError("The iterative solver needs sites with positive variances. Use `solver='dense'`.")
        self.options = Iterative() if options is None else options
        self.workspace = Workspace(prior.kernel, self.options) if workspace is None else workspace
        self._operator = self.workspace.operator
        whole = np.zeros((prior.kernel.num_vertices, 1))
        whole[sites.rows, 0] = precision
        self._precision = self._operator.vector(whole)

    @cached_property
    def _system(self) -> System:
        return System(self.workspace, self.prior.kernel, self._precision, _MARGIN * self.options.tolerance)

    @cached_property
    def _loose_system(self) -> System:
        return System(self.workspace, self.prior.kernel, self._precision, self.options.sample_tolerance)

    @cached_property
    def _alpha(self) -> Any:
        """(K_tt + Sigma)^-1 (z - mean), zero where nothing is observed, shape (N, L)."""
        return self._solve(self._system, self._scattered(np.asarray(self.sites.mean) - self.prior.mean))

    @cached_property
    def _mean(self) -> np.ndarray:
        return self.prior.mean + self._operator.array(self._system.covariance @ self._alpha)

    @property
    def num_products(self) -> int:
        """How many vectors the Laplacian has multiplied so far."""
        return self.workspace.num_products

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        """The log density of the sites under the prior, estimated."""
        return self.log_evidence_estimate.value

    @cached_property
    def log_evidence_estimate(self) -> Estimate:
        """The log evidence with the standard error that its stochastic log determinant has."""
        targets = np.asarray(self.sites.mean) - self.prior.mean
        quadratic = float((targets * self.dual_weights()).sum())
        system = System(self.workspace, self.prior.kernel, self._precision, self.options.probe_tolerance)
        return log_evidence(self.sites, quadratic, log_determinant(system), targets.shape[1])

    def mean(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._mean[rows]

    def variance(self, rows: np.ndarray) -> np.ndarray:
        """Return the variance at each vertex: exact for no more vertices than there are draws, else from the draws."""
        distinct = np.unique(rows)
        if len(distinct) <= self.options.n_samples:
            by_vertex = np.zeros(self.prior.kernel.num_vertices)
            by_vertex[distinct] = np.diagonal(self.covariance(distinct))
            return np.maximum(by_vertex[rows], 0.0)
        return self._variances[rows]

    @cached_property
    def _variances(self) -> np.ndarray:
        """The variance at every vertex, from pathwise draws of f less its mean."""
        rng = self.options.generator(1)
        total = np.zeros(self.prior.kernel.num_vertices)
        left = self.options.n_samples
        while left > 0:
            size = min(_AT_ONCE, left)
            total += (self._operator.array(self._deviations(self._loose_system, size, rng)) ** 2).sum(axis=1)
            left -= size
        return total / self.options.n_samples

    def _deviations(self, system: System, size: int, rng: np.random.Generator) -> Any:
        """Return draws of f less the posterior mean at every vertex, shape (N, size)."""
        draws = system.covariance.draws(size, rng)
        noise = system.sample_noise(size, rng)
        solved = system.solve(system.root * draws + noise).x
        return draws - system.covariance @ (system.root * solved)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L), by pathwise conditioning."""
        outputs = len(self.prior.mean)
        parts = [
            self._operator.array(self._deviations(self._loose_system, min(_AT_ONCE, size * outputs - start), rng), rows)
            for start in range(0, size * outputs, _AT_ONCE)
        ]
        deviations = np.hstack(parts).reshape(len(rows), size, outputs).swapaxes(0, 1)
        return self.mean(rows) + deviations

    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint covariance, shape (m, m), by a solve for each vertex."""
        parts = [
            self._operator.array(columns - self._system.covariance @ solved, rows)
            for columns, solved in self._columns(rows)
        ]
        covariance = np.hstack(parts) if parts else np.zeros((0, 0))
        return (covariance + covariance.T) / 2

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return K_*t (K_tt + Sigma)^-1, shape (m, n), by a solve for each vertex asked about, not for each site."""
        parts = [self._operator.array(solved, self.sites.rows).T for _, solved in self._columns(rows)]
        return np.vstack(parts) if parts else np.zeros((0, len(self.sites.rows)))

    def _columns(self, rows: np.ndarray) -> Iterator[tuple[Any, Any]]:
        """Yield columns of K, some vertices at a time, and (K_tt + Sigma)^-1 of them."""
        for start in range(0, len(rows), _AT_ONCE):
            chunk = rows[start : start + _AT_ONCE]
            units = np.zeros((self.prior.kernel.num_vertices, len(chunk)))
            units[chunk, np.arange(len(chunk))] = 1.0
            columns = self._operator.settle(self._system.covariance @ self._operator.vector(units))
            yield columns, self._solve(self._system, columns)

    def dual_weights(self) -> np.ndarray:  # noqa: D102
        return self._operator.array(self._alpha, self.sites.rows)

    def leave_one_out(self) -> LeaveOneOut:
        """Return predictions of each site from the others; the diagonal of the inverse is 1/s - v/s^2, s its noise."""
        noise = np.asarray(self.sites.variance)
        # Draws may put a variance above what any observation leaves: at most the noise's own.
        variance = np.minimum(self.variance(self.sites.rows), (1 - 1e-9) * noise)
        return leave_one_out(self.sites, self.prior, self.dual_weights(), (1.0 - variance / noise) / noise)

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        parts = []
        for start in range(0, residual.shape[1], _AT_ONCE):
            solved = self._solve(self._system, self._scattered(residual[:, start : start + _AT_ONCE]))
            parts.append(self._operator.array(self._system.covariance @ solved, rows))
        return np.hstack(parts)

    def _scattered(self, at_sites: np.ndarray) -> Any:
        """Return numbers at the sites as a block over all vertices."""
        whole = np.zeros((self.prior.kernel.num_vertices, at_sites.shape[1]))
        whole[self.sites.rows] = at_sites
        return self._operator.vector(whole)

    @staticmethod
    def _solve(system: System, block: Any) -> Any:
        """Return W^1/2 B^-1 W^1/2 of a block."""
        return system.operator.settle(system.root * system.solve(system.root * block).x)


def log_evidence(sites: Sites, quadratic: float, probes: Probes, outputs: int) -> Estimate:
    """Return the log density of sites: from z' C^-1 z summed over outputs, and the log determinant of B.

    log det C = log det B + sum of log noise variances.
    """
    variance = np.asarray(sites.variance)
    log_det = probes.value + float(np.log(variance).sum())
    value = -0.5 * (quadratic + outputs * (log_det + len(variance) * np.log(2 * np.pi))) + float(sites.log_offset)
    return Estimate(value, 0.5 * outputs * probes.standard_error)
