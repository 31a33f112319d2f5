"""IterativeSolver: everything from products with the Laplacian alone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.learning.objective import Objective
from hypergauss.solvers.base import Posterior, Prior, Solver
from hypergauss.solvers.iterative.evidence import IterativeEvidence
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.iterative.posterior import IterativePosterior
from hypergauss.solvers.iterative.system import Workspace
from hypergauss.solvers.pathwise import earlier_mean
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.solvers.spectral_evidence import SpectralEvidence


class IterativeSolver(Solver):
    """Systems by conjugate gradients, log determinants by probes, variances by draws.

    What is found for a kernel at some hyperparameters, above all its leading eigenvectors, serves at all others: the
    objectives and posteriors of one solver share a `Workspace`.

    Parameters
    ----------
    kernel : Kernel
        At any hyperparameters, with a hypergraph in it.
    rows : array of int, shape (n,)
        The vertices that have sites, each once.
    options : Iterative, optional
        Settings.
    """

    name: ClassVar[str] = "iterative"
    is_estimated: ClassVar[bool] = True

    def __init__(self, kernel: Kernel, rows: np.ndarray, options: Iterative | None = None) -> None:
        super().__init__(kernel, rows)
        self.workspace = Workspace(kernel, Iterative() if options is None else options)
        self._kernel = kernel

    @property
    def options(self) -> Iterative:
        """The settings."""
        return self.workspace.options

    def objective(self, observations: Observations) -> Objective:
        """Return the log evidence: in closed form from spectral measures where these tell all, else an estimate."""
        if SpectralEvidence.applies(self._kernel, observations):
            return SpectralEvidence.of(self.workspace.operator, observations, self.options.generator(3))
        return IterativeEvidence(self.workspace, observations)

    def posterior(self, prior: Prior, sites: Sites) -> IterativePosterior:  # noqa: D102
        return IterativePosterior(prior, sites, self.workspace)

    def resumed(self, prior: Prior, sites: Sites, before: Posterior, moved: np.ndarray) -> IterativePosterior:
        """Return the posterior, whose solve begins with the earlier mean, and the prior's at vertices that are new."""
        return IterativePosterior(prior, sites, self.workspace, earlier_mean(prior, before, moved))
