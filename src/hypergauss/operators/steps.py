"""Recurrences on shards: one task for each shard and product, which returns only what other shards need of it.

A step of Clenshaw's recurrence needs the blocks before it, which are large and stay where they are, and what other
shards have summed over the hyperedges that they share, which is small and travels. So a task returns the sums of its
step, and its worker remembers the blocks for the next one. To remember is a short cut and no more: a task is a function
of a state that Dask keeps, a few steps back, and of all that was received since. A worker that remembers nothing, since
it stands in for one that was lost, takes these steps again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from hypergauss.operators.shards import Pieces, Shard, State, combined, pieces_of
from hypergauss.operators.threaded import scaled_sum

#: Recurrences of which a worker remembers a shard's state: those of two relations run side by side.
_REMEMBERED = 2


class Recurrence(NamedTuple):
    """Steps to a Delta here + b here - before + c X, from a state that has taken some of them, a c for each more.

    Attributes
    ----------
    name : str
        Of this recurrence and no other.
    start : int
        Steps that the state has taken.
    a, b : float
        Of all steps.
    factors : tuple of float
        The c of each step since.
    """

    name: str
    start: int
    a: float
    b: float
    factors: tuple[float, ...] = ()

    @property
    def stop(self) -> int:
        """Steps that will have been taken."""
        return self.start + len(self.factors)


def begin(shard: Shard, X: np.ndarray, factor: float = 1.0) -> State:
    """Return a multiple of a block with A_b' of it."""
    here = np.ascontiguousarray(X, dtype=shard.matrix.dtype)
    return _state(shard, here if factor == 1.0 else shard.matrix.dtype.type(factor) * here, None)


def told(shard: Shard, state: State, X: np.ndarray, recurrence: Recurrence, *received: Pieces) -> Pieces:
    """Take steps from a state, and return what other shards need of the last; ``received`` has theirs, step by step."""
    return reached(shard, state, X, recurrence, *received).pieces


def reached(shard: Shard, state: State, X: np.ndarray, recurrence: Recurrence, *received: Pieces) -> State:
    """Take steps from a state, and return where they lead."""
    taken, here = _MEMORY.recall(shard, recurrence) or (recurrence.start, state)
    if not recurrence.start <= taken <= recurrence.stop:
        taken, here = recurrence.start, state
    for step in range(taken - recurrence.start, len(recurrence.factors)):
        addends = [(recurrence.factors[step], X)]
        block = _product(shard, here, recurrence.a, recurrence.b, addends, _of_step(shard, step, received))
        here = _state(shard, block, here.here)
    _MEMORY.keep(shard, recurrence, here)
    return here


def last(
    shard: Shard,
    state: State,
    X: np.ndarray,
    recurrence: Recurrence,
    a: float,
    b: float,
    factors: tuple[float, ...],
    *blocks_and_received: np.ndarray | Pieces,
) -> np.ndarray:
    """Take steps, and return a Delta here + b here - before + c Y + ..., with a block Y for each factor c."""
    blocks, received = blocks_and_received[: len(factors)], blocks_and_received[len(factors) :]
    here = reached(shard, state, X, recurrence, *received)  # type: ignore[arg-type]
    _MEMORY.forget(shard, recurrence)
    addends = list(zip(factors, blocks, strict=True))
    pieces = _of_step(shard, len(recurrence.factors), received)  # type: ignore[arg-type]
    return _product(shard, here, a, b, addends, pieces)  # type: ignore[arg-type]


class _Memory:
    """The states of a shard's latest recurrences, with the number of steps that each has taken."""

    def __init__(self) -> None:
        self._states: dict[int, OrderedDict[str, tuple[int, State]]] = {}
        self._lock = Lock()

    def recall(self, shard: Shard, recurrence: Recurrence) -> tuple[int, State] | None:
        with self._lock:
            return self._states.get(shard.number, OrderedDict()).get(recurrence.name)

    def keep(self, shard: Shard, recurrence: Recurrence, state: State) -> None:
        with self._lock:
            states = self._states.setdefault(shard.number, OrderedDict())
            states[recurrence.name] = recurrence.stop, state
            states.move_to_end(recurrence.name)
            while len(states) > _REMEMBERED:
                states.popitem(last=False)

    def forget(self, shard: Shard, recurrence: Recurrence) -> None:
        with self._lock:
            self._states.get(shard.number, OrderedDict()).pop(recurrence.name, None)


_MEMORY = _Memory()


def _of_step(shard: Shard, step: int, received: Sequence[Pieces]) -> Sequence[Pieces]:
    """Return what was received for one step: a piece of each neighbour."""
    number = len(shard.shared)
    return received[step * number : (step + 1) * number]


def _product(
    shard: Shard,
    state: State,
    a: float,
    b: float,
    addends: list[tuple[float, np.ndarray]],
    received: Sequence[Pieces],
) -> np.ndarray:
    before = [] if state.before is None else [(-1.0, state.before)]
    finish = scaled_sum(-a, [(a + b, state.here), *before, *addends])
    return shard.matrix.product(combined(state, shard, received), finish, cores=_cores())


def _state(shard: Shard, here: np.ndarray, before: np.ndarray | None) -> State:
    partial = shard.transpose.product(here, cores=_cores())
    return State(here, before, partial, pieces_of(partial, shard.shared))


def _cores() -> int:
    """Return how many threads the worker may use; one if this runs on none."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return 1
