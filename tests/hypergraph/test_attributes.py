"""Attributes go where their vertices and hyperedges go, and are only of those."""

import copy
import pickle

import numpy as np
import pytest

from hypergauss.hypergraph.attributes import Attributes
from tests.io.awkward import noted


def test_parts_of_a_hypergraph_keep_their_attributes():
    part = noted().subhypergraph(vertices=["a", "b"], edges=["first"])
    assert set(part.attributes.vertices) == {"a"}
    assert part.attributes.edges == {}
    assert part.attributes.incidences == {("a", "first"): {"since": 1990}}
    assert part.attributes.metadata == noted().attributes.metadata


def test_the_dual_has_them_on_the_other_side():
    dual = noted().dual().attributes
    assert dual.edges == noted().attributes.vertices
    assert dual.incidences == {("first", "a"): {"since": 1990}}


def test_more_vertices_change_nothing():
    H = noted()
    assert H.with_vertices([*H.vertices, "new"]).attributes == H.attributes


@pytest.mark.parametrize("copied", [lambda H: pickle.loads(pickle.dumps(H)), copy.deepcopy])
def test_copies_keep_them(copied):
    assert copied(noted()).attributes == noted().attributes


def test_attributes_of_what_is_not_there_are_refused():
    with pytest.raises(ValueError, match="'nobody'"):
        noted().with_attributes(vertices={"nobody": {}})
    with pytest.raises(TypeError, match="'colour'"):
        noted().with_attributes(colour={})


def test_what_the_caller_does_to_his_notes_later_does_not_reach_the_hypergraph():
    about, mixture = {"a": {"tags": ["x"]}}, {"sizes": np.array([1, 2])}
    H = noted().with_attributes(vertices=about, metadata=mixture)
    about["a"]["tags"].append("y")
    about["b"] = {}
    mixture["sizes"][0] = 7
    assert H.attributes.vertices == {"a": {"tags": ["x"]}}
    assert H.attributes.metadata["sizes"].tolist() == [1, 2]


def test_what_no_model_looks_at_is_counted_in_words():
    notes = Attributes(
        edges={"e": {"Timestamp": 3}, "f": {"topic": "water"}},
        incidences={("a", "e"): {"time": 1}, ("b", "e"): {"time": 2}},
        directions={("a", "e"): ("head",)},
        vertex_weights={"a": 2.0, "b": 1.0},
    )
    assert notes.ignored() == [
        "directions of 1 membership",
        "times of 1 hyperedge",
        "times of 2 memberships",
        "weights of 2 vertices",
    ]
    assert Attributes(edges={"f": {"topic": "water"}}).ignored() == []
