r"""Likelihoods at any size: sites moved with the iterative solver.

The fixed point is that of `variational`: each site is the likelihood's own gradient at its marginal. Means are solved
for; variances come from pathwise draws that stay the same from step to step, so the iteration is a deterministic map
of the sites, and converges as it does with exact variances.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from warnings import warn

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hypergauss import parameters
from hypergauss.exceptions import LearningWarning
from hypergauss.inference.mixing import Mixing
from hypergauss.solvers.iterative import Iterative
from hypergauss.solvers.iterative.covariance import Skeleton
from hypergauss.solvers.iterative.evidence import EvidenceTerms, Slopes, evidence_terms
from hypergauss.solvers.iterative.information import Curvature, Numbers, local_model
from hypergauss.solvers.iterative.system import System, Workspace
from hypergauss.inference.latent import LatentModel
from hypergauss.learning.search import EstimatedObjective
from hypergauss.solvers.marginals import Marginals, NaturalSites
from hypergauss.learning.trust_region import LocalModel
from hypergauss.learning.priors import Matched, log_prior
from hypergauss.inference.variational import likelihood_sites
from hypergauss.likelihoods import Likelihood

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
    """The evidence lower bound at given hyperparameters, estimated, at the sites that hold there.

    Parameters
    ----------
    model : LatentModel
        Whose hyperparameters are to be set.
    rows, y : arrays, shape (n,)
        Observed vertices by index, each once, and what was observed.
    options : Iterative
        Settings.
    start : NaturalSites, optional
        Sites to begin with.
    """

    def __init__(
        self,
        model: LatentModel,
        rows: np.ndarray,
        y: np.ndarray,
        options: Iterative,
        start: NaturalSites | None = None,
    ) -> None:
        self.model, self.rows, self.y, self.options = model, rows, parameters.as_array(y), options
        self.workspace = Workspace(model.kernel, options)
        self.sites = self._first_sites() if start is None else start
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

    def value(self, theta: np.ndarray, priors: Matched) -> float:  # noqa: D102
        return self._evaluate(theta, priors)[0]

    def local_model(self, theta: np.ndarray, priors: Matched) -> LocalModel:  # noqa: D102
        value, setting, found = self._evaluate(theta, priors)

        def curvatures(tangents: list[Numbers]) -> list[Curvature]:
            pairs = zip(found, tangents, strict=True)
            return [Curvature.of(terms.system, terms.alpha, tangent, self.rows[:0]) for terms, tangent in pairs]

        return local_model(theta, value, setting, curvatures)

    def _evaluate(self, theta: np.ndarray, priors: Matched) -> tuple[float, _Setting, list[EvidenceTerms]]:
        """Return the bound plus log prior, and what it was found from; the sites of the highest are kept."""
        model = parameters.unpack(self.model, theta)
        sites, marginals = self.settle(model)
        found = [self._terms(model, sites, latent) for latent in range(model.likelihood.num_latents)]
        self._standard_error = 0.5 * float(np.sqrt(sum(terms.probes.standard_error**2 for terms in found)))
        log_partition = sum(self._log_partition(model, sites, latent, terms) for latent, terms in enumerate(found))
        subspace = self.workspace.subspace
        setting = _Setting(
            self.model,
            self.workspace.structure.skeleton,
            tuple(terms.system.covariance.lengths for terms in found),
            tuple(terms.slopes._replace(noise=np.zeros(0)) for terms in found),
            marginals,
            self.y,
            np.zeros(0) if subspace is None else subspace.values,
            priors,
        )
        value = log_partition + float(_beyond_sites(model, setting, sites)) + float(log_prior(model, priors))
        if value > self._highest:
            self._highest, self.sites = value, sites
        return value, setting, found

    @property
    def _operator(self) -> Any:
        return self.workspace.operator

    def _first_sites(self) -> NaturalSites:
        """Return the sites of the prior's own marginals, which no solve is needed for."""
        shape = (len(self.rows), self.model.likelihood.num_latents)
        mean = jnp.broadcast_to(self.model.mean, shape)
        variance = jnp.full(shape, self.model.kernel.mean_variance())
        return _target(self.model.likelihood, Marginals(mean, variance, jnp.zeros(()), jnp.array(True)), self.y)

    def settle(self, model: LatentModel) -> tuple[NaturalSites, Marginals]:
        """Move sites, from the best so far, until they change no more; return them and their marginals."""
        sites, mixing = self.sites, Mixing(_MEMORY)
        draws, noise = self._draws(model)
        for step in range(_MOST_STEPS):
            marginals = self._marginals(model, sites, draws, noise)
            target = _target(model.likelihood, _without_common_shift(model, marginals), self.y)
            change = _relative_change(sites, target)
            # Sites and marginals must belong together: the bound is one of no others.
            if change < _SETTLED or step == _MOST_STEPS - 1:
                break
            mixed = mixing.next(np.stack(sites), np.stack(target))
            # A mixture of positive precisions with weights of either sign may not be positive.
            sites = NaturalSites(jnp.asarray(mixed[0]), jnp.maximum(mixed[1], target.precision / _LARGEST_FALL))
        if not change < _SETTLED:
            warn(
                f"The sites still change by {change:.0%} of their size after {_MOST_STEPS} steps. The bound holds, but "
                "is not the best there is. Likely cause: a likelihood that is not log-concave.",
                LearningWarning,
                stacklevel=2,
            )
        return sites, marginals

    def _draws(self, model: LatentModel) -> tuple[Any, Any]:
        """Return prior draws at every vertex and white noise of the sites, the same at each call."""
        rng = self.options.generator(4)
        number = int(np.clip(self.options.probes_for(self._operator.size), *_DRAWS))
        system = System(self.workspace, model.kernel, self._precision(self.sites, 0), _SOLVED)
        return system.covariance.draws(number, rng), system.sample_noise(number, rng)

    def _marginals(self, model: LatentModel, sites: NaturalSites, draws: Any, noise: Any) -> Marginals:
        """Return the mean of each latent at the sites by a solve, and its variance from draws."""
        means, variances = [], []
        for latent in range(model.likelihood.num_latents):
            precision = self._precision(sites, latent)
            system = System(self.workspace, model.kernel, precision, _SOLVED)
            targets = self._targets(model, sites, latent)
            block = self._operator.concatenate([system.root * targets, system.root * draws + noise])
            self._solved[latent] = system.solve(block, self._solved.get(latent)).x
            smooth = system.covariance @ (system.root * self._solved[latent])
            at_rows = self._operator.array(smooth, self.rows)
            deviations = self._operator.array(draws, self.rows) - at_rows[:, 1:]
            means.append(float(model.mean[latent]) + at_rows[:, 0])
            variances.append((deviations**2).mean(axis=1))
        return Marginals(
            jnp.asarray(np.stack(means, axis=1)),
            jnp.asarray(np.stack(variances, axis=1)),
            jnp.zeros(()),
            jnp.array(True),
        )

    def _precision(self, sites: NaturalSites, latent: int) -> Any:
        return self._scattered(np.asarray(sites.precision)[:, latent])

    def _targets(self, model: LatentModel, sites: NaturalSites, latent: int) -> Any:
        pseudo = np.asarray(sites.shift)[:, latent] / np.asarray(sites.precision)[:, latent]
        return self._scattered(pseudo - float(model.mean[latent]))

    def _scattered(self, at_rows: np.ndarray) -> Any:
        whole = np.zeros((self._operator.size, 1))
        whole[self.rows, 0] = at_rows
        return self._operator.vector(whole)

    def _terms(self, model: LatentModel, sites: NaturalSites, latent: int) -> EvidenceTerms:
        precision, targets = self._precision(sites, latent), self._targets(model, sites, latent)
        return evidence_terms(self.workspace, model.kernel, precision, targets)

    def _log_partition(self, model: LatentModel, sites: NaturalSites, latent: int, terms: EvidenceTerms) -> float:
        """Return the log of the integral of prior times sites, of one latent.

        With r = z - mean: sum of (shift mean - precision mean^2 / 2) + r' W r / 2 - r' C^-1 r / 2 - log det B / 2.
        """
        shift, precision = (np.asarray(part)[:, latent] for part in sites)
        mean = float(model.mean[latent])
        relative = shift / precision - mean
        constant = (shift * mean - precision * mean**2 / 2).sum() + (precision * relative**2).sum() / 2
        return float(constant - terms.quadratic / 2 - terms.probes.value / 2)


