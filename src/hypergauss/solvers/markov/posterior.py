"""MarkovPosterior: the prior given its sites, from solves with Q + W. O(incidences) in time and memory."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from hypergauss.kernels import Matern
from hypergauss.operators import Block, LocalLaplacian, column_slices, scattered
from hypergauss.solvers.markov.determinant import log_determinant
from hypergauss.solvers.markov.nearby import Ground
from hypergauss.solvers.markov.newcomers import MOST_NU, Newcomers
from hypergauss.solvers.markov.places import solved
from hypergauss.solvers.markov.system import System, Workspace
from hypergauss.solvers.pathwise import Estimate, PathwisePosterior, log_evidence
from hypergauss.spectrum import MatrixFreeSpectrum

#: Residuals are this much below the error asked of means, which a residual exceeds by the system's condition.
_MARGIN = 0.1


class MarkovPosterior(PathwisePosterior[Workspace]):
    """Conditioning by preconditioned conjugate gradients on Q + W.

    Means are exact to the tolerance. Variances of a few vertices are too, by a solve each; those of many come from
    exact draws, a solve each, of noise whose covariance is Q + W.

    Parameters
    ----------
    prior, sites : Prior and Sites
        What is conditioned, and on what.
    workspace : Workspace
        Of the prior's kernel.
    start : array, shape (N, L), optional
        A posterior mean to begin from, such as that of an earlier, smaller set of sites.
    """

    solver: ClassVar[str] = "markov"

    def mean(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        return self._mean[rows]

    def covariance(self, rows: np.ndarray) -> np.ndarray:
        """Return the joint covariance, shape (m, m), by a solve for each vertex."""
        parts = [self._operator.array(self._columns(rows[some]), rows) for some in column_slices(len(rows))]
        covariance = np.hstack(parts) if parts else np.zeros((0, 0))
        return (covariance + covariance.T) / 2

    def observation_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return S W between vertices and sites, as the transpose of W S: a solve for each vertex asked for."""
        at_sites = self.sites.rows
        parts = [self._operator.array(self._columns(rows[some]), at_sites).T for some in column_slices(len(rows))]
        return (np.vstack(parts) if parts else np.zeros((0, len(at_sites)))) / self.sites.variance

    def of_new_vertices(self, memberships: sp.csr_array, edge_weights: np.ndarray) -> Newcomers | None:
        """Return what is known of vertices that are new, by what they change around them; None for other operators."""
        operator, spectrum = self._operator, self.prior.kernel.spectrum  # type: ignore[attr-defined]
        is_known = (
            type(self.prior.kernel) is Matern
            and isinstance(operator, LocalLaplacian)
            and operator.has_incidence
            and operator.null is not None
            and operator.parts[0][0].shape[1] == memberships.shape[1]
            # Else degrees change with sizes, and who shares any hyperedge with a member is met as well.
            and spectrum.size_exponent == 0
            and isinstance(spectrum, MatrixFreeSpectrum)
            and spectrum.keeps_density(memberships.shape[0] + memberships.nnz)
            and self._system.field.nu <= MOST_NU
        )
        return Newcomers(self._ground, memberships, edge_weights, self.options) if is_known else None

    @cached_property
    def _ground(self) -> Ground:
        return Ground.of(self._operator, self.prior, self.sites, self._mean)  # type: ignore[arg-type]

    @cached_property
    def _system(self) -> System:
        return System(self.workspace, self.prior.kernel, self._precision, _MARGIN * self.options.tolerance)

    @cached_property
    def _loose_system(self) -> System:
        return System(self.workspace, self.prior.kernel, self._precision, self.options.sample_tolerance)

    @cached_property
    def _mean(self) -> np.ndarray:
        operator = self._operator
        targets = scattered(operator, self.sites.rows, self.sites.mean - self.prior.mean)
        if self._start is None:
            return self.prior.mean + operator.array(self._system.solve(self._precision * targets).x)
        start = operator.vector(self._start - self.prior.mean)
        return self.prior.mean + operator.array(self._moved(start, targets))

    def _moved(self, start: Block, targets: Block) -> Block:
        """Return the mean less the prior's from one that is nearly it: the solution for what that leaves.

        What is new may be at one vertex: there a residual is next to nothing beside all measurements long before the
        vertex is right. So it is held against the size of a single measurement's, as far as that can be reached.
        """
        operator, system = self._operator, self._system
        left = operator.settle(self._precision * (targets - start) - system.precision_product(start))
        whole = operator.settle(self._precision * targets)
        size, total = np.sqrt(operator.fetch([operator.dot(left, left), operator.dot(whole, whole)]).max(axis=1))
        usual = total / np.sqrt(max(len(self.sites.rows), 1))
        if float(operator.fetch(abs(left).max())) <= self.options.tolerance * usual:
            return start
        enough = system.tolerance * usual
        near = self._around(left, enough)
        if near is None:
            near = system.solve(left, tolerance=min(1.0, enough / size)).x
        return operator.settle(start + near)

    def _around(self, left: Block, enough: float) -> Block | None:
        """Return the solution for what is left, shape (N, L), where but few vertices have anything left."""
        operator, field = self._operator, self._system.field
        if not (isinstance(operator, LocalLaplacian) and operator.has_incidence):
            return None
        precision, inside = operator.enter(self._precision), operator.enter(left)
        ground = Ground(operator, field, precision, field.mean_eigenvalue(), [], inside, self.prior.mean)
        found = solved(ground, enough, self.options.max_iterations)
        return None if found is None else operator.leave(found)

    def _estimate(self) -> Estimate:
        targets = self.sites.mean - self.prior.mean
        quadratic = float((targets * self.dual_weights()).sum())
        system = System(self.workspace, self.prior.kernel, self._precision, self.options.probe_tolerance)
        return log_evidence(self.sites, quadratic, log_determinant(system).log_det, targets.shape[1])

    def dual_weights(self) -> np.ndarray:
        """Return W (z - posterior mean) at the sites, shape (n, L)."""
        return (self.sites.mean - self._mean[self.sites.rows]) / self.sites.variance[:, None]

    def _deviations(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> tuple[Block, Block]:
        """Return draws x of covariance S, and W^1/2 z - W x, of covariance W - W S W."""
        draws, of_sites = self._loose_system.draws(size, rng, signs=signs)
        return draws, of_sites - self._precision * draws

    def _smooth(self, rows: np.ndarray, residual: np.ndarray) -> np.ndarray:
        parts = []
        for some in column_slices(residual.shape[1]):
            targets = scattered(self._operator, self.sites.rows, residual[:, some])
            parts.append(self._operator.array(self._system.solve(self._precision * targets).x, rows))
        return np.hstack(parts)

    def _columns(self, rows: np.ndarray) -> Block:
        """Return columns of S, of a vertex named twice twice."""
        units = np.zeros((self.prior.kernel.num_vertices, len(rows)))
        units[rows, np.arange(len(rows))] = 1.0
        return self._system.solve(self._operator.vector(units)).x
