"""Conjugate gradients for many right-hand sides at once, each keeping the tridiagonal matrix it went through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hypergauss.exceptions import ConvergenceError
from hypergauss.operators import LaplacianOperator
from hypergauss.spectrum.lanczos import Rule, gauss_rules

#: Iterations that a lost worker can cost: so often, what they have come to is put where it is safe.
_KEPT_EVERY = 5

Product = Callable[[Any], Any]


class Solution(NamedTuple):
    """B^-1 rhs, and how it was reached.

    Attributes
    ----------
    x : block, shape (N, m)
        The solutions.
    residuals : array, shape (m,)
        Norm of what each leaves, relative to its right-hand side.
    iterations : int
        Of the slowest column.
    diagonal, off : arrays, shape (m, iterations)
        Lanczos' tridiagonal matrix of the preconditioned system, for each column.
    """

    x: Any
    residuals: np.ndarray
    iterations: int
    diagonal: np.ndarray
    off: np.ndarray

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
    operator: LaplacianOperator,
    product: Product,
    rhs: Any,
    *,
    precondition: Product,
    tolerance: float,
    max_iterations: int,
    start: Any = None,
) -> Solution:
    """Solve B X = rhs, each column until its residual is ``tolerance`` times its right-hand side.

    A column that is done leaves the block, so that products are spent only where they are needed. The caller checks
    whether all residuals have met the tolerance.

    Parameters
    ----------
    operator : LaplacianOperator
        For its inner products.
    product, precondition : callable
        X -> B X, and X -> P^-1 X with P close to B; both symmetric positive definite.
    rhs : block, shape (N, m)
        Right-hand sides.
    start : block, shape (N, m), optional
        Where to begin; the tridiagonal matrices are then those of what it leaves, not of the right-hand sides.
    """
    count = rhs.shape[1]
    dot = _dots(operator)
    x = rhs * 0.0 if start is None else start
    r = rhs if start is None else operator.settle(rhs - product(start))
    norms, squares = dot((rhs, rhs), (r, r))
    scale = np.where(norms > 0, np.sqrt(norms), 1.0)
    residuals = np.sqrt(squares) / scale
    alphas, betas = np.zeros((count, max_iterations)), np.zeros((count, max_iterations))
    # Columns that are done, and their solutions; a right-hand side of zeros is its own.
    is_done = residuals <= tolerance
    active = np.flatnonzero(~is_done)
    done, solved = [np.flatnonzero(is_done)], [x[:, is_done]]
    x, r = x[:, active], r[:, active]
    z = operator.settle(precondition(r))
    p = z
    (rz,) = dot((r, z))
    step = 0
    while step < max_iterations and len(active):
        image = operator.settle(product(p))
        (curvature,) = dot((p, image))
        alpha = rz / np.where(curvature > 0, curvature, np.inf)
        x = operator.settle(x + p * alpha)
        r = operator.settle(r - image * alpha)
        z = operator.settle(precondition(r))
        squares, rz_next = dot((r, r), (r, z))
        residuals[active] = np.sqrt(squares) / scale[active]
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
        p = operator.settle(z + p * beta)
        rz = rz_next
        if step % _KEPT_EVERY == 0:
            x, r, p = (operator.keep(block) for block in (x, r, p))
    whole = operator.concatenate([*solved, x])[:, np.argsort(np.concatenate([*done, active]))]
    return Solution(operator.settle(whole), residuals, step, *_tridiagonal(alphas[:, :step], betas[:, :step]))


def check_converged(solution: Solution, tolerance: float, condition: float) -> Solution:
    """Return the solution, or raise with the residual and likely causes."""
    worst = float(np.max(solution.residuals, initial=0.0))
    if not worst <= tolerance:
        raise ConvergenceError(
            f"Conjugate gradients stopped after {solution.iterations} iterations at a relative residual of "
            f"{worst:.1e}, not {tolerance:.1e}. Likely causes: a noise variance very small beside the kernel's (the "
            f"system's condition number may be as large as {condition:.1e}), or a filter that falls steeply. Raise "
            "`tolerance`, `max_iterations` or `n_deflated` of `Iterative`, or the noise variance."
        )
    return solution


def _dots(operator: LaplacianOperator) -> Callable[..., list[np.ndarray]]:
    """Return a function that gives the inner products of several pairs of blocks in one go."""

    def dots(*pairs: tuple[Any, Any]) -> list[np.ndarray]:
        return list(operator.fetch([operator.dot(a, b) for a, b in pairs]))

    return dots


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
