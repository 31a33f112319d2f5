"""MarkovSolver and JointSolver: everything from solves with a sparse precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.learning.objective import Objective
from hypergauss.solvers.base import Posterior, Prior, Solver
from hypergauss.solvers.markov.evidence import MarkovEvidence
from hypergauss.solvers.markov.field import is_field, is_made_of_parts
from hypergauss.solvers.markov.joint import JointWorkspace
from hypergauss.solvers.markov.joint_evidence import JointEvidence
from hypergauss.solvers.markov.joint_posterior import JointPosterior
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.markov.posterior import MarkovPosterior
from hypergauss.solvers.markov.system import Workspace
from hypergauss.solvers.pathwise import earlier_mean
from hypergauss.solvers.sites import Observations, Sites


class MarkovSolver(Solver):
    """Systems Q + W by conjugate gradients, log determinants by probes, variances by exact draws.

    Parameters
    ----------
    kernel : Matern
        At any hyperparameters, of whole nu, on a spectrum that leaves out nothing.
    rows : array of int, shape (n,)
        The vertices that have sites, each once.
    options : Markov, optional
        Settings.
    """

    name: ClassVar[str] = "markov"
    is_estimated: ClassVar[bool] = True

    def __init__(self, kernel: Kernel, rows: np.ndarray, options: Markov | None = None) -> None:
        super().__init__(kernel, rows)
        self.workspace = Workspace(kernel, Markov() if options is None else options)

    @property
    def options(self) -> Markov:
        """The settings."""
        return self.workspace.options

    def objective(self, observations: Observations) -> Objective:  # noqa: D102
        return MarkovEvidence(self.workspace, observations)

    def posterior(self, prior: Prior, sites: Sites, start: np.ndarray | None = None) -> MarkovPosterior:
        """Return the prior given sites; a posterior mean at every vertex, shape (N, L), is where solves may begin."""
        return MarkovPosterior(prior, sites, self.workspace, start)

    def resumed(self, prior: Prior, sites: Sites, before: Posterior, moved: np.ndarray) -> MarkovPosterior:
        """Return the posterior, whose solve begins with the earlier mean, and the prior's at vertices that are new."""
        return self.posterior(prior, sites, earlier_mean(prior, before, moved))


class JointSolver(Solver):
    """The same for a kernel of several parts: fields that are centred, scaled or added, and features.

    Parameters
    ----------
    kernel : Kernel
        `Standardised` of a Matern of whole nu, or a sum of such, of Matern kernels and of kernels with features.
    rows, options
        As for `MarkovSolver`.
    """

    name: ClassVar[str] = "markov"
    is_estimated: ClassVar[bool] = True

    def __init__(self, kernel: Kernel, rows: np.ndarray, options: Markov | None = None) -> None:
        super().__init__(kernel, rows)
        self.workspace = JointWorkspace(kernel, Markov() if options is None else options)

    @property
    def options(self) -> Markov:
        """The settings."""
        return self.workspace.options

    def objective(self, observations: Observations) -> Objective:  # noqa: D102
        return JointEvidence(self.workspace, observations)

    def posterior(self, prior: Prior, sites: Sites) -> JointPosterior:  # noqa: D102
        return JointPosterior(prior, sites, self.workspace)


def markov_solver(kernel: Kernel, rows: np.ndarray, options: Markov) -> Solver:
    """Return the solver of one field as it is, or of several parts."""
    return (MarkovSolver if is_field(kernel) or not is_made_of_parts(kernel) else JointSolver)(kernel, rows, options)
