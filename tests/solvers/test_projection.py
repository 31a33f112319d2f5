"""Inducing variables: what they explain, and gradients through it."""

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.kernels import Diffusion, Linear, Matern, SquaredExponential
from hypergauss.solvers.projection import InducingVertices, Projection, SpectralFeatures
from tests.hypergraphs import hypergraph_of_sizes

RNG = np.random.default_rng(0)
SPECTRUM = Spectrum.of(hypergraph_of_sizes(40, [3, 5, 8, 12] * 3, seed=2))
ROWS, Z = RNG.permutation(40)[:25], np.array([1, 5, 7, 20])
COVARIATES = RNG.normal(size=(40, 2))
MATERN = Matern(SPECTRUM, 2.0, 4.0, variance=2.0)
KERNELS = {
    "matern": MATERN,
    "one spectrum": MATERN + Diffusion(SPECTRUM, 2.0),
    "mixed": MATERN + Linear(COVARIATES),
    "product": MATERN * SquaredExponential(COVARIATES, [1.0, 2.0]),
}
CASES = [
    *((name, InducingVertices.of(kernel, Z)) for name, kernel in KERNELS.items()),
    ("matern", SpectralFeatures(5)),
    ("one spectrum", SpectralFeatures(5)),
]
cases = pytest.mark.parametrize(
    ("kernel", "inducing"),
    [(KERNELS[name], inducing) for name, inducing in CASES],
    ids=[f"{name}, {type(inducing).__name__}" for name, inducing in CASES],
)


def assert_is_gradient(found, of_kernel, kernel):
    """Compare with differences of two values in each coordinate."""
    theta, step = parameters.pack(kernel), 1e-5
    moves = step * np.eye(len(theta))
    ends = [[of_kernel(parameters.unpack(kernel, theta + sign * move)) for sign in (1, -1)] for move in moves]
    wanted = [(ahead - behind) / (2 * step) for ahead, behind in ends]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * np.abs(wanted).max())


@cases
def test_what_inducing_variables_explain_is_the_projection(kernel, inducing):
    K = kernel.gram()
    # Whatever c is, c = B'f for some B, and Q = K B (B'K B)^-1 B'K.
    B = np.eye(40)[:, Z] if isinstance(inducing, InducingVertices) else SPECTRUM.vertex_vectors[:, :5]
    Q = K @ B @ np.linalg.solve(B.T @ K @ B, B.T @ K)
    F, W, unexplained = inducing.project(kernel, kernel.inputs(ROWS))
    assert np.allclose((F * W) @ F.T, Q[np.ix_(ROWS, ROWS)], atol=1e-7)
    assert np.allclose(unexplained, np.diag(K - Q)[ROWS], atol=1e-7)
    assert np.all(unexplained >= 0)
    whole = Projection(kernel, inducing)
    assert np.allclose(whole.gram(ROWS, Z), Q[np.ix_(ROWS, Z)], atol=1e-7)
    assert np.allclose(whole.diagonal(), np.diag(Q), atol=1e-7)
    assert np.allclose(whole.scaled(3.0).gram(), 3 * whole.gram(), atol=1e-7)
    draws = whole.prior_draws(np.arange(40), 20_000, np.random.default_rng(1))
    assert np.allclose(np.cov(draws), Q, atol=0.06 * np.diag(Q).max())


@cases
def test_slopes_in_what_is_projected_are_pulled_back_to_the_gradient(kernel, inducing):
    inputs = kernel.inputs(ROWS)
    slopes = [RNG.normal(size=np.shape(part)) for part in inducing.project(kernel, inputs)]

    def number(kernel):
        return sum((slope * part).sum() for slope, part in zip(slopes, inducing.project(kernel, inputs), strict=True))

    assert_is_gradient(inducing.pull_back(kernel, inputs, *slopes), number, kernel)


@cases
def test_a_projection_has_the_gradients_of_a_kernel(kernel, inducing):
    whole = Projection(kernel, inducing)
    left, right = kernel.inputs(ROWS), kernel.inputs(np.arange(6))
    across, alone = RNG.normal(size=(25, 6)), RNG.normal(size=25)
    assert_is_gradient(whole.pull_back(left, right, across), lambda q: (across * q.cross(left, right)).sum(), whole)
    assert_is_gradient(whole.pull_back_variances(left, alone), lambda q: (alone * q.variances(left)).sum(), whole)


def test_nothing_is_left_at_an_inducing_vertex():
    inducing = InducingVertices.of(MATERN, Z)
    inputs = MATERN.inputs(Z)
    assert np.all(inducing.project(MATERN, inputs).unexplained < 1e-8)
    # And what rounding left there has no slope to speak of, however steep what is made of it.
    gradient = inducing.pull_back(MATERN, inputs, np.zeros((4, 4)), np.zeros(4), np.full(4, 1e3))
    assert np.all(np.abs(gradient) < 1e-4)


def test_inducing_variables_that_do_not_suit_a_kernel_are_refused():
    with pytest.raises(ValueError, match="one spectrum"):
        SpectralFeatures(3).check(KERNELS["mixed"])
    with pytest.raises(ValueError, match="at most the rank"):
        SpectralFeatures(40).check(MATERN)
    with pytest.raises(ValueError, match=r"must lie in 0\.\.39\. Got 40"):
        InducingVertices(np.array([40]), None).check(MATERN)
    SpectralFeatures(5).check(KERNELS["one spectrum"])
