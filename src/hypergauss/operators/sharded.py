"""ShardedLaplacian: products on many machines, by dask.distributed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.operators import partitions, shards, steps
from hypergauss.operators.base import Block
from hypergauss.operators.cluster import Cluster, Tasks, homes
from hypergauss.operators.local import local_order
from hypergauss.operators.ordering import edge_order, order_of
from hypergauss.operators.vectors import ShardedVectors

if TYPE_CHECKING:
    from dask.task_spec import TaskRef
    from distributed import Client, Future

#: Steps of a recurrence between states that Dask keeps: as many are taken again if a worker is lost.
_KEPT_EVERY = 8


class ShardedLaplacian(ShardedVectors):
    r"""Delta = I - A A', with blocks of rows of A on the workers of a cluster and vectors cut in the same way.

    A block of vectors is a Dask array, one chunk a shard; what is computed with it begins at once and is waited for
    only where a number is needed. A product moves, for each pair of shards, the sums over the hyperedges that both
    touch (see `bytes_a_product`); a whole Chebyshev expansion is one graph of tasks.

    Answers are those of one machine up to rounding, random draws included: each shard draws all random numbers from
    the same seed and keeps those of its own vertices, which takes no messages.

    If a worker is lost, Dask runs its tasks again elsewhere, from the Parquet files or from what the scheduler keeps.

    Make one with `from_parquet`, or with `of_incidence` for a hypergraph that this machine holds.

    Attributes
    ----------
    vertices : array, shape (N,)
        The name of each vertex, in the order of rows: 0..N-1, or what a Parquet file has.
    """

    def __init__(
        self,
        cluster: Cluster,
        futures: Sequence[Future],
        extents: Sequence[shards.Extent],
        order: np.ndarray | None = None,
        names: Future | None = None,
        dtype: type[np.floating] = np.float64,
    ) -> None:
        super().__init__(cluster, futures, [extent.num_vertices for extent in extents], order, dtype)
        self._extents, self._names = list(extents), names
        self._homes: list[str | None] = [None] * len(self._extents)
        self.num_products = 0
        self._place()

    # ---------------------------------------------------------------- making one

    @classmethod
    def of_incidence(
        cls, A: sp.csr_array, *, client: Client | None = None, n_blocks: int | None = None, reorder: bool = True
    ) -> Self:
        """Return I - A A' for a normalised incidence that this machine holds.

        The rows travel once through the scheduler, which keeps them for the case that a worker is lost.

        Parameters
        ----------
        A : SciPy sparse array, shape (N, M)
            `hypergauss.spectrum.normalised_incidence` of a hypergraph.
        client : distributed.Client, optional
            Of the cluster; the one made last, if not given.
        n_blocks : int, optional
            Shards; one for each worker, if not given, which uses all of its threads.
        reorder : bool
            Whether vertices are put in an order in which those that meet stand close together, so that fewer
            hyperedges are shared.
        """
        cluster = Cluster(client)
        number = _number_of_blocks(n_blocks, cluster, A.shape[0])
        order = local_order(A) if reorder else None
        if order is not None:
            A = A[order]
            A = sp.csr_array(A[:, edge_order(A)])
        load = A.indptr / max(A.nnz, 1) + np.arange(A.shape[0] + 1) / max(A.shape[0], 1)
        inner = np.searchsorted(load, 2.0 * np.arange(1, number) / number)
        bounds = np.unique(np.concatenate([[0], inner, [A.shape[0]]]))
        numbers = np.arange(A.shape[0]) if order is None else order
        tasks = Tasks()
        blocks = [tasks.add(shards.cut, numbers[start:stop], A[start:stop]) for start, stop in pairwise(bounds)]
        rows, _ = _laid_out(cluster, tasks, blocks)
        tasks = Tasks()
        return cls._made(cluster, tasks, [tasks.add(shards.ready, row) for row in tasks.known(rows)], order=order)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        client: Client | None = None,
        vertex: str = "vertex",
        edge: str = "edge",
        weight: str | None = None,
        n_vertices: int | None = None,
        size_exponent: float = 0.0,
        n_blocks: int | None = None,
        reorder: bool = True,
    ) -> Self:
        """Read a hypergraph from Parquet files, one row a membership, without gathering them on one machine.

        Each worker reads some row groups and sends each shard the rows of its vertices.

        Parameters
        ----------
        path : path, or list of paths
            A folder of Parquet files, or files, that all workers can read; also an address such as
            ``s3://bucket/folder``.
        client, n_blocks, reorder
            As for `of_incidence`. An order is found by products on the cluster, and rows are sent once more.
        vertex, edge : str
            The columns that name the vertex and the hyperedge of each row: whole numbers or text. A pair that occurs
            twice counts once, or adds up if there are weights.
        weight : str, optional
            The column of membership weights r(v, e) >= 0.
        n_vertices : int, optional
            N, if vertices are numbers 0..N-1 that are their rows. If not given, vertices are the distinct names in the
            files, in sorted order (see `vertices`).
        size_exponent : float
            a of the hyperedge weights ``|e|^a``, as for `Spectrum.matrix_free`.
        """
        a = _checks.real("size_exponent", size_exponent)
        if n_vertices is not None:
            _checks.count("n_vertices", n_vertices)
        cluster = Cluster(client)
        columns = partitions.Columns(vertex, edge, weight)
        found = partitions.find_partitions(path)
        is_text = partitions.text_columns(found[0], columns)
        if is_text[0] and n_vertices is not None:
            raise ValueError(
                f"`n_vertices` goes with vertices that are numbers. Column {vertex!r} has text. Leave it out."
            )
        tasks = Tasks()
        read = [tasks.add(partitions.read_memberships, partition, columns, is_text) for partition in found]
        names = _merged_names(tasks, read, 0) if n_vertices is None else None
        edge_names = _merged_names(tasks, read, 1) if is_text[1] else None
        counted = None if names is None else tasks.add(len, names)
        numbered = [
            tasks.add(partitions.numbered, table, partition, vertex, counted or n_vertices, names, edge_names)
            for table, partition in zip(read, found, strict=True)
        ]
        futures = cluster.submit(tasks, [*numbered, *(task for task in (counted, names) if task is not None)])
        total = n_vertices if n_vertices is not None else int(cluster.gather([futures[-2]])[0])
        number = _number_of_blocks(n_blocks, cluster, total)
        tables, listed = futures[: len(numbered)], None if names is None else futures[-1]
        plain = cls._of_tables(cluster, tables, total, number, a, listed)
        order = order_of(plain, plain.memberships()) if reorder else None
        return plain if order is None else cls._of_tables(cluster, tables, total, number, a, listed, order)

    @classmethod
    def _of_tables(
        cls,
        cluster: Cluster,
        tables: Sequence[Future],
        size: int,
        number: int,
        a: float,
        names: Future | None,
        order: np.ndarray | None = None,
    ) -> Self:
        """Send the rows of memberships to their shards, and normalise."""
        tasks = Tasks()
        known = tasks.known(tables)
        if order is not None:
            places = tasks.add(np.argsort, order)
            known = [tasks.add(partitions.moved, table, places) for table in known]
        classes = [tasks.add(partitions.counts, table, size) for table in known]
        futures = cluster.submit(tasks, [tasks.add(partitions.boundaries, size, number, *classes), *known])
        (cuts,) = cluster.gather(futures[:1])
        tasks = Tasks()
        parts = [tasks.add(partitions.split, table, cuts) for table in tasks.known(futures[1:])]
        blocks = []
        for b, (start, stop) in enumerate(pairwise(cuts)):
            mine = [tasks.add(partitions.part, part, b) for part in parts]
            vertices = np.arange(start, stop) if order is None else order[start:stop]
            blocks.append(tasks.add(partitions.joined, int(start), vertices, *mine))
        rows, neighbours = _laid_out(cluster, tasks, blocks)
        tasks = Tasks()
        laid = tasks.known(rows)
        states = [tasks.add(shards.degrees, row) for row in laid]
        received = _exchanged(tasks, states, neighbours)
        joint = list(zip(laid, states, received, strict=True))
        factors = [tasks.add(shards.largest_factor, row, state, a, *pieces) for row, state, pieces in joint]
        top = tasks.add(shards.largest, *factors)
        made = [tasks.add(shards.normalised, row, state, a, top, *pieces) for row, state, pieces in joint]
        return cls._made(cluster, tasks, made, names=names, order=order)

    @classmethod
    def _made(cls, cluster: Cluster, tasks: Tasks, made: Sequence[TaskRef], **kept: Any) -> Self:
        """Begin to make shards, and learn how large they are."""
        extents = [tasks.add(shards.extent, shard) for shard in made]
        futures = cluster.submit(tasks, [*made, *extents])
        return cls(cluster, futures[: len(made)], cluster.gather(futures[len(made) :]), **kept)

    def in_single(self) -> Self:  # noqa: D102
        tasks = Tasks()
        made = [tasks.add(shards.in_single, shard) for shard in tasks.known(self._shards)]
        futures = self._cluster.submit(tasks, made)
        return type(self)(self._cluster, futures, self._extents, order=self._order, names=self._names, dtype=np.float32)

    # ---------------------------------------------------------------- what it is

    @property
    def upper(self) -> float:  # noqa: D102
        return 1.0

    @property
    def num_incidences(self) -> int:  # noqa: D102
        return sum(extent.num_incidences for extent in self._extents)

    def memberships(self) -> np.ndarray:  # noqa: D102
        tasks = Tasks()
        found = self._cluster.run(tasks, [tasks.add(shards.row_lengths, shard) for shard in self._known(tasks)])
        lengths = np.concatenate(found).astype(np.float64)
        return lengths if self._back is None else lengths[self._back]

    @property
    def bytes_a_product(self) -> int:
        """Bytes that shards send each other for one vector's product with Delta."""
        shared = sum(sum(extent.num_shared.values()) for extent in self._extents)
        return shared * np.dtype(self._dtype).itemsize

    @cached_property
    def vertices(self) -> np.ndarray:  # noqa: D102
        if self._names is None:
            return np.arange(self.size)
        return self._cluster.gather([self._names])[0]

    # ---------------------------------------------------------------- products

    def affine(  # noqa: D102
        self,
        X: Block,
        a: float,
        b: float,
        *addends: tuple[float, Block],
        out: Block | None = None,  # noqa: ARG002
    ) -> Block:
        self.num_products += X.shape[1]
        tasks, futures = Tasks(), self._futures(X)
        recurrence = _Recurrence(tasks, self._known(tasks), tasks.known(futures), self._neighbours)
        others = [(float(factor), self._futures(Y)) for factor, Y in addends]  # kept until their tasks are sent
        known = [(factor, tasks.known(chunks)) for factor, chunks in others]
        return self._array(self._cluster.submit(tasks, recurrence.last(a, b, known)), X.shape[1], self._dtype)

    def clenshaw(self, X: Block, c: np.ndarray, slope: float) -> Block:  # noqa: D102
        if len(c) == 1:
            return super().clenshaw(X, c, slope)
        self.num_products += X.shape[1] * (len(c) - 1)
        self._place()
        tasks, futures = Tasks(), self._futures(X)
        chunks = tasks.known(futures)
        recurrence = _Recurrence(tasks, self._known(tasks), chunks, self._neighbours, float(c[-1]), 2.0 * slope, -2.0)
        for factor in c[-2:0:-1]:
            recurrence.advance(float(factor))
        wanted = recurrence.last(slope, -1.0, [(float(c[0]), chunks)])
        return self._array(self._cluster.submit(tasks, wanted), X.shape[1], self._dtype)

    @property
    def _neighbours(self) -> list[list[int]]:
        """The shards that each has hyperedges in common with."""
        return [list(extent.num_shared) for extent in self._extents]

    def _place(self) -> None:
        """Spread the shards evenly over the workers that there are; most of their work is done where they are."""
        wanted = homes(self._homes, self._cluster.workers())
        for b, (old, new) in enumerate(zip(self._homes, wanted, strict=True)):
            if new != old:
                tasks = Tasks()
                self._shards[b : b + 1] = self._cluster.submit(
                    tasks, [tasks.add(shards.placed, *tasks.known([self._shards[b]]))], new
                )
        self._homes = wanted

    def __repr__(self) -> str:
        return (
            f"ShardedLaplacian({self.size:,} vertices, {self.num_incidences:,} incidences, {self.n_blocks} shards, "
            f"{self.bytes_a_product:,} bytes a product)"
        )


