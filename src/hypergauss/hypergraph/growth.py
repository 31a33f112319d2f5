"""What a hypergraph becomes with more or fewer vertices, hyperedges or memberships: the parts of the new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.hypergraph import assembly
from hypergauss.hypergraph.names import ByName, Membership, Name, locate, plain, unique_index

#: Members of a hyperedge, with or without numbers that say how strongly each takes part.
Members = Iterable[Name] | ByName[float]


class Grown(NamedTuple):
    """Incidence and names of both sides; weights of all hyperedges."""

    incidence: sp.csr_array
    vertices: pd.Index
    edges: pd.Index
    weights: np.ndarray


def with_edges(
    known: Grown,
    edges: ByName[Members] | Sequence[Members],
    weights: Iterable[float] | ByName[float] | None,
) -> Grown:
    """Return the parts with further hyperedges; members that are not known yet are further vertices."""
    new = assembly.of_members(edges, None)
    names = new.edges
    if not isinstance(edges, Mapping):
        if not known.edges.equals(pd.RangeIndex(len(known.edges))):
            raise ValueError(
                "`edges` must be a dict of name to members where hyperedges have names. Got a list. Name the new ones."
            )
        names = pd.RangeIndex(len(known.edges), len(known.edges) + len(new.edges))
    taken = names[names.isin(known.edges)]
    if len(taken):
        raise ValueError(
            f"`edges` must have new names. Got {plain(taken[0])!r}{_checks.others(len(taken) - 1)}, which "
            "the hypergraph has. Add to it with `with_members`."
        )
    vertices, rows = _joined(known.vertices, new.vertices)
    old = sp.csr_array(known.incidence)
    old.resize((len(vertices), len(known.edges)))
    further = _moved(new.incidence, rows, np.arange(len(names)), (len(vertices), len(names)))
    own = assembly.edge_weights(weights, names)
    return Grown(
        sp.csr_array(sp.hstack([old, further], format="csr")),
        vertices,
        _appended(known.edges, names, of="edges"),
        np.concatenate([known.weights, own]),
    )


def with_members(known: Grown, members: ByName[Members]) -> Grown:
    """Return the parts with further members of hyperedges that are there; those not known yet are further vertices."""
    if not isinstance(members, Mapping):
        raise TypeError(
            f"`members` must be a dict of hyperedge to new members. Got {type(members).__name__}. "
            'Write {"hyperedge": ["vertex", ...]}.'
        )
    new = assembly.of_members(members, None)
    columns = locate(
        known.edges,
        new.edges,
        argument="members",
        owner=f"the {len(known.edges):,} hyperedges",
        cure="Add hyperedges with `with_edges`.",
    )
    vertices, rows = _joined(known.vertices, new.vertices)
    shape = (len(vertices), len(known.edges))
    old = sp.csr_array(known.incidence)
    old.resize(shape)
    further = _moved(new.incidence, rows, columns, shape)
    both = sp.coo_array(further.multiply(old.astype(bool)) - old.multiply(further.astype(bool)))
    differ = np.flatnonzero(np.abs(both.data) > 0)
    if len(differ):
        at = differ[0]
        raise ValueError(
            f"`members` must be new, or as they were. Got another number for {plain(vertices[both.row[at]])!r} in "
            f"{plain(known.edges[both.col[at]])!r}{_checks.others(len(differ) - 1)}. Leave it out, or start from "
            "`without`."
        )
    return Grown(sp.csr_array(old.maximum(further)), vertices, known.edges, known.weights)


def on_vertices(known: Grown, vertices: Iterable[Name]) -> Grown:
    """Return the parts on other vertices, which hold those that are there; new ones are isolated."""
    index = unique_index(vertices, of="vertices")
    rows = locate(
        index,
        known.vertices,
        argument="vertices",
        owner=f"the {len(index):,} given names",
        cure="Name every vertex of the hypergraph, or take a `subhypergraph` first.",
    )
    moved = _moved(known.incidence, rows, np.arange(len(known.edges)), (len(index), len(known.edges)))
    return Grown(moved, index, known.edges, known.weights)


def restricted(known: Grown, rows: np.ndarray | None, columns: np.ndarray | None) -> Grown:
    """Return copies of the parts on some vertices and hyperedges, in the order given; all of a side if None."""
    incidence, vertices, edges, weights = known
    if rows is not None:
        incidence, vertices = incidence[rows], unique_index(vertices[rows], of="vertices")
    if columns is not None:
        incidence, weights = incidence[:, columns], weights[columns]
        edges = unique_index(edges[columns], of="edges")
    return Grown(sp.csr_array(incidence, copy=True), vertices, edges, weights.copy())


def still_absent(absent: Mapping[Membership, float], grown: Grown) -> Mapping[Membership, float]:
    """Return those memberships that a file listed with weight 0 or less which have not come meanwhile."""
    places = {(v, e): (grown.vertices.get_loc(v), grown.edges.get_loc(e)) for v, e in absent}
    return {key: weight for key, weight in absent.items() if grown.incidence[places[key]] == 0}


def others(index: pd.Index, left_out: Iterable[Name], *, of: str) -> pd.Index:
    """Return the names that stay when some go, which must be there."""
    gone = locate(index, left_out, argument=of, owner=f"the {len(index):,} {of}", cure=f"See `{of}`.")
    return index[np.setdiff1d(np.arange(len(index)), gone)]


def _joined(known: pd.Index, new: pd.Index) -> tuple[pd.Index, np.ndarray]:
    """Return all names, the known ones first, and where the new ones stand among them."""
    everyone = _appended(known, new[~new.isin(known)], of="vertices")
    return everyone, everyone.get_indexer(new)


def _appended(known: pd.Index, names: pd.Index, *, of: str) -> pd.Index:
    if not len(names):
        return known
    if isinstance(known, pd.RangeIndex) and isinstance(names, pd.RangeIndex):
        return pd.RangeIndex(len(known) + len(names))
    return unique_index([*known, *names], of=of)


def _moved(incidence: sp.csr_array, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix with its rows and columns at other places of a larger one."""
    entries = sp.coo_array(incidence)
    return sp.csr_array((entries.data, (rows[entries.row], columns[entries.col])), shape=shape)
