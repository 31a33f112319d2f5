"""condition(prior, sites): systems of a prior and Gaussian sites, solved."""

from hypergauss.solvers.choose import condition
from hypergauss.solvers.iterative import Iterative
from hypergauss.solvers.base import Posterior, Prior
from hypergauss.solvers.sites import Observations, Sites

__all__ = ["Iterative", "Observations", "Posterior", "Prior", "Sites", "condition"]