def _laid_out(cluster: Cluster, tasks: Tasks, blocks: list[TaskRef]) -> tuple[list[Future], list[list[int]]]:
    """Return the futures of rows that know which hyperedges they share, and with whom each does."""
    common = {(b, c): tasks.add(shards.in_common, blocks[b], blocks[c]) for b, c in combinations(range(len(blocks)), 2)}
    rows, sharing = [], []
    for b, block in enumerate(blocks):
        others = [c for c in range(len(blocks)) if c != b]
        rows.append(tasks.add(shards.laid_out, block, b, others, *(common[min(b, c), max(b, c)] for c in others)))
        sharing.append(tasks.add(shards.neighbours, rows[-1]))
    futures = cluster.submit(tasks, [*rows, *sharing])
    return futures[: len(rows)], cluster.gather(futures[len(rows) :])


class _Recurrence:
    """The tasks of one recurrence on all shards: what each shard was, X, and what it has received since.

    Parameters
    ----------
    tasks : Tasks
        To which it adds.
    known, chunks : lists of references
        Each shard, and its rows of X.
    neighbours : list of lists of int
        The shards that each exchanges sums with.
    factor, a, b : float
        It begins with factor X; see `steps.Recurrence`.
    """

    def __init__(
        self,
        tasks: Tasks,
        known: list[TaskRef],
        chunks: list[TaskRef],
        neighbours: list[list[int]],
        factor: float = 1.0,
        a: float = 0.0,
        b: float = 0.0,
    ) -> None:
        self._tasks, self._known, self._chunks, self._neighbours = tasks, known, chunks, neighbours
        self._states = [tasks.add(steps.begin, *pair, factor) for pair in zip(known, chunks, strict=True)]
        self._received = _exchanged(tasks, self._states, neighbours)
        self._since = steps.Recurrence(tasks.name, 0, a, b)

    def advance(self, c: float) -> None:
        """Take one step on every shard; every few steps, have Dask keep where they lead."""
        self._since = self._since._replace(factors=(*self._since.factors, c))
        told = self._add(steps.told)
        passed_on = [
            [told[o] if len(self._neighbours[o]) == 1 else self._tasks.add(shards.only, told[o], b) for o in others]
            for b, others in enumerate(self._neighbours)
        ]
        if len(self._since.factors) == _KEPT_EVERY:
            self._states = self._add(steps.reached)
            self._since = self._since._replace(start=self._since.stop, factors=())
            self._received = passed_on
        else:
            self._received = [old + new for old, new in zip(self._received, passed_on, strict=True)]

    def last(self, a: float, b: float, addends: list[tuple[float, list[TaskRef]]]) -> list[TaskRef]:
        """Return the tasks of the last block; each addend has a chunk for every shard."""
        factors = tuple(factor for factor, _ in addends)
        blocks = zip(*(chunks for _, chunks in addends), strict=True) if addends else [()] * len(self._known)
        return self._add(steps.last, *((a, b, factors, *mine) for mine in blocks))

    def _add(self, function: Callable[..., object], *further: tuple[object, ...]) -> list[TaskRef]:
        """Add a task for each shard, with further arguments of its own."""
        each = zip(
            self._known, self._states, self._chunks, self._received, further or [()] * len(self._known), strict=True
        )
        return [
            self._tasks.add(function, shard, state, x, self._since, *more, *received)
            for shard, state, x, received, more in each
        ]


def _exchanged(tasks: Tasks, states: list[TaskRef], neighbours: Sequence[Sequence[int]]) -> list[list[TaskRef]]:
    """Return what each shard gets from the others."""
    return [[tasks.add(shards.sent, states[c], b) for c in others] for b, others in enumerate(neighbours)]


def _merged_names(tasks: Tasks, tables: list[TaskRef], column: int) -> TaskRef:
    """Return the task that lists all names of a column: merged by fours, so that no task has many large inputs."""
    names = [tasks.add(partitions.distinct, table, column) for table in tables]
    while len(names) > 1:
        names = [tasks.add(partitions.merged, *names[i : i + 4]) for i in range(0, len(names), 4)]
    return names[0]


def _number_of_blocks(n_blocks: int | None, cluster: Cluster, size: int) -> int:
    if n_blocks is not None:
        return _checks.count("n_blocks", n_blocks, most=max(size, 1), why=f"there are {size:,} vertices")
    return max(min(len(cluster.workers()), size), 1)
