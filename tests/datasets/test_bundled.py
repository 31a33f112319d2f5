"""Bundled data agree with their published statistics and, where it is at hand, with the development copy."""

import pytest

from hypergauss.datasets import load_automobiles, load_house_votes, load_zoo

CASES = [
    (load_zoo, "zoo", (101, 36, 1616)),
    (load_house_votes, "house-votes-84", (435, 32, 6568)),
    (load_automobiles, "imports-85", (205, 66, 2253)),
]


@pytest.mark.parametrize(("load", "folder", "sizes"), CASES)
def test_sizes_are_those_published(load, folder, sizes):
    H = load().hypergraph
    assert (H.num_vertices, H.num_edges, H.num_incidences) == sizes


@pytest.mark.parametrize(("load", "folder", "sizes"), CASES)
def test_hyperedges_are_those_of_the_development_data(load, folder, sizes, data_folder):
    lines = (data_folder / folder / "hyperedges.txt").read_text().splitlines()
    theirs = sorted(sorted(int(vertex) for vertex in line.split(",")) for line in lines)
    columns = load().hypergraph.incidence.tocsc()
    ours = sorted(sorted(columns[:, [edge]].nonzero()[0].tolist()) for edge in range(columns.shape[1]))
    assert ours == theirs


def test_targets_are_complete_but_for_four_prices():
    assert load_zoo().target.value_counts().to_dict()["mammal"] == 41
    assert load_house_votes().target.value_counts().to_dict() == {"democrat": 267, "republican": 168}
    assert load_automobiles().target.isna().sum() == 4


def test_each_target_is_indexed_by_the_vertices():
    for load, _, _ in CASES:
        data = load()
        assert list(data.target.index) == list(data.hypergraph.vertices)
        assert "CC BY 4.0" in data.description


def test_presence_only_keeps_fifteen_traits_and_five_leg_counts():
    edges = list(load_zoo(presence_only=True).hypergraph.edges)
    assert len(edges) == 20
    assert sum(name == "legs" for name, _ in edges) == 5
    assert all(value > 0 for _, value in edges)


def test_the_two_frogs_have_names_of_their_own():
    table = load_zoo().table
    assert table.loc["frog", "venomous"] == 0
    assert table.loc["frog (venomous)", "venomous"] == 1
