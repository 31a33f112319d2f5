"""Where learning starts: coordinates from the spectrum, from principal components, or at random."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.spectrum import graph_laplacian, zhou_laplacian
from hypergauss.spectrum.decomposition import leading_eigen, smallest_eigen, symmetric_operator

#: Names of the starts, in the order in which they are followed.
STARTS = ("spectral", "pca", "random")
#: Spread of the noise that fills a start's column in which all vertices are level.
_FILL = 0.1


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


def principal_coordinates(values: np.ndarray | sp.csr_array, n_components: int) -> np.ndarray:
    """Return the leading principal components of the rows, as many as there are (at most ``n_components``)."""
    centre = np.asarray(values.mean(axis=0)).ravel()
    N, M = values.shape
    count = min(n_components, N, M)

    def product(x: np.ndarray) -> np.ndarray:
        scores = values @ x - centre @ x
        return values.T @ scores - np.multiply.outer(centre, scores.sum(axis=0))

    _, axes, _ = leading_eigen(symmetric_operator(M, product), count)
    return upright(values @ axes - centre @ axes)


def standardised(coordinates: np.ndarray, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Return columns with mean 0 and variance 1; those absent or level are filled with a little noise."""
    filled = _FILL * rng.standard_normal((len(coordinates), n_components))
    centred = coordinates - coordinates.mean(axis=0)
    spread = centred.std(axis=0)
    told = np.flatnonzero(spread > 1e-8 * max(spread.max(initial=0.0), 1e-300))
    filled[:, told] = centred[:, told] / spread[told]
    return filled


def upright(coordinates: np.ndarray) -> np.ndarray:
    """Return the columns with signs that do not depend on the solver: the entry of largest size is positive."""
    peaks = coordinates[np.abs(coordinates).argmax(axis=0), np.arange(coordinates.shape[1])]
    return coordinates * np.where(peaks < 0, -1.0, 1.0)


def to_principal_axes(coordinates: np.ndarray) -> np.ndarray:
    """Return the coordinates turned so that the first axis has the largest spread, the second the next, and so on."""
    _, _, axes = scipy.linalg.svd(coordinates - coordinates.mean(axis=0), full_matrices=False)
    return upright(coordinates @ axes.T)
