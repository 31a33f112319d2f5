"""ShardedVectors: blocks of vectors on many machines, one chunk for each shard of the vertices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergauss import _checks
from hypergauss.operators import shards
from hypergauss.operators.base import Block, LaplacianOperator, Promise
from hypergauss.operators.cluster import Cluster, Tasks

if TYPE_CHECKING:
    from dask.task_spec import TaskRef
    from distributed import Future


class ShardedVectors(LaplacianOperator):
    """What is asked of blocks of vectors, for Dask arrays that are cut as the vertices are.

    Parameters
    ----------
    cluster : Cluster
        Where the shards are.
    futures : sequence of futures
        Of the shards.
    heights : sequence of int
        The number of vertices of each.
    order : array, shape (N,), optional
        The vertices, shard after shard, if not 0..N-1.
    dtype : float type
        Precision of inside blocks.
    """

    def __init__(
        self,
        cluster: Cluster,
        futures: Sequence[Future],
        heights: Sequence[int],
        order: np.ndarray | None,
        dtype: type[np.floating],
    ) -> None:
        self._cluster, self._shards, self._order, self._dtype = cluster, list(futures), order, dtype
        self._back = None if order is None else np.argsort(order)
        self._bounds = np.concatenate([[0], np.cumsum(heights)])

    @property
    def size(self) -> int:  # noqa: D102
        return int(self._bounds[-1])

    @property
    def precision(self) -> float:  # noqa: D102
        return float(np.finfo(self._dtype).eps)

    @property
    def n_blocks(self) -> int:
        """The number of shards."""
        return len(self._shards)

    def enter(self, X: Block) -> Block:  # noqa: D102
        return X.astype(self._dtype)

    def leave(self, X: Block) -> Block:  # noqa: D102
        return X.astype(np.float64)

    def vector(self, array: np.ndarray) -> Block:
        """Return numbers, one row a vertex, as a Dask array; they travel through the scheduler, which keeps them."""
        whole = np.asarray(array, dtype=np.float64)
        whole = whole if self._order is None else whole[self._order]
        tasks = Tasks()
        known = self._known(tasks)
        wanted = [
            tasks.add(shards.given, shard, whole[rows]) for shard, rows in zip(known, self._slices(), strict=True)
        ]
        return self._array(self._cluster.submit(tasks, wanted), whole.shape[1])

    def white_noise(self, size: int, rng: np.random.Generator) -> Block:  # noqa: D102
        return self._drawn(shards.NOISE, size, rng)

    def signs(self, size: int, rng: np.random.Generator) -> Block:  # noqa: D102
        return self._drawn(shards.SIGNS, size, rng)

    def array(self, X: Block, rows: np.ndarray | None = None) -> np.ndarray:  # noqa: D102
        places = self._back if rows is None else np.asarray(rows) if self._back is None else self._back[rows]
        if places is None:
            return np.concatenate(self._cluster.gather(self._futures(X)))
        block = np.searchsorted(self._bounds, places, side="right") - 1
        out = np.empty((len(places), X.shape[1]))
        tasks, futures = Tasks(), self._futures(X)
        mine = [np.flatnonzero(block == b) for b in range(self.n_blocks)]
        taken = [
            tasks.add(shards.chosen, chunk, places[index] - start)
            for chunk, index, start in zip(tasks.known(futures), mine, self._bounds[:-1], strict=True)
        ]
        for index, values in zip(mine, self._cluster.run(tasks, taken), strict=True):
            out[index] = values
        return out

    def settle(self, X: Block) -> Block:
        """Return a block whose computation has begun."""
        return X if _is_settled(X) else self._cluster.persist(X)

    def keep(self, X: Block) -> Block:
        """Return a block whose numbers the scheduler keeps, after a way through this machine."""
        return self.vector(self.array(X))

    def concatenate(self, parts: Sequence[Block]) -> Block:  # noqa: D102
        tasks, futures = Tasks(), [self._futures(part) for part in parts if part.shape[1]]
        rows = zip(*(tasks.known(part) for part in futures), strict=True)
        wanted = [tasks.add(shards.side_by_side, *blocks) for blocks in rows]
        return self._array(self._cluster.submit(tasks, wanted), sum(part.shape[1] for part in parts), parts[0].dtype)

    def dot(self, X: Block, Y: Block) -> Promise:  # noqa: D102
        tasks, left, right = Tasks(), self._futures(X), self._futures(Y)
        pairs = zip(tasks.known(left), tasks.known(right), strict=True)
        total = tasks.add(shards.added, *(tasks.add(shards.column_products, *pair) for pair in pairs))
        return self._cluster.submit(tasks, [total])[0]

    def fetch(self, numbers: Promise | list[Promise]) -> np.ndarray:  # noqa: D102
        items = numbers if isinstance(numbers, list) else [numbers]
        found = self._cluster.values(items)
        return np.asarray(found if isinstance(numbers, list) else found[0], dtype=np.float64)

    def _drawn(self, kind: str, columns: int, rng: np.random.Generator) -> Block:
        tasks = Tasks()
        wanted = [tasks.add(shards.drawn, shard, kind, rng, self.size, columns) for shard in self._known(tasks)]
        block = self._array(self._cluster.submit(tasks, wanted), columns)
        for _ in shards.random_rows(kind, rng, self.size, columns):
            pass  # the generator goes on as it would on one machine
        return block

    def _futures(self, X: Block) -> list[Future]:
        """Return the chunks of a block as futures."""
        graph = _graph(self.settle(X))
        return [graph[key] for key in sorted(graph, key=lambda key: key[1])]

    def _array(self, futures: Sequence[Future], columns: int, dtype: np.dtype | type = np.float64) -> Block:
        """Return chunks, in the order of the shards, as a Dask array."""
        heights = tuple(int(height) for height in np.diff(self._bounds))
        graph: dict[Any, Future] = {future.key: future for future in futures}
        name, *_ = next(iter(graph))  # of the array; what follows in a key is the place of a chunk
        return _checks.optional("dask.array", "dask").Array(graph, name, (heights, (columns,)), dtype=dtype)

    def _known(self, tasks: Tasks) -> list[TaskRef]:
        return tasks.known(self._shards)

    def _slices(self) -> list[slice]:
        return [slice(int(start), int(stop)) for start, stop in pairwise(self._bounds)]


def _graph(X: Any) -> dict[tuple[str, int, int], Future]:
    """Return what a Dask array is made of, by keys: futures where it is settled."""
    return dict(X.__dask_graph__())


def _is_settled(X: Any) -> bool:
    """Return whether a Dask array is nothing but futures, one a chunk."""
    graph = _graph(X)
    return len(graph) == X.npartitions and all(
        hasattr(value, "key") and hasattr(value, "client") for value in graph.values()
    )
