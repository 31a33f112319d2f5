"""One side's system agrees with a dense one written out rating by rating."""

import numpy as np
import pytest
import scipy.linalg
from scipy.stats import multivariate_normal

from hypergauss.exceptions import NumericalError
from hypergauss.factorisation import normal_equations
from hypergauss.factorisation.normal_equations import System, features, left_by_rough, scattered_noise, system
from hypergauss.factorisation.spectral_prior import Hyperparameters
from hypergauss.solvers.conjugate_gradients import joint_conjugate_gradients
from tests.factorisation.problems import make_problem
from tests.factorisation.test_spectral_prior import covariance

HYPER = Hyperparameters(
    np.array([0, 1]), np.array([0.7, 2.0]), np.array([1.5, 0.2]), np.zeros(0), np.array([1.0, -0.8]), np.arange(2)
)
TAU, MU = 2.5, 0.3


def dense_posterior(problem, table, others):
    """Return mean and covariance of users' (b, u), stacked user after user, from one row a rating."""
    side, n = problem.sides[0], len(table.users)
    columns = side.columns(HYPER)
    prior = np.zeros((2 * n, 2 * n))
    for k in range(2):
        prior[k::2, k::2] = covariance(columns, n, k)
    design = np.zeros((len(table.values), 2 * n))
    target = np.zeros(len(table.values))
    for row, (i, j) in enumerate(zip(table.user, table.item, strict=True)):
        design[row, 2 * i] = 1.0
        design[row, 2 * i + 1] = others[j, 1]
        target[row] = problem.values[row] - MU - others[j, 0]
    cov = np.linalg.inv(np.linalg.inv(prior) + TAU * design.T @ design)
    return cov @ (TAU * design.T @ target), cov


@pytest.fixture(scope="module")
def case():
    problem, table = make_problem(9, 7, share=0.5, seed=2)
    others = np.random.default_rng(0).standard_normal((len(table.items), 2))
    e = features(others)
    view = problem.views[0]
    equations = normal_equations.normal_equations(view.pattern, view.table(problem.values), e)
    conditional = system(equations, problem.sides[0].columns(HYPER), mean=MU, precision=TAU, free=np.arange(2))
    return problem, conditional, e, dense_posterior(problem, table, others)


def test_the_mean_is_that_of_the_dense_system(case):
    _, conditional, _, (mean, _) = case
    assert np.allclose(conditional.mean(1e-13).factors.ravel(), mean, atol=1e-10)


def test_draws_have_the_mean_and_covariance_of_the_dense_system(case, rng):
    _, conditional, _, (mean, cov) = case
    size = 2500
    draws = np.empty((size, len(mean)))
    for row in range(size):
        noise = scattered_noise(conditional.gram, rng)
        draws[row] = conditional.draw(noise, 1e-10, rng).factors.ravel()
    z = (draws.mean(axis=0) - mean) / np.sqrt(cov.diagonal() / size)
    assert np.abs(z).max() < 4.5
    found = np.cov(draws.T)
    spread = np.sqrt((cov**2 + np.outer(cov.diagonal(), cov.diagonal())) / size)  # of a sample covariance
    assert (np.abs(found - cov) / spread).max() < 5.0


def test_a_draw_that_keeps_a_share_of_the_last_is_still_of_the_posterior(case, rng):
    _, conditional, _, (mean, cov) = case
    size, kept = 2500, -0.6
    before, after = np.empty((2, size, len(mean)))
    for row in range(size):
        first, second = (scattered_noise(conditional.gram, rng) for _ in range(2))
        drawn = conditional.draw(first, 1e-10, rng)
        before[row] = drawn.factors.ravel()
        after[row] = conditional.draw(second, 1e-10, rng, drawn, kept).factors.ravel()
    z = (after.mean(axis=0) - mean) / np.sqrt(cov.diagonal() / size)
    assert np.abs(z).max() < 4.5
    variances = np.outer(cov.diagonal(), cov.diagonal())
    spread = np.sqrt((cov**2 + variances) / size)
    assert (np.abs(np.cov(after.T) - cov) / spread).max() < 5.0
    together = (before - mean).T @ (after - mean) / size
    assert (np.abs(together - kept * cov) / np.sqrt(((kept * cov) ** 2 + variances) / size)).max() < 5.0


def test_sums_over_ratings_are_those_of_a_loop(rng):
    problem, table = make_problem(6, 5, share=0.6)
    e = rng.standard_normal((len(table.items), 3))
    view = problem.views[0]
    weights = rng.gamma(2.0, size=len(e))
    gram, moments, squares = normal_equations.normal_equations(view.pattern, view.table(problem.values), e, weights)
    for i in range(len(table.users)):
        rows = table.user == i
        own = e[table.item[rows]]
        h, y = weights[table.item[rows]], problem.values[rows]
        assert np.allclose(gram[:, :, i], own.T @ (h[:, None] * own))
        assert np.allclose(moments[i], own.T @ (h * y))
        assert np.isclose(squares[i], h @ y**2)


