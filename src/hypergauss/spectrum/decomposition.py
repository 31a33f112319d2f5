r"""Decompositions A = U diag(s) V' and L = U diag(l) U': exact, or the leading part with its remainder bounded.

A hypergraph needs s and U; V = A'U / s is found from them when somebody asks (`other_side`). So with B the wider of A
and A', an exact decomposition is that of the smaller matrix B B', and no array has more rows than A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from hypergauss.exceptions import NumericalError
from hypergauss.operators import column_slices

#: Up to this many entries, and this many times as wide as high, a dense SVD is as quick as the Gram matrix, and needs
#: no care.
_DENSE_ENTRIES, _WIDE = 200_000, 2
#: Squaring loses singular values below sqrt(eps); those under this are computed again without squaring.
_SMALL = 1e-3
#: B'x / s is orthonormal to some eps / s^2: under this singular value it is made so.
_CLEAR = 0.03
#: Least squared singular value that a truncated decomposition keeps.
_LEAST_SQUARE = 1e-8
#: Eigenproblems up to this size are solved whole.
_SMALL_PROBLEM = 200
#: Relative size of the singular values that count as zero, and a size of |B'x| of which nobody would make one.
_RANK_TOLERANCE, _NOTHING = 1e-12, 1e-14
#: Rows of B' that are made dense at once, at least.
_ROWS_AT_ONCE = 4096


class Factors(NamedTuple):
    """A's leading singular values, s descending, their left vectors, and a bound on the largest s left out."""

    left: np.ndarray  # (N, r)
    singular_values: np.ndarray  # (r,)
    rest: float


def exact(A: sp.csr_array) -> Factors:
    """Return all singular values but zeros, by whichever route is quicker."""
    if min(A.shape) == 0 or A.nnz == 0:
        return Factors(np.zeros((A.shape[0], 0)), np.zeros(0), 0.0)
    high, wide = A.shape
    return exact_by_svd(A) if high * wide <= _DENSE_ENTRIES and wide <= _WIDE * high else exact_by_gram(A)


def exact_by_svd(A: sp.csr_array) -> Factors:
    """Return them by LAPACK on the dense matrix."""
    left, s, _ = scipy.linalg.svd(A.toarray(), full_matrices=False, overwrite_a=True, check_finite=False)
    return _nonzero(left, s)


def exact_by_gram(A: sp.csr_array) -> Factors:
    r"""Return them through the eigenvectors X of the smaller of A A' and A'A, of B B' = X diag(s^2) X'.

    Squaring keeps s only to absolute precision sqrt(eps), so the small ones are found anew, without squaring.
    """
    B = _wide(A)
    squares, X = scipy.linalg.eigh((B @ B.T).toarray(), driver="evd", overwrite_a=True, check_finite=False)
    s, X = np.sqrt(np.maximum(squares[::-1], 0.0)), np.ascontiguousarray(X[:, ::-1])  # descending
    clear = int(np.count_nonzero(s > _SMALL))
    if clear < len(s):
        small, turned = _small_values(B, X[:, :clear], s[:clear], X[:, clear:])
        s, X = np.append(s[:clear], small), np.hstack([X[:, :clear], turned])
    X, s, rest = _nonzero(X, s)
    return Factors(X if B is A else other_side(B, X, s), s, rest)


def other_side(A: sp.csr_array, left: np.ndarray, s: np.ndarray) -> np.ndarray:
    r"""Return V with A = U diag(s) V', from U and s: A'U / s, orthonormal also where s is tiny.

    Rounding leaves some eps in each entry of A'U, and eps / s in V. So the columns of small s have what they share with
    the clear ones taken out, and are then made orthonormal among themselves: of A'U_0 = Q R, where R is diag(s) up to
    rounding, Q is V_0.
    """
    V = sp.csr_array(A.T) @ left
    clear = int(np.count_nonzero(s > _CLEAR))
    V[:, :clear] /= s[:clear]
    if clear < len(s):
        known, W = V[:, :clear], V[:, clear:]
        Q, R = scipy.linalg.qr(W - known @ (known.T @ W), mode="economic", check_finite=False)
        V[:, clear:] = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return V


