"""How sites move: the posterior under any likelihood, by variational inference, Laplace's method, or sampling."""

from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.inference.mcmc import Draws, sample_posterior
from hypergauss.inference.selection import select_inducing_vertices
from hypergauss.learning import Learned, LogNormal, maximise
from hypergauss.solvers import (
    GaussianModel,
    InducingVertices,
    Iterative,
    Markov,
    Observations,
    Posterior,
    Prior,
    Sites,
    SpectralFeatures,
    condition,
    learn,
)

__all__ = [
    "Draws",
    "GaussianLatents",
    "GaussianModel",
    "InducingVertices",
    "Iterative",
    "LatentModel",
    "Learned",
    "LogNormal",
    "Markov",
    "Observations",
    "Posterior",
    "Prior",
    "SampledLatents",
    "Sites",
    "SpectralFeatures",
    "condition",
    "learn",
    "maximise",
    "sample_posterior",
    "select_inducing_vertices",
]
