r"""Likelihoods at any size: sites moved with the iterative solver.

The fixed point is that of `variational`: each site is the likelihood's own gradient at its marginal. Means are solved
for; variances come from pathwise draws that stay the same from step to step, so the iteration is a deterministic map
of the sites, and converges as it does with exact variances.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.inference.iterative import Iterative
from hypergauss.inference.iterative.evidence import EvidenceTerms, Slopes, evidence_terms
from hypergauss.inference.iterative.system import System, Workspace
from hypergauss.inference.latent import LatentModel
from hypergauss.inference.learning import Objective
from hypergauss.inference.marginals import Marginals, NaturalSites
from hypergauss.inference.priors import Matched, log_prior
from hypergauss.inference.variational import likelihood_sites
from hypergauss.likelihoods import Likelihood

#: Steps of the sites for one value of the hyperparameters, and the relative change that ends them.
_MOST_STEPS, _SETTLED = 30, 1e-2
#: Draws behind variances while sites move, at the least; as many as there are probes where these are more.
_DRAWS = 16
#: The least precision of a site relative to the largest: below it says nothing.
_LEAST_PRECISION = 1e-6
#: A step shrinks by this where the change grows instead of falling.
_DAMPING = 0.5
#: The gain of an iteration, for each observation, below which learning ends.
_TOLERANCE = 1e-5


class IterativeVariational(Objective):
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

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.rows)

    @property
    def least_gain(self) -> float:  # noqa: D102
        return _TOLERANCE

    @property
    def state(self) -> NaturalSites:
        """The sites of the best evaluation so far."""
        return self.sites

    def value_and_gradient(self, theta: np.ndarray, priors: Matched) -> tuple[float, np.ndarray]:  # noqa: D102
        model = parameters.unpack(self.model, theta)
        sites, marginals = self._settle(model)
        found = [self._terms(model, sites, latent) for latent in range(model.likelihood.num_latents)]
        log_partition = sum(self._log_partition(model, sites, latent, terms) for latent, terms in enumerate(found))
        skeleton = self.workspace.structure.skeleton
        subspace = self.workspace.subspace
        gradient, at_sites, prior = _gradient(
            jnp.asarray(theta),
            self.model,
            skeleton,
            tuple(terms.slopes._replace(noise=jnp.zeros(0)) for terms in found),
            jnp.stack([jnp.asarray(self._operator.fetch(terms.alpha.sum())) for terms in found]),
            marginals,
            sites,
            self.y,
            jnp.zeros(0) if subspace is None else jnp.asarray(subspace.values),
            priors,
        )
        value = log_partition + float(at_sites)
        if value + float(prior) > self._highest and np.isfinite(gradient).all():
            self._highest, self.sites = value + float(prior), sites
        return value + float(prior), np.asarray(gradient)

    @property
    def _operator(self) -> Any:
        return self.workspace.operator

    def _first_sites(self) -> NaturalSites:
        """Return the sites of the prior's own marginals, which no solve is needed for."""
        shape = (len(self.rows), self.model.likelihood.num_latents)
        mean = jnp.broadcast_to(self.model.mean, shape)
        variance = jnp.full(shape, self.model.kernel.mean_variance())
        return self._proper(
            _target(self.model.likelihood, Marginals(mean, variance, jnp.zeros(()), jnp.array(True)), self.y)
        )

    @staticmethod
    def _proper(sites: NaturalSites) -> NaturalSites:
        """Return sites with positive precisions: any such sites give a bound, and solves need them."""
        precision = np.asarray(sites.precision)
        floor = max(_LEAST_PRECISION * float(precision.max(initial=0.0)), 1e-10)
        return NaturalSites(sites.shift, jnp.asarray(np.maximum(precision, floor)))

    def _settle(self, model: LatentModel) -> tuple[NaturalSites, Marginals]:
        """Move sites, from the best so far, until they change no more; return them and their marginals."""
        sites, step, last = self.sites, 1.0, np.inf
        draws, noise = self._draws(model)
        for _ in range(_MOST_STEPS):
            marginals = self._marginals(model, sites, draws, noise)
            target = self._proper(_target(model.likelihood, _without_common_shift(model, marginals), self.y))
            change = _relative_change(sites, target)
            if change < _SETTLED:
                break
            step = max(_DAMPING * step, 0.1) if change > last else min(1.0, 1.2 * step)
            last = change
            sites = jax.tree.map(lambda old, new, step=step: (1 - step) * old + step * new, sites, target)
        return sites, marginals

    def _draws(self, model: LatentModel) -> tuple[Any, Any]:
        """Return prior draws at every vertex and white noise of the sites, the same at each call."""
        rng = self.options.generator(4)
        number = max(_DRAWS, self.options.probes_for(self._operator.size))
        system = System(self.workspace, model.kernel, self._precision(self.sites, 0), self.options.sample_tolerance)
        return system.covariance.draws(number, rng), system.sample_noise(number, rng)

    def _marginals(self, model: LatentModel, sites: NaturalSites, draws: Any, noise: Any) -> Marginals:
        """Return the mean of each latent at the sites by a solve, and its variance from draws."""
        means, variances = [], []
        for latent in range(model.likelihood.num_latents):
            precision = self._precision(sites, latent)
            system = System(self.workspace, model.kernel, precision, self.options.sample_tolerance)
            targets = self._targets(model, sites, latent)
            block = self._operator.concatenate([system.root * targets, system.root * draws + noise])
            smooth = system.covariance @ (system.root * system.solve(block).x)
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
    return likelihood_sites(likelihood, marginals, y)


@eqx.filter_jit
def _gradient(
    theta: Array,
    template: LatentModel,
    skeleton: Any,
    slopes: tuple[Slopes, ...],
    total_alpha: Float[Array, " L"],
    marginals: Marginals,
    sites: NaturalSites,
    y: Array,
    ritz_values: Array,
    priors: Matched,
) -> tuple[Array, Array, Array]:
    """Return the bound's gradient (plus log prior's) at fixed sites, what sites add to log Z, and the log prior.

    Where the sites hold, the bound is stationary in the marginals, so only log Z and the likelihood's own
    hyperparameters have slopes.
    """

    def surrogate(theta: Array) -> tuple[Array, tuple[Array, Array]]:
        model = parameters.unpack(template, theta)
        expected = model.likelihood.expected_log_density(marginals.mean, marginals.variance, y).sum()
        of_sites = (sites.shift * marginals.mean - sites.precision * (marginals.mean**2 + marginals.variance) / 2).sum()
        prior = log_prior(model, priors)
        log_z = total_alpha @ model.mean
        for one in slopes:
            log_z = log_z + one.surrogate(skeleton, model.kernel, ritz_values)
        return log_z + expected + prior, (expected - of_sites, prior)

    (_, (at_sites, prior)), gradient = jax.value_and_grad(surrogate, has_aux=True)(theta)
    return gradient, at_sites, prior


def _relative_change(here: NaturalSites, there: NaturalSites) -> float:
    """Return the largest move of any latent's natural parameters, as a share of their size."""
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(here, there, strict=True)]
    return max(float(np.linalg.norm(b - a)) / max(float(np.linalg.norm(b)), 1e-12) for a, b in pairs)
