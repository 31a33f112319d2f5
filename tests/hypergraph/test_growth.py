import pytest
from hypothesis import given

from hypergauss import Hypergraph
from tests.hypergraphs import hypergraphs


@pytest.fixture
def bills():
    H = Hypergraph.from_edges({"b1": ["ana", "luis"], "b2": ["luis", "rosa"]}, weights=[2.0, 3.0])
    return H.with_attributes(vertices={"ana": {"age": 41}}, absent={("ana", "b2"): 0.0})


def test_new_hyperedges_and_their_members_come_last_and_all_else_stays(bills):
    grown = bills.with_edges({"b3": ["rosa", "eva"], "b4": {"eva": 0.5}}, weights={"b4": 7.0, "b3": 5.0})
    assert grown.vertices.tolist() == ["ana", "luis", "rosa", "eva"]
    assert grown.edges.tolist() == ["b1", "b2", "b3", "b4"]
    assert grown.weights.tolist() == [2.0, 3.0, 5.0, 7.0]
    assert grown.incidence.toarray()[:, 2:].tolist() == [[0, 0], [0, 0], [1, 0], [1, 0.5]]
    assert grown.attributes.vertices == {"ana": {"age": 41}}
    assert bills.num_edges == 2  # as it was
    assert grown.subhypergraph(bills.vertices, bills.edges).equals(bills)


def test_new_members_join_hyperedges_that_are_there(bills):
    grown = bills.with_members({"b2": ["ana", "eva"], "b1": {"eva": 2.0}})
    assert grown.members("b2") == ["ana", "luis", "rosa", "eva"]
    assert grown.incidence[[3], [0]] == 2.0
    assert grown.attributes.absent == {}  # she is there now
    assert bills.with_members({"b1": ["ana"]}).equals(bills)  # as it was


def test_what_goes_takes_its_memberships_along(bills):
    assert bills.without(vertices=["luis"]).members("b2") == ["rosa"]
    assert bills.without(edges=["b1"]).edges.tolist() == ["b2"]
    assert bills.without().equals(bills)


@given(hypergraphs())
def test_a_hypergraph_grown_hyperedge_by_hyperedge_is_the_whole_one(H):
    part = H.subhypergraph(edges=H.edges[:0])
    for edge, column, weight in zip(H.edges, H.incidence.toarray().T, H.weights, strict=True):
        members = {v: r for v, r in zip(H.vertices, column, strict=True) if r > 0}
        part = part.with_edges({edge: members}, weights=[weight])
    assert part.equals(H)


@given(hypergraphs())
def test_a_hypergraph_grown_vertex_by_vertex_is_the_whole_one(H):
    part = H.without(vertices=H.vertices[1:])
    for vertex, row in zip(H.vertices[1:], H.incidence.toarray()[1:], strict=True):
        part = part.with_members({e: {vertex: r} for e, r in zip(H.edges, row, strict=True) if r > 0})
        if vertex not in part.vertices:
            part = part.with_vertices([*part.vertices, vertex])
    assert part.equals(H)


def test_hyperedges_without_names_are_numbered_on():
    H = Hypergraph.from_edges([[0, 1], [1, 2]])
    assert H.with_edges([[2, 3]]).edges.tolist() == [0, 1, 2]
    assert H.with_edges({}).equals(H)


@pytest.mark.parametrize(
    ("grow", "message"),
    [
        (lambda H: H.with_edges({"b1": ["eva"]}), "must have new names. Got 'b1', which the hypergraph has. Add to it"),
        (lambda H: H.with_edges([["eva"]]), "must be a dict of name to members .* Name the new ones"),
        (lambda H: H.with_members({"b9": ["eva"]}), "must belong to the 2 hyperedges. Got 'b9'. Add hyperedges with"),
        (lambda H: H.with_members({"b1": {"ana": 2.0}}), "Got another number for 'ana' in 'b1'. Leave it out"),
        (lambda H: H.without(vertices=["eva"]), "`vertices` must belong to the 3 vertices. Got 'eva'"),
    ],
)
def test_growth_that_contradicts_what_is_there_is_refused(bills, grow, message):
    with pytest.raises(ValueError, match=message):
        grow(bills)


def test_members_come_by_hyperedge(bills):
    with pytest.raises(TypeError, match="must be a dict of hyperedge to new members"):
        bills.with_members(["eva"])
