"""An order of the vertices in which those that meet stand close together, so that products read memory in order."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

#: Random vectors, products that smooth them, groups that are told apart, and vertices that found the groups.
_VECTORS, _SMOOTHINGS, _GROUPS, _SAMPLE = 8, 12, 64, 20_000
#: Below this many vertices everything is in the cache anyway.
_WORTH_ORDERING = 50_000


def local_order(A: sp.csr_array, seed: int = 0) -> np.ndarray | None:
    r"""Return a permutation of the rows of a normalised incidence A, or None where it would not pay.

    White noise on the vertices, smoothed as (A A')^k z and divided by the root of the degree, becomes nearly constant
    on every group of vertices that rarely meets others, and differs between groups. A few such vectors are coordinates
    in which k-means finds the groups: the price is some hundred products, and every later one is quicker.
    """
    if A.shape[0] < _WORTH_ORDERING:
        return None
    rng = np.random.default_rng(seed)
    A = A.astype(np.float32)
    transpose = sp.csr_array(A.T)
    X: np.ndarray = rng.standard_normal((A.shape[0], _VECTORS + 1)).astype(np.float32)
    X[:, 0] = np.sqrt(np.diff(A.indptr))
    for _ in range(_SMOOTHINGS):
        X = A @ (transpose @ X)
    # The leading eigenvector, constant but for the degrees: what all vertices have in common says nothing.
    level = X[:, :1] / (np.linalg.norm(X[:, 0]) or 1.0)
    X = X[:, 1:] - level * (level.T @ X[:, 1:])
    relative: np.ndarray = np.divide(X, level, out=np.zeros_like(X), where=level > 0)
    sample = relative[rng.integers(len(relative), size=_SAMPLE)]
    # As many groups as there are places, where these are few.
    number = min(_GROUPS, len(np.unique(sample, axis=0)))
    groups = KMeans(number, n_init=1, max_iter=20, random_state=seed).fit(sample).predict(relative)
    return np.argsort(groups, kind="stable")


def edge_order(A: sp.csr_array) -> np.ndarray:
    """Return a permutation of the columns that follows the rows: by the mean position of their members."""
    sizes = np.maximum(np.diff(sp.csc_array(A).indptr), 1)
    pattern = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    return np.argsort((pattern.T @ np.arange(A.shape[0], dtype=np.float64)) / sizes, kind="stable")