def _without_common_shift(model: LatentModel, marginals: Marginals) -> Marginals:
    """Return marginals without what all latents have moved in common, which some likelihoods cannot see.

    The best q leaves it at the prior's; sites that treat latents one by one approach that only slowly.
    """
    if not model.likelihood.is_shift_invariant:
        return marginals
    common = (marginals.mean - model.mean).mean(axis=1, keepdims=True)
    return marginals._replace(mean=marginals.mean - common)


@eqx.filter_jit
def _target(likelihood: Likelihood, marginals: Marginals, y: Array) -> NaturalSites:
    """Return the sites of the likelihood's own gradients, their precisions raised to nearly zero where below.

    Any such sites give a bound, and solves need them; the shifts are those that keep the gradients in the means.
    """
    found = likelihood_sites(likelihood, marginals, y)
    floor = jnp.maximum(_LEAST_PRECISION * found.precision.max(), 1e-10)
    precision = jnp.maximum(found.precision, floor)
    return NaturalSites(found.shift + (precision - found.precision) * marginals.mean, precision)


class _Setting(NamedTuple):
    """What the bound is a function of hyperparameters with, at fixed sites.

    Where the sites hold, the bound is stationary in the marginals, so only the log of the integral of prior times sites
    and the likelihood's own hyperparameters have slopes.
    """

    template: LatentModel
    skeleton: Skeleton
    lengths: tuple[tuple[int, ...], ...]
    slopes: tuple[Slopes, ...]
    marginals: Marginals
    y: Array
    ritz_values: np.ndarray
    priors: Matched

    def linear(self, theta: Array) -> Array:
        """Return a function with the gradient of the bound plus log prior."""
        model = parameters.unpack(self.template, theta)
        total = self.expected_log_density(model) + log_prior(model, self.priors)
        for latent, slopes in enumerate(self.slopes):
            of_kernel = slopes.surrogate(self.skeleton, model.kernel, self.ritz_values)
            total = total + of_kernel + slopes.mean[0] * model.mean[latent]
        return total

    def numbers(self, theta: Array) -> list[Numbers]:
        """Return what each latent's Gaussian field depends on; its sites stay as they are."""
        model = parameters.unpack(self.template, theta)
        return [
            Numbers(self.skeleton.coefficients(model.kernel, lengths), jnp.zeros(0), model.mean[latent : latent + 1])
            for latent, lengths in enumerate(self.lengths)
        ]

    def expected_log_density(self, model: LatentModel) -> Array:
        """Return that of what was observed, under the marginals."""
        return model.likelihood.expected_log_density(self.marginals.mean, self.marginals.variance, self.y).sum()


@eqx.filter_jit
def _beyond_sites(model: LatentModel, setting: _Setting, sites: NaturalSites) -> Array:
    """Return what the likelihood expects more than the sites do."""
    mean, variance = setting.marginals.mean, setting.marginals.variance
    of_sites = (sites.shift * mean - sites.precision * (mean**2 + variance) / 2).sum()
    return setting.expected_log_density(model) - of_sites


def _relative_change(here: NaturalSites, there: NaturalSites) -> float:
    """Return the largest move of any latent's natural parameters, as a share of their size."""
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(here, there, strict=True)]
    return max(float(np.linalg.norm(b - a)) / max(float(np.linalg.norm(b)), 1e-12) for a, b in pairs)
