"""condition(prior, sites) -> Posterior: systems of a prior and Gaussian sites, and what solves them."""

from hypergauss.solvers.base import GaussianModel, Posterior, Prior, Solver
from hypergauss.solvers.choose import condition, learn, solver_for
from hypergauss.solvers.iterative import Iterative
from hypergauss.solvers.markov import Markov
from hypergauss.solvers.projection import InducingVertices, SpectralFeatures
from hypergauss.solvers.sites import NaturalSites, Observations, Sites

__all__ = [
    "GaussianModel",
    "InducingVertices",
    "Iterative",
    "Markov",
    "NaturalSites",
    "Observations",
    "Posterior",
    "Prior",
    "Sites",
    "Solver",
    "SpectralFeatures",
    "condition",
    "learn",
    "solver_for",
]
