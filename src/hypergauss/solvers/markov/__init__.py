"""The Markov solver: a Matern kernel of whole nu through its sparse precision."""

from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.markov.posterior import MarkovPosterior
from hypergauss.solvers.markov.solver import MarkovSolver

__all__ = ["Markov", "MarkovPosterior", "MarkovSolver"]
