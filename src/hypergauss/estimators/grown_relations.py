"""Relations that have grown: checked to be of the kinds that a model has, and to hold the vertices that it knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import ByName, plain, unique_index

Relation = Hypergraph | Graph
#: One relation, or several by name.
Relations = Relation | Mapping[str, Relation]


#: New vertices: the hyperedges of each, or a hypergraph of them; of several relations these by relation.
NewMemberships = Hypergraph | ByName[Any]


class Cures(NamedTuple):
    """What to do about a vertex that is not new, and about a hyperedge that is."""

    vertex: str = "Ask `predict` for it, or `update` with its new memberships."
    edge: str = "Add them with `H.with_edges`, and `update`."


_CURES = Cures()


def grown(H: Relations, further: Relations | None) -> Relations:
    """Return relations with those that have grown in the place of the old ones, checked to hold all vertices of these.

    Parameters
    ----------
    H : Hypergraph, Graph or dict of them
        As the model has them.
    further : the same, or None for no change
        Of several relations, those that have grown, by name.
    """
    if further is None:
        return H
    if not isinstance(H, Mapping):
        _check_grown(H, further, "`H`")
        return further
    if not isinstance(further, Mapping):
        raise TypeError(
            f"`H` must be a dict, since the model has the relations {', '.join(map(str, H))}. Got "
            f"{type(further).__name__}. Name those that have grown."
        )
    strange = [name for name in further if name not in H]
    if strange:
        raise ValueError(
            f"`H` must hold relations that the model knows ({', '.join(map(str, H))}). Got {strange[0]!r}"
            f"{_checks.others(len(strange) - 1)}. A new kind of memberships has a weight to be learned: fit again."
        )
    for name, relation in further.items():
        _check_grown(H[name], relation, f"The relation {name!r}")
    return {**H, **further}


def with_newcomers(H: Relations, memberships: NewMemberships) -> tuple[Relations, list[Any]]:
    """Return relations with new vertices in hyperedges that are there, and the names of these vertices in order.

    Parameters
    ----------
    H : Hypergraph, or dict of them
        As the model has them.
    memberships : dict of vertex to hyperedges, Hypergraph, or with several relations a dict of these by relation
        The new vertices.
    """
    if not isinstance(H, Mapping):
        whole, names = _joined(H, memberships)
        return whole, names
    if not isinstance(memberships, Mapping) or not set(memberships) <= set(H):
        raise ValueError(
            f"`memberships` must be a dict by relation, of those that the model knows ({', '.join(map(str, H))}). Got "
            f"{_described(memberships)}. Write {{{next(iter(H))!r}: {{vertex: hyperedges}}}}."
        )
    relations, everyone = dict(H), dict[Any, None]()
    for name, own in memberships.items():
        relations[name], names = _joined(H[name], own)
        everyone.update(dict.fromkeys(names))
    known = pd.Index([], dtype=object).append([relation.vertices for relation in H.values()])
    _check_new(list(everyone), known, _CURES)
    return relations, list(everyone)


def newcomers_rows(H: Hypergraph, memberships: NewMemberships, cures: Cures = _CURES) -> sp.csr_array:
    """Return the rows r(v, .) of new vertices, shape (m, M), in their order."""
    by_edge, names = _by_edge(H, memberships, cures)
    unique_index(names, of="memberships")  # none of them missing
    places = np.array([H.edges.get_loc(edge) for edge in by_edge], dtype=np.int64)
    columns = np.repeat(places, [len(own) for own in by_edge.values()])
    numbers = dict(zip(names, range(len(names)), strict=True))
    rows = [numbers[name] for own in by_edge.values() for name in own]
    weights = np.array([weight for own in by_edge.values() for weight in own.values()], dtype=object)
    entries = _checks.non_negative_array("weight", weights if len(weights) else np.zeros(0))
    kept = entries > 0
    return sp.csr_array(
        (entries[kept], (np.array(rows, dtype=np.int64)[kept], columns[kept])), (len(names), H.num_edges)
    )


def _joined(H: Relation, memberships: NewMemberships) -> tuple[Hypergraph, list[Any]]:
    by_edge, names = _by_edge(H, memberships, _CURES)
    assert isinstance(H, Hypergraph)
    return H.with_vertices([*H.vertices, *names]).with_members(by_edge), names


def _by_edge(H: Relation, memberships: NewMemberships, cures: Cures) -> tuple[ByName[dict[Any, float]], list[Any]]:
    """Return the new members of each hyperedge that has any, and the new vertices in order, all checked."""
    if not isinstance(H, Hypergraph):
        raise TypeError(
            "`memberships` are in hyperedges, and the model has a graph. Got "
            f"{_described(memberships)}. Grow the graph, and `update`."
        )
    if isinstance(memberships, Hypergraph):
        entries = memberships.incidence.tocoo()
        found: dict[Any, Any] = {name: {} for name in memberships.vertices}
        for row, column, strength in zip(entries.row, entries.col, entries.data, strict=True):
            found[memberships.vertices[row]][memberships.edges[column]] = strength
        memberships = found
    if not isinstance(memberships, Mapping):
        raise TypeError(
            f"`memberships` must be a dict of new vertex to its hyperedges, or a Hypergraph. Got "
            f"{_described(memberships)}. Write {{'new vertex': ['hyperedge', ...]}}."
        )
    _check_new(list(memberships), H.vertices, cures)
    by_edge: dict[Any, dict[Any, float]] = {}
    for vertex, edges in memberships.items():
        if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
            raise TypeError(f"Hyperedges must come in a list. Got {edges!r} for {plain(vertex)!r}: pass [{edges!r}].")
        for edge in edges:
            by_edge.setdefault(edge, {})[vertex] = edges[edge] if isinstance(edges, Mapping) else 1.0
    strange = [edge for edge in by_edge if edge not in H.edges]
    if strange:
        raise ValueError(
            f"`memberships` must be in hyperedges that the model knows ({H.num_edges:,}). Got {plain(strange[0])!r}"
            f"{_checks.others(len(strange) - 1)}. {cures.edge}"
        )
    return by_edge, list(memberships)


def _check_new(names: list[Any], known: pd.Index, cures: Cures) -> None:
    taken = [name for name in names if name in known]
    if not names:
        raise ValueError("`memberships` must name at least one new vertex. Got none.")
    if taken:
        raise ValueError(
            f"`memberships` must be of new vertices. Got {plain(taken[0])!r}{_checks.others(len(taken) - 1)}, which "
            f"the model knows. {cures.vertex}"
        )


def _check_grown(old: Relation, new: object, what: str) -> None:
    """Refuse another kind of relation, and one without a vertex that was there."""
    if type(new) is not type(old):
        raise TypeError(
            f"{what} must be a {type(old).__name__}, as the model has it. Got {_described(new)}. Pass the grown "
            f"{type(old).__name__}, or fit another model."
        )
    assert isinstance(new, Hypergraph | Graph)
    gone = old.vertices[~old.vertices.isin(new.vertices)]
    if len(gone):
        raise ValueError(
            f"{what} must hold all {len(old.vertices):,} vertices that the model knows. Got one without "
            f"{plain(gone[0])!r}{_checks.others(len(gone) - 1)}. Keep them, if need be without hyperedges "
            "(`with_vertices`), or fit again."
        )


def _described(value: object) -> str:
    return "several relations" if isinstance(value, Mapping) else type(value).__name__
