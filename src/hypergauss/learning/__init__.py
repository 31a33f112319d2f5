"""Learning hyperparameters: priors on them, searches, and the size exponent."""

from hypergauss.learning.priors import LogNormal
from hypergauss.learning.search import Learned, maximise

__all__ = ["Learned", "LogNormal", "maximise"]
