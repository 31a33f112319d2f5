"""The leading eigenvectors of a Laplacian, roughly: what preconditioners and traces need, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from hypergauss.operators import Block, LaplacianOperator, column_slices
from hypergauss.spectrum import chebyshev

#: Heat that spreads for this long, twice, fades from all but the lowest eigenvalues.
_TIME, _ROUNDS = 30.0, 2
#: Directions in which a round leaves this little of the noise, relative to the most, are rounding of single precision.
_LEAST_SHARE = 1e-6
#: Vectors beyond those wanted, which catch what is left.
_EXTRA = 8


class Subspace(NamedTuple):
    """Nearly orthonormal Q, shape (N, k), in single precision, and Ritz values l of the Laplacian in it, ascending."""

    vectors: Block
    values: np.ndarray


def leading_subspace(operator: LaplacianOperator, size: int, rng: np.random.Generator) -> Subspace:
    """Return nearly invariant vectors of the smallest eigenvalues: exp(-t Delta) of noise, then Rayleigh and Ritz.

    They need not be exact, and an operator in single precision serves: a preconditioner made of them only sets how many
    iterations are taken. There may be fewer than asked for, since heat leaves nothing of larger eigenvalues.
    """
    upper = operator.upper or 1.0
    time = _TIME / upper
    heat = chebyshev.expand(
        lambda eigenvalues: np.exp(-time * eigenvalues), upper, 1e-5, lambda left: np.exp(-time * left)
    )
    total = min(size + _EXTRA, operator.size)
    sizes = [some.stop - some.start for some in column_slices(total)]
    X = operator.concatenate([operator.white_noise(number, rng).astype(np.float32) for number in sizes])
    for _ in range(_ROUNDS):
        X = _in_parts(operator, X, lambda part: chebyshev.apply(operator, heat, part))
        X = operator.settle(X @ _whitening(operator.fetch(X.T @ X)))
    image = operator.fetch(X.T @ _in_parts(operator, X, lambda part: operator @ part))
    values, turn = scipy.linalg.eigh((image + image.T) / 2)
    kept = min(size, len(values))
    return Subspace(operator.settle(X @ turn[:, :kept].astype(np.float32)), np.clip(values[:kept], 0.0, upper))


def _in_parts(operator: LaplacianOperator, X: Block, product: Callable[[Block], Block]) -> Block:
    """Return a product in single precision, of some columns after others."""
    slices = column_slices(X.shape[1])
    return operator.concatenate([operator.settle(product(X[:, some]).astype(np.float32)) for some in slices])


def _whitening(gram: np.ndarray) -> np.ndarray:
    """Return C such that X C is orthonormal if X'X is the given matrix, without directions that are nothing."""
    shares, axes = scipy.linalg.eigh(gram)
    clear = shares > _LEAST_SHARE * shares[-1]
    return (axes[:, clear] / np.sqrt(shares[clear])).astype(np.float32)
