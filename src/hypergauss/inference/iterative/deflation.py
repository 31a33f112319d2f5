"""The leading eigenvectors of a Laplacian, roughly: what a preconditioner needs, and no more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from hypergauss.operators import LaplacianOperator
from hypergauss.spectrum import chebyshev

#: Heat that spreads for this long fades from all but the lowest eigenvalues.
_TIME = 60.0
#: Directions in which this little of the noise is left, relative to the most, are rounding.
_LEAST_SHARE = 1e-8
#: Vectors beyond those wanted, which catch what is left; and vectors that are multiplied at once.
_EXTRA, _AT_ONCE = 8, 16


class Subspace(NamedTuple):
    """Nearly orthonormal Q, shape (N, k), in single precision, and Ritz values l of the Laplacian in it, ascending."""

    vectors: Any
    values: np.ndarray


def leading_subspace(operator: LaplacianOperator, size: int, rng: np.random.Generator) -> Subspace:
    """Return nearly invariant vectors of the smallest eigenvalues: exp(-t Delta) of noise, then Rayleigh and Ritz.

    They need not be exact. A preconditioner made of them only sets how many iterations are taken.
    """
    total = min(size + _EXTRA, operator.size)
    single = operator.in_single()
    upper = operator.upper or 1.0
    time = _TIME / upper
    expansion = chebyshev.expand(
        lambda eigenvalues: np.exp(-time * eigenvalues), upper, 1e-6, lambda left: np.exp(-time * left)
    )
    parts = []
    for start in range(0, total, _AT_ONCE):
        noise = operator.white_noise(min(_AT_ONCE, total - start), rng)
        warmed = chebyshev.apply(single, expansion, noise)
        parts.append(operator.settle((warmed / np.sqrt(operator.size)).astype(np.float32)))
    X = operator.concatenate(parts)
    gram = operator.fetch(X.T @ X)
    image = np.hstack([operator.fetch(X.T @ (single @ part)) for part in parts])
    # X = Q C with Q'Q = I: through the eigenvectors of X'X, leaving out directions that are nothing but rounding.
    shares, axes = scipy.linalg.eigh(gram)
    clear = shares > _LEAST_SHARE * shares[-1]
    axes = axes[:, clear] / np.sqrt(shares[clear])
    values, turn = scipy.linalg.eigh(axes.T @ ((image + image.T) / 2) @ axes)
    kept = min(size, len(values))
    basis = (axes @ turn[:, :kept]).astype(np.float32)
    return Subspace(operator.settle(X @ basis), np.clip(values[:kept], 0.0, upper))
