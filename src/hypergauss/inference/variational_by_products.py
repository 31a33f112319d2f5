r"""Likelihoods at any size: sites moved with a solver by products.

The fixed point is that of `variational`: each site is the likelihood's own gradient at its marginal. Means are solved
for; variances come from pathwise draws that stay the same from step to step, so the iteration is a deterministic map
of the sites, and converges as it does with exact variances.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, cast
from warnings import warn

import numpy as np

from hypergauss import parameters
from hypergauss.exceptions import LearningWarning
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mixing import Mixing
from hypergauss.inference.variational import likelihood_sites
from hypergauss.learning.objective import EstimatedObjective
from hypergauss.learning.trust_region import LocalModel
from hypergauss.likelihoods import Likelihood
from hypergauss.operators import Block, scattered
from hypergauss.solvers.base import Marginals
from hypergauss.solvers.iterative import IterativeSolver
from hypergauss.solvers.iterative.evidence import EvidenceTerms, evidence_terms
from hypergauss.solvers.iterative.information import (
    AnyNumbers,
    Information,
    Loss,
    Numbers,
    half_inverse,
    local_model,
)
from hypergauss.solvers.iterative.numbers import Layout
from hypergauss.solvers.iterative.system import System
from hypergauss.solvers.markov import MarkovSolver
from hypergauss.solvers.markov.evidence import FieldTerms, field_terms, information
from hypergauss.solvers.markov.field import Field, FieldNumbers, check_kernel, step_jacobian
from hypergauss.solvers.markov.solver import JointSolver
from hypergauss.solvers.markov.system import System as FieldSystem
from hypergauss.solvers.pathwise import Estimate
from hypergauss.solvers.sites import NaturalSites

#: Steps of the sites for one value of the hyperparameters, and the relative change that ends them.
_MOST_STEPS, _SETTLED = 30, 1e-2
#: The gain, in nats, that is not worth another evaluation.
_LEAST_GAIN = 1e-2
#: Relative residual of the systems behind marginals: a map that converges to a percent needs less noise than that.
_SOLVED = 3e-4
#: The same of a Markov field, whose solution is the marginal itself and needs no product to follow.
_FIELD_SOLVED = 3e-3
#: Draws behind variances while sites move: as many as there are probes, within these limits.
_DRAWS = (16, 64)
#: Steps that the next one is mixed from.
_MEMORY = 2
#: A mixture may lower a precision by this factor at most, relative to where a plain step goes.
_LARGEST_FALL = 10.0
#: The least precision of a site relative to the largest: below it says nothing.
_LEAST_PRECISION = 1e-6


class Found(Protocol):
    """What one latent's sites give: r' C^-1 r, and log det(I + K W)."""

    @property
    def quadratic(self) -> float: ...  # noqa: D102
    @property
    def log_det(self) -> Estimate: ...  # noqa: D102


class VariationalByProducts(EstimatedObjective[LatentModel]):
    """The evidence lower bound of a model, estimated, at the sites that hold there.

    Parameters
    ----------
    solver : IterativeSolver, MarkovSolver or JointSolver
        At the observed vertices.
    model : LatentModel
        At any hyperparameters.
    y : array, shape (n,)
        What was observed at the solver's vertices.
    start : NaturalSites, optional
        Sites to begin with.
    """

    def __init__(
        self,
        solver: IterativeSolver | MarkovSolver | JointSolver,
        model: LatentModel,
        y: np.ndarray,
        start: NaturalSites | None = None,
    ) -> None:
        self.rows, self.y = solver.rows, np.asarray(y)
        self.operator, self.options = solver.workspace.operator, solver.options
        self.sites = self._first_sites(model) if start is None else start
        self._highest = -np.inf
        self._standard_error = np.nan
        self._solved: dict[int, Any] = {}  # of each latent, where the next solve begins

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.rows)

    @property
    def least_gain(self) -> float:
        """As always, but no less than sites that have not quite settled leave open."""
        return max(super().least_gain, _LEAST_GAIN / self.num_observations)

    @property
    def standard_error(self) -> float:  # noqa: D102
        return self._standard_error

    @property
    def state(self) -> NaturalSites:
        """The sites of the best evaluation so far."""
        return self.sites

    def value(self, model: LatentModel) -> float:  # noqa: D102
        return self._evaluate(model)[0]

    def local_model(self, model: LatentModel) -> LocalModel:
        """Return the bound at a model, and what it will gain at coordinates around it.

        Where the sites hold, the bound is stationary in the marginals, so only the log of the integral of prior times
        sites and the likelihood's own hyperparameters have slopes.
        """
        value, marginals, found = self._evaluate(model)
        numbers, slopes, losses = self._surroundings(model, found)

        def expected(moved: LatentModel) -> tuple[float, np.ndarray]:
            seen = (marginals.mean, marginals.variance, self.y)
            gradient = parameters.gather(moved, {"likelihood": moved.likelihood.pull_back(*seen)})
            return float(moved.likelihood.expected_log_density(*seen).sum()), gradient

        return local_model(model, value, numbers, slopes, losses, expected)

    def _evaluate(self, model: LatentModel) -> tuple[float, Marginals, list[Found]]:
        """Return the bound, and what it was found from; the sites of the highest are kept."""
        sites, marginals = self.settle(model)
        found = [self._terms(model, sites, latent) for latent in range(model.likelihood.num_latents)]
        self._standard_error = 0.5 * float(np.sqrt(sum(terms.log_det.standard_error**2 for terms in found)))
        log_partition = sum(_log_partition(model, sites, latent, terms) for latent, terms in enumerate(found))
        mean, variance = marginals.mean, marginals.variance
        expected = model.likelihood.expected_log_density(mean, variance, self.y).sum()
        of_sites = (sites.shift * mean - sites.precision * (mean**2 + variance) / 2).sum()
        value = float(log_partition + expected - of_sites)
        if value > self._highest:
            self._highest, self.sites = value, sites
        return value, marginals._replace(log_partition=log_partition), found

    def _first_sites(self, model: LatentModel) -> NaturalSites:
        """Return the sites of the prior's own marginals, which no solve is needed for."""
        shape = (len(self.rows), model.likelihood.num_latents)
        mean, variance = np.broadcast_to(model.mean, shape), np.full(shape, model.kernel.mean_variance())
        return _target(model.likelihood, mean, variance, self.y)

    def settle(self, model: LatentModel) -> tuple[NaturalSites, Marginals]:
        """Move sites, from the best so far, until they change no more; return them and their marginals."""
        sites, mixing = self.sites, Mixing(_MEMORY)
        noise = self._noise(model)
        for step in range(_MOST_STEPS):
            marginals = self._marginals(model, sites, noise)
            mean = _without_common_shift(model, marginals.mean)
            target = _target(model.likelihood, mean, marginals.variance, self.y)
            change = _relative_change(sites, target)
            # Sites and marginals must belong together: the bound is one of no others.
            if change < _SETTLED or step == _MOST_STEPS - 1:
                break
            mixed = mixing.next(np.stack(sites), np.stack(target))
            # A mixture of positive precisions with weights of either sign may not be positive.
            sites = NaturalSites(mixed[0], np.maximum(mixed[1], target.precision / _LARGEST_FALL))
        if not change < _SETTLED:
            warn(
                f"The sites still change by {change:.0%} of their size after {_MOST_STEPS} steps. The bound holds, but "
                "is not the best there is. Likely cause: a likelihood that is not log-concave.",
                LearningWarning,
                stacklevel=2,
            )
        return sites, marginals

    @abstractmethod
    def _noise(self, model: LatentModel) -> Any:
        """Return what draws are made of, of the prior and of the sites: the same at each call."""

    @abstractmethod
    def _conditioned(
        self, model: LatentModel, sites: NaturalSites, latent: int, noise: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a latent's mean less the prior's, and its variance by draws, at the sites, shape (n,) each."""

    @abstractmethod
    def _terms(self, model: LatentModel, sites: NaturalSites, latent: int) -> Found:
        """Return what the log of the integral of prior times sites is made of, with its slopes."""

    @abstractmethod
    def _surroundings(
        self, model: LatentModel, found: Sequence[Found]
    ) -> tuple[AnyNumbers, np.ndarray, Sequence[Loss]]:
        """Return a model's numbers, the slopes of log Z in them, and what is lost around it (`information`)."""

    @property
    def _num_draws(self) -> int:
        return int(np.clip(self.options.probes_for(self.operator.size), *_DRAWS))

    def _marginals(self, model: LatentModel, sites: NaturalSites, noise: Any) -> Marginals:
        """Return the mean of each latent at the sites by a solve, and its variance from draws."""
        means, variances = [], []
        for latent in range(model.likelihood.num_latents):
            mean, variance = self._conditioned(model, sites, latent, noise)
            means.append(model.mean[latent] + mean)
            variances.append(variance)
        return Marginals(np.stack(means, axis=1), np.stack(variances, axis=1), np.nan)

    def _precision(self, sites: NaturalSites, latent: int) -> Block:
        return scattered(self.operator, self.rows, sites.precision[:, latent])

    def _targets(self, model: LatentModel, sites: NaturalSites, latent: int) -> Block:
        return scattered(self.operator, self.rows, relative_targets(model, sites, latent))


class IterativeVariational(VariationalByProducts):
    """The bound by the iterative solver."""

    def __init__(
        self, solver: IterativeSolver, model: LatentModel, y: np.ndarray, start: NaturalSites | None = None
    ) -> None:
        super().__init__(solver, model, y, start)
        self.solver = solver

    def _surroundings(self, model: LatentModel, found: Sequence[Found]) -> tuple[Numbers, np.ndarray, list[Loss]]:
        found = cast(Sequence[EvidenceTerms], found)
        lengths = [max(of_term) for of_term in zip(*(terms.slopes.lengths for terms in found), strict=True)]
        layout = Layout(self.solver.workspace.terms, lengths, self.solver.workspace.ritz_values)
        numbers = Numbers(layout, "mean")
        of_kernel, of_mean = np.split(numbers.tangents(model), [layout.size], axis=1)
        in_kernel = sum(terms.slopes.in_numbers(layout) for terms in found)
        in_mean = [terms.slopes.mean[0] for terms in found]
        losses = []
        for own, terms in zip(np.eye(len(found)), found, strict=True):
            information = Information.of(terms.system, terms.alpha, layout, kernel=of_kernel, mean=of_mean[:, own > 0])
            losses.append(Loss(np.hstack([information.kernel, information.mean * own]), information.half_inverse))
        return numbers, np.concatenate([in_kernel, in_mean]), losses

    def _noise(self, model: LatentModel) -> tuple[Block, Block]:
        rng = self.options.generator(4)
        system = self._system(model, self.sites, 0)
        return system.covariance.draws(self._num_draws, rng), system.sample_noise(self._num_draws, rng)

    def _conditioned(
        self, model: LatentModel, sites: NaturalSites, latent: int, noise: tuple[Block, Block]
    ) -> tuple[np.ndarray, np.ndarray]:
        draws, of_sites = noise
        system = self._system(model, sites, latent)
        targets = self._targets(model, sites, latent)
        block = self.operator.concatenate([system.root * targets, system.root * draws + of_sites])
        self._solved[latent] = system.solve(block, self._solved.get(latent)).x
        smooth = system.covariance @ (system.root * self._solved[latent])
        at_rows = self.operator.array(smooth, self.rows)
        deviations = self.operator.array(draws, self.rows) - at_rows[:, 1:]
        return at_rows[:, 0], (deviations**2).mean(axis=1)

    def _system(self, model: LatentModel, sites: NaturalSites, latent: int) -> System:
        return System(self.solver.workspace, model.kernel, self._precision(sites, latent), _SOLVED)

    def _terms(self, model: LatentModel, sites: NaturalSites, latent: int) -> EvidenceTerms:
        precision, targets = self._precision(sites, latent), self._targets(model, sites, latent)
        return evidence_terms(self.solver.workspace, model.kernel, precision, targets)


class MarkovVariational(VariationalByProducts):
    """The bound by the Markov solver: a draw is a solve for noise of covariance Q + W."""

    def __init__(
        self, solver: MarkovSolver, model: LatentModel, y: np.ndarray, start: NaturalSites | None = None
    ) -> None:
        super().__init__(solver, model, y, start)
        self.solver = solver

    def _surroundings(self, model: LatentModel, found: Sequence[Found]) -> tuple[FieldNumbers, np.ndarray, list[Loss]]:
        found = cast(Sequence[FieldTerms], found)
        check_kernel(model.kernel, learns=True)
        jacobian = np.eye(3)
        jacobian[:2, :2] = step_jacobian(model.kernel)  # type: ignore[arg-type]
        in_field = sum(terms.in_field for terms in found) @ jacobian[:2, :2]
        losses = []
        for latent, terms in enumerate(found):
            curvature = jacobian.T @ information(terms) @ jacobian
            by_number = np.zeros((3, 2 + len(found)))
            by_number[:, [0, 1, 2 + latent]] = 2.0 * curvature
            losses.append(Loss(by_number, half_inverse(curvature)))
        slopes = np.concatenate([in_field, [terms.in_mean[0] for terms in found]])
        return FieldNumbers(has_noise=False), slopes, losses

    def _noise(self, model: LatentModel) -> tuple[Block, Block]:
        rng, workspace = self.options.generator(4), self.solver.workspace
        of_prior = workspace.noise.draw(Field.of(model.kernel), self._num_draws, rng)
        return of_prior, self.operator.white_noise(self._num_draws, rng)

    def _conditioned(
        self, model: LatentModel, sites: NaturalSites, latent: int, noise: tuple[Block, Block]
    ) -> tuple[np.ndarray, np.ndarray]:
        of_prior, white = noise
        precision = self._precision(sites, latent)
        system = FieldSystem(self.solver.workspace, model.kernel, precision, _FIELD_SOLVED)
        targets = self._targets(model, sites, latent)
        block = self.operator.concatenate([precision * targets, of_prior + np.sqrt(precision) * white])
        # Draws are of the same noise for all latents, whose precisions are much alike at first: one starts the next.
        start = self._solved.get(latent, self._solved.get(latent - 1))
        self._solved[latent] = system.solve(self.operator.settle(block), start).x
        at_rows = self.operator.array(self._solved[latent], self.rows)
        return at_rows[:, 0], (at_rows[:, 1:] ** 2).mean(axis=1)

    def _terms(self, model: LatentModel, sites: NaturalSites, latent: int) -> FieldTerms:
        precision, targets = self._precision(sites, latent), self._targets(model, sites, latent)
        start = self._solved[latent][:, :1] if latent in self._solved else None
        return field_terms(self.solver.workspace, model.kernel, precision, targets, start)


def _target(likelihood: Likelihood, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> NaturalSites:
    """Return the sites of the likelihood's own gradients, their precisions raised to nearly zero where below.

    Any such sites give a bound, and solves need them; the shifts are those that keep the gradients in the means.
    """
    found = likelihood_sites(likelihood, mean, variance, y)
    precision = np.maximum(found.precision, max(_LEAST_PRECISION * found.precision.max(), 1e-10))
    return NaturalSites(found.shift + (precision - found.precision) * mean, precision)


def _without_common_shift(model: LatentModel, mean: np.ndarray) -> np.ndarray:
    """Return marginal means without what all latents have moved in common, which some likelihoods cannot see.

    The best q leaves it at the prior's; sites that treat latents one by one approach that only slowly.
    """
    if not model.likelihood.is_shift_invariant:
        return mean
    return mean - (mean - model.mean).mean(axis=1, keepdims=True)


def relative_targets(model: LatentModel, sites: NaturalSites, latent: int) -> np.ndarray:
    """Return z - mean of one latent, shape (n,): 0 where a site says nothing, as one of a label that has just come."""
    shift, precision = (part[:, latent] for part in sites)
    silent = precision == 0
    return np.where(silent, 0.0, shift / np.where(silent, 1.0, precision) - model.mean[latent])


def _log_partition(model: LatentModel, sites: NaturalSites, latent: int, terms: Found) -> float:
    """Return the log of the integral of prior times sites, of one latent.

    With r = z - mean: sum of (shift mean - precision mean^2 / 2) + r' W r / 2 - r' C^-1 r / 2 - log det B / 2.
    """
    shift, precision = (part[:, latent] for part in sites)
    mean, relative = float(model.mean[latent]), relative_targets(model, sites, latent)
    constant = (shift * mean - precision * mean**2 / 2).sum() + (precision * relative**2).sum() / 2
    return float(constant - terms.quadratic / 2 - terms.log_det.value / 2)


def _relative_change(here: NaturalSites, there: NaturalSites) -> float:
    """Return the largest move of any latent's natural parameters, as a share of their size."""
    pairs = zip(here, there, strict=True)
    return max(float(np.linalg.norm(b - a)) / max(float(np.linalg.norm(b)), 1e-12) for a, b in pairs)
