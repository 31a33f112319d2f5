"""Which solver: the only place that decides, and `condition`, the primitive that the whole library rests on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hypergauss import _checks
from hypergauss.exceptions import InsufficientMemoryError
from hypergauss.kernels import Components, Kernel, Sum
from hypergauss.learning.search import Learned, maximise
from hypergauss.solvers.base import GaussianModel, Posterior, Prior, Solver
from hypergauss.solvers.costs import (
    Cost,
    Exact,
    Relations,
    Searched,
    available_memory,
    exact_fit,
    iterative_cost,
    markov_cost,
)
from hypergauss.solvers.dense import DenseSolver
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.iterative.solver import IterativeSolver
from hypergauss.solvers.low_rank import LowRankSolver
from hypergauss.solvers.markov.field import SMOOTHNESSES, Field, is_field, needs_fields
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.markov.solver import markov_solver
from hypergauss.solvers.projection import Inducing
from hypergauss.solvers.sites import Observations, Sites
from hypergauss.solvers.sparse import SparseSolver
from hypergauss.solvers.work import Work

SOLVERS = ("auto", "dense", "low-rank", "iterative", "markov")

#: A solver by name, or one by products with settings of its own.
Choice = str | Iterative | Markov

#: Exact answers within this many seconds are preferred whatever else is quicker.
_SOON = 60.0
#: The share of the memory at hand that may be planned for.
_SHARE = 0.8


def condition(prior: Prior, sites: Sites, solver: Choice = "auto", inducing: Inducing | None = None) -> Posterior:
    """Return the prior given its sites, exactly unless inducing variables are given.

    Parameters
    ----------
    prior : Prior
        Kernel and constant mean.
    sites : Sites
        Gaussian observations of the latent function.
    solver : {"auto", "dense", "low-rank", "iterative", "markov"}, Iterative or Markov
        "dense" factorises the n x n covariance; "low-rank" works in the kernel's r features and is exact as well;
        "iterative" needs products with the Laplacian alone, and is exact to a tolerance; so is "markov", which needs
        far fewer of them, for a Matern kernel of whole nu.
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
    return solver_for(prior.kernel, sites.rows, solver, inducing, learns=False).posterior(prior, sites)


def learn(
    model: GaussianModel,
    observations: Observations,
    *,
    solver: Choice = "auto",
    inducing: Inducing | None = None,
    **options: Any,
) -> Learned:
    """Return the model at the hyperparameters of highest log evidence (plus log prior).

    Parameters
    ----------
    model : GaussianModel
        Its hyperparameters are the first start.
    observations : Observations
        The data.
    solver, inducing
        As for `condition`.
    **options
        As for `maximise`: ``priors``, ``n_starts``, ``max_iterations``, ``seed``, ``report``.
    """
    chosen = solver_for(model.kernel, observations.rows, solver, inducing)
    return maximise(chosen.objective(observations), model, **options)


def solver_for(
    kernel: Kernel,
    rows: np.ndarray,
    solver: Choice = "auto",
    inducing: Inducing | None = None,
    *,
    learns: bool = True,
) -> Solver:
    """Return the solver for a kernel and sites at some vertices, prepared.

    "auto" is "low-rank" or "dense", whichever works with the smaller matrix. For a kernel without eigenvectors it is
    "markov" if it takes fewer products, as for a Matern kernel of nu 1, 2 or 3, and otherwise "iterative"; where
    hyperparameters may be learned that nu must be fixed, since the Markov solver does not move it.
    """
    if inducing is not None:
        return SparseSolver(kernel, rows, inducing)
    chosen = check_solver(solver)
    if chosen == "auto":
        if not kernel.has_eigenvectors:
            chosen = "markov" if _is_markov(kernel, learns=learns) else "iterative"
        else:
            chosen = "low-rank" if kernel.rank is not None and kernel.rank < len(rows) else "dense"
    if chosen == "markov":
        return markov_solver(kernel, rows, solver if isinstance(solver, Markov) else Markov())
    if chosen == "iterative":
        return IterativeSolver(kernel, rows, iterative_options(solver))
    if not kernel.has_eigenvectors:
        raise ValueError(
            f"`solver={chosen!r}` needs eigenvectors, which a matrix-free spectrum does not have. Use "
            "`solver='iterative'`, or make the spectrum with `Spectrum.of`."
        )
    return DenseSolver(kernel, rows) if chosen == "dense" else LowRankSolver(kernel, rows)


def _is_markov(kernel: Kernel, *, learns: bool) -> bool:
    """Return whether a kernel's precision takes fewer products than its covariance: nu, not a polynomial's degree."""
    if needs_fields(kernel):  # which have no covariance that products could follow
        return True
    terms = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    fields = [term for term in terms if not isinstance(term, Components)]
    # With many features beside them covariances take far more products; without, they add fields as quickly.
    is_simplest = len(fields) == 1 if len(fields) == len(terms) else bool(fields)
    return is_simplest and all(
        is_field(term, learns=learns) and Field.of(term).nu <= max(SMOOTHNESSES) for term in fields
    )


def check_solver(solver: object) -> str:
    """Return the name of a solver, its settings checked."""
    if isinstance(solver, Markov):
        solver.checked()
        return "markov"
    if isinstance(solver, Iterative):
        solver.checked()
        return "iterative"
    return _checks.one_of("solver", solver, SOLVERS)


def iterative_options(solver: Choice) -> Iterative:
    """Return the settings that a solver asks for."""
    return solver if isinstance(solver, Iterative) else Iterative()


