"""Conditioning a prior on its sites, learning hyperparameters by the evidence, and sampling what has no closed form."""

from hypergauss.solvers.choose import condition
from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.gaussian import GaussianModel, learn
from hypergauss.solvers.iterative import Iterative
from hypergauss.learning.search import Learned, maximise
from hypergauss.inference.mcmc.sampling import sample_posterior
from hypergauss.solvers.base import Posterior, Prior
from hypergauss.learning.priors import LogNormal
from hypergauss.solvers.projection import InducingVertices, SpectralFeatures
from hypergauss.solvers.sites import Observations, Sites

__all__ = [
    "Draws",
    "GaussianModel",
    "InducingVertices",
    "Iterative",
    "Learned",
    "LogNormal",
    "Observations",
    "Posterior",
    "Prior",
    "Sites",
    "SpectralFeatures",
    "condition",
    "learn",
    "maximise",
    "sample_posterior",
]
