"""Covariates smoothed over a hypergraph: what is known of a vertex, and of those it took part with."""

from __future__ import annotations

import numpy as np

from hypergauss import _checks
from hypergauss._checks import Matrix
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.walk import where_walks_stop
from hypergauss.kernels.covariates import check_covariates


def smooth_covariates(H: Hypergraph, covariates: Matrix, restart: float = 0.5) -> np.ndarray:
    r"""Return X_s = restart (I - (1 - restart) P)^-1 X, where P = D_v^-1 R diag(w) D_e^-1 R'.

    P is Zhou's random walk: from a vertex to one of its hyperedges, by weight, and on to one of its members. Row v of
    X_s is the expectation of X where a walk from v stops that stops before every step with probability ``restart``. As
    P = D_v^-1/2 (I - Delta) D_v^1/2, it is a Matern filter with nu = 1 of the Laplacian Delta,

        X_s = D_v^-1/2 phi(Delta) D_v^1/2 X,    phi(l) = 1 / (1 + l (1 - restart) / restart).

    An isolated vertex keeps its covariates. The walks are followed step by step, each a product with the incidence
    matrix and one with its transpose: O(incidences x p).

    Parameters
    ----------
    H : Hypergraph
        Where the walk goes.
    covariates : array or SciPy sparse matrix, shape (N, p)
        One row a vertex, in the order of ``H.vertices``. A sparse matrix is worked on as an array: a walk reaches
        every vertex of its component, so that smoothing leaves few zeros.
    restart : float, default 0.5
        In (0, 1]: 1 leaves the covariates as they are, towards 0 they become those of the whole component.

    Returns
    -------
    array, shape (N, p)

    Examples
    --------
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]], vertices=["a", "b", "c", "d"])
    >>> smooth_covariates(H, [1.0, 0.0, 0.0, 5.0]).ravel().round(3)
    array([0.708, 0.125, 0.042, 5.   ])
    """
    X = check_covariates(covariates)
    if len(X) != H.num_vertices:
        raise ValueError(
            f"`covariates` must have one row for each of the {H.num_vertices:,} vertices. Got shape {X.shape}."
        )
    stop = _checks.real("restart", restart)
    if not 0 < stop <= 1:
        raise ValueError(f"`restart` must be a probability above 0. Got {restart}. At 1 nothing is smoothed.")
    return where_walks_stop([H], X, stop)