def truncated(A: sp.csr_array, rank: int) -> Factors:
    """Return the leading ``rank`` of them, and the largest singular value left, by the smaller of A A' and A'A."""
    B = _wide(A)
    gram = symmetric_operator(B.shape[0], lambda x: B @ (B.T @ x))
    squares, X, rest = leading_eigen(gram, rank)
    # Lanczos knows squares to eps only: vectors of tiny s go to the rest, where the bound counts them.
    kept = int(np.count_nonzero(squares > _LEAST_SQUARE))
    rest = squares[kept] if kept < rank else rest
    s, X = np.sqrt(np.minimum(squares[:kept], 1.0)), np.ascontiguousarray(X[:, :kept])
    return Factors(X if B is A else other_side(B, X, s), s, float(np.sqrt(np.clip(rest, 0.0, 1.0))))


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
    """Return all eigenvalues, ascending, and the eigenvectors of a dense Laplacian."""
    return scipy.linalg.eigh(laplacian, check_finite=False)


def smallest_eigen(laplacian: LinearOperator, upper: float, rank: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the ``rank`` smallest eigenpairs of a Laplacian and the least eigenvalue left out."""
    flipped = symmetric_operator(laplacian.shape[0], lambda x: upper * x - laplacian @ x)
    values, vectors, rest = leading_eigen(flipped, rank)
    return upper - values, vectors, upper - rest


def _wide(A: sp.csr_array) -> sp.csr_array:
    """Return A or A', whichever has no more rows than columns."""
    return A if A.shape[0] <= A.shape[1] else sp.csr_array(A.T)


def _nonzero(left: np.ndarray, s: np.ndarray) -> Factors:
    rank = int(np.count_nonzero(s > _RANK_TOLERANCE * s[0]))
    # A's norm is at most 1; rounding may put the leading singular values a hair above it.
    return Factors(np.ascontiguousarray(left[:, :rank]), np.minimum(s[:rank], 1.0), 0.0)


def _small_values(
    B: sp.csr_array, clear: np.ndarray, s: np.ndarray, small: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return small singular values of B to full precision, and their left vectors: ``small``, turned.

    X_0 spans them only to eps / s^2 of the clear X_1: C = diag(s^-2) X_1' B B' X_0 of it is too much. The entries of
    W = B'(X_0 - X_1 C) are small, hence exact, and its singular values are those sought. Of W only the triangle R of
    W = Q R is needed, which takes some rows of B' after others. Vectors of which B' makes nothing at all may be many,
    one for each vertex that is in the same hyperedges as another: they are left out as soon as they stand apart, which
    they do at the latest when W'W is diagonal.
    """
    wide = sp.csr_array(B.T)
    small = small[:, _is_seen(wide, small)]
    if small.shape[1] == 0:
        return np.zeros(0), small
    images = np.hstack([B @ (wide @ small[:, part]) for part in column_slices(small.shape[1])])
    excess, gram = clear.T @ images / s[:, None] ** 2, small.T @ images
    _, turn = scipy.linalg.eigh((gram + gram.T) / 2, check_finite=False)
    small, pure = small @ turn, (small - clear @ excess) @ turn
    seen = _is_seen(wide, pure)
    if not seen.any():
        return np.zeros(0), small[:, seen]
    _, values, turn = scipy.linalg.svd(_triangle(wide, pure[:, seen]), check_finite=False)
    return values, small[:, seen] @ turn.T


def _is_seen(matrix: sp.csr_array, X: np.ndarray) -> np.ndarray:
    """Return which columns of X a matrix does not make nothing of."""
    sizes = [np.linalg.norm(matrix @ X[:, part], axis=0) for part in column_slices(X.shape[1])]
    return np.concatenate(sizes) > _NOTHING


def _triangle(matrix: sp.csr_array, X: np.ndarray) -> np.ndarray:
    """Return R of the decomposition Q R of a product, some rows of it after others."""
    R = np.zeros((0, X.shape[1]))
    step = max(_ROWS_AT_ONCE, 4 * X.shape[1])
    for start in range(0, matrix.shape[0], step):
        rows = np.vstack([R, matrix[start : start + step] @ X])
        (R,) = scipy.linalg.qr(rows, mode="r", overwrite_a=True, check_finite=False)
        R = R[: X.shape[1]]
    return R


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
