r"""Shards: blocks of rows of a normalised incidence, and what a worker does with one.

With A cut into blocks of rows A_b, and X and Y likewise,

    (A A' X)_b = A_b (sum over c of A_c' X_c):

each shard adds up A_b' X_b over the hyperedges that its vertices are in, sends another shard the sums of those that
both touch, adds what the others send, and multiplies by A_b. Nothing else moves. The functions here are the tasks that
workers run to make shards and vectors; none changes what it is given, so that each can be run again if its worker is
lost. Products are in `steps`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.operators.base import random_signs
from hypergauss.operators.ordering import edge_order
from hypergauss.operators.threaded import ThreadedMatrix

#: Random numbers that are drawn before those of other shards are dropped.
_DRAWN_AT_ONCE = 1 << 20

#: Names of settings in malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

#: Columns of a shard's matrix: a range where they stand together.
Columns = slice | np.ndarray
#: Sums over shared hyperedges, by the shard that they are for.
Pieces = dict[int, np.ndarray]


class Rows(NamedTuple):
    """Some rows of an incidence, shape (n, t), with the numbers of their vertices and of the hyperedges they touch."""

    vertices: np.ndarray
    edges: np.ndarray  # ascending, until they are laid out
    matrix: sp.csr_array
    shared: dict[int, Columns]  # shard -> columns of the hyperedges that it touches too, the same in both
    number: int = 0  # its own, among all


class Shard(NamedTuple):
    """A_b on a worker: products both ways, and which of its columns other shards have as well."""

    vertices: np.ndarray
    matrix: ThreadedMatrix
    transpose: ThreadedMatrix
    shared: dict[int, Columns]
    number: int


class State(NamedTuple):
    """A block of a shard's rows, the one before it in a recurrence, A_b' of the block, and what others need of that."""

    here: np.ndarray
    before: np.ndarray | None
    partial: np.ndarray
    pieces: Pieces


# ---------------------------------------------------------------- making them


def cut(vertices: np.ndarray, matrix: sp.csr_array) -> Rows:
    """Return rows of a matrix with as many columns as they touch."""
    edges, columns = np.unique(matrix.indices, return_inverse=True)
    shape = (matrix.shape[0], len(edges))
    return Rows(vertices, edges, sp.csr_array((matrix.data, columns, matrix.indptr), shape=shape), {})


def in_common(first: Rows, second: Rows) -> np.ndarray:
    """Return the hyperedges that both touch, ascending."""
    return np.intersect1d(first.edges, second.edges, assume_unique=True)


def laid_out(rows: Rows, number: int, others: Sequence[int], *common: np.ndarray) -> Rows:
    """Return rows with their own hyperedges first, then those that they share, and where each other shard's are."""
    places = [np.searchsorted(rows.edges, edges) for edges in common]
    is_shared = np.zeros(len(rows.edges), dtype=bool)
    for place in places:
        is_shared[place] = True
    # Both sides have shared ones in the order of their numbers; its own, a shard has in the order of its rows.
    own = np.flatnonzero(~is_shared)
    order = np.concatenate([own[edge_order(rows.matrix[:, own])], np.flatnonzero(is_shared)])
    moved = np.empty_like(order)
    moved[order] = np.arange(len(order))
    shared = {other: _columns(moved[place]) for other, place in zip(others, places, strict=True) if len(place)}
    matrix = sp.csr_array((rows.matrix.data, moved[rows.matrix.indices], rows.matrix.indptr), shape=rows.matrix.shape)
    return Rows(rows.vertices, rows.edges[order], matrix, shared, number)


def neighbours(rows: Rows) -> list[int]:
    """Return the shards that rows have hyperedges in common with."""
    return list(rows.shared)


def row_lengths(shard: Shard) -> np.ndarray:
    """Return how many hyperedges each vertex is in."""
    return shard.matrix.row_lengths()


def ready(rows: Rows) -> Shard:
    """Return rows of a normalised incidence as a shard."""
    matrix, transpose = ThreadedMatrix(rows.matrix), ThreadedMatrix(sp.csr_array(rows.matrix.T))
    return Shard(rows.vertices, matrix, transpose, rows.shared, rows.number)


def degrees(rows: Rows) -> State:
    """Return the sum of each column: a part of the degrees of hyperedges."""
    partial = np.asarray(rows.matrix.sum(axis=0), dtype=np.float64)[:, None]
    return State(np.empty((0, 1)), None, partial, pieces_of(partial, rows.shared))


def largest_factor(rows: Rows, state: State, size_exponent: float, *received: Pieces) -> float:
    """Return the largest a log |e|."""
    return float(_log_factors(combined(state, rows, received)[:, 0], size_exponent).max(initial=-np.inf))


