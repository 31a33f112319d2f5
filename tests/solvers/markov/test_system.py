"""Systems in single precision where that is enough, and in double where its rounding is felt."""

import numpy as np
import pytest

from hypergauss.solvers.markov import Markov
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