def is_by_products(solver: object) -> bool:
    """Return whether a solver, if it was chosen, goes without eigenvectors."""
    return check_solver(solver) in ("iterative", "markov")


class Plan(NamedTuple):
    """Whether there will be eigenvectors, and what the chosen way and the other are predicted to take.

    Attributes
    ----------
    is_iterative : bool
        Whether products with the Laplacian serve in place of eigenvectors.
    exact : Exact
        How an exact fit would be, and is if it is chosen.
    iterative : Cost
        Of a fit by products.
    work : Work
        What is to be learned.
    is_markov : bool
        Whether the products are those of a Markov field's precision, not of a covariance.
    """

    is_iterative: bool
    exact: Exact
    iterative: Cost
    work: Work
    is_markov: bool = False

    @property
    def uses_field(self) -> bool:
        """Whether a Markov field is what was chosen."""
        return self.is_iterative and self.is_markov

    @property
    def chosen(self) -> Cost:
        """What the chosen way takes."""
        return self.iterative if self.is_iterative else self.exact.cost

    @property
    def other(self) -> Cost:
        """What the other way would take."""
        return self.exact.cost if self.is_iterative else self.iterative

    @property
    def learning_size(self) -> int:
        """The observations that hyperparameters are learned from; by products they cost no more if they are many."""
        return self.work.num_sites if self.is_iterative else self.exact.learning_size

    def __str__(self) -> str:
        by_products = "Markov" if self.is_markov else "iterative"
        name, beside = (by_products, "exact") if self.is_iterative else ("exact", by_products)
        told = f"{name} solver, predicted to take {self.chosen} ({beside}: {self.other})"
        if self.learning_size < self.work.num_sites:
            rest = "" if self.exact.num_points or not self.work.averages else ", without averaging over them"
            told += (
                f"; hyperparameters are learned from {self.learning_size:,} of {self.work.num_sites:,} observations"
                f"{rest}"
            )
        if self.is_iterative:
            told += "; prior: filters as they are, neither centred nor scaled"
        return told


def plan_solver(
    relations: Relations,
    work: Work,
    *,
    solver: Choice = "auto",
    rank: int | None = None,
    needs_eigenvectors: bool = False,
    is_dense: bool = False,
    num_features: int = 0,
    is_field: bool = False,
    searched: Searched = (),
    is_full: bool = False,
) -> Plan:
    """Return whether to find eigenvectors of some relations, or refuse what will not fit in memory.

    Parameters
    ----------
    relations : dict of name to Hypergraph or Graph
        What the kernel is made of.
    work : Work
        What is learned, and from how many observed vertices.
    solver : {"auto", "dense", "low-rank", "iterative", "markov"}, Iterative or Markov
        "auto" takes the exact solvers where they take a minute or less, or less than the one by products.
    rank : int, optional
        Of a truncated spectrum, which asks for eigenvectors.
    needs_eigenvectors : bool
        Whether something else does, such as inducing variables or a squared exponential kernel of covariates.
    is_dense : bool
        Whether a kernel without features takes part, so that systems are dense.
    num_features : int
        Of kernels besides those of the relations.
    is_field : bool
        Whether the kernel may be a Markov field, whose products are fewer.
    searched : sequence of str, or None
        Relations whose size exponent is learned; None where that is left to its cost.
    is_full : bool
        Whether Laplacians are of full rank, as all but Zhou's are.
    """
    asked = check_solver(solver)
    by = "dense" if is_dense else "auto" if is_by_products(solver) else asked
    exact = exact_fit(
        relations, work, rank=rank, solver=by, num_features=num_features, searched=searched, is_full=is_full
    )
    is_markov = asked == "markov" or (asked == "auto" and is_field)
    options = solver if isinstance(solver, Markov) else Markov()
    cost = (
        markov_cost(relations, options, work, num_features)
        if is_markov
        else iterative_cost(relations, iterative_options(solver), work)
    )
    by_products, by_eigenvectors = (Plan(choice, exact, cost, work, is_markov) for choice in (True, False))
    limit = memory_limit()
    if is_by_products(solver):
        return _refuse_if_too_large(by_products, limit, None)
    if asked != "auto" or rank is not None or needs_eigenvectors:
        alternative = (
            "Use `solver='iterative'`"
            if asked != "auto"
            else "Leave out what asks for eigenvectors (`rank`, `inducing`, covariates without features, "
            "a learned size exponent)"
        )
        return _refuse_if_too_large(by_eigenvectors, limit, alternative)
    fits = exact.cost.bytes <= limit
    if fits and (exact.cost.seconds <= _SOON or exact.cost.seconds <= cost.seconds):
        return by_eigenvectors
    return _refuse_if_too_large(by_products, limit, None)


def dense_is_affordable(relations: Relations, work: Work, rank: int | None = None) -> bool:
    """Return whether kernels without features may take part: a dense fit takes a minute at most, and fits in memory."""
    cost = exact_fit(relations, work, rank=rank, solver="dense").cost
    return cost.seconds <= _SOON and cost.bytes <= memory_limit()


def memory_limit() -> float:
    """Return the bytes that may be planned for."""
    return _SHARE * available_memory()


def _refuse_if_too_large(plan: Plan, limit: float, alternative: str | None) -> Plan:
    if plan.chosen.bytes > limit:
        cure = f"{alternative}, predicted to take {plan.other}" if alternative else "Use a machine with more memory"
        raise InsufficientMemoryError(
            f"This fit is predicted to need {plan.chosen.bytes / 1e9:.3g} GB; {limit / 1e9:.3g} GB are at hand. "
            f"{cure}, or one of the clusters that `ShardedLaplacian` is for."
        )
    return plan
