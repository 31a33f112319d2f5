"""The average information and the model of the evidence around a point, against dense algebra."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hypergauss import parameters
from hypergauss.kernels import Bernstein, Diffusion, Linear, Matern
from hypergauss.learning.priors import LogNormal, check_priors, match_priors
from hypergauss.solvers import Iterative
from hypergauss.solvers.iterative.leading_evidence import LeadingEvidence
from hypergauss.solvers.iterative.numbers import deflated
from hypergauss.spectrum import Spectrum
from tests import oracles
from tests.solvers.iterative.problems import COVARIATES, OTHER, PLAIN, PROBLEMS, REPEATED, SPECTRUM, N, problem

EXACT = Iterative(tolerance=1e-8, n_deflated=6)
CASES = {
    "repeated": problem(Matern(SPECTRUM, 1.5, 5.0, variance=0.7), REPEATED, outputs=2),
    "two relations and covariates": problem(
        PLAIN + Diffusion(Spectrum.of(OTHER), 3.0) + Linear(COVARIATES, [0.5, 1.0, 2.0])
    ),
    "multiplied": problem(Matern(SPECTRUM, 3.0, 4.0, normalise=False) + Bernstein(SPECTRUM, 3) * Linear(COVARIATES)),
}


def covariance_of(model, observations):
    """Return C, the covariance of the merged measurements."""
    sites = observations.sites(model.noise_variance)
    return model.kernel.gram(observations.rows, observations.rows) + np.diag(sites.variance)


def average_information(case):
    """q_i' C^-1 q_j / 2 summed over outputs, with the derivatives of C by differences and those of the mean doubled."""
    model, observations = case.model(), case.observations()
    theta, step = parameters.pack(model), 1e-5
    C = covariance_of(model, observations)
    alpha = np.linalg.solve(C, observations.mean - model.mean)
    images = []
    for unit in np.eye(len(theta)):
        ahead, behind = (parameters.unpack(model, theta + sign * step * unit) for sign in (1, -1))
        dC = (covariance_of(ahead, observations) - covariance_of(behind, observations)) / (2 * step)
        images.append(dC @ alpha + np.sqrt(2) * (ahead.mean - behind.mean) / (2 * step))
    q = np.stack(images)  # (p, n, L)
    solved = np.stack([np.linalg.solve(C, image) for image in images])
    return 0.5 * np.einsum("pal,qal->pq", q, solved)


def linear_curvature(case):
    """Second derivatives of alpha' C alpha / 2 - tr(C_0^-1 C) / 2 and of the other terms, alpha and C_0 held fixed."""
    model, observations = case.model(), case.observations()
    theta, step = parameters.pack(model), 1e-3
    C = covariance_of(model, observations)
    alpha = np.linalg.solve(C, observations.mean - case.mean)
    weight = alpha @ alpha.T - alpha.shape[1] * np.linalg.inv(C)

    def linear(there):
        moved = parameters.unpack(model, there)
        offset = observations.sites(moved.noise_variance).log_offset
        return 0.5 * (weight * covariance_of(moved, observations)).sum() + alpha.sum(axis=0) @ moved.mean + offset

    def slopes(there):
        return oracles.central_differences(linear, there, step=step)

    return np.array([(slopes(theta + step * e) - slopes(theta - step * e)) / (2 * step) for e in np.eye(len(theta))])


