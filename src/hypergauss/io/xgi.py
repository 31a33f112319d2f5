"""XGI <-> Hypergraph (extra ``xgi``)."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from hypergauss import _checks
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.attributes import Attributes
from hypergauss.hypergraph.names import Membership, plain
from hypergauss.io.given import check_hypergraph

if TYPE_CHECKING:
    import xgi


def from_xgi(network: xgi.Hypergraph | xgi.DiHypergraph) -> Hypergraph:
    """Return the hypergraph of an `xgi.Hypergraph`, `xgi.DiHypergraph` or `xgi.SimplicialComplex`.

    An edge's attribute "weight" becomes its weight w(e), a vertex' one of ``attributes.vertex_weights``; other
    attributes stay in ``attributes``, and so do directions: the model takes heads and tails as members alike.
    """
    xgi = _checks.optional("xgi", "xgi")
    directed = isinstance(network, xgi.DiHypergraph)
    if not (directed or isinstance(network, xgi.Hypergraph)):
        raise TypeError(f"`network` must be an xgi.Hypergraph or xgi.DiHypergraph. Got {type(network).__name__}.")
    vertices = list(network.nodes)
    members = network.edges.members(dtype=dict)
    about_edges = {edge: dict(network.edges[edge]) for edge in members}
    weights = {edge: notes.pop("weight", 1.0) for edge, notes in about_edges.items()}
    about_vertices = {vertex: dict(network.nodes[vertex]) for vertex in vertices}
    weighted = {v: notes.pop("weight") for v, notes in about_vertices.items() if _is_number(notes.get("weight"))}
    simplicial = isinstance(network, xgi.SimplicialComplex)
    return Hypergraph.from_edges(members, vertices=vertices, weights=weights).with_attributes(
        vertices={vertex: notes for vertex, notes in about_vertices.items() if notes},
        edges={edge: notes for edge, notes in about_edges.items() if notes},
        metadata=dict(network._net_attr),
        vertex_weights={vertex: float(weight) for vertex, weight in weighted.items()},
        directions=_directions(network) if directed else {},
        network_type="asc" if simplicial else "directed" if directed else None,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _directions(network: xgi.DiHypergraph) -> dict[Membership, tuple[str, ...]]:
    """Return "head", "tail" or both of each membership."""
    found: dict[Membership, tuple[str, ...]] = {}
    for edge, (tail, head) in network.edges.dimembers(dtype=dict).items():
        for vertex in tail | head:
            found[vertex, edge] = ("tail",) * (vertex in tail) + ("head",) * (vertex in head)
    return found


def to_xgi(H: Hypergraph) -> xgi.Hypergraph | xgi.DiHypergraph:
    """Return an `xgi.Hypergraph` with the same names, or an `xgi.DiHypergraph` where memberships have directions.

    Weights w(e) other than 1, and those of vertices, become the attribute "weight". XGI has no place for weights of
    memberships, nor for directions of some memberships only, and a hypergraph with either is refused.
    """
    check_hypergraph(H)
    xgi = _checks.optional("xgi", "xgi")
    if (H.incidence.data != 1.0).any():
        raise ValueError(
            "XGI has no weights of memberships, and this hypergraph has. Write it with `write_hif`, or leave them out: "
            "`Hypergraph.from_incidence(H.incidence > 0, H.vertices, H.edges, H.weights)`."
        )
    notes: Attributes = H.attributes
    columns, names = H.incidence.tocsc(), H.vertices.tolist()
    without = H.num_incidences - len(notes.directions)
    if notes.directions and without:
        raise ValueError(
            f"An xgi.DiHypergraph has heads and tails alone, and {without:,} memberships of this hypergraph have no "
            "direction. Write it with `write_hif`, or leave directions out: "
            "`H.with_attributes(directions={}, network_type=None)`."
        )
    network = (xgi.DiHypergraph if notes.directions else xgi.Hypergraph)(**notes.metadata)
    for vertex in H.vertices:
        weight = {"weight": notes.vertex_weights[vertex]} if vertex in notes.vertex_weights else {}
        network.add_node(plain(vertex), **{**notes.vertices.get(vertex, {}), **weight})
    for position, (edge, weight) in enumerate(zip(H.edges.tolist(), H.weights.tolist(), strict=True)):
        members: Any = [names[row] for row in columns.indices[columns.indptr[position] : columns.indptr[position + 1]]]
        if notes.directions:
            members = tuple([v for v in members if side in notes.directions[v, edge]] for side in ("tail", "head"))
        weighted = {} if weight == 1.0 else {"weight": weight}
        network.add_edge(members, idx=edge, **notes.edges.get(edge, {}), **weighted)
    return network
