"""From a fit's hypergraph and relations to where newcomers would stand in them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import scipy.sparse as sp

from hypergauss.factorisation.ratings import Ratings
from hypergauss.factorisation.row_priors import Ground
from hypergauss.factorisation.sides import levels, relation_rows
from hypergauss.factorisation.spectral_prior import Side
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import as_list, locate
from hypergauss.spectrum import normalised_incidence
from hypergauss.spectrum.laplacians import inverse_root, normalised_rows, relative_weights

#: Modes with singular values below this do not reach newcomers: 1 / sigma would be all rounding.
_LEAST_SINGULAR_VALUE = 1e-6


def make_grounds(
    table: Ratings,
    sides: tuple[Side, Side],
    relations: tuple[Mapping[str, Hypergraph], Mapping[str, Hypergraph]],
    size_exponent: float,
) -> tuple[Ground, Ground]:
    """Return the grounds of users and of items."""
    scales = [
        np.array([relation_rows(index, hypergraph)[1] for hypergraph in named.values()])
        for index, named in zip((table.users, table.items), relations, strict=True)
    ]
    if sides[0].modes.vectors.shape[1] == 0:
        return _without_modes(sides[0], table.shape[1], scales[0]), _without_modes(sides[1], table.shape[0], scales[1])
    hypergraph = table.hypergraph()
    U, V = (side.modes.vectors.astype(np.float64) for side in sides)
    A = normalised_incidence(hypergraph, size_exponent)
    sigma = np.einsum("nr,nr->r", U, A @ V)
    inverse = np.where(sigma > _LEAST_SINGULAR_VALUE, 1.0 / np.maximum(sigma, _LEAST_SINGULAR_VALUE), 0.0)
    of_users, of_items = levels(hypergraph, size_exponent)
    ratio = np.sqrt(len(U) / len(V))  # levels have mean square 1 on either side
    weights = relative_weights(hypergraph, size_exponent)
    users = Ground(
        sides[0].modes.vectors,
        sides[0].features,
        V * inverse,
        ratio * of_items,
        np.sqrt(weights) * inverse_root(hypergraph.edge_degrees),
        weights,
        0.0,
        1.0,
        scales[0],
    )
    # The dual: A' has sizes where A has degrees. A new item is a hyperedge, whose weight may depend on its size.
    degrees = hypergraph.incidence @ weights
    items = Ground(
        sides[1].modes.vectors,
        sides[1].features,
        U * inverse,
        of_users / ratio,
        inverse_root(degrees),
        np.ones(len(U)),
        size_exponent,
        float(hypergraph.edge_degrees.max()),
        scales[1],
    )
    return users, items


def _without_modes(side: Side, num_others: int, scales: np.ndarray) -> Ground:
    """Return the ground of a prior that knows no hypergraph of ratings."""
    none, nowhere = np.zeros(num_others), np.zeros((num_others, 0))
    return Ground(side.modes.vectors, side.features, nowhere, sp.csr_array(nowhere), none, none, 0.0, 1.0, scales)


def relation_row(
    argument: str,
    given: Mapping[str, Iterable[Hashable]] | None,
    relations: Mapping[str, Hypergraph],
    scales: np.ndarray,
) -> np.ndarray:
    """Return a newcomer's row of relations, shape (Q,), from the names of the hyperedges it belongs to in each."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            f"`{argument}` must be a dict of a relation's name to a list of hyperedges. Got {type(given).__name__}."
        )
    memberships = dict(given or {})
    for name in memberships:
        if name not in relations:
            known = ", ".join(map(repr, relations)) or "none"
            raise ValueError(f"`{argument}` must name relations of the fit ({known}). Got {name!r}. Leave it out.")
    parts = [np.zeros(0)]
    for (name, hypergraph), scale in zip(relations.items(), scales, strict=True):
        joined = as_list(memberships.get(name, []))
        columns = np.zeros(0, np.int64)
        if len(joined):
            owner = f"the hyperedges of {name!r} ({hypergraph.num_edges:,})"
            cure = "One that is new has no effect yet: leave it out."
            columns = np.unique(locate(hypergraph.edges, joined, argument=argument, owner=owner, cure=cure))
        row = sp.csr_array((np.ones(len(columns)), columns, [0, len(columns)]), shape=(1, hypergraph.num_edges))
        parts.append(scale * normalised_rows(hypergraph, row).toarray()[0])
    return np.concatenate(parts)
