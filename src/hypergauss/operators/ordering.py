"""An order of the vertices in which those that meet stand close together, and those of equal degree in a row.

A product then reads memory in order, and the loops over the entries of each row are as long as those before: a
processor that foresees where they end takes half the time.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import leaves_list, linkage

from hypergauss.operators.base import Block, LaplacianOperator
from hypergauss.operators.blocks import column_slices

#: Random vectors, products that smooth them, groups that are told apart, and vertices that found the groups.
_VECTORS, _SMOOTHINGS, _GROUPS, _SAMPLE = 8, 12, 64, 20_000
#: Stretches of vertices within which hyperedges stand by size instead of by position.
_STRETCHES = 1024
#: The standard deviation of positions, as a share of all, from which a hyperedge is said to be anywhere.
_WIDE = 0.05
#: Below this many vertices everything is in the cache anyway.
_WORTH_ORDERING = 50_000


def order_of(operator: LaplacianOperator, degrees: np.ndarray, seed: int = 0) -> np.ndarray | None:
    r"""Return a permutation of the vertices of I - A A', or None where it would not pay.

    White noise on the vertices, smoothed as (A A')^k z and divided by the root of the degree, becomes nearly constant
    on every group of vertices that rarely meets others, and differs between groups. A few such vectors are coordinates
    in which k-means finds the groups: the price is some hundred products, and every later one is quicker. Groups that
    are alike stand side by side, so that one that k-means has cut in two is still in one place.

    Parameters
    ----------
    operator : LaplacianOperator
        I - A A' in any order.
    degrees : array, shape (N,)
        How many hyperedges each vertex is in, about.
    """
    if operator.size < _WORTH_ORDERING:
        return None
    from sklearn.cluster import KMeans  # workers, which import this module for `edge_order`, do without

    rng = np.random.default_rng(seed)
    single = operator.in_single()
    start = operator.concatenate([operator.vector(np.sqrt(degrees)[:, None]), operator.white_noise(_VECTORS, rng)])
    X = single.enter(start)
    for _ in range(_SMOOTHINGS):
        X = single.affine(X, -1.0, 1.0)
    X = operator.settle(single.leave(X))
    # The leading eigenvector, constant but for the degrees: what all vertices have in common says nothing.
    level, rest = X[:, :1], X[:, 1:]
    along = operator.fetch(level.T @ rest) / max(float(operator.fetch(operator.dot(level, level))[0]), 1e-300)
    relative = operator.settle((rest - level * along) / np.where(level > 0, level, np.inf))
    sample = operator.array(relative, rng.integers(operator.size, size=_SAMPLE))
    number = min(_GROUPS, len(np.unique(sample, axis=0)))  # as many groups as there are places, where these are few
    centres = KMeans(number, n_init=1, max_iter=20, random_state=seed).fit(sample).cluster_centers_
    if number > 1:
        centres = centres[leaves_list(linkage(centres, "average", optimal_ordering=True))]
    return np.lexsort((degrees, operator.array(_nearest(relative, centres)[:, None])[:, 0]))


def _nearest(X: Block, centres: np.ndarray) -> Block:
    """Return which centre c is nearest to each row x, the one with the least |c|^2 / 2 - c'x.

    A few centres at a time: against all of them at once, a million rows would take half a gigabyte.
    """
    nearest, least = np.zeros((), dtype=int), np.full((), np.inf)
    for some in column_slices(len(centres), _VECTORS):
        distances = (centres[some] ** 2).sum(axis=1) / 2 - X @ centres[some].T
        own = distances.min(axis=1)
        nearest = np.where(own < least, some.start + distances.argmin(axis=1), nearest)
        least = np.minimum(own, least)
    return nearest


def edge_order(A: sp.csr_array) -> np.ndarray:
    """Return a permutation of the columns that follows the rows: by the mean row of their entries, then by size.

    Those whose entries are all over the place stand last, together, where each row finds them in the cache.
    """
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)) / max(A.shape[0], 1)
    sizes = np.bincount(A.indices, minlength=A.shape[1])
    means, squares = (
        np.bincount(A.indices, weights=rows**power, minlength=A.shape[1]) / np.maximum(sizes, 1) for power in (1, 2)
    )
    is_wide = squares - means**2 > _WIDE**2
    return np.lexsort((sizes, np.where(is_wide, _STRETCHES, np.floor(means * _STRETCHES))))
