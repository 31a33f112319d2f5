"""Which solver: predicted time and memory of each, before anything heavy is begun."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hypergauss.exceptions import InsufficientMemoryError
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.solvers.choose import Solver, check_solver, iterative_options
from hypergauss.solvers.iterative import Iterative
from hypergauss.operators.threaded import num_cores

#: What one core does in a second: multiplications of dense matrices, and incidences of a product with one vector.
_FLOPS, _INCIDENCES = 1e10, 1.25e8
#: Evaluations of the evidence that learning takes, exact and estimated.
_EVALUATIONS, _ESTIMATES = 60, 10
#: Columns of an estimate beside the probes: the targets, and one for each hyperparameter.
_COLUMNS = 6
#: Products with the Laplacian of one column's solve: iterations times degree, as loosely as learning has it.
_PRODUCTS = 140
#: Exact answers within this many seconds are preferred whatever else is quicker.
_SOON = 60.0
#: The share of the memory at hand that may be planned for.
_SHARE = 0.8


class Cost(NamedTuple):
    """Predicted seconds and bytes: right within a factor of a few, which is what a choice needs."""

    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"{_duration(self.seconds)} and {self.bytes / 1e9:.2g} GB"


class Plan(NamedTuple):
    """The chosen solver, "auto" for dense or low-rank, whichever is cheaper, and what it is predicted to take."""

    solver: str
    chosen: Cost
    other: Cost | None

    @property
    def is_iterative(self) -> bool:
        """Whether there will be no eigenvectors."""
        return self.solver == "iterative"

    def __str__(self) -> str:
        name = "iterative solver" if self.is_iterative else "exact solver"
        beside = "exact" if self.is_iterative else "iterative"
        rest = "" if self.other is None else f" ({beside}: {self.other})"
        return f"{name}, predicted to take {self.chosen}{rest}"


def plan_solver(
    relations: Mapping[str, Hypergraph | Graph],
    num_sites: int,
    *,
    solver: Solver = "auto",
    rank: int | None = None,
    needs_eigenvectors: bool = False,
) -> Plan:
    """Return the solver to use for a kernel on some relations, or refuse what will not fit in memory.

    Parameters
    ----------
    relations : dict of name to Hypergraph or Graph
        What the kernel is made of.
    num_sites : int
        Observed vertices.
    solver : {"auto", "dense", "low-rank", "iterative"} or Iterative
        "auto" takes the exact solvers where they take a minute or less, or less than the iterative one.
    rank : int, optional
        Of a truncated spectrum, which asks for eigenvectors.
    needs_eigenvectors : bool
        Whether something else does, such as inducing variables or a squared exponential kernel of covariates.
    """
    asked = check_solver(solver)
    exact = _exact_cost(relations, num_sites, rank, asked)
    iterative = _iterative_cost(relations, iterative_options(solver))
    limit = _SHARE * available_memory()
    if asked == "iterative":
        return _refuse_if_too_large(Plan("iterative", iterative, exact), limit, None)
    if asked != "auto" or rank is not None or needs_eigenvectors:
        alternative = (
            "Use `solver='iterative'`"
            if asked != "auto"
            else "Leave out what asks for eigenvectors (`rank`, `inducing`, covariates without features, "
            "a learned size exponent)"
        )
        return _refuse_if_too_large(Plan(asked, exact, iterative), limit, alternative)
    fits = exact.bytes <= limit
    if fits and (exact.seconds <= _SOON or exact.seconds <= iterative.seconds):
        return Plan("auto", exact, iterative)
    return _refuse_if_too_large(Plan("iterative", iterative, exact), limit, None)


def available_memory() -> float:
    """Return the bytes of memory that this machine can still give."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    if hasattr(os, "sysconf"):
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    return float("inf")


def _refuse_if_too_large(plan: Plan, limit: float, alternative: str | None) -> Plan:
    if plan.chosen.bytes > limit:
        cure = f"{alternative}, predicted to take {plan.other}" if alternative else "Use a machine with more memory"
        raise InsufficientMemoryError(
            f"This fit is predicted to need {plan.chosen.bytes / 1e9:.3g} GB; {limit / 1e9:.3g} GB are at hand. "
            f"{cure}, or one of the clusters that `ShardedLaplacian` is for."
        )
    return plan


def _exact_cost(relations: Mapping[str, Hypergraph | Graph], num_sites: int, rank: int | None, asked: str) -> Cost:
    """Return the cost of eigenvectors (12 r^2 max(N, M) operations) and of learning with them."""
    seconds = memory = 0.0
    total_rank = 0
    for relation in relations.values():
        N, M, _ = _sizes(relation)
        own = min(N, M, rank or N)
        if rank is None or own > min(N, M) // 2:
            seconds += 12.0 * own**2 * max(N, M) / _FLOPS
            memory += 8.0 * ((N + M) * own + 3 * min(N, M) ** 2)
        else:
            seconds += 30.0 * own**2 * max(N, M) / _FLOPS
            memory += 8.0 * 3 * (N + M) * own
        total_rank += own
    r, n = float(total_rank), float(num_sites)
    by_solver = {
        "low-rank": Cost(_EVALUATIONS * (n * r**2 + r**3) / _FLOPS, 8 * (2 * n * r + 4 * r**2)),
        "dense": Cost(_EVALUATIONS * n**3 / _FLOPS, 8 * 4 * n**2),
    }
    system = by_solver.get(asked) or min(by_solver.values(), key=lambda cost: cost.seconds)
    return Cost(seconds + system.seconds, memory + system.bytes)


def _iterative_cost(relations: Mapping[str, Hypergraph | Graph], options: Iterative) -> Cost:
    """Return the cost of learning with probes, one exact solve, and draws for standard deviations."""
    seconds = memory = 0.0
    for relation in relations.values():
        N, _, nnz = _sizes(relation)
        columns = _ESTIMATES * (_COLUMNS + min(options.probes_for(N), N)) + options.n_samples
        seconds += _PRODUCTS * columns * nnz / (_INCIDENCES * num_cores())
        # As measured: copies of the matrix in both precisions, some 27 blocks of 16 vectors, and the subspace.
        memory += 120.0 * nnz + N * (8.0 * 16 * 27 + 12.0 * options.n_deflated)
    return Cost(seconds, memory)


def _sizes(relation: Hypergraph | Graph) -> tuple[int, int, int]:
    """Return N, M (N for a graph) and the number of incidences."""
    if isinstance(relation, Graph):
        return relation.num_vertices, relation.num_vertices, int(relation.adjacency.nnz) // 2
    return relation.num_vertices, relation.num_edges, relation.num_incidences


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(seconds, 0.1):.2g} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.0f} h"
