"""Block conjugate gradients on a matrix that is written down."""

import numpy as np
import pytest

from hypergauss.exceptions import ConvergenceError
from hypergauss.solvers.iterative.conjugate_gradients import check_converged, conjugate_gradients
from tests.solvers.iterative.problems import SPECTRUM, N

OPERATOR = SPECTRUM.source.multiplier()
VALUES = np.geomspace(1.0, 1e3, N)
AXES = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]
MATRIX = (AXES * VALUES) @ AXES.T
RHS = np.random.default_rng(1).standard_normal((N, 3))


def solve(rhs=RHS, *, tolerance=1e-10, max_iterations=500, start=None):
    return conjugate_gradients(
        OPERATOR,
        lambda X: MATRIX @ X,
        rhs,
        precondition=lambda X: X / np.diag(MATRIX)[:, None],
        tolerance=tolerance,
        max_iterations=max_iterations,
        start=start,
    )


def test_every_column_is_solved_whatever_the_others_are():
    rhs = np.column_stack([RHS, np.zeros(N), AXES[:, 5]])
    solution = solve(rhs)
    assert np.allclose(solution.x, np.linalg.solve(MATRIX, rhs), atol=1e-9)
    assert (solution.residuals <= 1e-10).all()
    assert np.array_equal(solution.x[:, 3], np.zeros(N))


def test_a_start_near_the_solution_saves_iterations_and_one_at_it_takes_none():
    exact = np.linalg.solve(MATRIX, RHS)
    near = exact + 1e-6 * np.random.default_rng(2).standard_normal(exact.shape)
    cold, warm, there = (solve(start=start) for start in (None, near, exact))
    assert np.allclose(warm.x, exact, atol=1e-9)
    assert warm.iterations < 0.8 * cold.iterations
    assert there.iterations == 0
    assert np.array_equal(there.x, exact)


def test_the_tridiagonal_matrices_are_quadratures_of_the_inverse():
    """x' P^-1 f(P^-1/2 B P^-1/2) ... for f = 1 / t is rhs' B^-1 rhs."""
    solution = solve()
    squares = (RHS**2 / np.diag(MATRIX)[:, None]).sum(axis=0)
    expected = (RHS * np.linalg.solve(MATRIX, RHS)).sum(axis=0)
    rule = solution.rules(squares)
    safe = np.where(rule.weights > 0, rule.nodes, 1.0)
    assert np.allclose((rule.weights / safe).sum(axis=1), expected, rtol=1e-8)
    shorter = solution.without_last_step().rules(squares)
    assert np.allclose(shorter.weights.sum(axis=1), squares)
    assert (np.count_nonzero(shorter.weights > 0, axis=1) <= solution.iterations - 1).all()


def test_too_few_iterations_are_an_error_with_the_residual():
    solution = solve(max_iterations=3)
    with pytest.raises(ConvergenceError, match="after 3 iterations"):
        check_converged(solution, 1e-10, 1e3)
