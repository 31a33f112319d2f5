"""How observations arise from latent functions; each is written once and serves every inference method."""

from hypergauss.likelihoods.base import (
    Classification,
    Expectation,
    Likelihood,
    Measurement,
    Moments,
    OneLatent,
    as_classification,
)
from hypergauss.likelihoods.binary import Bernoulli
from hypergauss.likelihoods.categorical import RobustMax, Softmax
from hypergauss.likelihoods.counts import Poisson
from hypergauss.likelihoods.gaussian import Gaussian
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
    "OneLatent",
    "OrderedProbit",
    "Poisson",
    "RobustMax",
    "Softmax",
    "StudentT",
    "as_classification",
]
