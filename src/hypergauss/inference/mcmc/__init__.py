"""Draws of latents and hyperparameters together."""

from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.mcmc.sampling import sample_posterior

__all__ = ["Draws", "sample_posterior"]
