"""The iterative solver: conditioning, evidence and draws from products with the Laplacian alone."""

from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.iterative.posterior import IterativePosterior
from hypergauss.solvers.iterative.solver import IterativeSolver

__all__ = ["Iterative", "IterativePosterior", "IterativeSolver"]
