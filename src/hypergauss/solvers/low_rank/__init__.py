"""The low-rank solver: all that is done in the r features of a structured kernel."""

from hypergauss.solvers.low_rank.posterior import LowRankPosterior
from hypergauss.solvers.low_rank.solver import LowRankSolver

__all__ = ["LowRankPosterior", "LowRankSolver"]
