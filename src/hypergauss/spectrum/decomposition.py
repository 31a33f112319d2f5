"""Decompositions A = U diag(s) V' and L = U diag(l) U': exact, or the leading part with its remainder bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from hypergauss.exceptions import NumericalError

#: Up to this many entries a dense SVD is as quick as the Gram matrix, and needs no care.
_DENSE_ENTRIES = 200_000
#: Squaring loses singular values below sqrt(eps); those under this are computed again without squaring.
_SMALL = 1e-3
#: Least squared singular value that a truncated decomposition keeps.
_LEAST_SQUARE = 1e-8
#: Eigenproblems up to this size are solved whole.
_SMALL_PROBLEM = 200
#: Relative size of the singular values that count as zero.
_RANK_TOLERANCE = 1e-12


class Factors(NamedTuple):
    """A's leading singular triplets, s descending, and a bound on the largest singular value left out."""

    left: np.ndarray  # (N, r)
    singular_values: np.ndarray  # (r,)
    right: np.ndarray  # (M, r)
    rest: float


def exact(A: sp.csr_array) -> Factors:
    """Return the thin SVD without its zero singular values, by whichever route is quicker."""
    if min(A.shape) == 0 or A.nnz == 0:
        return Factors(np.zeros((A.shape[0], 0)), np.zeros(0), np.zeros((A.shape[1], 0)), 0.0)
    return exact_by_svd(A) if A.shape[0] * A.shape[1] <= _DENSE_ENTRIES else exact_by_gram(A)


def exact_by_svd(A: sp.csr_array) -> Factors:
    """Return the thin SVD by LAPACK on the dense matrix."""
    left, s, right = scipy.linalg.svd(A.toarray(), full_matrices=False)
    return _nonzero(left, s, right.T)


def exact_by_gram(A: sp.csr_array) -> Factors:
    r"""Return the thin SVD through the eigenvectors of the smaller of A'A and AA'.

    For tall A, A'A = V diag(s^2) V' and U = A V / s. Squaring keeps s only to absolute precision sqrt(eps), so the
    small ones are found anew: with V_0 the eigenvectors of small s, the SVD of A V_0 (whose entries are small, hence
    exact) gives their s, U and V to full relative precision.
    """
    if A.shape[0] < A.shape[1]:
        left, s, right, rest = exact_by_gram(sp.csr_array(A.T))
        return Factors(right, s, left, rest)
    squares, V = scipy.linalg.eigh((A.T @ A).toarray(), driver="evd", overwrite_a=True, check_finite=False)
    squares, V = squares[::-1], V[:, ::-1]  # descending
    s = np.sqrt(np.maximum(squares, 0.0))
    clear = int(np.searchsorted(-s, -_SMALL))
    AV = A @ np.ascontiguousarray(V)
    AV[:, :clear] /= s[:clear]
    if clear < len(s):
        U, W = AV[:, :clear], AV[:, clear:]
        W -= U @ (U.T @ W)
        left, s[clear:], turn = scipy.linalg.svd(W, full_matrices=False, check_finite=False)
        AV[:, clear:] = left
        V = np.hstack([V[:, :clear], V[:, clear:] @ turn.T])
    return _nonzero(AV, s, V)


def truncated(A: sp.csr_array, rank: int) -> Factors:
    """Return the leading ``rank`` triplets, and the largest singular value left, by the smaller of A'A and AA'."""
    if A.shape[0] < A.shape[1]:
        left, s, right, rest = truncated(sp.csr_array(A.T), rank)
        return Factors(right, s, left, rest)
    gram = symmetric_operator(A.shape[1], lambda x: A.T @ (A @ x))
    squares, V, rest = leading_eigen(gram, rank)
    # U = A V / s is orthonormal to eps / s^2 only: vectors of tiny s go to the rest, where the bound counts them.
    kept = int(np.count_nonzero(squares > _LEAST_SQUARE))
    rest = squares[kept] if kept < rank else rest
    s = np.sqrt(np.minimum(squares[:kept], 1.0))
    return Factors(A @ V[:, :kept] / s, s, V[:, :kept], float(np.sqrt(np.clip(rest, 0.0, 1.0))))


