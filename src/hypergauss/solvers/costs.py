"""Predicted time and memory of each solver, before anything heavy is begun."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.operators.threaded import num_cores
from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.markov.options import Markov
from hypergauss.solvers.work import System, Work, learning_size, num_held_out_folds, num_points

Relations = Mapping[str, Hypergraph | Graph]
#: Relations whose size exponent is learned; None where that is left to its cost.
Searched = Sequence[str] | None

#: What one quiet core does in a second: steps of a decomposition, its products, incidences at which an eigenvector is
#: carried to the other side, and those of a product with one vector.
_DECOMPOSED_A_SECOND, _PRODUCTS_A_SECOND, _CARRIED_A_SECOND, _INCIDENCES_A_SECOND = 7.0e10, 8.0e10, 1.92e9, 4.8e8
#: Size exponents that a search tries, and gradients that a curvature takes.
_EXPONENTS, _GRADIENTS = 5, 10
#: The time that searching size exponents may take to be part of every fit.
_SEARCH = 5.0
#: Estimates of the evidence that iterative learning takes.
_ESTIMATES = 10
#: Columns of an estimate beside the probes: the targets, and one for each hyperparameter.
_COLUMNS = 6
#: Products with the Laplacian of one column's solve: iterations times degree, as loosely as learning has it.
_PRODUCTS = 140
#: Of a Markov field: estimates of the evidence over two or three nu, columns beside the probes, and products of a
#: column's solve.
_FIELD_ESTIMATES, _FIELD_COLUMNS, _FIELD_PRODUCTS = 10, 6, 60
#: Of labels as zeros and ones: evaluations with slopes, each of two columns a class and fold, and products of a column.
_HELD_OUT_ESTIMATES, _HELD_OUT_PRODUCTS = 5, 110
#: Evaluations where there are features beside a field, each of whose systems solves for every feature once; blocks of
#: vertices by features that solves of a system have at work, and that a system keeps.
_FEATURED_ESTIMATES, _FEATURED_BLOCKS, _KEPT_BLOCKS = 10, 14, 3
#: Columns of labels, relative to those of measurements: sites move between estimates.
_OF_SITES = 1.4


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


class Exact(NamedTuple):
    """An exact fit as it will be: its cost, and what is done to keep it affordable.

    Attributes
    ----------
    cost : Cost
        Of everything, predictions aside.
    searches : bool
        Whether size exponents are searched.
    learning_size, num_points : int
        Observations that hyperparameters are learned from, and values of these that are averaged over; 0 for none.
    """

    cost: Cost
    searches: bool
    learning_size: int
    num_points: int


def exact_fit(
    relations: Relations,
    work: Work,
    *,
    rank: int | None = None,
    solver: str = "auto",
    num_features: int = 0,
    searched: Searched = (),
    is_full: bool = False,
) -> Exact:
    """Return how a model is fitted with eigenvectors by a solver, "auto" for the cheaper one, and what that takes.

    Parameters
    ----------
    relations : dict of name to Hypergraph or Graph
        What the kernel is made of.
    work : Work
        What is learned.
    rank : int, optional
        Of a truncated spectrum.
    solver : {"auto", "dense", "low-rank"}
        How systems are solved.
    num_features : int
        Of kernels besides those of the relations.
    searched : sequence of str, or None
        Relations whose size exponent is learned; None for all hypergraphs' where that takes seconds.
    is_full : bool
        Whether Laplacians are of full rank, as all but Zhou's are.
    """
    decomposed = {name: _decomposition(relation, rank, is_full=is_full) for name, relation in relations.items()}
    r = num_features + sum(own for own, _ in decomposed.values())
    size = learning_size(work, r, solver)
    part, whole = System.of(size, r, solver), System.of(work.num_sites, r, solver)
    candidates = [name for name, relation in relations.items() if isinstance(relation, Hypergraph)]
    seeking = work.num_evaluations(searches=True) - work.num_evaluations(searches=False)
    of_search = sum((_EXPONENTS - 1) * decomposed[name][1].seconds for name in candidates)
    of_search += len(candidates) * seeking * part.evaluation(work)
    searches = bool(searched) if searched is not None else work.learns and of_search <= _SEARCH
    points = num_points(work, r, max(relation.num_vertices for relation in relations.values()), solver)
    seconds = sum(cost.seconds for _, cost in decomposed.values()) + (of_search if searches else 0.0)
    seconds += work.num_evaluations(searches=False) * part.evaluation(work)
    seconds += (_GRADIENTS + points) * part.evaluation(work) if points else 0.0
    seconds += max(points, 1) * whole.conditioning(work)
    memory = sum(cost.bytes for _, cost in decomposed.values()) + _system_bytes(whole, work, points)
    return Exact(Cost(seconds, memory), searches, size, points)


def _system_bytes(system: System, work: Work, points: int) -> float:
    """Return the bytes of features, of the matrices of one system at work, and of what each posterior keeps."""
    matrix = (system.n if system.is_dense else system.r) ** 2
    coupled = 5 * work.num_latents * system.n**2 if work.kind == "coupled" else 0.0
    return 8 * (system.n * system.r + 6 * matrix + coupled + points * work.num_latents * matrix)


def iterative_cost(relations: Relations, options: Iterative, work: Work) -> Cost:
    """Return the cost of learning with probes, one exact solve, and draws for standard deviations."""
    seconds = memory = 0.0
    for relation in relations.values():
        N, _, nnz = _sizes(relation)
        columns = _ESTIMATES * (_COLUMNS + min(options.probes_for(N), N)) + options.n_samples
        # Besides incidences, a product touches every vertex a few times.
        seconds += _PRODUCTS * columns * (nnz + 2 * N) / (_INCIDENCES_A_SECOND * num_cores())
        # As measured: copies of the matrix in both precisions, some 27 blocks of 16 vectors, and the subspace.
        memory += 120.0 * nnz + N * (8.0 * 16 * 27 + 12.0 * options.n_deflated)
    if work.kind != "gaussian":
        seconds *= _OF_SITES * work.num_latents
    return Cost(seconds, memory)


def markov_cost(relations: Relations, options: Markov, work: Work, num_features: int = 0) -> Cost:
    """Return the cost of learning with probes, one exact solve, and draws for standard deviations."""
    seconds = memory = 0.0
    for relation in relations.values():
        N, _, nnz = _sizes(relation)
        learning = _FIELD_ESTIMATES * (_FIELD_COLUMNS + min(options.probes_for(N), N)) if work.learns else 1
        products = _FIELD_PRODUCTS * (learning + options.n_samples)
        if work.num_classes:
            products = _HELD_OUT_PRODUCTS * work.num_classes * _label_solves(work)
        products += _HELD_OUT_PRODUCTS * num_features * _featured_systems(work)
        seconds += products * (nnz + 2 * N) / (_INCIDENCES_A_SECOND * num_cores())
        kept = num_held_out_folds(work.num_sites) if work.num_classes else 3  # two of an estimate, and the posterior's
        memory += 120.0 * nnz + N * 8.0 * (16 * 12 + (_FEATURED_BLOCKS + _KEPT_BLOCKS * kept) * num_features)
    if work.kind != "gaussian" and not work.num_classes:
        seconds *= _OF_SITES * work.num_latents
    return Cost(seconds, memory)


def _label_solves(work: Work) -> int:
    """Return the solves of each class: those of learning, of the temperature, and of the labels all together."""
    folds = num_held_out_folds(work.num_sites)
    return (2 * _HELD_OUT_ESTIMATES * folds if work.learns else 0) + folds + 1


def _featured_systems(work: Work) -> int:
    """Return the systems that learning and conditioning solve for all features: one a fold, or two an estimate."""
    folds = num_held_out_folds(work.num_sites) if work.num_classes else 1
    learning = folds if work.num_classes else 2
    return (_FEATURED_ESTIMATES * learning if work.learns else 0) + folds + 1


def _decomposition(relation: Hypergraph | Graph, rank: int | None, *, is_full: bool) -> tuple[int, Cost]:
    """Return the rank of a relation's spectrum, and what it takes to find it.

    Eigenvectors of a side of m vertices or hyperedges take some 10 m^3 operations, and 2 m an incidence to be carried
    to the other side; of a truncated spectrum 30 N rank^2.
    """
    N, M, nnz = _sizes(relation)
    M = N if is_full else M
    own, side = min(N, M, rank or N), float(min(N, M))
    if rank is None or own > min(N, M) // 2:
        seconds = 10.0 * side**3 / _DECOMPOSED_A_SECOND + own * nnz / _CARRIED_A_SECOND
        seconds += 4.0 * N * own**2 / _PRODUCTS_A_SECOND if N > M else 0.0
        return own, Cost(seconds, 8.0 * (N * own + 4 * side**2))
    return own, Cost(30.0 * float(own) ** 2 * max(N, M) / _DECOMPOSED_A_SECOND, 8.0 * 3 * (N + M) * own)


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
