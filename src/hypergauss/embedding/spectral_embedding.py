"""SpectralEmbedding: the map of Zhou, Huang and Schölkopf (2006)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from hypergauss import _checks
from hypergauss._views import html_table
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.spectrum.coordinates import spectral_coordinates


class SpectralEmbedding(BaseEstimator):
    r"""Coordinates that solve min tr(X' Delta X) over X'X = I, without the trivial solution: Delta's eigenvectors.

    Delta is Zhou's Laplacian, and the coordinates are its eigenvectors with the smallest eigenvalues except
    sqrt(degree), which has eigenvalue 0 and places nothing. Vertices in the same hyperedges come to lie together.
    Beyond a few hundred vertices a Lanczos solver works on the sparse incidence matrix, at a cost proportional to the
    number of incidences.

    Parameters
    ----------
    n_components : int, default 2
        The dimension of the map, less than the number of vertices.

    Attributes
    ----------
    embedding_ : array, shape (N, n_components)
        One row a vertex, columns of unit length.
    eigenvalues_ : array, shape (n_components,)
        Ascending, from 0 (parts without connection) to 1.

    References
    ----------
    D. Zhou, J. Huang, B. Schölkopf (2006). Learning with hypergraphs: clustering, classification, and embedding. NIPS.

    Examples
    --------
    >>> from hypergauss import Hypergraph, SpectralEmbedding
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["c", "d"]])
    >>> SpectralEmbedding(n_components=1).fit_transform(H).round(2).ravel()
    array([ 0.58,  0.41, -0.41, -0.58])
    """

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def fit(self, H: Hypergraph | Graph, y: object = None) -> Self:  # noqa: ARG002
        """Embed the vertices of a hypergraph or a graph; ``y`` is there for scikit-learn and ignored."""
        if not isinstance(H, Hypergraph | Graph):
            raise TypeError(f"`H` must be a Hypergraph or a Graph. Got {type(H).__name__}.")
        n_components = check_components(self.n_components, H)
        self.eigenvalues_, self.embedding_ = spectral_coordinates(H, n_components)
        return self

    def fit_transform(self, H: Hypergraph | Graph, y: object = None) -> np.ndarray:
        """Return the coordinates of the vertices, shape (N, n_components)."""
        return self.fit(H, y).embedding_

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: the size of the map and its eigenvalues, once there is one."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if not hasattr(self, "embedding_"):
            return bundle
        rows = {"vertices": f"{len(self.embedding_):,}", "dimensions": f"{self.embedding_.shape[1]}"}
        rows |= {"eigenvalues": ", ".join(f"{value:.4f}" for value in self.eigenvalues_[:8])}
        return bundle | {"text/html": html_table("SpectralEmbedding, fitted", rows)}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def check_components(n_components: object, H: Hypergraph | Graph) -> int:
    """Return the number of components, checked to be less than that of the vertices."""
    if H.num_vertices < 2:
        raise ValueError(f"A map must have at least two vertices. Got {H.num_vertices}.")
    return _checks.count(
        "n_components", n_components, most=H.num_vertices - 1, why=f"the hypergraph has {H.num_vertices} vertices"
    )
