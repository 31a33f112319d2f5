"""Zhou's map: vertices by the smooth eigenvectors of their Laplacian."""

from __future__ import annotations

import numpy as np

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.spectrum.decomposition import smallest_eigen, symmetric_operator
from hypergauss.spectrum.laplacians import graph_laplacian, zhou_laplacian


def spectral_coordinates(H: Hypergraph | Graph, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the smallest eigenvalues of the Laplacian, ascending, and their eigenvectors, without the trivial one.

    sqrt(degree) always has eigenvalue 0 and places nothing; adding it back at the top of the spectrum takes it out,
    also where a hypergraph in several parts has eigenvalue 0 several times.
    """
    laplacian = graph_laplacian(H) if isinstance(H, Graph) else zhou_laplacian(H)
    trivial = np.sqrt(H.vertex_degrees)
    trivial = trivial / (np.linalg.norm(trivial) or 1.0)
    operator, upper = laplacian.operator(), laplacian.upper

    def product(x: np.ndarray) -> np.ndarray:
        return operator @ x + upper * (trivial[:, None] * (trivial @ x) if x.ndim == 2 else trivial * (trivial @ x))

    values, vectors, _ = smallest_eigen(symmetric_operator(laplacian.size, product), upper, n_components)
    return np.maximum(values, 0.0), upright(vectors)


def upright(coordinates: np.ndarray) -> np.ndarray:
    """Return the columns with signs that do not depend on the solver: the entry of largest size is positive."""
    peaks = coordinates[np.abs(coordinates).argmax(axis=0), np.arange(coordinates.shape[1])]
    return coordinates * np.where(peaks < 0, -1.0, 1.0)
