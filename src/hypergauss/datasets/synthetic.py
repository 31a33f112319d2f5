"""Hypergraphs made to order, with a known truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from hypergauss import _checks
from hypergauss._checks import Seed
from hypergauss.hypergraph import Hypergraph


class Planted(NamedTuple):
    """A hypergraph with communities and a smooth signal.

    Attributes
    ----------
    hypergraph : Hypergraph
        Vertices 0..N-1.
    communities : array of int, shape (N,)
        The community of each vertex.
    signal : array, shape (N,)
        Mean 0 and standard deviation 1, alike within hyperedges.
    """

    hypergraph: Hypergraph
    communities: np.ndarray
    signal: np.ndarray


def make_planted_hypergraph(
    n_vertices: int = 1000,
    n_edges: int = 1000,
    n_communities: int = 5,
    *,
    mean_extra: float = 3.0,
    within: float = 0.9,
    smoothing: int = 2,
    random_state: Seed = None,
) -> Planted:
    """Return hyperedges that mostly stay within communities, and a signal that is smooth over them.

    Each hyperedge has 2 + Poisson(``mean_extra``) members (one that is drawn twice counts once). With probability
    ``within`` all come from one community, else from all vertices. The signal starts as a level for each community
    plus as much variation of each vertex, and is then replaced ``smoothing`` times by its mean over the hyperedges of
    each vertex.

    Parameters
    ----------
    n_vertices, n_edges, n_communities : int
        Sizes.
    mean_extra : float
        Members beyond two, on average.
    within : float in [0, 1]
        Share of hyperedges that stay within a community.
    smoothing : int
        Averaging steps; more makes the signal smoother.
    random_state : int, RandomState or None
        For all draws.

    Examples
    --------
    >>> make_planted_hypergraph(100, 80, random_state=0).hypergraph
    Hypergraph(100 vertices, 80 hyperedges, 361 incidences)
    """
    _checks.count("n_vertices", n_vertices)
    _checks.count("n_edges", n_edges, least=0)
    _checks.count("n_communities", n_communities, most=n_vertices, why="each has a vertex at least")
    _checks.count("smoothing", smoothing, least=0)
    if not 0 <= _checks.real("within", within) <= 1:
        raise ValueError(f"`within` must lie in [0, 1]. Got {within}.")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    communities = rng.permutation(np.arange(n_vertices) % n_communities)
    by_community = np.argsort(communities, kind="stable")
    counts = np.bincount(communities, minlength=n_communities)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])

    sizes = 2 + rng.poisson(mean_extra, n_edges)
    home = rng.integers(n_communities, size=n_edges)
    mixed = rng.random(n_edges) >= within
    edge = np.repeat(np.arange(n_edges), sizes)
    position = rng.random(len(edge))
    inside = by_community[first[home[edge]] + (position * counts[home[edge]]).astype(np.int64)]
    anywhere = (position * n_vertices).astype(np.int64)
    vertex = np.where(mixed[edge], anywhere, inside)
    hypergraph = Hypergraph.from_table(
        {"vertex": vertex, "edge": edge},
        vertex="vertex",
        edge="edge",
        vertices=range(n_vertices),
        edges=range(n_edges),
    )
    start = rng.standard_normal(n_communities)[communities] + rng.standard_normal(n_vertices)
    return Planted(hypergraph, communities, _standardised(_smoothed(start, hypergraph.incidence, smoothing)))


def _smoothed(values: np.ndarray, incidence: sp.csr_array, steps: int) -> np.ndarray:
    """Replace each value by the mean over the hyperedges of the mean over their members; isolated ones stay."""
    sizes = np.maximum(np.diff(incidence.tocsc().indptr), 1)
    degrees = np.diff(incidence.indptr)
    for _ in range(steps):
        means = incidence @ ((incidence.T @ values) / sizes)
        values = np.where(degrees > 0, means / np.maximum(degrees, 1), values)
    return values


def _standardised(values: np.ndarray) -> np.ndarray:
    spread = values.std()
    return (values - values.mean()) / (spread if spread > 0 else 1.0)
