"""Inducing vertices: the centrality against a dense eigendecomposition, the selection against cases worked by hand."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from hypergauss import Hypergraph, select_inducing_vertices
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.inference.selection import eigencentrality
from tests import oracles
from tests.hypergraphs import hypergraphs, random_hypergraph, relabelled


def dense_centrality(H):
    """Return the leading eigenvector of Q on each component, scaled to the component's share of all degrees."""
    R, w = H.incidence.toarray(), H.weights
    degrees = (R * w).sum(axis=1)
    gamma = np.zeros(H.num_vertices)
    components = H.connected_components()
    for component in set(components):
        rows = np.flatnonzero((components == component) & (degrees > 0))
        if len(rows):
            Q = (R[rows] * w) @ R[rows].T / degrees[rows]
            values, vectors = np.linalg.eig(Q)
            leading = np.abs(vectors[:, values.real.argmax()].real)
            gamma[rows] = leading / leading.sum() * degrees[rows].sum()
    return gamma / (gamma.max() or 1.0)


@pytest.fixture
def two_blocks():
    """All pairs of a, ..., e, all pairs of x, y, z, and the pair (a, x): the degrees are 5, 4, 4, 4, 4 and 3, 2, 2."""
    return Hypergraph.from_edges([*combinations("abcde", 2), *combinations("xyz", 2), ("a", "x")])


# ---------------------------------------------------------------- importance


@given(hypergraphs())
def test_centrality_agrees_with_a_dense_eigendecomposition(H):
    assert eigencentrality(H) == pytest.approx(dense_centrality(H), abs=1e-10)


def test_centrality_by_lanczos_agrees_with_a_dense_eigendecomposition():
    H = make_planted_hypergraph(400, 500, random_state=0).hypergraph  # larger than what is solved densely
    assert np.bincount(H.connected_components()).max() > 200
    assert eigencentrality(H) == pytest.approx(dense_centrality(H), abs=1e-10)


def test_centrality_solves_the_equation_of_the_paper_on_a_connected_hypergraph():
    H = Hypergraph.from_edges([["a", "b", "c", "d"], ["a", "e"], ["d", "f"], ["f", "g", "h"]])
    R = H.incidence.toarray()
    Q = R @ R.T / R.sum(axis=1)
    gamma = eigencentrality(H)
    ratio = Q @ gamma / gamma
    assert ratio == pytest.approx(ratio[0])
    assert ratio[0] == pytest.approx(np.linalg.eigvals(Q).real.max())
    # Perron: the eigenvalue lies between the least and the largest column sum, the mean sizes of a vertex's hyperedges.
    assert Q.sum(axis=0).min() < ratio[0] < Q.sum(axis=0).max()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_where_all_hyperedges_have_one_size_centrality_is_the_degree(size):
    rng = np.random.default_rng(size)
    edges = [rng.choice(12, size, replace=False) for _ in range(6)]
    H = Hypergraph.from_edges(edges, vertices=range(12), weights=rng.uniform(0.5, 2.0, 6))
    assert eigencentrality(H) == pytest.approx(H.vertex_degrees / H.vertex_degrees.max())


def test_every_component_has_scores_and_isolated_vertices_have_none():
    H = Hypergraph.from_edges([["a", "b", "c"], ["x", "y"]], vertices=["alone", "a", "b", "c", "x", "y"])
    assert eigencentrality(H) == pytest.approx([0, 1, 1, 1, 1, 1])


def test_without_incidences_all_scores_are_zero():
    assert eigencentrality(Hypergraph.from_edges([[]], vertices=["a", "b", "c"])).tolist() == [0, 0, 0]


@given(hypergraphs(), st.randoms(use_true_random=False))
def test_relabelling_permutes_centrality(H, random):
    order = np.array(random.sample(range(H.num_vertices), H.num_vertices))
    assert eigencentrality(relabelled(H, order)) == pytest.approx(eigencentrality(H)[order], abs=1e-10)


# ---------------------------------------------------------------- selection


@given(hypergraphs(), st.integers(1, 4), st.sampled_from(["k-means", "dbscan"]), st.integers(0, 9))
def test_any_hypergraph_gives_different_vertices_of_its_own(H, n, clustering, seed):
    chosen = select_inducing_vertices(H, n, clustering=clustering, random_state=seed)
    assert len(set(chosen)) == n
    assert set(chosen) <= set(H.vertices)


def test_all_vertices_are_selected_if_all_are_asked_for(hypergraph):
    assert set(select_inducing_vertices(hypergraph, hypergraph.num_vertices)) == set(hypergraph.vertices)


def test_a_seed_fixes_the_selection(hypergraph):
    first, second = (select_inducing_vertices(hypergraph, 6, random_state=3).tolist() for _ in range(2))
    assert first == second


def test_clusters_of_two_blocks_are_the_blocks_and_their_centres_come_first(two_blocks):
    firsts = set()
    for seed in range(20):
        chosen = select_inducing_vertices(two_blocks, 8, n_clusters=2, random_state=seed).tolist()
        assert [v for v in chosen if v in "abcde"] == list("abcde")
        assert [v for v in chosen if v in "xyz"] == list("xyz")
        firsts.add(chosen[0])
    assert firsts == {"a", "x"}


def test_within_a_cluster_vertices_are_taken_by_importance_and_ties_by_order():
    H = Hypergraph.from_edges([["a", "b", "c", "d"]])
    chosen = select_inducing_vertices(H, 4, importance=[1.0, 3.0, 3.0, 2.0], clustering=[0] * 4)
    assert chosen.tolist() == ["b", "c", "d", "a"]


def test_vertices_alike_by_symmetry_are_taken_in_their_order():
    ring = Hypergraph.from_edges([[i, (i + 1) % 9, (i + 2) % 9] for i in range(9)], vertices=range(9))
    assert select_inducing_vertices(ring, 9, clustering=[0] * 9).tolist() == list(range(9))


