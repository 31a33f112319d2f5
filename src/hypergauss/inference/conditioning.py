"""condition(prior, sites) -> Posterior: the one primitive that the whole library rests on."""

from __future__ import annotations

from hypergauss import _checks
from hypergauss.inference.dense import DenseEvidence, DensePosterior
from hypergauss.inference.low_rank import (
    GeneralEvidence,
    LowRankPosterior,
    UniformEvidence,
    low_rank_evidence,
)
from hypergauss.inference.posterior import Posterior, Prior
from hypergauss.inference.projection import Inducing
from hypergauss.inference.sites import Observations, Sites
from hypergauss.inference.sparse import CollapsedBound, SparsePosterior
from hypergauss.kernels import Kernel

SOLVERS = ("auto", "dense", "low-rank")

#: Any of the forms in which the log evidence can be evaluated again and again.
Evidence = DenseEvidence | UniformEvidence | GeneralEvidence | CollapsedBound


def choose_solver(kernel: Kernel, num_sites: int, solver: str = "auto") -> str:
    """Return the solver to use: "low-rank" where the kernel has fewer features than there are sites."""
    _checks.one_of("solver", solver, SOLVERS)
    if solver != "auto":
        return solver
    return "low-rank" if kernel.rank is not None and kernel.rank < num_sites else "dense"


def condition(prior: Prior, sites: Sites, solver: str = "auto", inducing: Inducing | None = None) -> Posterior:
    """Return the prior given its sites, exactly unless inducing variables are given.

    Parameters
    ----------
    prior : Prior
        Kernel and constant mean.
    sites : Sites
        Gaussian observations of the latent function.
    solver : {"auto", "dense", "low-rank"}
        "dense" factorises the n x n covariance; "low-rank" works in the kernel's r features and is exact as well.
    inducing : Inducing, optional
        Variables that stand for the latent function: the sparse approximation, whatever the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from hypergauss import Hypergraph, Spectrum, kernels
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> prior = Prior(kernels.Matern(Spectrum.of(H)), np.zeros(1))
    >>> posterior = condition(prior, Sites(np.array([0]), np.array([[1.0]]), np.array([0.1])))
    >>> posterior.mean(np.arange(3)).ravel().round(3)
    array([0.89 , 1.007, 0.638])
    """
    if inducing is not None:
        return SparsePosterior(prior, sites, inducing)
    chosen = choose_solver(prior.kernel, len(sites.rows), solver)
    return DensePosterior(prior, sites) if chosen == "dense" else LowRankPosterior(prior, sites)


def evidence_of(
    kernel: Kernel, observations: Observations, solver: str = "auto", inducing: Inducing | None = None
) -> Evidence:
    """Return the log evidence, or its sparse bound, as a function of hyperparameters.

    The data are reduced as far as the solver allows.
    """
    if inducing is not None:
        inducing.check(kernel)
        return CollapsedBound.of(kernel, observations, inducing)
    chosen = choose_solver(kernel, len(observations.rows), solver)
    return DenseEvidence.of(kernel, observations) if chosen == "dense" else low_rank_evidence(kernel, observations)
