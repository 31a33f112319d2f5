"""HyperNetX <-> Hypergraph (extra ``hypernetx``).

HyperNetX lists only nodes that are in some edge; nodes and edges it knows by their properties alone are its isolated
nodes and empty edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from hypergauss import _checks
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.attributes import Attributes
from hypergauss.io.given import check_hypergraph

if TYPE_CHECKING:
    import hypernetx


def from_hypernetx(network: hypernetx.Hypergraph) -> Hypergraph:
    """Return the hypergraph of a `hypernetx.Hypergraph`.

    Cell weights become r(v, e) and edge weights w(e); weights of nodes and other properties stay in ``attributes``.
    """
    hypernetx = _checks.optional("hypernetx", "hypernetx")
    if not isinstance(network, hypernetx.Hypergraph):
        raise TypeError(f"`network` must be a hypernetx.Hypergraph. Got {type(network).__name__}.")
    cells = network.incidences.to_dataframe
    within, members = (list(cells.index.get_level_values(level)) for level in (0, 1))
    nodes, edges = network.nodes.property_store, network.edges.property_store
    # One table of properties for both sides cannot tell an isolated node from an empty edge.
    shared = nodes is edges
    about = {"nodes": _properties(nodes.properties), "edges": _properties(edges.properties)}
    vertices = list(dict.fromkeys([*members, *([] if shared else about["nodes"])]))
    in_edges = list(dict.fromkeys([*within, *([] if shared else about["edges"])]))
    of_edges = {edge: about["edges"].get(edge, (network.edges.default_weight, {})) for edge in in_edges}
    of_vertices = {vertex: about["nodes"].get(vertex, (network.nodes.default_weight, {})) for vertex in vertices}
    H = Hypergraph.from_table(
        {"edge": _objects(within), "node": _objects(members), "weight": cells["weight"].to_numpy(dtype=float)},
        vertex="node",
        edge="edge",
        weight="weight",
        vertices=vertices,
        edges=in_edges,
        weights={edge: float(weight) for edge, (weight, _) in of_edges.items()},
    )
    about_cells = _properties(cells)
    return H.with_attributes(
        vertices={vertex: notes for vertex, (_, notes) in of_vertices.items() if notes},
        edges={edge: notes for edge, (_, notes) in of_edges.items() if notes},
        incidences={(v, e): notes for (e, v), (_, notes) in about_cells.items() if notes},
        vertex_weights={vertex: float(weight) for vertex, (weight, _) in of_vertices.items() if weight != 1},
        metadata={} if network.name is None else {"name": network.name},
    )


def to_hypernetx(H: Hypergraph) -> hypernetx.Hypergraph:
    """Return a `hypernetx.Hypergraph` with the same names, cell weights, edge weights and properties."""
    check_hypergraph(H)
    hypernetx = _checks.optional("hypernetx", "hypernetx")
    notes: Attributes = H.attributes
    matrix = H.incidence.tocoo()
    vertices, edges = H.vertices.tolist(), H.edges.tolist()
    pairs = [(vertices[row], edges[column]) for row, column in zip(matrix.row, matrix.col, strict=True)]
    cells = pd.DataFrame(
        {
            "edges": _objects([edge for _, edge in pairs]),
            "nodes": _objects([vertex for vertex, _ in pairs]),
            "weight": matrix.data,
            "misc_properties": [dict(notes.incidences.get(pair, {})) for pair in pairs],
        }
    )
    return hypernetx.Hypergraph(
        cells,
        edge_col="edges",
        node_col="nodes",
        misc_cell_properties_col="misc_properties",
        node_properties={
            v: {**notes.vertices.get(v, {}), "weight": notes.vertex_weights.get(v, 1.0)} for v in vertices
        },
        edge_properties={
            e: {**notes.edges.get(e, {}), "weight": w} for e, w in zip(edges, H.weights.tolist(), strict=True)
        },
        name=notes.metadata.get("name"),
    )


def _properties(table: pd.DataFrame) -> dict[Any, tuple[Any, dict[str, Any]]]:
    """Return weight and other properties by name; columns of their own join those in "misc_properties"."""
    found = {}
    extra = [column for column in table.columns if column not in ("weight", "misc_properties")]
    for name, row in zip(table.index, table.to_dict(orient="records"), strict=True):
        misc = row.get("misc_properties")
        notes = dict(misc) if isinstance(misc, dict) else {}
        notes |= {column: row[column] for column in extra if not _is_missing(row[column])}
        found[name] = (row["weight"], notes)
    return found


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _objects(names: list[Any]) -> pd.Series:
    return pd.Series(names, dtype=object)
