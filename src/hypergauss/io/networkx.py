"""NetworkX bipartite graphs <-> Hypergraph (extra ``networkx``): vertices on one side, hyperedges on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hypergauss import _checks
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.attributes import Attributes
from hypergauss.io.given import check_hypergraph

if TYPE_CHECKING:
    import networkx as nx

#: The first part of a node's name where a vertex and a hyperedge have the same.
_SIDES = ("vertex", "edge")


def from_networkx(graph: nx.Graph, *, bipartite: str = "bipartite") -> Hypergraph:
    """Return the hypergraph of a bipartite `networkx.Graph`.

    Parameters
    ----------
    graph : networkx.Graph
        Its nodes have the attribute ``bipartite``: 0 for vertices, 1 for hyperedges (NetworkX's convention). A link's
        attribute "weight" becomes r(v, e), a hyperedge node's w(e).
    bipartite : str
        The attribute that tells the sides apart.
    """
    networkx = _checks.optional("networkx", "networkx")
    if not isinstance(graph, networkx.Graph) or graph.is_directed() or graph.is_multigraph():
        raise TypeError(f"`graph` must be an undirected networkx.Graph. Got {type(graph).__name__}.")
    sides = dict(graph.nodes(data=bipartite))
    odd = [node for node, side in sides.items() if side not in (0, 1)]
    if odd:
        raise ValueError(
            f"Each node must have {bipartite!r}, 0 for a vertex and 1 for a hyperedge. {odd[0]!r}"
            f"{_checks.others(len(odd) - 1)} has not. Set it with `networkx.set_node_attributes`."
        )
    inside = [(a, b) for a, b in graph.edges if sides[a] == sides[b]]
    if inside:
        raise ValueError(f"Links must join a vertex to a hyperedge. Got one inside a side: {inside[0]!r}.")
    name = _unprefixed(sides)
    nodes = {side: [node for node, own in sides.items() if own == side] for side in (0, 1)}
    links = [(a, b, data) if sides[a] == 0 else (b, a, data) for a, b, data in graph.edges(data=True)]
    notes = {node: {k: v for k, v in data.items() if k != bipartite} for node, data in graph.nodes(data=True)}
    weights = {name[edge]: notes[edge].pop("weight", 1.0) for edge in nodes[1]}
    H = Hypergraph.from_table(
        {
            "vertex": _objects([name[v] for v, _, _ in links]),
            "edge": _objects([name[e] for _, e, _ in links]),
            "weight": np.array([float(data.get("weight", 1.0)) for _, _, data in links]),
        },
        vertex="vertex",
        edge="edge",
        weight="weight",
        vertices=[name[node] for node in nodes[0]],
        edges=[name[node] for node in nodes[1]],
        weights=weights,
    )
    of_links = {(name[v], name[e]): {k: x for k, x in data.items() if k != "weight"} for v, e, data in links}
    return H.with_attributes(
        vertices={name[node]: notes[node] for node in nodes[0] if notes[node]},
        edges={name[node]: notes[node] for node in nodes[1] if notes[node]},
        incidences={pair: data for pair, data in of_links.items() if data},
        metadata=dict(graph.graph),
    )


def to_networkx(H: Hypergraph) -> nx.Graph:
    """Return the bipartite `networkx.Graph` of vertices (``bipartite=0``) and hyperedges (``bipartite=1``).

    Weights other than 1 become the attribute "weight". If a vertex and a hyperedge have the same name, nodes are named
    ("vertex", name) and ("edge", name), which `from_networkx` understands.
    """
    check_hypergraph(H)
    networkx = _checks.optional("networkx", "networkx")
    notes: Attributes = H.attributes
    vertices, edges = H.vertices.tolist(), H.edges.tolist()
    clash = not set(vertices).isdisjoint(edges)
    nodes = [(("vertex", v) if clash else v) for v in vertices], [(("edge", e) if clash else e) for e in edges]
    graph = networkx.Graph(**notes.metadata)
    for node, v in zip(nodes[0], vertices, strict=True):
        graph.add_node(node, **{**notes.vertices.get(v, {}), "bipartite": 0})
    for node, e, w in zip(nodes[1], edges, H.weights.tolist(), strict=True):
        graph.add_node(node, **{**notes.edges.get(e, {}), "bipartite": 1, **({} if w == 1.0 else {"weight": w})})
    matrix = H.incidence.tocoo()
    for row, column, r in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
        data = {**notes.incidences.get((vertices[row], edges[column]), {}), **({} if r == 1.0 else {"weight": r})}
        graph.add_edge(nodes[0][row], nodes[1][column], **data)
    return graph


def _unprefixed(sides: dict[Any, int]) -> dict[Any, Any]:
    """Return the name of each node, without its side where all nodes are named by theirs."""
    prefixed = all(isinstance(n, tuple) and len(n) == 2 and n[0] == _SIDES[side] for n, side in sides.items())
    return {node: node[1] if prefixed else node for node in sides}


def _objects(names: list[Any]) -> np.ndarray:
    return np.fromiter(names, dtype=object, count=len(names))
