"""XGI <-> Hypergraph (extra ``xgi``)."""

from __future__ import annotations

from typing import Any

from hypergauss import _checks
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.attributes import Attributes
from hypergauss.hypergraph.names import plain


def from_xgi(network: Any) -> Hypergraph:
    """Return the hypergraph of an `xgi.Hypergraph` or `xgi.SimplicialComplex`.

    An edge's attribute "weight" becomes its weight w(e); other attributes stay in ``attributes``.
    """
    xgi = _checks.optional("xgi", "xgi")
    if isinstance(network, xgi.DiHypergraph):
        raise TypeError(
            "`network` must be undirected. Got a DiHypergraph. Leave directions out with "
            "`xgi.Hypergraph(network.edges.members())`, or read its HIF file, which keeps them as attributes."
        )
    if not isinstance(network, xgi.Hypergraph):
        raise TypeError(f"`network` must be an xgi.Hypergraph. Got {type(network).__name__}.")
    vertices = list(network.nodes)
    members = network.edges.members(dtype=dict)
    about_edges = {edge: dict(network.edges[edge]) for edge in members}
    weights = {edge: notes.pop("weight", 1.0) for edge, notes in about_edges.items()}
    about_vertices = {vertex: dict(network.nodes[vertex]) for vertex in vertices}
    simplicial = isinstance(network, xgi.SimplicialComplex)
    return Hypergraph.from_edges(members, vertices=vertices, weights=weights).with_attributes(
        vertices={vertex: notes for vertex, notes in about_vertices.items() if notes},
        edges={edge: notes for edge, notes in about_edges.items() if notes},
        metadata=dict(network._net_attr),
        network_type="asc" if simplicial else None,
    )


def to_xgi(H: Hypergraph) -> Any:
    """Return an `xgi.Hypergraph` with the same names; weights w(e) other than 1 become the attribute "weight".

    It has no place for weights of memberships nor for directions, and a hypergraph with either is refused.
    """
    xgi = _checks.optional("xgi", "xgi")
    if (H.incidence.data != 1.0).any():
        raise ValueError(
            "XGI has no weights of memberships, and this hypergraph has. Write it with `write_hif`, or leave them out: "
            "`Hypergraph.from_incidence(H.incidence > 0, H.vertices, H.edges, H.weights)`."
        )
    notes: Attributes = H.attributes
    if notes.directions:
        raise ValueError(
            "An xgi.Hypergraph has no directions, and this hypergraph has. Write it with `write_hif` and read it with "
            "`xgi.read_hif`, or leave them out: `H.with_attributes(directions={}, network_type=None)`."
        )
    network = xgi.Hypergraph(**notes.metadata)
    network.add_nodes_from((plain(vertex), dict(notes.vertices.get(vertex, {}))) for vertex in H.vertices)
    columns = H.incidence.tocsc()
    names = H.vertices.tolist()
    for position, (edge, weight) in enumerate(zip(H.edges.tolist(), H.weights.tolist(), strict=True)):
        rows = columns.indices[columns.indptr[position] : columns.indptr[position + 1]]
        weighted = {} if weight == 1.0 else {"weight": weight}
        network.add_edge([names[row] for row in rows], idx=edge, **notes.edges.get(edge, {}), **weighted)
    return network
