"""How observations arise from latent functions; each is written once and serves every inference method."""

from hypergauss.likelihoods.base import (
    Classification,
    Expectation,
    Likelihood,
    Measurement,
    Moments,
    OneLatent,
    Tilted,
    as_classification,
)
from hypergauss.likelihoods.binary import Bernoulli
from hypergauss.likelihoods.categorical import RobustMax, Softmax
from hypergauss.likelihoods.counts import Poisson
from hypergauss.likelihoods.gaussian import Gaussian
from hypergauss.likelihoods.multinomial_probit import MultinomialProbit
from hypergauss.likelihoods.ordinal import OrderedProbit
from hypergauss.likelihoods.student import StudentT

__all__ = [
    "Bernoulli",
    "Classification",
    "Expectation",
    "Gaussian",
    "Likelihood",
    "Measurement",
    "Moments",
    "MultinomialProbit",
    "OneLatent",
    "OrderedProbit",
    "Poisson",
    "RobustMax",
    "Softmax",
    "StudentT",
    "Tilted",
    "as_classification",
]
