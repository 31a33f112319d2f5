r"""Expectation propagation: each site stands for its likelihood where the others leave the latents.

With marginals N(m, v) under prior times sites, a site exp(shift f - b f^2 / 2) is taken out to leave the cavity

    v_c = v / (1 - v b),    m_c = v_c (m / v - shift),

and is replaced by the one that gives cavity times site the mean and variance of cavity times likelihood. With
g and h the first and second derivative of log Z_i = log E p(y_i | f) in the cavity's mean,

    b <- -h / (1 + v_c h),    shift <- (g - m_c h) / (1 + v_c h).

The log evidence is approximated by log Z = log Z(prior, sites) + sum of (log Z_i - log of cavity times site's mass). At
the fixed point it is stationary in the sites, so that its gradient has them held. (Minka, 2001; Rasmussen and Williams,
2006, section 3.6.) Latents of one vertex have sites of their own, one each.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mixing import Mixing, Settling
from hypergauss.inference.site_objective import Settled, SiteObjective
from hypergauss.likelihoods import Likelihood, Tilted
from hypergauss.solvers.base import Marginals
from hypergauss.solvers.sites import NaturalSites

#: Sites have settled when two steps in a row change log Z by less than the tolerance, for each observation.
MOST_STEPS = 200
#: Steps that the next one is mixed from, and the share of a precision that mixing leaves at least.
_MEMORY, _LEAST_KEPT = 6, 0.3
#: The gain of an iteration, for each observation, that ends a search over hyperparameters.
LEAST_GAIN = 1e-5
#: A cavity keeps at least this share of its precision.
LEAST_CAVITY = 1e-6


class Cavity(NamedTuple):
    """Marginals without their own site: mean and variance, shape (n, L), and log of cavity times site's mass."""

    mean: np.ndarray
    variance: np.ndarray
    log_mass: float


def cavity(marginals: Marginals, sites: NaturalSites) -> Cavity:
    """Take every site out of its own marginal.

    With l = 1 - v b, the log mass log(l) / 2 + (m^2 / v - m_c^2 / v_c) / 2 is written without a division by v, which is
    0 where inducing variables say nothing of a vertex.
    """
    m, v, shift, b = marginals.mean, marginals.variance, sites.shift, sites.precision
    left = np.maximum(1.0 - v * b, LEAST_CAVITY)
    log_mass = (np.log(left) + (2 * m * shift - b * m**2 - v * shift**2) / left) / 2
    return Cavity((m - v * shift) / left, v / left, float(log_mass.sum()))


class PropagationObjective(SiteObjective):
    """The log evidence by expectation propagation at given hyperparameters."""

    loose: ClassVar[float] = 1e-5
    tight: ClassVar[float] = 1e-9

    @property
    def least_gain(self) -> float:
        """What an approximation of this kind does not resolve, and averaging over hyperparameters does not need."""
        return LEAST_GAIN

    def settle(self, model: LatentModel) -> Settled:  # noqa: D102
        sites, mixing, settling = self.sites, Mixing(_MEMORY), Settling(self.tolerance * len(self.y))
        marginals = self.solver.marginals(model.kernel, model.mean, sites)
        for _ in range(MOST_STEPS):
            left = cavity(marginals, sites)
            found = model.likelihood.tilted(left.mean, left.variance + marginals.unexplained, self.y)
            value = marginals.log_partition + float(found.log_z.sum()) - left.log_mass
            if not np.isfinite(value):
                return Settled(sites, marginals, -np.inf)
            if settling.has_at(value):
                break
            sites = mixed(mixing, sites, matched(model.likelihood, left, found))
            marginals = self.solver.marginals(model.kernel, model.mean, sites)
        return Settled(sites, marginals, value)

    def gradient(self, model: LatentModel, found: Settled) -> np.ndarray:  # noqa: D102
        left = cavity(found.marginals, found.sites)
        variance = left.variance + found.marginals.unexplained
        tilted = model.likelihood.tilted(left.mean, variance, self.y)
        # What a sparse approximation leaves out widens what the likelihood sees, and log Z_i has slope (h + g^2) / 2.
        in_unexplained = (tilted.bend + tilted.in_mean**2).sum(axis=1) / 2
        in_kernel, in_mean = self.solver.pull_back(model.kernel, model.mean, found.sites, in_unexplained)
        in_likelihood = model.likelihood.pull_back_tilted(left.mean, variance, self.y)
        return parameters.gather(model, {"kernel": in_kernel, "likelihood": in_likelihood, "mean": in_mean})


def mixed(mixing: Mixing, sites: NaturalSites, target: NaturalSites) -> NaturalSites:
    """Return the next sites; what mixing makes of a precision stays away from zero."""
    shift, precision = mixing.next(np.stack(sites), np.stack(target))
    least = _LEAST_KEPT * np.minimum(sites.precision, target.precision)
    return NaturalSites(shift, np.maximum(precision, least))


def matched(likelihood: Likelihood, left: Cavity, found: Tilted) -> NaturalSites:
    """Return the sites that give cavity times site the moments of cavity times likelihood."""
    bend = np.minimum(found.bend, 0.0) if likelihood.is_log_concave else found.bend  # above zero only by rounding
    share = 1.0 + left.variance * bend
    return NaturalSites((found.in_mean - left.mean * bend) / share, -bend / share)
