"""condition(prior, sites) -> Posterior: the one primitive that the whole library rests on."""

from __future__ import annotations

from typing import Any

from hypergauss import _checks
from hypergauss.solvers.dense import DenseEvidence, DensePosterior
from hypergauss.solvers.iterative import Iterative, IterativePosterior
from hypergauss.solvers.iterative.spectral_evidence import SpectralEvidence
from hypergauss.solvers.low_rank import (
    GeneralEvidence,
    LowRankPosterior,
    UniformEvidence,
    low_rank_evidence,
)
from hypergauss.solvers.base import Posterior, Prior
from hypergauss.solvers.projection import Inducing
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.solvers.sparse import CollapsedBound, SparsePosterior
from hypergauss.kernels import Kernel

SOLVERS = ("auto", "dense", "low-rank", "iterative")

#: A solver by name, or the iterative one with settings of its own.
Solver = str | Iterative

#: Any of the forms in which the log evidence can be evaluated again and again.
Evidence = DenseEvidence | UniformEvidence | GeneralEvidence | CollapsedBound | SpectralEvidence


def choose_solver(kernel: Kernel, num_sites: int, solver: Solver = "auto") -> str:
    """Return the solver to use.

    "auto" is "iterative" for a kernel without eigenvectors, else "low-rank" where there are fewer features than sites.
    """
    chosen = check_solver(solver)
    if chosen == "auto":
        if not kernel.has_eigenvectors:
            return "iterative"
        return "low-rank" if kernel.rank is not None and kernel.rank < num_sites else "dense"
    if chosen != "iterative" and not kernel.has_eigenvectors:
        raise ValueError(
            f"`solver={chosen!r}` needs eigenvectors, which a matrix-free spectrum does not have. Use "
            "`solver='iterative'`, or make the spectrum with `Spectrum.of`."
        )
    return chosen


def check_solver(solver: Any) -> str:
    """Return the name of a solver, its settings checked."""
    if isinstance(solver, Iterative):
        solver.checked()
        return "iterative"
    return _checks.one_of("solver", solver, SOLVERS)


def iterative_options(solver: Solver) -> Iterative:
    """Return the settings that a solver asks for."""
    return solver if isinstance(solver, Iterative) else Iterative()


def condition(
    prior: Prior,
    sites: Sites,
    solver: Solver = "auto",
    inducing: Inducing | None = None,
    *,
    workspace: Any = None,
) -> Posterior:
    """Return the prior given its sites, exactly unless inducing variables are given.

    Parameters
    ----------
    prior : Prior
        Kernel and constant mean.
    sites : Sites
        Gaussian observations of the latent function.
    solver : {"auto", "dense", "low-rank", "iterative"} or Iterative
        "dense" factorises the n x n covariance; "low-rank" works in the kernel's r features and is exact as well;
        "iterative" needs products with the Laplacian alone, and is exact to a tolerance.
    inducing : Inducing, optional
        Variables that stand for the latent function: the sparse approximation, whatever the solver.
    workspace : optional
        What learning with the iterative solver left behind, to be used again.

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
    if chosen == "iterative":
        return IterativePosterior(prior, sites, iterative_options(solver), workspace)
    return DensePosterior(prior, sites) if chosen == "dense" else LowRankPosterior(prior, sites)


def evidence_of(
    kernel: Kernel, observations: Observations, solver: Solver = "auto", inducing: Inducing | None = None
) -> Evidence:
    """Return the log evidence, or its sparse bound, as a function of hyperparameters.

    The data are reduced as far as the solver allows. The iterative one has such a function only where
    `SpectralEvidence.applies`.
    """
    if inducing is not None:
        inducing.check(kernel)
        return CollapsedBound.of(kernel, observations, inducing)
    chosen = choose_solver(kernel, len(observations.rows), solver)
    if chosen == "iterative":
        return SpectralEvidence.of(kernel, observations, iterative_options(solver))  # type: ignore[arg-type]
    return DenseEvidence.of(kernel, observations) if chosen == "dense" else low_rank_evidence(kernel, observations)
