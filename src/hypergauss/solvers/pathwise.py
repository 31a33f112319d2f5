"""What posteriors by products share: many variances from draws, and a log evidence that is estimated when read."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from hypergauss.operators import Block, LaplacianOperator, column_slices
from hypergauss.solvers.base import ConditionedOn, LeaveOneOut, Posterior, Prior, leave_one_out
from hypergauss.solvers.sites import Sites


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


class PathwisePosterior(Posterior):
    """A posterior whose means are solved for, and whose variances come from draws where many are asked for.

    Parameters
    ----------
    prior, sites : Prior and Sites
        What is conditioned, and on what.
    operator : LaplacianOperator
        Whose vectors everything is made of.
    options : DrawOptions
        How many draws, and their seed.

    Attributes
    ----------
    log_evidence : float
        An estimate, made when it is first read; `log_evidence_estimate` has its standard error.
    """

    is_by_products: ClassVar[bool] = True

    def __init__(self, prior: Prior, sites: Sites, operator: LaplacianOperator, options: DrawOptions) -> None:
        super().__init__(prior, sites)
        if not (1.0 / sites.variance >= 0).all():
            raise ValueError(f"The {self.solver} solver needs sites with positive variances. Use `solver='dense'`.")
        self._operator, self._draw_options = operator, options

    @property
    @abstractmethod
    def num_products(self) -> int:
        """How many vectors the Laplacian has multiplied so far."""

    @abstractmethod
    def _estimate(self) -> Estimate:
        """Return the log evidence with the standard error that its stochastic log determinants have."""

    @abstractmethod
    def _deviations(self, size: int, rng: np.random.Generator) -> tuple[Block, Block]:
        """Return draws of f less the posterior mean, and of a variable of covariance C^-1 at the sites, (N, size)."""

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
        if len(distinct) <= self._draw_options.n_samples:
            by_vertex = np.zeros(self.prior.kernel.num_vertices)
            by_vertex[distinct] = np.diagonal(self.covariance(distinct))
            return np.maximum(by_vertex[rows], 0.0)
        return self._second_moments.variance[rows]

    @cached_property
    def _second_moments(self) -> SecondMoments:
        """Posterior variances and the inverse's diagonal at every vertex, from draws."""
        rng, number = self._draw_options.generator(1), self._draw_options.n_samples
        moments = np.zeros((2, self.prior.kernel.num_vertices))
        for some in column_slices(number):
            pair = self._deviations(some.stop - some.start, rng)
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
        return ConditionedOn(self.prior, self.sites, self._draw_options)

    def leave_one_out(self) -> LeaveOneOut:
        """Return predictions of each site from the others.

        With noise s and posterior variance v of a site, the diagonal q of C^-1 obeys s q + v / s = 1. Where there are
        more sites than draws both come from the draws, and are scaled so that it holds: the smaller of the two shares
        then keeps its relative error, and no site's q is zero by chance.
        """
        noise, rows = self.sites.variance, self.sites.rows
        if len(rows) <= self._draw_options.n_samples:
            precision = (1.0 - self.variance(rows) / noise) / noise
        else:
            own, share = noise * self._second_moments.precision[rows], self._second_moments.variance[rows] / noise
            precision = own / (own + share) / noise
        return leave_one_out(self.sites, self.prior, self.dual_weights(), precision)


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
