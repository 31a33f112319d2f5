"""What solvers by products share: a workspace, many variances from draws, and a log evidence that is an estimate."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from hypergauss import parameters
from hypergauss.learning.objective import EstimatedObjective
from hypergauss.operators import Block, LaplacianOperator, column_slices, scattered
from hypergauss.solvers.base import ConditionedOn, GaussianModel, LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.solvers.sites import Observations, Sites


class Estimate(NamedTuple):
    """A number known up to a standard error."""

    value: float
    standard_error: float


class SecondMoments(NamedTuple):
    """Of draws at every vertex: the posterior variance, and the diagonal of (K_tt + Sigma)^-1 at the sites."""

    variance: np.ndarray
    precision: np.ndarray


class DrawOptions(Protocol):
    """The settings that draws need."""

    @property
    def n_samples(self) -> int: ...  # noqa: D102
    def generator(self, purpose: int) -> np.random.Generator: ...  # noqa: D102


class PathwiseWorkspace(Protocol):
    """What a kernel's systems share over all hyperparameters and sites."""

    @property
    def operator(self) -> LaplacianOperator: ...  # noqa: D102
    @property
    def options(self) -> DrawOptions: ...  # noqa: D102
    @property
    def num_products(self) -> int: ...  # noqa: D102


W = TypeVar("W", bound=PathwiseWorkspace)


class PathwisePosterior(Posterior, Generic[W]):
    """A posterior whose means are solved for, and whose variances come from draws where many are asked for.

    Parameters
    ----------
    prior, sites : Prior and Sites
        What is conditioned, and on what.
    workspace : PathwiseWorkspace
        Of the prior's kernel: whose vectors everything is made of, how many draws, and their seed.
    start : array, shape (N, L), optional
        A posterior mean to begin from, such as that of an earlier, smaller set of sites.

    Attributes
    ----------
    log_evidence : float
        An estimate, made when it is first read; `log_evidence_estimate` has its standard error.
    """

    is_by_products: ClassVar[bool] = True

    def __init__(self, prior: Prior, sites: Sites, workspace: W, start: np.ndarray | None = None) -> None:
        super().__init__(prior, sites)
        if not (1.0 / sites.variance >= 0).all():
            raise ValueError(f"The {self.solver} solver needs sites with positive variances. Use `solver='dense'`.")
        self.workspace, self._start, self._operator = workspace, start, workspace.operator
        self._precision = scattered(self._operator, sites.rows, 1.0 / sites.variance)

    @property
    def options(self) -> Any:
        """The solver's settings."""
        return self.workspace.options

    @property
    def num_products(self) -> int:
        """How many vectors the Laplacian has multiplied so far."""
        return self.workspace.num_products

    @abstractmethod
    def _estimate(self) -> Estimate:
        """Return the log evidence with the standard error that its stochastic log determinants have."""

    @abstractmethod
    def _deviations(self, size: int, rng: np.random.Generator, *, signs: bool = False) -> tuple[Block, Block]:
        """Return draws of f less the posterior mean, and of a variable of covariance C^-1 at the sites, (N, size).

        ``signs`` says that second moments are wanted alone: noise may be of any distribution with the same covariance.
        """

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        """The log density of the sites under the prior, estimated."""
        return self.log_evidence_estimate.value

    @cached_property
    def log_evidence_estimate(self) -> Estimate:
        """The log evidence with its standard error."""
        return self._estimate()

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
        """Posterior variances and the inverse's diagonal at every vertex, from draws."""
        rng, number = self.options.generator(1), self.options.n_samples
        moments = np.zeros((2, self.prior.kernel.num_vertices))
        for some in column_slices(number):
            pair = self._deviations(some.stop - some.start, rng, signs=True)
            moments += [(self._operator.array(block) ** 2).sum(axis=1) for block in pair]
        return SecondMoments(*(moments / number))

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L)."""
        outputs = len(self.prior.mean)
        parts = [
            self._operator.array(self._deviations(some.stop - some.start, rng)[0], rows)
            for some in column_slices(size * outputs)
        ]
        deviations = np.hstack(parts).reshape(len(rows), size, outputs).swapaxes(0, 1)
        return self.mean(rows) + deviations

    def conditioned_on(self) -> ConditionedOn:  # noqa: D102
        return ConditionedOn(self.prior, self.sites, self.options)

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
        return leave_one_out(self.sites, self.dual_weights(), precision)


class PathwiseEvidence(EstimatedObjective, Generic[W]):
    """The log evidence of observations as a function of a Gaussian model, estimated.

    Parameters
    ----------
    workspace : PathwiseWorkspace
        Of the model's kernel.
    observations : Observations
        What was measured.
    """

    def __init__(self, workspace: W, observations: Observations) -> None:
        self.workspace, self.observations = workspace, observations
        rows = observations.rows
        self._targets = scattered(workspace.operator, rows, observations.mean)
        self._observed = scattered(workspace.operator, rows, np.ones(len(rows)))
        self._standard_error = np.nan

    @property
    def num_observations(self) -> int:  # noqa: D102
        return int(self.observations.mean.size)

    @property
    def standard_error(self) -> float:  # noqa: D102
        return self._standard_error

    @abstractmethod
    def _posterior(self, prior: Prior, sites: Sites) -> PathwisePosterior[W]:
        """Return the prior given sites."""

    def value(self, model: GaussianModel) -> float:  # noqa: D102
        posterior = self._posterior(model.prior(), self.observations.sites(model.noise_variance))
        return self._noted(posterior.log_evidence_estimate)

    def _noted(self, estimate: Estimate) -> float:
        """Return the value of an estimate, whose standard error is the latest from now on."""
        self._standard_error = estimate.standard_error
        return estimate.value

    def _residuals(self, model: GaussianModel) -> Block:
        """Return measurements less the prior mean, zero where nothing is observed, shape (N, L)."""
        return self.workspace.operator.settle(self._targets - self._observed * model.mean)

    def _log_offset(self, model: GaussianModel) -> tuple[float, np.ndarray]:
        """Return what merged measurements add to the log evidence, and its gradient."""
        noise = model.noise_variance
        slope = self.observations.pull_back_noise(noise, np.zeros(len(self.observations.rows)))
        return self.observations.sites(noise).log_offset, parameters.gather(model, {"noise_variance": slope})


def earlier_mean(prior: Prior, before: Posterior, moved: np.ndarray) -> np.ndarray:
    """Return the mean of an earlier posterior where its vertices stand now, and the prior's at new ones, (N, L)."""
    mean = np.tile(prior.mean, (prior.kernel.num_vertices, 1))
    mean[moved] = before.mean(np.arange(len(moved)))
    return mean


def log_evidence(sites: Sites, quadratic: float, log_det: Estimate, outputs: int) -> Estimate:
    """Return the log density of sites: from z' C^-1 z summed over outputs, and log det(I + K W).

    log det C is that plus the sum of log noise variances.
    """
    variance = sites.variance
    whole = log_det.value + float(np.log(variance).sum())
    value = -0.5 * (quadratic + outputs * (whole + len(variance) * np.log(2 * np.pi))) + float(sites.log_offset)
    return Estimate(value, 0.5 * outputs * log_det.standard_error)
