"""The iterative solver: conditioning, evidence and draws from products with the Laplacian alone."""

from hypergauss.inference.iterative.options import Iterative
from hypergauss.inference.iterative.posterior import IterativePosterior

__all__ = ["Iterative", "IterativePosterior"]
