"""Conditioning a prior on its sites, learning hyperparameters by the evidence, and sampling what has no closed form."""

from hypergauss.inference.conditioning import condition
from hypergauss.inference.draws import Draws
from hypergauss.inference.gaussian import GaussianModel, learn
from hypergauss.inference.iterative import Iterative
from hypergauss.inference.learning import Learned, maximise
from hypergauss.inference.mcmc import sample_posterior
from hypergauss.inference.posterior import Posterior, Prior
from hypergauss.inference.priors import LogNormal
from hypergauss.inference.projection import InducingVertices, SpectralFeatures
from hypergauss.inference.sites import Observations, Sites

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
