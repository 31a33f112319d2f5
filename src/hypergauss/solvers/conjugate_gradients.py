"""Conjugate gradients for many right-hand sides at once, each keeping the tridiagonal matrix it went through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hypergauss.operators.base import Block, Promise
from hypergauss.spectrum.lanczos import Rule, gauss_rules

#: Iterations that a lost worker can cost: so often, what they have come to is put where it is safe.
_KEPT_EVERY = 5

Product = Callable[[Block], Block]


class Blocks(Protocol):
    """What conjugate gradients do with blocks besides arithmetic: a `LaplacianOperator` does it for its own."""

    def dot(self, X: Block, Y: Block) -> Promise:
        """Return the inner product of each column of one block with that of another, shape (m,), or its promise."""

    def fetch(self, numbers: list[Promise]) -> np.ndarray:
        """Return small arrays that may have been promised."""

    def settle(self, X: Block) -> Block:
        """Return a block as values."""

    def keep(self, X: Block) -> Block:
        """Return a block that does not depend on how it came about."""

    def concatenate(self, parts: Sequence[Block]) -> Block:
        """Return blocks side by side."""


class NumpyBlocks:
    """Blocks that are arrays of NumPy."""

    def dot(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the inner product of each column of one block with that of another, shape (m,)."""
        # Of a single column by BLAS.
        return np.array([np.vdot(X, Y)]) if X.shape[1] == 1 else np.einsum("ij,ij->j", X, Y, dtype=np.float64)

    def fetch(self, numbers: list[Promise]) -> np.ndarray:
        """Return arrays of one shape as one array."""
        return np.asarray(numbers, dtype=np.float64)

    def settle(self, X: np.ndarray) -> np.ndarray:
        """Return the block: it is values."""
        return X

    def keep(self, X: np.ndarray) -> np.ndarray:
        """Return the block: nothing is lost of it."""
        return X

    def concatenate(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return blocks side by side."""
        return np.hstack(parts)


NUMPY = NumpyBlocks()


class Solution(NamedTuple):
    """B^-1 rhs, and how it was reached.

    Attributes
    ----------
    x : block, shape (N, m)
        The solutions.
    residuals : array, shape (m,)
        Norm of what each leaves, relative to its right-hand side; NaN where the arithmetic has come to an end.
    iterations : int
        Of the slowest column.
    diagonal, off : arrays, shape (m, iterations)
        Lanczos' tridiagonal matrix of the preconditioned system, for each column.
    """

    x: Block
    residuals: np.ndarray
    iterations: int
    diagonal: np.ndarray
    off: np.ndarray

    @property
    def worst(self) -> float:
        """The largest residual."""
        return float(np.max(self.residuals, initial=0.0))

    def rules(self, squares: np.ndarray) -> Rule:
        """Return the spectral measure of each right-hand side under the preconditioned system."""
        return gauss_rules(self.diagonal, self.off, squares)

    def without_last_step(self) -> Solution:
        """Return the same with tridiagonal matrices one step shorter, which shows what that step was worth."""
        last = (self.diagonal > 0).sum(axis=1) - 1
        taken = np.flatnonzero(last > 0)
        diagonal, off = self.diagonal.copy(), self.off.copy()
        diagonal[taken, last[taken]] = 0.0
        off[taken, last[taken] - 1] = 0.0
        return self._replace(diagonal=diagonal, off=off)


def conjugate_gradients(
    product: Product,
    rhs: Block,
    *,
    tolerance: float,
    max_iterations: int,
    precondition: Product | None = None,
    start: Block | None = None,
    blocks: Blocks = NUMPY,
    in_preconditioned_norm: bool = False,
) -> Solution:
    """Solve B X = rhs, each column until its residual is ``tolerance`` times its right-hand side.

    A column that is done leaves the block, so that products are spent only where they are needed. The caller checks
    whether all residuals have met the tolerance.

    Parameters
    ----------
    product, precondition : callable
        X -> B X, and X -> M X with M close to B^-1, the identity if not given; both symmetric positive definite.
    rhs : block, shape (N, m)
        Right-hand sides.
    tolerance : float
        Relative residual.
    max_iterations : int
        After which it ends in any case.
    start : block, shape (N, m), optional
        Where to begin; the tridiagonal matrices are then those of what it leaves, not of the right-hand sides.
    blocks : Blocks
        Inner products of the blocks, and where they are kept; NumPy's unless given.
    in_preconditioned_norm : bool
        Whether the size of a residual r is the root of r' M r, not of r' r.
    """
    precondition = _identity if precondition is None else precondition
    count = rhs.shape[1]
    x = rhs * 0 if start is None else start
    r = rhs if start is None else blocks.settle(rhs - product(start))
    z = blocks.settle(precondition(r))
    image = rhs
    if in_preconditioned_norm:
        image = z if start is None else blocks.settle(precondition(rhs))
    norms, squares, rz = blocks.fetch([blocks.dot(rhs, image), blocks.dot(r, r), blocks.dot(r, z)])
    scale = np.where(norms > 0, np.sqrt(np.maximum(norms, 0.0)), 1.0)
    residuals = np.sqrt(np.maximum(rz, 0.0) if in_preconditioned_norm else squares) / scale
    alphas, betas = np.zeros((count, max_iterations)), np.zeros((count, max_iterations))
    # Columns that are done, and their solutions; a right-hand side of zeros is its own.
    is_done = residuals <= tolerance
    active = np.flatnonzero(~is_done)
    done, solved = [np.flatnonzero(is_done)], [x[:, is_done]]
    x, r, p, rz = x[:, active], r[:, active], z[:, active], rz[active]
    step = 0
    while step < max_iterations and len(active):
        image = blocks.settle(product(p))
        (curvature,) = blocks.fetch([blocks.dot(p, image)])
        alpha = rz / np.where(curvature > 0, curvature, np.inf)
        # In place where blocks are arrays, which are copies by now: getting memory anew takes as long as the sum.
        x += p * alpha.astype(p.dtype)
        r -= image * alpha.astype(image.dtype)
        x, r = blocks.settle(x), blocks.settle(r)
        z = blocks.settle(precondition(r))
        squares, rz_next = blocks.fetch([blocks.dot(r, r), blocks.dot(r, z)])
        residuals[active] = np.sqrt(np.maximum(rz_next, 0.0) if in_preconditioned_norm else squares) / scale[active]
        beta = rz_next / np.where(rz > 0, rz, np.inf)
        alphas[active, step], betas[active, step] = alpha, beta
        step += 1
        unfinished = residuals[active] > tolerance
        if not unfinished.all():
            keep, ended = np.flatnonzero(unfinished), np.flatnonzero(~unfinished)
            done.append(active[ended])
            solved.append(x[:, ended])
            active, beta, rz_next = active[keep], beta[keep], rz_next[keep]
            r, z, p, x = (block[:, keep] for block in (r, z, p, x))
        p *= beta.astype(p.dtype)
        p += z
        p = blocks.settle(p)
        rz = rz_next
        if step % _KEPT_EVERY == 0:
            x, r, p = (blocks.keep(block) for block in (x, r, p))
    whole = blocks.concatenate([*solved, x])[:, np.argsort(np.concatenate([*done, active]))]
    return Solution(blocks.settle(whole), residuals, step, *_tridiagonal(alphas[:, :step], betas[:, :step]))


class JointSolution(NamedTuple):
    """The solution of one system of any shape, what it leaves relative to the right-hand side, and the steps taken."""

    x: np.ndarray
    residual: float
    iterations: int


def joint_conjugate_gradients(
    product: Product,
    rhs: np.ndarray,
    *,
    tolerance: float,
    max_iterations: int,
    precondition: Product,
    start: np.ndarray | None = None,
) -> JointSolution:
    """Solve one system whose unknowns are all numbers of an array, until r' M r <= tolerance^2 b' M b.

    Unlike the columns of `conjugate_gradients`, which are systems of their own, the columns of ``rhs`` meet in the
    product. Arguments are as there, for arrays of NumPy of any shape and precision, which is that of the solution.
    Systems are small and many, so that nothing is kept but what the next step needs. The residual is NaN, or more than
    the tolerance, where the arithmetic has come to an end.
    """
    x = np.zeros_like(rhs) if start is None else start.copy()
    r = rhs.copy() if start is None else rhs - product(start)
    z = precondition(r)
    rz = _inner(r, z)
    of_rhs = rz if start is None else _inner(rhs, precondition(rhs))
    scale = np.sqrt(of_rhs) if of_rhs > 0 else 1.0
    residual, step = np.sqrt(max(rz, 0.0)) / scale, 0
    p = z.copy()
    while not residual <= tolerance and step < max_iterations:
        image = product(p)
        curvature = _inner(p, image)
        if not curvature > 0:
            break
        alpha = rz / curvature
        x += alpha * p
        r -= alpha * image
        z = precondition(r)
        before, rz = rz, _inner(r, z)
        residual = np.sqrt(max(rz, 0.0)) / scale
        step += 1
        p *= rz / before if before > 0 else 0.0
        p += z
    return JointSolution(x, float(residual), step)


def _inner(X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.vdot(X, Y))


def _identity(X: Block) -> Block:
    return X


def _tridiagonal(alphas: np.ndarray, betas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return diagonals 1/a_j + b_(j-1)/a_(j-1) and off-diagonals sqrt(b_j)/a_j; zero where a column had ended."""
    taken = alphas > 0
    inverse = np.divide(1.0, alphas, out=np.zeros_like(alphas), where=taken)
    diagonal = inverse.copy()
    diagonal[:, 1:] += np.where(taken[:, 1:], betas[:, :-1] * inverse[:, :-1], 0.0)
    off = np.sqrt(np.maximum(betas, 0.0)) * inverse
    # The last step of a column has no next one to be joined to.
    off[:, :-1] *= taken[:, 1:]
    off[:, -1:] = 0.0
    return diagonal, off
