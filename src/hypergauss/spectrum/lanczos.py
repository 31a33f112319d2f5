r"""Quadrature from Lanczos' recurrence: x' f(M) x for every f at once, and the density of all eigenvalues.

m steps from x give a tridiagonal T whose eigenpairs (t_j, v_j) are a Gauss rule of x's spectral measure,

    x' f(M) x ~ |x|^2 sum over j of (e_1' v_j)^2 f(t_j),

exact for polynomials of degree 2m - 1 (Golub and Meurant, 2010). Averaged over random x it estimates tr f(M). No
vectors are orthogonalised again: repeated Ritz values share one weight among them, and sums do not change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from hypergauss.operators import Block, LaplacianOperator

#: A residual this small, relative to the start, means that the rule is complete.
_EXHAUSTED = 1e-10


class Rule(NamedTuple):
    """Nodes and weights of a quadrature for each of m vectors, arrays of shape (m, k)."""

    nodes: np.ndarray
    weights: np.ndarray


def measure(operator: LaplacianOperator, X: Block, steps: int) -> Rule:
    """Return the spectral measure of each column of a block under Delta: weights add up to its square."""
    here = operator.enter(X)
    squares = operator.fetch(operator.dot(here, here))
    here = here / _safe(np.sqrt(squares)).astype(here.dtype)
    before, beta = None, np.zeros_like(squares)
    diagonal, off = [], []
    for _ in range(steps):
        image = operator.affine(here, 1.0, 0.0)
        if before is not None:
            image = image - before * beta.astype(image.dtype)
        alpha = operator.fetch(operator.dot(image, here))
        image = operator.settle(image - here * alpha.astype(image.dtype))
        beta = np.sqrt(operator.fetch(operator.dot(image, image)))
        diagonal.append(alpha)
        off.append(beta)
        before, here = here, image / _safe(beta).astype(image.dtype)
    return gauss_rules(np.array(diagonal).T, np.array(off).T, squares, operator.upper)


def gauss_rules(diagonal: np.ndarray, off: np.ndarray, squares: np.ndarray, upper: float | None = None) -> Rule:
    """Return the rules of tridiagonal matrices given by rows of diagonals and off-diagonals, shape (m, k).

    A recurrence that has ended early, off-diagonal zero, is cut there.
    """
    count, steps = diagonal.shape
    nodes, weights = np.zeros((count, steps)), np.zeros((count, steps))
    for j in range(count):
        ended = np.flatnonzero(off[j] <= _EXHAUSTED * max(np.abs(diagonal[j]).max(initial=0.0), 1e-300))
        length = int(ended[0]) + 1 if len(ended) else steps
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal[j, :length], off[j, : length - 1])
        nodes[j, :length] = values if upper is None else np.clip(values, 0.0, upper)
        nodes[j, length:] = nodes[j, 0]
        weights[j, :length] = squares[j] * vectors[0] ** 2
    return Rule(nodes, weights)


def _safe(norms: np.ndarray) -> np.ndarray:
    return np.where(norms > 0, norms, 1.0)
