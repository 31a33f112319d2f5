r"""Vertices whose memberships are unlike those observed: predictions of them reach beyond what was seen.

The likeness of two vertices is the share of their hyperedges that they have in common, J = |a and b| / |a or b|. A
vertex that was not observed is unlike if it is less like any observed one than 99% of those are like another, and has
less than half in common with it: where observed vertices have twins, others without one are no strangers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergauss.estimators.domain import Domain
from hypergauss.hypergraph import Hypergraph

#: The share of observed vertices that may be as unlike the others; observed vertices that stand for all, at most.
_RARE, _MOST = 0.01, 1000
#: A vertex with so much in common with an observed one is like it.
_LIKE = 0.5
#: Rows of likenesses at a time.
_BLOCK = 4096


def unlike_observed(domain: Domain, observed: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Return the rows of vertices unlike those observed, with how many hyperedges each shares with the likeliest.

    Parameters
    ----------
    domain : Domain
        Whose relations are compared.
    observed : array of int
        Rows of observed vertices, each once.
    rng : Generator
        Beyond 1,000 observed vertices, for the sample that stands for all.
    """
    memberships = _memberships(domain)
    some = np.sort(rng.choice(observed, _MOST, replace=False)) if len(observed) > _MOST else observed
    others = np.setdiff1d(np.arange(memberships.shape[0]), observed)
    none: dict[str, Any] = {"rows": np.zeros(0, dtype=int), "shared": [], "border": 0.0}
    if len(others) == 0 or len(some) < 2 or memberships.nnz == 0:
        return none
    likeness, shared = _likeliest(memberships, others, some)
    border = min(float(np.quantile(_likeliest(memberships, some, some)[0], _RARE)), _LIKE)
    is_unlike = (likeness < border) | (shared == 0)
    return {"rows": others[is_unlike], "shared": shared[is_unlike].astype(int).tolist(), "border": border}


def _memberships(domain: Domain) -> sp.csr_array:
    """Return who is in what, as ones; in a graph, a vertex is in what its neighbours share with it."""
    blocks = [r.incidence if isinstance(r, Hypergraph) else r.adjacency for r in domain.relations.values()]
    joint = sp.csr_array(sp.hstack(blocks))
    return sp.csr_array((np.ones(joint.nnz), joint.indices, joint.indptr), shape=joint.shape)


def _likeliest(memberships: sp.csr_array, rows: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest likeness of each row to another one that was seen, and how many hyperedges they share."""
    degrees = np.diff(memberships.indptr)
    known = sp.csc_array(memberships[seen].T)
    likeness, shared = np.zeros(len(rows)), np.zeros(len(rows))
    for start in range(0, len(rows), _BLOCK):
        some = rows[start : start + _BLOCK]
        common = (memberships[some] @ known).toarray()
        common[some[:, None] == seen] = 0.0  # not with itself
        union = degrees[some][:, None] + degrees[seen] - common
        share = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
        best = share.argmax(axis=1)
        at = np.arange(len(some))
        likeness[start : start + _BLOCK], shared[start : start + _BLOCK] = share[at, best], common[at, best]
    return likeness, shared
