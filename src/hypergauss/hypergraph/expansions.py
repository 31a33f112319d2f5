"""Adjacency matrices of graphs that stand for a hypergraph (paper, Appendix A.2), and what hangs together in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


def clique(incidence: sp.csr_array, weights: np.ndarray, *, weighted: bool) -> sp.csr_array:
    """Return R diag(w) R' without its diagonal, shape (N, N); not weighted, 1 wherever that is not 0."""
    joint = sp.csr_array((incidence * weights) @ incidence.T)
    joint = sp.csr_array(joint - sp.diags_array(joint.diagonal()))
    joint.eliminate_zeros()
    if not weighted:
        joint.data[:] = 1.0
    return joint


def star(block: sp.csr_array) -> sp.csr_array:
    """Return [[0, B], [B', 0]] of B, shape (N, M), between vertices and hyperedges."""
    return sp.block_array([[None, block], [block.T, None]], format="csr")


def components(incidence: sp.csr_array) -> np.ndarray:
    """Return the number of each vertex's connected component in the star expansion, by first vertex, shape (N,)."""
    _, labels = connected_components(star(incidence), directed=False)
    return pd.factorize(labels[: incidence.shape[0]])[0]
