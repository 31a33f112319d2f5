"""The random walk on a hypergraph, and what is found where it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from hypergauss.hypergraph.graph import Graph
from hypergauss.hypergraph.hypergraph import Hypergraph

#: What is left of the walks that are not followed to their end, relative to where they began.
_TOLERANCE = 1e-12


def where_walks_stop(relations: Sequence[Hypergraph | Graph], X: np.ndarray, restart: float) -> np.ndarray:
    r"""Return restart (I - (1 - restart) P)^-1 X, P the mean of the relations' walks.

    That is the sum over k of restart (1 - restart)^k P^k X: powers of the walk, with geometric weights. Walks are
    followed step by step, each a product with an incidence matrix and one with its transpose: O(incidences x p).
    """
    steps = [_walk(relation) for relation in relations]
    stopped, going = restart * X, 1.0
    while going > _TOLERANCE:
        moved = sum(step(stopped) for step in steps) / len(steps)
        stopped = restart * X + (1 - restart) * moved
        going *= 1 - restart
    return stopped


def _walk(relation: Hypergraph | Graph) -> Callable[[np.ndarray], np.ndarray]:
    """Return the product with P, from vertices to hyperedges and back; the walk stays where there is no hyperedge.

    P itself has an entry for every two vertices in a hyperedge: millions, where a hyperedge has thousands of members.
    """
    if isinstance(relation, Graph):
        degrees = np.asarray(relation.adjacency.sum(axis=1)).ravel()
        along = sp.csr_array(sp.diags_array(_inverse(degrees)) @ relation.adjacency)
        alone = (degrees == 0)[:, None]
        return lambda X: along @ X + alone * X
    degrees = relation.vertex_degrees
    forward = sp.csr_array(sp.diags_array(_inverse(degrees)) @ relation.incidence @ sp.diags_array(relation.weights))
    back = sp.csr_array(sp.diags_array(_inverse(relation.edge_degrees)) @ relation.incidence.T)
    stays = (degrees == 0)[:, None]
    return lambda X: forward @ (back @ X) + stays * X


def _inverse(degrees: np.ndarray) -> np.ndarray:
    return np.divide(1.0, degrees, out=np.zeros_like(degrees, dtype=np.float64), where=degrees > 0)
