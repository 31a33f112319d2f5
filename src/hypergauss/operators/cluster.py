"""Cluster: a client of dask.distributed that is watched, so that a cluster that goes away is a sentence, not a wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hypergauss import _checks
from hypergauss.exceptions import ClusterError
from hypergauss.operators.base import Block, Promise

if TYPE_CHECKING:
    from dask.task_spec import Task, TaskRef
    from distributed import Client, Future

#: Seconds between looks at the cluster while it works, and without any worker before it is given up.
_LOOK, _PATIENCE = 2.0, 60.0

_NOTHING_LOST = (
    "Nothing on this machine was lost: the data, hyperparameters and earlier results are as they were. Make the "
    "ShardedLaplacian again on a cluster that runs, and repeat the call."
)


def homes(shards: Sequence[str | None], workers: Sequence[str]) -> list[str | None]:
    """Return a worker for each shard: its own if that is there, and about equally many for all."""
    new = [home if home in workers else None for home in shards]
    load = {worker: new.count(worker) for worker in workers}
    for b, home in enumerate(new):
        if load and home is None:
            new[b] = least = min(load, key=load.__getitem__)
            load[least] += 1
    while load and max(load.values()) - min(load.values()) > 1:
        most, least = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
        new[new.index(most)] = least
        load[most], load[least] = load[most] - 1, load[least] + 1
    return new


class Tasks:
    """A graph of tasks, each a function of numbers and of other tasks."""

    def __init__(self) -> None:
        spec = _checks.optional("dask.task_spec", "dask")
        self._task, self._reference = spec.Task, spec.TaskRef
        #: Of this graph and no other.
        self.name = uuid4().hex
        self._counts: dict[str, int] = {}
        self.graph: dict[tuple[str, int, int], Task] = {}

    def add(self, function: Callable[..., object], *arguments: object) -> TaskRef:
        """Add a task and return a reference to it, which may be an argument of others."""
        # The shape of a key of a Dask array's chunk, so that a row of tasks can be one.
        name = f"{function.__name__}-{self.name}"
        self._counts[name] = number = self._counts.get(name, -1) + 1
        self.graph[name, number, 0] = self._task((name, number, 0), function, *arguments)
        return self._reference((name, number, 0))

    def known(self, futures: Iterable[Future]) -> list[TaskRef]:
        """Return references to what was submitted before; the futures must be kept until this is submitted."""
        return [self._reference(future.key) for future in futures]


class Cluster:
    """What the operator asks of a cluster: tasks to be run, and their results.

    Parameters
    ----------
    client : distributed.Client, optional
        The one that was made last, if not given.
    """

    def __init__(self, client: Client | None = None) -> None:
        self._distributed = _checks.optional("distributed", "dask")
        if client is None:
            try:
                client = self._distributed.default_client()
            except ValueError as error:
                raise ValueError(
                    "`client` must be a dask.distributed Client, and there is none yet. Make one with "
                    "`distributed.Client(address)`, or `distributed.Client()` for this machine."
                ) from error
        if not isinstance(client, self._distributed.Client):
            raise TypeError(f"`client` must be a dask.distributed Client. Got {type(client).__name__}.")
        self.client = client

    def workers(self) -> list[str]:
        """Return the addresses of the workers that there are now."""
        with self._explained():
            return sorted(self.client.nthreads())

    def submit(self, tasks: Tasks, wanted: Sequence[TaskRef], worker: str | None = None) -> list[Future]:
        """Begin tasks, on a worker if it is there, and return the futures of some of them, without waiting.

        Numbers among their arguments stay with the scheduler, which can begin again with them if a worker is lost.
        """
        keys = [reference.key for reference in wanted]
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        with self._explained():
            return self.client.get(tasks.graph, keys, sync=False, **where)

    def run(self, tasks: Tasks, wanted: Sequence[TaskRef]) -> list[Any]:
        """Run tasks and return the results of some of them."""
        return self.gather(self.submit(tasks, wanted))

    def persist(self, collection: Block) -> Block:
        """Begin to compute a collection of Dask's and return it as what will be known, without waiting."""
        with self._explained():
            return self.client.persist(collection)

    def values(self, promises: Sequence[Promise]) -> list[Any]:
        """Return what futures and collections of Dask's have become."""
        with self._explained():
            futures = self.client.compute(list(promises))
        return self.gather(futures)

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """Return results, looking now and then whether they can still come."""
        with self._explained():
            last_seen = time.monotonic()
            while True:
                try:
                    with self.client.as_current():  # otherwise it waits with the client that was made last
                        self._distributed.wait(list(futures), timeout=_LOOK)
                    return self.client.gather(list(futures))
                except TimeoutError:
                    if self.client.status == "running" and self.client.nthreads():
                        last_seen = time.monotonic()
                    elif time.monotonic() - last_seen > _PATIENCE:
                        raise ClusterError(
                            f"The cluster has had no worker for {_PATIENCE:.0f} s. Likely causes: its jobs have ended "
                            f"or wait in a queue, or workers ran out of memory. {_NOTHING_LOST}"
                        ) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what Dask raises when a cluster goes away into a sentence."""
        import dask

        if self.client.status in ("closed", "closing"):
            raise ClusterError(
                f"The connection to the cluster is closed. Likely causes: `client.close()` or `cluster.close()` was "
                f"called, or the scheduler has stopped. {_NOTHING_LOST}"
            )
        try:
            # What is sent once is kept by the scheduler on purpose: no warning about it.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                yield
        except self._distributed.scheduler.KilledWorker as error:
            raise ClusterError(
                f"Workers died again and again in the same task ({error.task!r}). The likely cause is memory: give "
                f"workers more, or use more workers, or more blocks (`n_blocks`). {_NOTHING_LOST}"
            ) from error
        except (CancelledError, OSError, self._distributed.client.ClosedClientError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ClusterError(
                f"The cluster went away ({type(error).__name__}). Likely causes: the scheduler or its machine has "
                f"stopped, its time was up, or the network is down. {_NOTHING_LOST}"
            ) from error
