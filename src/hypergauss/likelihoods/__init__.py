"""How observations arise from latent functions; each is written once and serves every inference method."""

from hypergauss.likelihoods.base import Classification, Likelihood
from hypergauss.likelihoods.binary import Bernoulli
from hypergauss.likelihoods.categorical import RobustMax, Softmax

__all__ = ["Bernoulli", "Classification", "Likelihood", "RobustMax", "Softmax"]