@pytest.mark.parametrize("name", CASES)
def test_around_a_point_the_model_has_the_dense_gradient_and_the_average_information(name):
    case = CASES[name]
    model = case.model()
    theta = parameters.pack(model)
    local = case.objective(EXACT).local_model(model)
    gain, slope = local.gain(theta)
    assert gain == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(slope, local.gradient, rtol=1e-9, atol=1e-9)
    # What is linear in C curves as C does; the rest of the curvature is minus the average information.
    step = 1e-3
    curvature = np.array(
        [(local.gain(theta + step * e)[1] - local.gain(theta - step * e)[1]) / (2 * step) for e in np.eye(len(theta))]
    )
    _, gradient = case.objective("dense").value_and_gradient(model)
    assert np.allclose(local.gradient, gradient, rtol=1e-5, atol=1e-5 * np.abs(gradient).max())
    expected = linear_curvature(case) - average_information(case)
    assert np.allclose(curvature, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_away_from_the_point_slopes_of_the_gain_are_those_of_its_values(name):
    case = CASES[name]
    model = case.model()
    local = case.objective(EXACT).local_model(model)
    there = parameters.pack(model) + 0.2 * np.sin(np.arange(len(parameters.pack(model))))
    found = oracles.central_differences(lambda theta: local.gain(theta)[0], there)
    slope = local.gain(there)[1]
    assert np.allclose(slope, found, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_the_model_foresees_what_a_step_will_gain():
    """Drawn from the model itself, so that the average information is nearly the observed one."""
    rows = np.arange(0, N, 2)
    kernel = Matern(SPECTRUM, 1.5, 5.0)
    rng = np.random.default_rng(0)
    y = kernel.prior_draws(rows, 4, rng) + 0.5 * rng.standard_normal((len(rows), 4))
    case = problem(kernel, rows, outputs=4, noise=0.25)._replace(y=y, mean=np.zeros(4))
    theta = parameters.pack(case.model()) + 0.1
    model = parameters.unpack(case.model(), theta)
    local = case.objective(EXACT).local_model(model)
    dense = case.objective("dense")
    height = dense.value(model)
    assert local.value == pytest.approx(height, abs=1e-5)
    for direction in np.eye(len(theta))[:4]:
        for size in (-0.2, 0.2):
            there = theta + size * direction
            gained = dense.value(parameters.unpack(model, there)) - height
            assert abs(local.gain(there)[0] - gained) < 0.25 * abs(gained) + 0.1


def leading(case, n_deflated=8):
    objective = case.objective(Iterative(n_deflated=n_deflated))
    return objective, LeadingEvidence.of(objective.workspace, case.observations())


@pytest.mark.parametrize("name", ["plain", "several outputs", "two filters"])
def test_the_evidence_of_leading_eigenvectors_is_that_of_their_covariance(name):
    case = PROBLEMS[name]
    objective, evidence = leading(case)
    workspace, model = objective.workspace, case.model()
    background, gains = deflated(workspace.terms, model.kernel, workspace.subspace.values)
    Q = workspace.subspace.vectors[case.observations().rows].astype(float)
    d = float(case.noise + background)
    C = d * np.eye(len(Q)) + (Q * gains) @ Q.T
    y = case.observations().mean
    densities = [multivariate_normal(np.full(len(Q), m), C).logpdf(y[:, j]) for j, m in enumerate(case.mean)]
    of_share = -0.5 * np.log(background / d / 0.03) ** 2
    value, slope = evidence.value_and_gradient(model)
    assert value == pytest.approx(sum(densities) + of_share, rel=1e-6)
    found = oracles.central_differences(
        lambda theta: evidence.value_and_gradient(parameters.unpack(model, theta))[0], parameters.pack(model), step=1e-4
    )
    assert np.allclose(slope, found, rtol=1e-4, atol=1e-4)


def test_its_top_is_offered_as_a_start_where_there_is_one():
    objective, _ = leading(PROBLEMS["plain"])
    model = PROBLEMS["plain"].model()
    (start,) = objective.further_starts(model, ())
    limits = parameters.bounds(model)
    assert (start >= limits[:, 0]).all()
    assert (start <= limits[:, 1]).all()
    for case, n_deflated in ((PROBLEMS["different noise"], 8), (PROBLEMS["repeated"], 8), (PROBLEMS["plain"], 0)):
        objective, evidence = leading(case, n_deflated)
        assert evidence is None
        assert objective.further_starts(model, ()) == []


def test_priors_move_its_top():
    objective, evidence = leading(PROBLEMS["plain"])
    model = PROBLEMS["plain"].model()
    priors = match_priors(model, check_priors({"lengthscale": LogNormal(2.0, 0.01)}))
    (start,) = objective.further_starts(model, priors)
    assert parameters.unpack(model, start).kernel.lengthscale == pytest.approx(2.0, rel=0.02)
    assert evidence.highest(model, ())[1] != pytest.approx(np.log(2.0), rel=0.02)


def test_a_kernel_without_a_plain_filter_has_no_such_start():
    case = problem(Matern(SPECTRUM, 2.0, 4.0) * Linear(COVARIATES))
    objective, evidence = leading(case)
    assert evidence is None
    assert objective.further_starts(case.model(), ()) == []
