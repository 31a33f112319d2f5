"""Inducing vertices: the few whose function values stand for those of all (paper, section 3.1).

Three stages, each of which can be replaced: score every vertex by importance, cluster the vertices, then draw clusters
by their size and take the most important vertex of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from hypergauss import _checks
from hypergauss._checks import Labels, Seed, Values
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import locate, unique_index
from hypergauss.spectrum import cached_spectrum, normalised_incidence
from hypergauss.spectrum.decomposition import leading_eigen, symmetric_operator

IMPORTANCES = ("eigencentrality", "degree")
CLUSTERINGS = ("k-means", "dbscan")
#: How vertices are scored, and put into clusters: by name, given, or by a function of the hypergraph or the embedding.
Importance: TypeAlias = "str | Values | Callable[[Hypergraph], Values]"
Clustering: TypeAlias = "str | Labels | Callable[[np.ndarray], Labels]"


def select_inducing_vertices(
    H: Hypergraph,
    n: int,
    *,
    n_clusters: int | None = None,
    importance: Importance = "eigencentrality",
    clustering: Clustering = "k-means",
    random_state: Seed = None,
) -> np.ndarray:
    """Return n vertices z_1, ..., z_n: important ones, from all parts of the hypergraph.

    With importance gamma(v), and the N vertices in clusters k_1, k_2, ..., repeat for j = 1, ..., n::

        sample s ~ cat(p),  p proportional to (|k_1|, |k_2|, ...)
        select z_j = argmax of gamma(v) over v in k_s that are not among z_1, ..., z_(j-1)

    Here ``|k_s|`` stays the size at the start. A cluster all of whose vertices are taken is left out, and the
    probabilities of the others are scaled to sum to one. Among equals, the vertex that comes first in H is taken.

    Parameters
    ----------
    H : Hypergraph
        With N vertices.
    n : int
        How many to select, at most N.
    n_clusters : int, optional
        k, the number of clusters of k-means, and of eigenvectors that it (or another clustering) sees. The number of
        classes is a good choice where there are any; otherwise the square root of n, rounded up.
    importance : {"eigencentrality", "degree"}, array of N numbers, Series indexed by vertex, or callable
        See `eigencentrality`; "degree" is the sum of the weights of a vertex's hyperedges. A callable takes H and
        returns N numbers.
    clustering : {"k-means", "dbscan"}, array of N labels, Series indexed by vertex, or callable
        "dbscan" is scikit-learn's with its own settings; the vertices that it calls noise are one more cluster. A
        callable takes the embedding, shape (N, k), and returns N labels.
    random_state : int, RandomState or None
        For k-means and for drawing clusters.

    Returns
    -------
    array of vertex names, shape (n,)
        All different, in the order in which they were taken.

    Notes
    -----
    The embedding is that of the paper: row v holds the entries at v of the k eigenvectors of Zhou's Laplacian with
    the smallest eigenvalues (fewer if the rank of the incidence is less than k). It is scaled by the square root of N,
    so that a column's mean square is 1 for any N; k-means does not notice, and DBSCAN's radius keeps its meaning.
    An isolated vertex lies at the origin.

    A hypergraph of c components, isolated vertices aside, has the eigenvalue 0 c times. With k <= c the embedding
    sees components at best, and nothing within them; with k < c it holds some k of their c eigenvectors, and which is
    left to rounding. There, take k > c, cluster otherwise, or select in each large component.

    Examples
    --------
    >>> H = Hypergraph.from_edges([["a", "b", "c"], ["a", "b"], ["x", "y"], ["x", "z"]])
    >>> select_inducing_vertices(H, 2, clustering=[0, 0, 0, 1, 1, 1], random_state=0).tolist()
    ['x', 'y']
    """
    if not isinstance(H, Hypergraph):
        raise TypeError(f"`H` must be a Hypergraph. Got {type(H).__name__}.")
    n = _checks.count("n", n, most=H.num_vertices, why=f"the hypergraph has {H.num_vertices:,} vertices")
    for name, value, choices in (("importance", importance, IMPORTANCES), ("clustering", clustering, CLUSTERINGS)):
        if isinstance(value, str):
            _checks.one_of(name, value, choices)
    k = _number_of_clusters(n, n_clusters, clustering, H.num_vertices)
    rng = check_random_state(random_state)
    scores = _importance(H, importance)
    return H.vertices[_draw(n, scores, _clusters(H, clustering, k, rng), rng)].to_numpy()


def eigencentrality(H: Hypergraph) -> np.ndarray:
    """Return gamma >= 0 with Q gamma = lambda gamma, lambda the largest eigenvalue of Q = A_v D_v^-1.

    Here A_v = R W R', with incidence R and weights W (the paper's H H' where there are none), and D_v holds the vertex
    degrees. The column of a vertex in Q sums to the mean size of its hyperedges (weighted by w(e) r(v, e)). So if all
    hyperedges have one size, Q is stochastic up to that factor, and gamma is the degree. Otherwise gamma favours,
    beyond the degree, vertices of large hyperedges and those who share hyperedges with them.

    By Perron and Frobenius gamma is unique, up to scale, and positive where the hypergraph is connected. On several
    components it would be 0 on all but one of them, and rank nothing there. So each component gets its own, scaled to
    sum to the component's share of all degrees; where all hyperedges have one size this is the degree again.

    Returns
    -------
    array, shape (N,)
        In [0, 1]: 1 at the most important vertex, 0 at isolated ones.

    Examples
    --------
    >>> eigencentrality(Hypergraph.from_edges([["a", "b"], ["b", "c"], ["b", "d"]])).round(3)
    array([0.333, 1.   , 0.333, 0.333])
    """
    degrees = H.vertex_degrees
    # Q = D^1/2 (B B') D^-1/2 with B = D^-1/2 R W^1/2: similar to a symmetric matrix, whose leading eigenvector u
    # Lanczos finds by products with the sparse B, and gamma = D^1/2 u.
    B = sp.csr_array(normalised_incidence(H) * np.sqrt(H.edge_degrees))
    gamma = np.zeros(H.num_vertices)
    for rows in _components(H):
        if degrees[rows[0]] == 0:  # isolated: a component of its own
            continue
        u = np.abs(_leading_vector(B[rows]))
        own = np.sqrt(degrees[rows]) * u
        gamma[rows] = own * (degrees[rows].sum() / own.sum())
    return gamma / max(gamma.max(initial=0.0), np.finfo(float).tiny)


def _components(H: Hypergraph) -> list[np.ndarray]:
    """Return the rows of the vertices of each connected component."""
    labels = H.connected_components()
    order = np.argsort(labels, kind="stable")
    if not len(order):
        return []  # where np.split has one part, an empty one
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _leading_vector(B: sp.csr_array) -> np.ndarray:
    """Return the leading eigenvector of B B', for a connected B: its eigenvalue is simple."""
    B = B[:, np.unique(B.indices)]  # the hyperedges of this component alone
    return leading_eigen(symmetric_operator(B.shape[0], lambda x: B @ (B.T @ x)), 1)[1][:, 0]


