"""IterativePosterior: the prior given its sites, from products alone. O(incidences) in time and memory."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from hypergauss.operators import Block, column_slices, scattered
from hypergauss.solvers.base import ConditionedOn, LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.solvers.iterative.determinant import Probes, log_determinant
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.iterative.system import System, Workspace, evidence_system
from hypergauss.solvers.sites import Sites

#: Residuals are this much below the error asked of means, which a residual exceeds by the system's condition.
_MARGIN = 0.1
#: The smallest residual that is ever asked for.
_FINEST = 1e-12


class Estimate(NamedTuple):
    """A number known up to a standard error."""

    value: float
    standard_error: float


class SecondMoments(NamedTuple):
    """Of pathwise draws at every vertex: the posterior variance, and the diagonal of (K_tt + Sigma)^-1 at the sites."""

    variance: np.ndarray
    precision: np.ndarray


class IterativePosterior(Posterior):
    r"""Conditioning by preconditioned conjugate gradients on B = I + W^1/2 K W^1/2.

    Means are exact to the tolerance. Variances of a few vertices are too, by a solve each; those of many come from
    draws by pathwise conditioning (Wilson et al., 2021), f + K alpha with alpha solved for the draw's own residual.

    Parameters
    ----------
    prior, sites : Prior and Sites
        What is conditioned, and on what.
    workspace : Workspace
        Of the prior's kernel, and what has been found for it before.
    guess : array, shape (N, L), optional
        Of the mean at every vertex, where the solve for it begins.

    Attributes
    ----------
    log_evidence : float
        An estimate; `log_evidence_estimate` has its standard error.
    """

    solver: ClassVar[str] = "iterative"
    is_by_products: ClassVar[bool] = True

    def __init__(self, prior: Prior, sites: Sites, workspace: Workspace, guess: np.ndarray | None = None) -> None:
        super().__init__(prior, sites)
        self._guess = guess
        precision = 1.0 / sites.variance
        if not (precision >= 0).all():
            raise ValueError("The iterative solver needs sites with positive variances. Use `solver='dense'`.")
        self.workspace = workspace
        self._operator = workspace.operator
        self._precision = scattered(self._operator, sites.rows, precision)

    @property
    def options(self) -> Iterative:
        """The solver's settings."""
        return self.workspace.options

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
        if self._guess is None:
            return self._solve(self._system, targets)
        # A mean f leaves (z - f) / s^2 for alpha, which is W^1/2 times what is solved for.
        left = (self.sites.mean - self._guess[self.sites.rows]) / np.sqrt(self.sites.variance)[:, None]
        return self._solve(self._system, targets, scattered(self._operator, self.sites.rows, left))

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
        targets = self.sites.mean - self.prior.mean
        quadratic = float((targets * self.dual_weights()).sum())
        self.workspace.find_subspace()  # which steadies the log determinant
        system = evidence_system(self.workspace, self.prior.kernel, self._precision)
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
        return self._second_moments.variance[rows]

    @cached_property
    def _second_moments(self) -> SecondMoments:
        """Posterior variances and the inverse's diagonal at every vertex, from pathwise draws."""
        rng = self.options.generator(1)
        moments = np.zeros((2, self.prior.kernel.num_vertices))
        for some in column_slices(self.options.n_samples):
            pair = self._deviations(some.stop - some.start, rng)
            moments += [(self._operator.array(block) ** 2).sum(axis=1) for block in pair]
        return SecondMoments(*(moments / self.options.n_samples))

    def _deviations(self, size: int, rng: np.random.Generator) -> tuple[Block, Block]:
        """Return draws of f less the posterior mean, and of a variable of covariance C^-1 at the sites, (N, size).

        With f of the prior and white noise e, C^-1 (f + Sigma^1/2 e) has the covariance C^-1 C C^-1.
        """
        system = self._loose_system
        draws = system.covariance.draws(size, rng)
        noise = system.sample_noise(size, rng)
        dual = self._operator.settle(system.root * system.solve(system.root * draws + noise).x)
        return draws - system.covariance @ dual, dual

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L), by pathwise conditioning."""
        outputs = len(self.prior.mean)
        parts = [
            self._operator.array(self._deviations(some.stop - some.start, rng)[0], rows)
            for some in column_slices(size * outputs)
        ]
        deviations = np.hstack(parts).reshape(len(rows), size, outputs).swapaxes(0, 1)
        return self.mean(rows) + deviations

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

    def leave_one_out(self) -> LeaveOneOut:
        """Return predictions of each site from the others.

        With noise s and posterior variance v of a site, the diagonal q of C^-1 obeys s q + v / s = 1. Where there are
        more sites than draws both come from the draws, and are scaled so that it holds: the smaller of the two shares
        then keeps its relative error, and no site's q is zero by chance.
        """
        noise, rows = self.sites.variance, self.sites.rows
        if len(rows) <= self.options.n_samples:
            precision = (1.0 - self.variance(rows) / noise) / noise
        else:
            own, share = noise * self._second_moments.precision[rows], self._second_moments.variance[rows] / noise
            precision = own / (own + share) / noise
        return leave_one_out(self.sites, self.prior, self.dual_weights(), precision)

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

    def conditioned_on(self) -> ConditionedOn:  # noqa: D102
        return ConditionedOn(self.prior, self.sites, self.options)

    @staticmethod
    def _solve(system: System, block: Block, start: Block | None = None) -> Block:
        """Return W^1/2 B^-1 W^1/2 of a block, from a start of B^-1 W^1/2 if there is one."""
        return system.operator.settle(system.root * system.solve(system.root * block, start).x)


def log_evidence(sites: Sites, quadratic: float, probes: Probes, outputs: int) -> Estimate:
    """Return the log density of sites: from z' C^-1 z summed over outputs, and the log determinant of B.

    log det C = log det B + sum of log noise variances.
    """
    variance = sites.variance
    log_det = probes.value + float(np.log(variance).sum())
    value = -0.5 * (quadratic + outputs * (log_det + len(variance) * np.log(2 * np.pi))) + float(sites.log_offset)
    return Estimate(value, 0.5 * outputs * probes.standard_error)