def test_clusters_are_drawn_in_proportion_to_their_size():
    H = Hypergraph.from_edges([range(10)])
    labels = np.repeat(["small", "middle", "large"], [1, 3, 6])
    rng = np.random.RandomState(0)
    draws = 4000
    first = [
        select_inducing_vertices(H, 1, importance="degree", clustering=labels, random_state=rng)[0]
        for _ in range(draws)
    ]
    for vertex, share in ((0, 0.1), (1, 0.3), (4, 0.6)):
        assert np.mean(np.array(first) == vertex) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / draws))


def test_an_exhausted_cluster_is_left_out_and_sizes_stay_those_of_the_start():
    # Clusters {0}, {1, 2}, {3, 4, 5}. After 0 was taken, the others are drawn 2 : 3 even when 1 is taken as well.
    H = Hypergraph.from_edges([range(6)])
    labels = [0, 1, 1, 2, 2, 2]
    rng = np.random.RandomState(1)
    third = []
    for _ in range(6000):
        chosen = select_inducing_vertices(H, 3, importance="degree", clustering=labels, random_state=rng)
        if chosen[:2].tolist() in ([0, 1], [1, 0]):
            third.append(int(chosen[2]))
    assert set(third) == {2, 3}
    assert np.mean(np.array(third) == 2) == pytest.approx(0.4, abs=4 * np.sqrt(0.24 / len(third)))


# ---------------------------------------------------------------- each stage replaced


def test_importance_may_be_the_degree():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["b", "d"]], weights=[1.0, 1.0, 1.5])
    assert select_inducing_vertices(H, 4, importance="degree", clustering=[0] * 4).tolist() == ["b", "d", "a", "c"]


@pytest.mark.parametrize(
    "importance",
    [
        [0.0, 1.0, 2.0],
        pd.Series({"c": 2.0, "a": 0.0, "b": 1.0}),
        lambda H: [ord(v) for v in H.vertices],
        lambda H: pd.Series({"b": 1, "c": 2, "a": 0}),
    ],
)
def test_importance_may_be_given_or_computed(importance):
    H = Hypergraph.from_edges([["a", "b", "c"]])
    assert select_inducing_vertices(H, 3, importance=importance, clustering=[0] * 3).tolist() == ["c", "b", "a"]


@pytest.mark.parametrize(
    "clustering",
    [
        ["u", "v", "v"],
        pd.Series({"c": "v", "a": "u", "b": "v"}),
        lambda embedding: [-1, 0, 0],
    ],
)
def test_clusters_may_be_given_or_computed(clustering):
    H = Hypergraph.from_edges([["a", "b", "c"]])
    firsts = {select_inducing_vertices(H, 1, clustering=clustering, random_state=seed)[0] for seed in range(30)}
    assert firsts == {"a", "b"}


def test_the_embedding_is_made_of_the_leading_eigenvectors():
    H = random_hypergraph(12, 9, seed=4, awkward=False)
    seen = []
    select_inducing_vertices(H, 2, n_clusters=3, clustering=lambda embedding: seen.append(embedding) or [0] * 12)
    _, vectors = np.linalg.eigh(oracles.zhou_laplacian(H))
    assert np.abs(seen[0]) == pytest.approx(np.sqrt(12) * np.abs(vectors[:, :3]))


def test_what_dbscan_calls_noise_is_one_cluster():
    H = make_planted_hypergraph(60, 60, 2, random_state=0).hypergraph
    seen = []

    def cluster(embedding):
        seen.append(DBSCAN().fit_predict(embedding))
        return seen[-1]

    ours = select_inducing_vertices(H, 8, clustering="dbscan", random_state=0).tolist()
    assert ours == select_inducing_vertices(H, 8, clustering=cluster, random_state=0).tolist()
    assert -1 in seen[0]


def test_names_may_be_anything_hashable():
    H = Hypergraph.from_edges([[("a", 1), ("b", 2)], [("b", 2), ("c", 3)]])
    assert select_inducing_vertices(H, 1, clustering=[0] * 3)[0] == ("b", 2)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": 13}, r"`n` must be between 1 and 12 \(the hypergraph has 12 vertices\). Got 13"),
        ({"n": 0}, "`n` must be between 1 and 12"),
        ({"n_clusters": 13}, r"`n_clusters` must be between 1 and 12 \(there are 12 vertices\)"),
        ({"n_clusters": 2, "clustering": [0] * 12}, "`n_clusters` must be left out"),
        ({"importance": "beauty"}, "`importance` must be one of 'eigencentrality', 'degree'. Got 'beauty'"),
        ({"clustering": "ward"}, "`clustering` must be one of 'k-means', 'dbscan'. Got 'ward'"),
        ({"importance": [1.0, 2.0]}, r"`importance` must give one value for each of the 12 vertices. Got shape \(2,\)"),
        ({"clustering": [1, 2]}, r"`clustering` must give one value for each of the 12 vertices"),
        ({"importance": [np.nan] * 12}, "Give every vertex a finite score"),
        ({"clustering": [None] * 12}, "Give every vertex a cluster"),
        ({"importance": pd.Series({"v0": 1.0})}, r"`vertices` must belong to the index of `importance` \(1 names\)"),
    ],
)
def test_bad_input_is_refused(hypergraph, arguments, words):
    with pytest.raises(ValueError, match=words):
        select_inducing_vertices(hypergraph, **{"n": 3, **arguments})


def test_only_a_hypergraph_will_do(hypergraph):
    with pytest.raises(TypeError, match=r"`H` must be a Hypergraph\. Got Graph"):
        select_inducing_vertices(hypergraph.clique_expansion(), 2)