def test_sums_of_squared_residuals_are_those_of_a_loop(rng):
    problem, table = make_problem(6, 5, share=0.6)
    users, items = rng.standard_normal((len(table.users), 3)), rng.standard_normal((len(table.items), 3))
    weights = rng.gamma(2.0, size=len(items))
    view = problem.views[0]
    table_of_values = view.table(problem.values)
    equations = normal_equations.normal_equations(view.pattern, table_of_values, features(items), weights)
    u, w = users[table.user], items[table.item]
    residuals = problem.values - (MU + u[:, 0] + w[:, 0] + (u[:, 1:] * w[:, 1:]).sum(axis=1))
    expected = np.bincount(table.user, weights[table.item] * residuals**2)
    assert np.allclose(equations.residuals(users, MU), expected)


def test_items_see_the_same_ratings_as_users():
    problem, table = make_problem(6, 5, share=0.6)
    dense = np.zeros((len(table.users), len(table.items)))
    dense[table.user, table.item] = problem.values
    by_user, by_item = (view.table(problem.values).toarray() for view in problem.views)
    assert np.array_equal(by_user, dense)
    assert np.array_equal(by_item, dense.T)


def test_what_single_precision_cannot_solve_is_solved_in_double(case, monkeypatch):
    _, conditional, _, (mean, _) = case
    single = System(conditional.columns, conditional.gram, conditional.linear.astype(np.float32))
    tried = []

    def stopped_in_single(product, right, **options):
        tried.append(right.dtype)
        if right.dtype == np.float32:
            options["max_iterations"] = 1
        return joint_conjugate_gradients(product, right, **options)

    monkeypatch.setattr(normal_equations, "joint_conjugate_gradients", stopped_in_single)
    adjoint = single.columns.adjoint
    monkeypatch.setattr(single.columns, "adjoint", lambda rows: adjoint(rows).astype(np.float32))
    assert np.allclose(single.mean(1e-10).factors.ravel(), mean, atol=1e-4)
    assert tried == [np.float32, np.float64]


def test_a_tolerance_that_cannot_be_reached_is_told(case):
    _, conditional, _, _ = case
    spoilt = System(conditional.columns, conditional.gram, conditional.linear * np.nan)
    with pytest.raises(NumericalError, match=r"did not reach the tolerance 1e-06.*Likely causes"):
        spoilt.mean(1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_the_rough_part_leaves_is_that_of_the_inverse(rng, dtype):
    roots = rng.standard_normal((700, 5, 9))
    gram = roots @ roots.transpose(0, 2, 1)
    rho = np.array([3.0, 0.5, 0.0, 10.0, 1.0])
    expected = np.linalg.solve(np.eye(5) + gram * rho**2, gram)
    left, log_det = left_by_rough(gram.transpose(1, 2, 0).astype(dtype), rho.astype(dtype))
    found = left.transpose(2, 0, 1)
    size = np.sqrt(np.einsum("nk,nl->nkl", *2 * (np.einsum("nkk->nk", expected),)))
    assert (np.abs(found - expected) / size).max() < 2000 * np.finfo(dtype).eps
    whole = np.linalg.slogdet(np.eye(5) + rho[:, None] * gram * rho)[1].sum()
    assert np.isclose(log_det, whole, rtol=100 * np.finfo(dtype).eps)


def dense_evidence(problem, e, smooth, rough):
    """Return log p of all ratings given the smooth part: of each user normal, the rough part in their covariance."""
    view, total = problem.views[0], 0.0
    ratings = view.table(problem.values)
    for i in range(view.pattern.shape[0]):
        here = slice(*ratings.indptr[i : i + 2])
        z = e[ratings.indices[here]]
        mean = MU + z[:, 2] + z[:, :2] @ smooth[i]
        covariance = np.eye(len(z)) / TAU + (z[:, :2] * rough**2) @ z[:, :2].T
        total += multivariate_normal.logpdf(ratings.data[here], mean, covariance)
    return total


def test_the_evidence_without_the_rough_part_is_that_of_dense_normal_ratings(case, rng):
    problem, conditional, e, _ = case
    found, expected = [], []
    for scale in (1.0, 0.4):
        columns = problem.sides[0].columns(HYPER.scaled(np.array([1.0, scale])))
        smooth = columns.factors(rng.standard_normal(columns.shape))
        found.append(System(columns, conditional.gram, conditional.linear).evidence(smooth))
        expected.append(dense_evidence(problem, e, smooth, columns.rough))
    assert np.isclose(found[1] - found[0], expected[1] - expected[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_of_a_vertex_has_the_covariance_of_its_ratings_sums(rng, dtype):
    z = rng.standard_normal((5, 4))
    z[3] = 2.0 * z[2]
    # Of no rating, one, two that say the same of two directions, and more than there are columns.
    blocks = np.stack([0.0 * np.eye(4), np.outer(z[0], z[0]), z[2:4].T @ z[2:4], 1e4 * z.T @ z])
    count = 40_000
    gram = np.repeat(blocks, count, axis=0).transpose(1, 2, 0).astype(dtype)
    noise = scattered_noise(gram, rng).astype(float).reshape(4, count, 4)
    assert noise.dtype == np.float64
    for block, draws in zip(blocks, noise, strict=True):
        found = draws.T @ draws / count
        spread = np.sqrt((block**2 + np.outer(block.diagonal(), block.diagonal())) / count)
        assert (np.abs(found - block) <= 5.0 * spread).all()
        assert np.allclose(draws @ scipy.linalg.null_space(block, rcond=1e-6), 0.0, atol=2e-3)
