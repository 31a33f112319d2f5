"""From an estimator's ``inducing`` argument to vertices or features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from hypergauss import _checks
from hypergauss.estimators.domain import Domain
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import Name
from hypergauss.inference.selection import select_inducing_vertices
from hypergauss.solvers.projection import SpectralFeatures

#: A number of vertices to select, their names, or leading eigenvectors.
InducingChoice: TypeAlias = int | Iterable[Name] | SpectralFeatures


def check_inducing(inducing: InducingChoice, domain: Domain, seed: int) -> SpectralFeatures | np.ndarray:
    """Return leading eigenvectors as they are, or the inducing vertices by index.

    Parameters
    ----------
    inducing : int, iterable of vertex names, or SpectralFeatures
        A number is how many vertices to select as the paper does.
    domain : Domain
        The vertices, and the relation that a selection looks at: the first hypergraph.
    seed : int
        For the selection.
    """
    if isinstance(inducing, SpectralFeatures):
        return inducing
    if isinstance(inducing, int | np.integer):
        count = _checks.count("inducing", int(inducing), most=len(domain.vertices), why="the number of vertices")
        hypergraphs = [relation for relation in domain.relations.values() if isinstance(relation, Hypergraph)]
        if not hypergraphs:
            raise ValueError("`inducing` as a number needs a hypergraph to select from. Got graphs: name the vertices.")
        inducing = select_inducing_vertices(hypergraphs[0], count, random_state=seed)
    rows = domain.rows(inducing, argument="inducing")
    if len(rows) == 0 or len(np.unique(rows)) < len(rows):
        raise ValueError(f"`inducing` must name different vertices, at least one. Got {len(rows)} names, some twice.")
    return rows
