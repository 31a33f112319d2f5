"""The log evidence of a Markov field: the dense one, within its standard error, and so are its slopes."""

import numpy as np
import pytest

from hypergauss import parameters
from hypergauss.learning.priors import LogNormal
from hypergauss.learning.search import maximise
from hypergauss.operators import scattered
from hypergauss.solvers import solver_for
from hypergauss.solvers.markov import Markov, MarkovSolver, evidence
from hypergauss.solvers.sites import Observations
from tests.solvers.markov.problems import case

whole = pytest.mark.parametrize("nu", [1, 2, 3])
PRIORS = {
    "lengthscale": LogNormal(5.0, 1.5),
    "variance": LogNormal(1.0, 1.0),
    "noise_variance": LogNormal(0.1, 1.5),
}
EXACT = Markov(tolerance=1e-10, learning_tolerance=1e-10, probe_tolerance=1e-9)


def dense(own):
    return solver_for(own.model.kernel, own.observations.rows, "dense").objective(own.observations)


@whole
def test_with_a_probe_for_each_vertex_value_and_gradient_are_the_dense_ones(nu):
    own = case(200, nu)
    objective = MarkovSolver(own.model.kernel, own.observations.rows, EXACT).objective(own.observations)
    value, gradient = objective.value_and_gradient(own.model)
    expected_value, expected = dense(own).value_and_gradient(own.model)
    assert value == pytest.approx(expected_value, abs=1e-7)
    assert objective.value(own.model) == pytest.approx(expected_value, abs=1e-7)
    assert np.allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    assert objective.standard_error < 1e-6


@whole
def test_gradients_are_finite_differences_of_the_dense_evidence(nu):
    own = case(200, nu)
    objective, reference = (
        MarkovSolver(own.model.kernel, own.observations.rows, EXACT).objective(own.observations),
        dense(own),
    )
    theta, step = parameters.pack(own.model), 1e-5
    gradient = objective.value_and_gradient(own.model)[1]
    for slope, unit in zip(gradient, np.eye(len(theta)), strict=True):
        up, down = (reference.value(parameters.unpack(own.model, theta + s * step * unit)) for s in (1, -1))
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-5)


@whole
def test_at_two_thousand_vertices_the_estimate_is_within_two_standard_errors(nu):
    own = case(2_000, nu, outputs=1)
    expected, slopes = dense(own).value_and_gradient(own.model)
    errors, gradients = [], []
    for seed in range(8):
        model = own.by_products(seed)
        solver = MarkovSolver(model.kernel, own.observations.rows, Markov(seed=seed, n_probes=16))
        objective = solver.objective(own.observations)
        value, gradient = objective.value_and_gradient(model)
        errors.append((value - expected) / objective.standard_error)
        gradients.append(gradient)
    assert abs(errors[0]) < 2
    assert np.mean(np.abs(errors) < 2) >= 0.75
    spread = np.std(gradients, axis=0, ddof=1)
    assert np.all(np.abs(np.mean(gradients, axis=0) - slopes) < 1.5 * spread + 0.02 * np.abs(slopes) + 0.1)


@whole
def test_the_average_information_is_its_formula(nu, monkeypatch):
    own = case(200, nu)
    solver = MarkovSolver(own.model.kernel, own.observations.rows, EXACT)
    operator, sites, rows = solver.workspace.operator, own.sites(), own.observations.rows
    targets = scattered(operator, rows, sites.mean - own.model.mean)
    found = evidence.field_terms(
        solver.workspace, own.model.kernel, scattered(operator, rows, 1 / sites.variance), targets
    )
    monkeypatch.setattr(evidence, "_SOLVED", 1e-9)
    mine = evidence.information(found, scattered(operator, rows, sites.variance))
    K = own.model.kernel.gram()
    values, vectors = np.linalg.eigh(own.model.kernel.spectrum.laplacian())
    c = 2 * nu / float(own.model.kernel.lengthscale) ** 2
    in_c = K @ (vectors * (nu * values / (c + values))) @ vectors.T
    C = K[np.ix_(rows, rows)] + np.diag(sites.variance)
    residual = sites.mean - own.model.mean
    alpha = np.linalg.solve(C, residual)
    images = [
        in_c[np.ix_(rows, rows)] @ alpha,
        K[np.ix_(rows, rows)] @ alpha,
        sites.variance[:, None] * alpha,
        *(np.sqrt(2) * np.tile(unit, (len(rows), 1)) for unit in np.eye(2)),
    ]
    expected = [[0.5 * (a * np.linalg.solve(C, b)).sum() for b in images] for a in images]
    assert np.allclose(mine, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@whole
def test_learning_ends_at_the_top_of_the_dense_evidence(nu):
    """With priors, as estimators have them: without, a hundred measurements may well say that there is no noise."""
    rng = np.random.default_rng(8)
    own = case(400, nu, outputs=1)
    rows, kernel = own.observations.rows, own.model.kernel
    signal = np.linalg.cholesky(kernel.gram() + 1e-10 * np.eye(400)) @ rng.standard_normal(400)
    y = signal[rows] + 0.4 * rng.standard_normal(len(rows)) + 0.5
    observations, options = Observations.of(rows, y[:, None]), {"priors": PRIORS, "n_starts": 1}
    found = maximise(MarkovSolver(kernel, rows, EXACT).objective(observations), own.model, **options)
    assert found.converged
    assert found.n_evaluations <= 25
    best = maximise(solver_for(kernel, rows, "dense").objective(observations), found.model, **options)
    assert found.objective == pytest.approx(best.objective, abs=1e-4)