def leading_eigen(operator: LinearOperator, rank: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the ``rank`` largest eigenpairs, descending, and the largest eigenvalue left out.

    Lanczos can miss a copy of a repeated eigenvalue, and a hypergraph repeats its leading one once a component. So
    the largest eigenvalue on the complement is computed too: it bounds the remainder, and while it exceeds what was
    kept, more vectors are sought there.
    """
    rng = np.random.default_rng(0)  # starting vectors only: the answer does not depend on them
    size = operator.shape[0]
    V = np.zeros((size, 0))
    wanted = rank
    while wanted > 0 and V.shape[1] < size:
        _, found = _outside(operator, V, min(wanted, size - V.shape[1]), rng)
        values, V = _rayleigh_ritz(operator, np.hstack([V, found]))
        rest = _outside(operator, V[:, :rank], 1, rng)[0][0] if rank < size else 0.0
        if rest <= values[rank - 1] + 1e-10 * max(values[0], 1.0):
            return values[:rank], V[:, :rank], float(rest)
        wanted = 8
    raise NumericalError(
        f"The leading {rank} of {size} eigenvectors were not found. Likely cause: a rank close to full, "
        "or eigenvalues too close to tell apart; leave `rank` out for the exact decomposition."
    )


def symmetric_operator(size: int, product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
    """Wrap a product with a symmetric matrix."""
    return LinearOperator((size, size), matvec=product, rmatvec=product, matmat=product, dtype=np.float64)


def eigen(laplacian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all eigenvalues, ascending and clipped at 0, and the eigenvectors of a dense Laplacian."""
    values, vectors = scipy.linalg.eigh(laplacian, check_finite=False)
    return np.maximum(values, 0.0), vectors


def smallest_eigen(laplacian: LinearOperator, upper: float, rank: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the ``rank`` smallest eigenpairs of a Laplacian and the least eigenvalue left out."""
    flipped = symmetric_operator(laplacian.shape[0], lambda x: upper * x - laplacian @ x)
    values, vectors, rest = leading_eigen(flipped, rank)
    return np.maximum(upper - values, 0.0), vectors, max(upper - rest, 0.0)


def _nonzero(left: np.ndarray, s: np.ndarray, right: np.ndarray) -> Factors:
    rank = int(np.count_nonzero(s > _RANK_TOLERANCE * s[0]))
    # A's norm is at most 1; rounding may put the leading singular values a hair above it.
    return Factors(left[:, :rank], np.minimum(s[:rank], 1.0), right[:, :rank], 0.0)


def _rayleigh_ritz(operator: LinearOperator, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs within the range of V, descending."""
    V, _ = np.linalg.qr(V)
    values, turn = scipy.linalg.eigh(V.T @ (operator @ V))
    return values[::-1], V @ turn[:, ::-1]


def _outside(
    operator: LinearOperator, V: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return leading eigenpairs, descending, of the operator on the complement of V."""

    def project(x: np.ndarray) -> np.ndarray:
        return x - V @ (V.T @ x)

    deflated = symmetric_operator(operator.shape[0], lambda x: project(operator @ project(x)))
    start = project(rng.standard_normal(operator.shape[0]))
    # Lanczos finds neither nearly all eigenvectors nor those of zero, and small problems do not need it.
    if operator.shape[0] <= _SMALL_PROBLEM or rank >= operator.shape[0] // 2 or not (deflated @ start).any():
        values, vectors = scipy.linalg.eigh(deflated @ np.eye(operator.shape[0]))
        return values[::-1][:rank], vectors[:, ::-1][:, :rank]
    try:
        values, vectors = eigsh(deflated, k=rank, which="LA", v0=start)
    except ArpackNoConvergence as error:
        raise NumericalError(
            f"Lanczos did not find {rank} leading eigenvectors of {operator.shape[0]}. Likely cause: eigenvalues too "
            "close to tell apart; ask for another `rank`, or leave it out for the exact decomposition."
        ) from error
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