def normalised(rows: Rows, state: State, size_exponent: float, top: float, *received: Pieces) -> Shard:
    """Return A_b = D_v^-1/2 R_b diag(w)^1/2 D_e^-1/2 with w(e) = |e|^a, relative to the largest of all shards."""
    edge_degrees = combined(state, rows, received)[:, 0]
    weights = np.exp(_log_factors(edge_degrees, size_exponent) - top)
    left = sp.diags_array(_inverse_root(rows.matrix @ weights))
    right = sp.diags_array(np.sqrt(weights) * _inverse_root(edge_degrees))
    return ready(rows._replace(matrix=sp.csr_array(left @ rows.matrix @ right)))


def largest(*factors: float) -> float:
    """Return the largest factor of all shards."""
    return max(factors)


def in_single(shard: Shard) -> Shard:
    """Return a shard that moves half the bytes."""
    return shard._replace(matrix=shard.matrix.astype(np.float32), transpose=shard.transpose.astype(np.float32))


def placed(shard: Shard) -> Shard:
    """Return a shard, on the worker that this was sent to."""
    _reuse_memory()
    return shard


@cache
def _reuse_memory() -> None:
    """Let this process keep memory that it has freed, up to a limit.

    A product makes and drops the same few arrays again and again. Dask has workers hand them back to the system each
    time, and getting them anew takes longer than the product.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # another allocator than the GNU library's
    mallopt(_MMAP_THRESHOLD, 32 << 20)  # its upper limit
    mallopt(_TRIM_THRESHOLD, 256 << 20)


class Extent(NamedTuple):
    """What the client knows of a shard."""

    num_vertices: int
    num_incidences: int
    num_shared: dict[int, int]


def extent(shard: Shard) -> Extent:
    """Return how large a shard is, and how many hyperedges it shares with each other one."""
    columns = np.arange(shard.matrix.shape[1])
    return Extent(len(shard.vertices), shard.matrix.nnz, {c: len(columns[place]) for c, place in shard.shared.items()})


# ---------------------------------------------------------------- what they tell one another


def pieces_of(partial: np.ndarray, shared: dict[int, Columns]) -> Pieces:
    """Return what each other shard needs of A_b' X_b, as copies: a view would keep all of it alive."""
    return {other: np.array(partial[columns]) for other, columns in shared.items()}


def sent(state: State, other: int) -> Pieces:
    """Return what another shard needs of a state."""
    return only(state.pieces, other)


def only(pieces: Pieces, other: int) -> Pieces:
    """Return what is for one shard."""
    return {other: pieces[other]}


def combined(state: State, rows: Rows | Shard, received: Sequence[Pieces]) -> np.ndarray:
    """Return A'X at a shard's hyperedges: its own part and those of the others, in the order of the shards."""
    if not received:
        return state.partial
    total = state.partial.copy()
    for columns, pieces in zip(rows.shared.values(), received, strict=True):
        total[columns] += pieces[rows.number]
    return total


# ---------------------------------------------------------------- vectors


def column_products(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the inner product of each column with that of another block, shape (m,)."""
    return np.einsum("ij,ij->j", X, Y, dtype=np.float64)


def added(*parts: np.ndarray) -> np.ndarray:
    """Return the sum over all shards."""
    return np.sum(parts, axis=0)


def chosen(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return some rows of a block."""
    return X[rows]


def side_by_side(*blocks: np.ndarray) -> np.ndarray:
    """Return the columns of several blocks."""
    return np.hstack(blocks)


def given(_: Shard, numbers: np.ndarray) -> np.ndarray:
    """Return numbers that came with the task, where the shard is."""
    return numbers


def _columns(places: np.ndarray) -> Columns:
    first, length = int(places[0]), len(places)
    return slice(first, first + length) if int(places[-1]) - first == length - 1 else places


def _log_factors(edge_degrees: np.ndarray, size_exponent: float) -> np.ndarray:
    return size_exponent * np.log(edge_degrees, out=np.zeros_like(edge_degrees), where=edge_degrees > 0)


def _inverse_root(values: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)


# ---------------------------------------------------------------- random numbers

#: Kinds of random numbers.
NOISE, SIGNS = "noise", "signs"


def drawn(shard: Shard, kind: str, rng: np.random.Generator, size: int, columns: int) -> np.ndarray:
    """Return a shard's rows of random numbers for all vertices.

    All are drawn, and those of other shards dropped: cheaper than sending them, and the same as on one machine.
    """
    ordered = np.argsort(shard.vertices)
    ascending = shard.vertices[ordered]
    out = np.empty((len(ordered), columns))
    for start, numbers in random_rows(kind, deepcopy(rng), size, columns):
        first, stop = np.searchsorted(ascending, [start, start + len(numbers)])
        out[ordered[first:stop]] = numbers[ascending[first:stop] - start]
    return out


def random_rows(kind: str, rng: np.random.Generator, size: int, columns: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield some rows of random numbers after others, each with the number of its first."""
    step = max(_DRAWN_AT_ONCE // max(columns, 1), 1)
    for start in range(0, size, step):
        shape = (min(step, size - start), columns)
        yield start, rng.standard_normal(shape) if kind == NOISE else random_signs(shape, rng)