def _number_of_clusters(n: int, n_clusters: int | None, clustering: Clustering, num_vertices: int) -> int:
    if n_clusters is None:
        return int(np.ceil(np.sqrt(n)))
    if not isinstance(clustering, str) and not callable(clustering):
        raise ValueError(
            f"`n_clusters` must be left out where `clustering` gives the clusters themselves. Got {n_clusters!r}."
        )
    return _checks.count("n_clusters", n_clusters, most=num_vertices, why=f"there are {num_vertices:,} vertices")


def _importance(H: Hypergraph, importance: Importance) -> np.ndarray:
    """Return the score of each vertex, from any of the forms that ``importance`` takes."""
    if isinstance(importance, str):
        return _without_noise(eigencentrality(H)) if importance == "eigencentrality" else H.vertex_degrees
    given = importance(H) if callable(importance) else importance
    scores = _checks.finite_array(
        "importance", _in_order(H, given, "importance"), missing="Give every vertex a finite score."
    )
    return _one_each("importance", scores, H)


def _without_noise(scores: np.ndarray) -> np.ndarray:
    """Round to about ten significant digits, so that vertices alike by symmetry are equals, not ranked by rounding."""
    mantissas, exponents = np.frexp(scores)
    return np.ldexp(np.round(mantissas, 10), exponents)


def _clusters(H: Hypergraph, clustering: Clustering, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the cluster of each vertex as 0, 1, ..., from any of the forms that ``clustering`` takes."""
    if isinstance(clustering, str):
        embedding = _embedding(H, k)
        given = _k_means(embedding, k, rng) if clustering == "k-means" else DBSCAN().fit_predict(embedding)
    else:
        given = clustering(_embedding(H, k)) if callable(clustering) else clustering
    labels = _checks.labels("clustering", _in_order(H, given, "clustering"), missing="Give every vertex a cluster.")
    return pd.factorize(_one_each("clustering", labels, H))[0]


def _embedding(H: Hypergraph, k: int) -> np.ndarray:
    """Return sqrt(N) times the k leading eigenvectors of Zhou's Laplacian, or as many as its incidence has."""
    vectors = cached_spectrum(H, max(min(k, H.num_edges), 1), 0.0).vertex_vectors
    if vectors.shape[1] == 0:  # no vertex is in any hyperedge: all lie at the origin
        vectors = np.zeros((H.num_vertices, 1))
    return np.sqrt(H.num_vertices) * vectors


def _k_means(embedding: np.ndarray, k: int, rng: np.random.RandomState) -> np.ndarray:
    with warnings.catch_warnings():
        # Fewer distinct points than clusters leave some clusters empty, and those are never drawn.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(k, n_init=10, random_state=rng).fit_predict(embedding)


def _draw(n: int, scores: np.ndarray, labels: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return n rows, each the best left of a cluster drawn by its size at the start."""
    ranked = np.lexsort((-scores, labels))  # cluster after cluster, the best of each first; stable among equals
    sizes = np.bincount(labels)
    ends = np.cumsum(sizes)
    following = ends - sizes
    chosen = np.empty(n, dtype=np.int64)
    for j in range(n):
        p = np.where(following < ends, sizes, 0.0)
        s = rng.choice(len(sizes), p=p / p.sum())
        chosen[j] = ranked[following[s]]
        following[s] += 1
    return chosen


def _in_order(H: Hypergraph, values: Labels, argument: str) -> Labels:
    """Return a Series in the order of the vertices, and anything else as it is."""
    if not isinstance(values, pd.Series):
        return values
    rows = locate(
        unique_index(values.index, of=argument),
        H.vertices,
        argument="vertices",
        owner=f"the index of `{argument}` ({len(values):,} names)",
        cure="Index the Series by all vertices, or pass an array in their order.",
    )
    return values.to_numpy()[rows]


def _one_each(argument: str, values: np.ndarray, H: Hypergraph) -> np.ndarray:
    if values.shape != (H.num_vertices,):
        raise ValueError(
            f"`{argument}` must give one value for each of the {H.num_vertices:,} vertices. Got shape {values.shape}."
        )
    return values
