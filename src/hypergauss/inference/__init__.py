"""Conditioning a prior on its sites, exactly, and learning hyperparameters by the evidence."""

from hypergauss.inference.conditioning import condition
from hypergauss.inference.gaussian import GaussianModel, learn
from hypergauss.inference.learning import Learned, maximise
from hypergauss.inference.posterior import Posterior, Prior
from hypergauss.inference.priors import LogNormal
from hypergauss.inference.sites import Observations, Sites

__all__ = [
    "GaussianModel",
    "Learned",
    "LogNormal",
    "Observations",
    "Posterior",
    "Prior",
    "Sites",
    "condition",
    "learn",
    "maximise",
]
