"""Planted hypergraphs have the structure that was asked for."""

import numpy as np
import pytest

from hypergauss.datasets import make_planted_hypergraph


def test_hyperedges_stay_within_communities_as_often_as_asked():
    planted = make_planted_hypergraph(2000, 3000, 10, within=0.9, random_state=0)
    columns = planted.hypergraph.incidence.tocsc()
    pure = [
        len(set(planted.communities[columns.indices[a:b]])) == 1
        for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    ]
    # A mixed hyperedge of two can be pure by chance: with ten communities that adds about one in a hundred and fifty.
    assert np.mean(pure) == pytest.approx(0.906, abs=4 * np.sqrt(0.9 * 0.1 / 3000))


def test_sizes_are_two_plus_poisson():
    planted = make_planted_hypergraph(100_000, 5000, 5, mean_extra=3.0, random_state=1)
    sizes = planted.hypergraph.edge_degrees
    assert sizes.mean() == pytest.approx(5.0, abs=0.1)
    assert sizes.min() >= 1


def test_the_signal_is_standardised_and_alike_within_hyperedges():
    planted = make_planted_hypergraph(1000, 2000, 5, random_state=2)
    assert planted.signal.mean() == pytest.approx(0.0, abs=1e-12)
    assert planted.signal.std() == pytest.approx(1.0)
    R = planted.hypergraph.incidence
    means = (R.T @ planted.signal) / planted.hypergraph.edge_degrees
    shuffled = (R.T @ np.random.default_rng(0).permutation(planted.signal)) / planted.hypergraph.edge_degrees
    assert means.var() > 2 * shuffled.var()


def test_one_seed_gives_one_hypergraph():
    first, second = (make_planted_hypergraph(50, 40, random_state=3) for _ in range(2))
    assert first.hypergraph.equals(second.hypergraph)
    assert np.array_equal(first.signal, second.signal)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_vertices": 0}, "`n_vertices` must be at least 1"),
        ({"n_vertices": 3, "n_communities": 4}, "`n_communities` must be between 1 and 3"),
        ({"within": 1.5}, r"`within` must lie in \[0, 1\]"),
    ],
)
def test_bad_sizes_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_planted_hypergraph(**arguments)
