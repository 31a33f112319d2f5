"""Steps of a recurrence on shards: the same whatever a worker remembers."""

import numpy as np
import pytest

from hypergauss.operators import shards, steps
from hypergauss.spectrum import normalised_incidence
from tests.hypergraphs import random_hypergraph

A = normalised_incidence(random_hypergraph(30, 24, seed=1))
DELTA = np.eye(30) - (A @ A.T).toarray()
C = np.array([0.3, -1.2, 0.8, 0.5, 0.1])
X = np.random.default_rng(0).standard_normal((30, 2))


@pytest.fixture(autouse=True)
def empty_memory(monkeypatch):
    monkeypatch.setattr(steps, "_MEMORY", steps._Memory())


def two_shards():
    rows = [shards.cut(np.arange(*bounds), A[slice(*bounds)]) for bounds in ((0, 13), (13, 30))]
    common = shards.in_common(*rows)
    return [shards.ready(shards.laid_out(part, b, [1 - b], common)) for b, part in enumerate(rows)]


def clenshaw(forget=lambda step: None):
    """Return the polynomial C of Delta, times X, by tasks on two shards in turn."""
    both = two_shards()
    chunks = [X[:13], X[13:]]
    states = [steps.begin(shard, x, C[-1]) for shard, x in zip(both, chunks, strict=True)]
    received = [[shards.sent(states[1 - b], b)] for b in range(2)]
    since = steps.Recurrence("one", 0, 4.0, -2.0)
    for step, c in enumerate(C[-2:0:-1]):
        since = since._replace(factors=(*since.factors, float(c)))
        told = [steps.told(both[b], states[b], chunks[b], since, *received[b]) for b in range(2)]
        received = [received[b] + [told[1 - b]] for b in range(2)]
        forget(step)
    ends = [
        steps.last(both[b], states[b], chunks[b], since, 2.0, -1.0, (float(C[0]),), chunks[b], *received[b])
        for b in range(2)
    ]
    return np.vstack(ends)


def expected():
    eigenvalues, vectors = np.linalg.eigh(DELTA)
    return vectors @ (np.polynomial.chebyshev.chebval(2 * eigenvalues - 1, C)[:, None] * (vectors.T @ X))


def test_steps_on_two_shards_add_up_to_the_polynomial():
    np.testing.assert_allclose(clenshaw(), expected(), atol=1e-13)
    assert not any(steps._MEMORY._states.values())


def test_a_worker_that_remembers_nothing_takes_the_steps_again():
    remembered = clenshaw()

    def forget(step):
        if step != 1:
            steps._MEMORY._states.clear()

    np.testing.assert_array_equal(clenshaw(forget), remembered)


def test_a_task_that_is_run_again_later_gives_the_same():
    (shard, other), x = two_shards(), X[:13]
    state, neighbour = steps.begin(shard, x), steps.begin(other, X[13:])
    received = shards.sent(neighbour, 0)
    one, two = (steps.Recurrence("again", 0, 4.0, -2.0, factors) for factors in ((0.5,), (0.5, 0.2)))
    first = steps.told(shard, state, x, one, received)
    further = steps.told(shard, state, x, two, received, received)
    np.testing.assert_array_equal(steps.told(shard, state, x, one, received)[1], first[1])
    np.testing.assert_array_equal(steps.told(shard, state, x, two, received, received)[1], further[1])


def test_the_latest_recurrences_of_a_shard_are_remembered():
    both = two_shards()
    for shard, x in zip(both, (X[:13], X[13:]), strict=True):
        state = steps.begin(shard, x)
        for name in "abc":
            steps.told(shard, state, x, steps.Recurrence(name, 0, 1.0, 0.0))
    assert {number: list(states) for number, states in steps._MEMORY._states.items()} == {0: ["b", "c"], 1: ["b", "c"]}


def test_what_is_told_does_not_keep_all_sums_alive():
    shard, _ = two_shards()
    assert all(piece.base is None for piece in steps.begin(shard, X[:13]).pieces.values())
