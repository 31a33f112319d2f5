"""A hypergraph is a container of vertices, as a graph is, that knows who is in what and who meets whom."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from hypergauss import Hypergraph
from tests.hypergraphs import hypergraphs

BILLS = Hypergraph.from_edges(
    {"b1": ["ana", "luis"], "b2": ["luis", "rosa"], "none": []}, vertices=["eva", "ana", "luis", "rosa"]
)


def test_length_membership_and_iteration_are_those_of_vertices():
    assert len(BILLS) == 4
    assert list(BILLS) == ["eva", "ana", "luis", "rosa"]
    assert "ana" in BILLS
    assert "b1" not in BILLS
    assert ["ana"] not in BILLS


def test_a_hypergraph_without_vertices_is_still_one():
    assert bool(Hypergraph.from_edges([]))
    assert len(Hypergraph.from_edges([])) == 0


def test_names_come_out_as_plain_values():
    H = Hypergraph.from_edges([[1, 2]])
    assert [type(v) for v in (*H, *H.members(0), *H.edges_of(1), *H.neighbors(1))] == [int] * 6


def test_neighbours_share_a_hyperedge():
    assert BILLS.neighbors("luis") == ["ana", "rosa"]
    assert BILLS.neighbors("eva") == []
    assert BILLS.edges_of("luis") == ["b1", "b2"]


def test_unknown_names_are_told():
    with pytest.raises(ValueError, match=r"`vertex` must belong to the hypergraph \(4 vertices\). Got 'ann'"):
        BILLS.neighbors("ann")
    with pytest.raises(ValueError, match=r"`edge` must belong to the 3 hyperedges. Got 'b9'"):
        BILLS.members("b9")


@given(hypergraphs())
def test_members_hyperedges_and_neighbours_are_the_incidence_matrix(H):
    R = H.incidence.toarray() > 0
    for row, v in enumerate(H):
        assert H.edges_of(v) == [e for column, e in enumerate(H.edges.tolist()) if R[row, column]]
        meets = (R[:, R[row]].any(axis=1)) & (np.arange(len(H)) != row)
        assert H.neighbors(v) == [u for u, is_met in zip(H, meets, strict=True) if is_met]
    for column, e in enumerate(H.edges):
        assert H.members(e) == [v for v, is_in in zip(H, R[:, column], strict=True) if is_in]


@given(hypergraphs())
def test_its_table_gives_it_back(H):
    frame = H.to_frame()
    again = Hypergraph.from_table(
        frame, vertex="vertex", edge="edge", weight="weight", vertices=H.vertices, edges=H.edges, weights=H.weights
    )
    assert again.equals(H)
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == H.num_incidences


def test_its_notebook_view_says_what_no_model_looks_at():
    view = BILLS.with_attributes(directions={("ana", "b1"): ("head",)})._repr_html_()
    assert "directions of 1 membership" in view
    assert "no model looks at" not in BILLS._repr_html_()
