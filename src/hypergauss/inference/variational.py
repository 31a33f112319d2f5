r"""Conjugate-computation variational inference: natural gradients on the full Gaussian posterior, as moving sites.

The best Gaussian q has the form prior times sites. A natural-gradient step of length rho replaces each site by a
mixture of itself and the likelihood's own gradient (Khan and Lin, 2017; Adam et al., 2021):

    precision <- (1 - rho) precision + rho (-2 d/dvariance E log p(y | f)),
    shift     <- (1 - rho) shift     + rho (d/dmean E log p(y | f) + new precision * mean),

and the bound is  ELBO = log Z + sum of ( E log p(y | f) - E log site(f) ).
At the fixed point its gradient in the hyperparameters, with the sites held, is that of the best bound: there the bound
is stationary in the marginals, and only log Z and the likelihood's own hyperparameters have slopes.
"""

from __future__ import annotations

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.site_objective import TIGHT, Settled, SiteObjective, Tried, move_sites
from hypergauss.likelihoods import Expectation, Likelihood
from hypergauss.solvers.base import ExactSolver, Marginals
from hypergauss.solvers.sites import NaturalSites

#: The step of differences in a likelihood's own coordinates, and the longest width of one of them.
_DIFFERENCE, _WIDEST = 1e-4, 4.0


def elbo(marginals: Marginals, sites: NaturalSites, expectation: Expectation) -> float:
    """Return the evidence lower bound at given sites."""
    mean, variance = marginals.mean, marginals.variance
    of_sites = np.vdot(sites.shift, mean) - np.vdot(sites.precision, mean * mean + variance) / 2
    return float(marginals.log_partition + expectation.value.sum() - of_sites)


def best_sites(
    model: LatentModel,
    solver: ExactSolver,
    y: np.ndarray,
    start: NaturalSites,
    tolerance: float = TIGHT,
    rival: float | None = None,
) -> Settled:
    """Move sites by natural-gradient steps until the bound stops rising (`move_sites`)."""

    def attempt(sites: NaturalSites) -> Tried:
        marginals = solver.marginals(model.kernel, model.mean, sites)
        if not marginals.is_proper:
            return Tried(-np.inf, marginals, sites)
        found = model.likelihood.expectation(marginals.mean, marginals.total_variance, y)
        return Tried(elbo(marginals, sites, found), marginals, _target(model.likelihood, marginals.mean, found))

    return move_sites(model, start, attempt, tolerance, rival)


def likelihood_sites(likelihood: Likelihood, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> NaturalSites:
    """Return the sites that a full natural-gradient step goes to from marginals of these means and variances."""
    return _target(likelihood, mean, likelihood.expectation(mean, variance, y))


def _target(likelihood: Likelihood, mean: np.ndarray, found: Expectation) -> NaturalSites:
    precision = -2 * found.in_variance
    if likelihood.is_log_concave:
        precision = np.maximum(precision, 0.0)  # below zero by no more than the quadrature's error
    return NaturalSites(found.in_mean + precision * mean, precision)


class VariationalObjective(SiteObjective):
    """The best bound at given hyperparameters."""

    def settle(self, model: LatentModel) -> Settled:  # noqa: D102
        return best_sites(model, self.solver, self.y, self.sites, self.tolerance, self.rival)

    def widths(self, model: LatentModel) -> np.ndarray:
        """Return the standard deviations that q leaves a likelihood's own coordinates, from 1 to 4; others have 1.

        Of the few labels that are wrong, say, a handful tells the logarithm of their share.
        """
        likelihood, widths = model.likelihood, np.ones(len(parameters.pack(model.likelihood)))
        if len(widths):
            # Widths are no finer than that: beside a value that is infinitely far, sites may settle coarsely.
            found = best_sites(model, self.solver, self.y, self.sites, self.tolerance, np.inf)
            self.sites = found.sites
            marginals, theta = found.marginals, parameters.pack(likelihood)
            for j, step in enumerate(_DIFFERENCE * np.eye(len(theta))):
                ahead, behind = (
                    parameters.unpack(likelihood, theta + sign * step).pull_back(
                        marginals.mean, marginals.total_variance, self.y
                    )[j]
                    for sign in (1, -1)
                )
                bend = (behind - ahead) / (2 * _DIFFERENCE)
                widths[j] = np.clip(1 / np.sqrt(np.fmax(bend, _WIDEST**-2)), 1.0, _WIDEST)
        return np.exp(parameters.gather(model, {"likelihood": np.log(widths)}))

    def gradient(self, model: LatentModel, found: Settled) -> np.ndarray:  # noqa: D102
        mean, variance = found.marginals.mean, found.marginals.total_variance
        # What a sparse approximation leaves out of the prior is in no log Z, but the likelihood sees it.
        in_unexplained = -found.sites.precision.sum(axis=1) / 2
        in_kernel, in_mean = self.solver.pull_back(model.kernel, model.mean, found.sites, in_unexplained)
        in_likelihood = model.likelihood.pull_back(mean, variance, self.y)
        gradients = {"kernel": in_kernel, "likelihood": in_likelihood, "mean": in_mean}
        return parameters.gather(model, gradients)
