"""Where learning starts: coordinates from the spectrum, from principal components, or at random."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from hypergauss.spectrum.coordinates import upright
from hypergauss.spectrum.decomposition import leading_eigen, symmetric_operator

#: Names of the starts, in the order in which they are followed.
STARTS = ("spectral", "pca", "random")
#: Spread of the noise that fills a start's column in which all vertices are level.
_FILL = 0.1


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


def to_principal_axes(coordinates: np.ndarray) -> np.ndarray:
    """Return the coordinates turned so that the first axis has the largest spread, the second the next, and so on."""
    _, _, axes = scipy.linalg.svd(coordinates - coordinates.mean(axis=0), full_matrices=False)
    return upright(coordinates @ axes.T)
