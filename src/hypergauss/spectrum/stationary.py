r"""Where a random walk on a hypergraph spends its time.

A walk leaves a vertex v by a hyperedge e with probability F(v, e), and enters a vertex u from it with probability
G(u, e). Its stationary measures, pi on vertices and eta on hyperedges, are

    eta = F' pi,    pi = G eta.

On a connected hypergraph they are unique up to a factor; on several components, up to one factor each.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from hypergauss.exceptions import NumericalError

#: How far from stationary, relative to the largest entry, a solution may be.
_TOLERANCE = 1e-9


def stationary_measures(leaving: sp.csr_array, entering: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return pi, shape (N,), and eta, shape (M,), scaled so that each component's pi adds up to its vertices.

    Parameters
    ----------
    leaving, entering : CSR arrays, shape (N, M)
        F, whose rows add up to 1, and G, whose columns do; a vertex in no hyperedge has a row of zeros in both.
    """
    N, M = leaving.shape
    is_joined = leaving.sum(axis=1) > 0
    if not is_joined.any():
        return np.zeros(N), np.zeros(M)
    _, labels = connected_components(sp.block_array([[None, leaving], [leaving.T, None]]), directed=False)
    components = labels[:N]
    # One vertex of each component keeps the measure 1 in place of its equation, which the others imply.
    _, first = np.unique(np.where(is_joined, components, -1), return_index=True)
    pinned = first[is_joined[first]]
    free = np.ones(N)
    free[pinned] = 0.0
    held = np.zeros(N + M)
    held[pinned] = 1.0
    G = sp.diags_array(free) @ entering
    system = sp.block_array([[sp.eye_array(N), -G], [-leaving.T, sp.eye_array(M)]], format="csc")
    found = splu(system).solve(held)
    pi = np.where(is_joined, np.maximum(found[:N], 0.0), 0.0)
    totals = np.bincount(components, weights=pi)
    sizes = np.bincount(components)
    scale = np.divide(sizes, totals, out=np.zeros(len(totals)), where=totals > 0)
    pi = pi * scale[components]
    eta = leaving.T @ pi
    off = np.abs(entering @ eta - pi).max()
    if not off <= _TOLERANCE * pi.max():
        raise NumericalError(
            f"The stationary measure of the walk was not found: it is off by {off:.2g}. Likely cause: memberships or "
            "weights of very different sizes; leave out those that hardly count."
        )
    return pi, eta
