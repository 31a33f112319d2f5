"""Block conjugate gradients on a matrix that is written down."""

import numpy as np
import pytest
import scipy.sparse as sp

from hypergauss.operators import LocalLaplacian
from hypergauss.solvers.conjugate_gradients import conjugate_gradients, joint_conjugate_gradients

N = 120
VALUES = np.geomspace(1.0, 1e3, N)
AXES = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]
MATRIX = (AXES * VALUES) @ AXES.T
RHS = np.random.default_rng(1).standard_normal((N, 3))


def solve(rhs=RHS, *, tolerance=1e-10, max_iterations=500, start=None, **others):
    return conjugate_gradients(
        lambda X: MATRIX @ X,
        rhs,
        precondition=lambda X: X / np.diag(MATRIX)[:, None],
        tolerance=tolerance,
        max_iterations=max_iterations,
        start=start,
        **others,
    )


def test_an_operators_blocks_are_solved_as_numpys_are():
    operator = LocalLaplacian.of_incidence(sp.csr_array((N, 2)))
    assert np.allclose(solve(blocks=operator).x, solve().x, atol=1e-12)


def test_without_a_preconditioner_it_is_the_identity():
    found = conjugate_gradients(lambda X: MATRIX @ X, RHS, tolerance=1e-10, max_iterations=1000)
    assert np.allclose(found.x, np.linalg.solve(MATRIX, RHS), atol=1e-8)
    assert found.worst <= 1e-10


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


def test_too_few_iterations_leave_their_residual():
    solution = solve(max_iterations=3)
    assert solution.iterations == 3
    left = np.linalg.norm(RHS - MATRIX @ solution.x, axis=0) / np.linalg.norm(RHS, axis=0)
    assert np.allclose(solution.residuals, left)
    assert solution.worst > 1e-10


def joint_product(X):
    """A system in which the columns meet: MATRIX times a matrix of the columns."""
    return MATRIX @ X @ MIXED


MIXED = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 3.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("start", [None, "near"])
def test_one_system_of_all_columns_is_solved_in_its_preconditioned_norm(dtype, start):
    tolerance = 1e-3
    exact = np.linalg.solve(MATRIX, RHS) @ np.linalg.inv(MIXED)

    def precondition(X):
        return X / np.diag(MATRIX).astype(dtype)[:, None]

    found = joint_conjugate_gradients(
        lambda X: joint_product(X).astype(dtype),
        RHS.astype(dtype),
        precondition=precondition,
        tolerance=tolerance,
        max_iterations=500,
        start=None if start is None else (exact + 1e-3).astype(dtype),
    )
    assert found.x.shape == RHS.shape
    assert found.x.dtype == dtype
    left = RHS - joint_product(found.x.astype(float))
    share = np.sqrt(np.vdot(left, precondition(left)) / np.vdot(RHS, precondition(RHS)))
    assert found.residual == pytest.approx(share, rel=0.02)
    assert share <= 1.02 * tolerance


def test_a_joint_system_without_a_right_hand_side_takes_no_step():
    def unchanged(X):
        return X

    nothing = np.zeros((4, 2))
    found = joint_conjugate_gradients(unchanged, nothing, precondition=unchanged, tolerance=1e-3, max_iterations=5)
    assert found.iterations == 0
    assert np.array_equal(found.x, nothing)
