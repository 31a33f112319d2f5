"""Centralities: which vertices a hypergraph leans on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss.hypergraph import Hypergraph
from hypergauss.inference.selection import eigencentrality

KINDS = ("degree", "eigenvector", "random-walk")
#: The share of a walk's mass that may still move when it counts as settled.
_SETTLED = 1e-12


def centrality(H: Hypergraph, kind: str = "degree", *, restart: float = 0.15) -> pd.Series:
    r"""Return how central each vertex is, as a Series indexed by vertex.

    * "degree": sum over e of w(e) r(v, e) / sum over e of w(e), the share of hyperedges that v is in.
    * "eigenvector": the leading eigenvector of A_v D_v^{-1} with A_v = R W R', 1 at the most central vertex: beyond the
      degree, it counts how large a vertex's hyperedges are, and whom it meets there (`inference.selection`).
    * "random-walk": how often a walk is at v that steps from a vertex to one of its hyperedges, by weight, and on to
      one of its members, and with probability c starts anew anywhere: p = (1 - c) P'p + c / N with
      P = D_v^{-1} R W D_e^{-1} R'. It sums to 1. Without restarts it would be the degree.

    Parameters
    ----------
    H : Hypergraph
        Isolated vertices are legal: the walk leaves one for anywhere.
    kind : {"degree", "eigenvector", "random-walk"}
        Which one.
    restart : float, default 0.15
        c in (0, 1), of the walk.

    Examples
    --------
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["b", "d"]])
    >>> centrality(H, "random-walk").round(3).to_dict()
    {'a': 0.179, 'b': 0.462, 'c': 0.179, 'd': 0.179}
    """
    if not isinstance(H, Hypergraph):
        raise TypeError(f"`H` must be a Hypergraph. Got {type(H).__name__}.")
    if kind not in KINDS:
        raise ValueError(
            f"`kind` must be one of {', '.join(KINDS)}. Got {kind!r}.{_checks.did_you_mean(str(kind), KINDS)}"
        )
    share = _checks.positive("restart", restart)
    if share >= 1:
        raise ValueError(f"`restart` must be between 0 and 1. Got {restart!r}. Take 0.15, as is usual.")
    if kind == "eigenvector":
        return _series(H, eigencentrality(H), kind)
    if kind == "degree":
        return _series(H, H.vertex_degrees / max(H.weights.sum(), np.finfo(float).tiny), kind)
    return _series(H, _visits(H, share), kind)


def _visits(H: Hypergraph, restart: float) -> np.ndarray:
    """Return p by its own equation, which shrinks every error by 1 - c in each round."""
    n, R, degrees = H.num_vertices, H.incidence, H.vertex_degrees
    out = np.divide(1.0, degrees, out=np.zeros(n), where=degrees > 0)
    sizes = H.edge_degrees
    share = np.divide(H.weights, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    p = np.full(n, 1.0 / max(n, 1))
    for _ in range(int(np.ceil(np.log(_SETTLED) / np.log1p(-restart)))):
        anywhere = restart + (1 - restart) * p[degrees == 0].sum()
        p = (1 - restart) * (R @ (share * (R.T @ (out * p)))) + anywhere / max(n, 1)
    return p


def _series(H: Hypergraph, values: np.ndarray, kind: str) -> pd.Series:
    return pd.Series(np.asarray(values, dtype=float), index=H.vertices, name=kind)
