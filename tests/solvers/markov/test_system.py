"""Systems in single precision where that is enough, and in double where its rounding is felt."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss import Spectrum
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.kernels import Matern
from hypergauss.solvers.markov import Markov
from hypergauss.solvers.markov.field import Field
from hypergauss.solvers.markov.system import System, Workspace
from tests.solvers.markov.problems import case


def system(tolerance, *, lengthscale=3.0, nu=2, noise=0.3):
    own = case(200, nu, lengthscale=lengthscale, noise=noise)
    workspace = Workspace(own.model.kernel, Markov())
    precision = np.zeros((200, 1))
    precision[own.observations.rows, 0] = 1.0 / noise
    return System(workspace, own.model.kernel, precision, tolerance)


def residual(of, rhs, x):
    product = of.workspace.operator
    left = rhs - of.field.product(product, product.enter(x)) - of.precision * x
    return np.linalg.norm(left, axis=0) / np.linalg.norm(rhs, axis=0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
def test_a_few_digits_are_solved_for_in_single_precision(tolerance):
    own = system(tolerance)
    rhs = np.random.default_rng(0).standard_normal((200, 3))
    x = own.solve(rhs).x
    assert own.operator.precision > 1e-8
    assert x.dtype == np.float64
    assert np.all(residual(own, rhs, x) < 1.1 * tolerance)


def test_many_digits_are_solved_for_in_double():
    assert system(1e-6).operator.precision < 1e-15


def test_a_system_whose_rounding_single_precision_cannot_bear_goes_on_in_double():
    own = system(1e-3, lengthscale=400.0, nu=3, noise=1e-6)
    rhs = np.random.default_rng(0).standard_normal((200, 2))
    x = own.solve(rhs).x
    assert np.all(residual(own, rhs, x) < 2.1e-3)


@pytest.mark.parametrize("nu", [1, 2, 3])
def test_forms_are_those_of_the_two_derivatives(nu):
    own = system(1e-8, nu=nu)
    X, Y = np.random.default_rng(1).standard_normal((2, 200, 2))
    found = own.forms(X, Y)
    assert found.in_log_c == pytest.approx((X * own.precision_product(Y, in_log_c=True)).sum(), rel=1e-10)
    assert found.in_log_s == pytest.approx(-(X * own.precision_product(Y)).sum(), rel=1e-10)


@pytest.mark.parametrize(("nu", "share"), [(1, 1.0), (2, 0.85), (3, 0.75)])
def test_a_product_more_a_step_saves_products_in_all(nu, share):
    own = planted(nu)
    rhs = np.random.default_rng(0).standard_normal((4000, 1))
    counts = []
    for by_diagonal in (True, False):
        before = own.workspace.num_products
        x = own.solve(rhs, by_diagonal=by_diagonal).x
        counts.append(own.workspace.num_products - before)
        assert np.all(residual(own, rhs, x) < 2e-8)
    assert counts[1] <= share * counts[0]


@pytest.mark.parametrize("nu", [2, 3])
def test_eigenvalues_of_the_preconditioned_system_are_nearer_to_one_another(nu):
    H = make_planted_hypergraph(300, 300, random_state=1).hypergraph
    kernel = Matern(Spectrum.matrix_free(H), nu, lengthscale=6.0, fixed=("nu",))
    precision = np.zeros((300, 1))
    precision[::4] = 3.0
    own = System(Workspace(kernel, Markov()), kernel, precision, 1e-8)
    B, P, D = own._product(np.eye(300)), own._precondition(np.eye(300)), np.diag(own._inverse[:, 0])
    assert np.abs(P - P.T).max() < 1e-12
    assert np.linalg.eigvalsh(P).min() > 0
    lifted, plain = (np.linalg.eigvals(inverse @ B).real for inverse in (P, D))
    assert lifted.max() / lifted.min() < 0.5 * plain.max() / plain.min()


def test_a_laplacian_that_is_no_walks_is_preconditioned_by_the_diagonal_alone():
    A = np.zeros((50, 50))
    A[0, 1:] = A[1:, 0] = 1.0
    kernels = [Matern(Spectrum.matrix_free(hg.Graph(A), laplacian=kind), 2) for kind in ("normalised", "unnormalised")]
    assert [Field.of(kernel).lift(0.8) > 0 for kernel in kernels] == [True, False]


def test_a_few_digits_are_reached_by_the_diagonal_as_soon():
    kernel = Matern(Spectrum.matrix_free(make_planted_hypergraph(300, 300, random_state=1).hypergraph), 2)
    assert [Field.of(kernel).lift(0.8, tolerance) > 0 for tolerance in (1e-2, 1e-3)] == [False, True]


def planted(nu):
    """Return a system of 4,000 vertices, a fifth of them measured."""
    H = make_planted_hypergraph(4000, 4000, random_state=1).hypergraph
    kernel = Matern(Spectrum.matrix_free(H), nu, lengthscale=5.0, fixed=("nu",))
    precision = np.zeros((4000, 1))
    precision[::5] = 4.0
    return System(Workspace(kernel, Markov()), kernel, precision, 1e-8)
