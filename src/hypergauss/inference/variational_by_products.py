r"""Likelihoods at any size: sites moved with the iterative solver.

The fixed point is that of `variational`: each site is the likelihood's own gradient at its marginal. Means are solved
for; variances come from pathwise draws that stay the same from step to step, so the iteration is a deterministic map
of the sites, and converges as it does with exact variances.
"""

from __future__ import annotations

from warnings import warn

import numpy as np

from hypergauss import parameters
from hypergauss.exceptions import LearningWarning
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mixing import Mixing
from hypergauss.inference.variational import likelihood_sites
from hypergauss.learning.search import EstimatedObjective
from hypergauss.learning.trust_region import LocalModel
from hypergauss.likelihoods import Likelihood
from hypergauss.operators import Block, scattered
from hypergauss.solvers.base import Marginals
from hypergauss.solvers.iterative import IterativeSolver
from hypergauss.solvers.iterative.evidence import EvidenceTerms, evidence_terms
from hypergauss.solvers.iterative.information import Information, Loss, Numbers, local_model
from hypergauss.solvers.iterative.numbers import Layout
from hypergauss.solvers.iterative.system import System
from hypergauss.solvers.sites import NaturalSites

#: Steps of the sites for one value of the hyperparameters, and the relative change that ends them.
_MOST_STEPS, _SETTLED = 30, 1e-2
#: The gain, in nats, that is not worth another evaluation.
_LEAST_GAIN = 1e-2
#: Relative residual of the systems behind marginals: a map that converges to a percent needs less noise than that.
_SOLVED = 3e-4
#: Draws behind variances while sites move: as many as there are probes, within these limits.
_DRAWS = (16, 64)
#: Steps that the next one is mixed from.
_MEMORY = 2
#: A mixture may lower a precision by this factor at most, relative to where a plain step goes.
_LARGEST_FALL = 10.0
#: The least precision of a site relative to the largest: below it says nothing.
_LEAST_PRECISION = 1e-6


class IterativeVariational(EstimatedObjective):
    """The evidence lower bound of a model, estimated, at the sites that hold there.

    Parameters
    ----------
    solver : IterativeSolver
        At the observed vertices.
    model : LatentModel
        At any hyperparameters.
    y : array, shape (n,)
        What was observed at the solver's vertices.
    start : NaturalSites, optional
        Sites to begin with.
    """

    def __init__(
        self, solver: IterativeSolver, model: LatentModel, y: np.ndarray, start: NaturalSites | None = None
    ) -> None:
        self.solver, self.rows, self.y = solver, solver.rows, np.asarray(y)
        self.sites = self._first_sites(model) if start is None else start
        self._highest = -np.inf
        self._standard_error = np.nan
        self._solved: dict[int, Block] = {}  # of each latent, where the next solve begins

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

        def expected(moved: LatentModel) -> tuple[float, np.ndarray]:
            seen = (marginals.mean, marginals.variance, self.y)
            gradient = parameters.gather(moved, {"likelihood": moved.likelihood.pull_back(*seen)})
            return float(moved.likelihood.expected_log_density(*seen).sum()), gradient

        return local_model(model, value, numbers, np.concatenate([in_kernel, in_mean]), losses, expected)

    def _evaluate(self, model: LatentModel) -> tuple[float, Marginals, list[EvidenceTerms]]:
        """Return the bound, and what it was found from; the sites of the highest are kept."""
        sites, marginals = self.settle(model)
        found = [self._terms(model, sites, latent) for latent in range(model.likelihood.num_latents)]
        self._standard_error = 0.5 * float(np.sqrt(sum(terms.probes.standard_error**2 for terms in found)))
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
        draws, noise = self._draws(model)
        for step in range(_MOST_STEPS):
            marginals = self._marginals(model, sites, draws, noise)
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

    def _draws(self, model: LatentModel) -> tuple[Block, Block]:
        """Return prior draws at every vertex and white noise of the sites, the same at each call."""
        options = self.solver.options
        rng = options.generator(4)
        number = int(np.clip(options.probes_for(self.solver.num_vertices), *_DRAWS))
        system = self._system(model, self.sites, 0)
        return system.covariance.draws(number, rng), system.sample_noise(number, rng)

    def _marginals(self, model: LatentModel, sites: NaturalSites, draws: Block, noise: Block) -> Marginals:
        """Return the mean of each latent at the sites by a solve, and its variance from draws."""
        operator = self.solver.workspace.operator
        means, variances = [], []
        for latent in range(model.likelihood.num_latents):
            system = self._system(model, sites, latent)
            targets = self._targets(model, sites, latent)
            block = operator.concatenate([system.root * targets, system.root * draws + noise])
            self._solved[latent] = system.solve(block, self._solved.get(latent)).x
            smooth = system.covariance @ (system.root * self._solved[latent])
            at_rows = operator.array(smooth, self.rows)
            deviations = operator.array(draws, self.rows) - at_rows[:, 1:]
            means.append(model.mean[latent] + at_rows[:, 0])
            variances.append((deviations**2).mean(axis=1))
        return Marginals(np.stack(means, axis=1), np.stack(variances, axis=1), np.nan)

    def _system(self, model: LatentModel, sites: NaturalSites, latent: int) -> System:
        return System(self.solver.workspace, model.kernel, self._precision(sites, latent), _SOLVED)

    def _precision(self, sites: NaturalSites, latent: int) -> Block:
        return scattered(self.solver.workspace.operator, self.rows, sites.precision[:, latent])

    def _targets(self, model: LatentModel, sites: NaturalSites, latent: int) -> Block:
        pseudo = sites.shift[:, latent] / sites.precision[:, latent]
        return scattered(self.solver.workspace.operator, self.rows, pseudo - model.mean[latent])

    def _terms(self, model: LatentModel, sites: NaturalSites, latent: int) -> EvidenceTerms:
        precision, targets = self._precision(sites, latent), self._targets(model, sites, latent)
        return evidence_terms(self.solver.workspace, model.kernel, precision, targets)


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


def _log_partition(model: LatentModel, sites: NaturalSites, latent: int, terms: EvidenceTerms) -> float:
    """Return the log of the integral of prior times sites, of one latent.

    With r = z - mean: sum of (shift mean - precision mean^2 / 2) + r' W r / 2 - r' C^-1 r / 2 - log det B / 2.
    """
    shift, precision = (part[:, latent] for part in sites)
    mean = float(model.mean[latent])
    relative = shift / precision - mean
    constant = (shift * mean - precision * mean**2 / 2).sum() + (precision * relative**2).sum() / 2
    return float(constant - terms.quadratic / 2 - terms.probes.value / 2)


def _relative_change(here: NaturalSites, there: NaturalSites) -> float:
    """Return the largest move of any latent's natural parameters, as a share of their size."""
    pairs = zip(here, there, strict=True)
    return max(float(np.linalg.norm(b - a)) / max(float(np.linalg.norm(b)), 1e-12) for a, b in pairs)
