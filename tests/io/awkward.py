"""Hypergraphs with everything that is easily lost on the way."""

from hypergauss import Hypergraph


def noted():
    """Isolated, empty, singleton and repeated; weights of all kinds; names of text and numbers; attributes."""
    H = Hypergraph.from_edges(
        {"first": {"a": 2.0, "b": 1.0}, "second": {"b": 1.0, 7: 1.0}, 3: {"b": 1.0}, "empty": {}},
        vertices=["lonely", "a", "b", 7],
        weights={"first": 2.5, "second": 1.0, 3: 1.0, "empty": 4.0},
    )
    return H.with_attributes(
        vertices={"a": {"age": 41, "tags": ["x", None]}, "lonely": {"why": "nobody asked"}},
        edges={"empty": {"topic": "Ñandú"}},
        incidences={("a", "first"): {"since": 1990}},
        metadata={"title": "a test", "nested": {"deep": [1, 2]}},
        vertex_weights={"b": 3.0},
        directions={("a", "first"): ("head",), ("b", "first"): ("head", "tail")},
        network_type="directed",
    )


def plain():
    """Without weights of memberships, which some packages do not know."""
    return Hypergraph.from_edges(
        {"first": ["a", "b"], "second": ["b", 7], "empty": []},
        vertices=["lonely", "a", "b", 7],
        weights=[2.5, 1.0, 4.0],
    ).with_attributes(vertices={"a": {"age": 41}}, edges={"first": {"topic": "water"}}, metadata={"name": "small"})


def same(first, second):
    """Tell whether two hypergraphs agree in everything that counts, whatever the order of vertices and edges."""
    aligned = second.subhypergraph(vertices=first.vertices, edges=first.edges)
    return (
        set(first.vertices) == set(second.vertices)
        and set(first.edges) == set(second.edges)
        and first.equals(aligned)
        and first.attributes.restricted(first.vertices, first.edges)._asdict()
        == aligned.attributes.restricted(first.vertices, first.edges)._asdict()
    )
