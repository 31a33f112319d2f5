"""Predicted time and memory of each solver, before anything heavy is begun."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.operators.threaded import num_cores
from hypergauss.solvers.iterative.options import Iterative

Relations = Mapping[str, Hypergraph | Graph]

#: What one core does in a second: products of dense matrices, their factorisations, and incidences of a product with
#: one vector.
_PRODUCTS_A_SECOND, _FACTORS_A_SECOND, _INCIDENCES_A_SECOND = 2.5e10, 1.0e10, 1.25e8
#: Evaluations of the evidence that learning takes, exact and estimated.
_EVALUATIONS, _ESTIMATES = 60, 10
#: Columns of an estimate beside the probes: the targets, and one for each hyperparameter.
_COLUMNS = 6
#: Products with the Laplacian of one column's solve: iterations times degree, as loosely as learning has it.
_PRODUCTS = 140


class Cost(NamedTuple):
    """Predicted seconds and bytes: right within a factor of a few, which is what a choice needs."""

    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"{_duration(self.seconds)} and {self.bytes / 1e9:.2g} GB"


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


def exact_cost(relations: Relations, num_sites: int, rank: int | None, solver: str) -> Cost:
    """Return the cost of eigenvectors, and of learning with them by a solver, "auto" for the cheaper one.

    Eigenvectors of a side of m vertices or hyperedges take some 10 m^3 operations, and 2 m an incidence to be carried
    to the other side; of a truncated spectrum 30 N rank^2.
    """
    seconds = memory = 0.0
    total_rank = 0
    for relation in relations.values():
        N, M, nnz = _sizes(relation)
        own = min(N, M, rank or N)
        if rank is None or own > min(N, M) // 2:
            seconds += 10.0 * min(N, M) ** 3 / _FACTORS_A_SECOND + own * nnz / _INCIDENCES_A_SECOND / 4
            memory += 8.0 * (N * own + 4 * min(N, M) ** 2)
        else:
            seconds += 30.0 * own**2 * max(N, M) / _FACTORS_A_SECOND
            memory += 8.0 * 3 * (N + M) * own
        total_rank += own
    r, n = float(total_rank), float(num_sites)
    by_solver = {
        "low-rank": Cost(
            2 * n * r**2 / _PRODUCTS_A_SECOND + _EVALUATIONS * 2 * r**3 / _FACTORS_A_SECOND, 8 * (n * r + 6 * r**2)
        ),
        "dense": Cost(
            _EVALUATIONS * (2 * n**2 * r / _PRODUCTS_A_SECOND + n**3 / _FACTORS_A_SECOND), 8 * (n * r + 6 * n**2)
        ),
    }
    system = by_solver.get(solver) or min(by_solver.values(), key=lambda cost: cost.seconds)
    return Cost(seconds + system.seconds, memory + system.bytes)


def iterative_cost(relations: Relations, options: Iterative) -> Cost:
    """Return the cost of learning with probes, one exact solve, and draws for standard deviations."""
    seconds = memory = 0.0
    for relation in relations.values():
        N, _, nnz = _sizes(relation)
        columns = _ESTIMATES * (_COLUMNS + min(options.probes_for(N), N)) + options.n_samples
        seconds += _PRODUCTS * columns * nnz / (_INCIDENCES_A_SECOND * num_cores())
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
