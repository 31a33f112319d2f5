"""The average information and the model of the evidence around a point, against dense algebra."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hypergauss import LogNormal, Spectrum, parameters
from hypergauss.inference import GaussianModel, Iterative
from hypergauss.inference.gaussian import EvidenceObjective
from hypergauss.solvers.iterative.evidence import IterativeEvidence
from hypergauss.solvers.iterative.leading_evidence import LeadingEvidence
from hypergauss.learning.priors import check_priors, match_priors
from hypergauss.kernels import Bernstein, Diffusion, Linear, Matern
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


def model_of(case):
    """Return the model; where noise is known, that of the model is not used."""
    noise = case.noise if np.ndim(case.noise) == 0 else 1.0
    return GaussianModel(case.kernel, parameters.as_array(noise), parameters.as_array(case.mean))


def average_information(case):
    """q_i' C^-1 q_j / 2 summed over outputs, with the derivatives of C by JAX and those of the mean doubled."""
    model = model_of(case)
    observations = case.observations()

    def parts(theta):
        moved = parameters.unpack(model, theta)
        sites = observations.sites(moved.noise_variance)
        K = moved.kernel.gram()[jnp.ix_(observations.rows, observations.rows)]
        return K + jnp.diag(sites.variance), moved.mean

    theta = parameters.pack(model)
    C, mean = parts(theta)
    dC, dmean = jax.jit(jax.jacfwd(parts))(theta)
    alpha = np.linalg.solve(C, observations.mean - np.asarray(mean))
    q = np.einsum("abp,bl->apl", dC, alpha) + np.sqrt(2) * np.asarray(dmean).T[None]
    flat = q.transpose(0, 2, 1)  # (n, L, p)
    solved = np.linalg.solve(C, flat.reshape(len(C), -1)).reshape(flat.shape)
    return 0.5 * np.einsum("alp,alq->pq", flat, solved)


@pytest.mark.parametrize("name", CASES)
def test_around_a_point_the_model_has_the_dense_gradient_and_the_average_information(name):
    case = CASES[name]
    model = model_of(case)
    theta = np.asarray(parameters.pack(model))
    local = IterativeEvidence(model, case.observations(), EXACT).local_model(theta, ())
    gain, slope = local.gain(theta)
    assert gain == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(slope, local.gradient, rtol=1e-9, atol=1e-9)
    # What is linear in C curves as C does; the rest of the curvature is minus the average information.
    step = 1e-3
    curvature = np.array(
        [(local.gain(theta + step * e)[1] - local.gain(theta - step * e)[1]) / (2 * step) for e in np.eye(len(theta))]
    )
    dense = EvidenceObjective(model, case.observations(), "dense")
    _, gradient = dense.value_and_gradient(theta, ())
    assert np.allclose(local.gradient, gradient, rtol=1e-5, atol=1e-5 * np.abs(gradient).max())
    expected = linear_curvature(case, theta) - average_information(case)
    assert np.allclose(curvature, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def linear_curvature(case, theta):
    """Second derivatives of alpha' C alpha / 2 - tr(C_0^-1 C) / 2 and of the other terms, alpha and C_0 held fixed."""
    model = model_of(case)
    observations = case.observations()
    rows = jnp.ix_(observations.rows, observations.rows)

    def covariance(theta):
        moved = parameters.unpack(model, theta)
        return moved.kernel.gram()[rows] + jnp.diag(observations.sites(moved.noise_variance).variance)

    C = np.asarray(covariance(theta))
    alpha = np.linalg.solve(C, observations.mean - np.asarray(case.mean))
    weight = alpha @ alpha.T - alpha.shape[1] * np.linalg.inv(C)

    def linear(theta):
        moved = parameters.unpack(model, theta)
        offset = observations.sites(moved.noise_variance).log_offset
        return 0.5 * (weight * covariance(theta)).sum() + jnp.asarray(alpha.sum(axis=0)) @ moved.mean + offset

    return np.asarray(jax.jit(jax.hessian(linear))(theta))


def test_the_model_foresees_what_a_step_will_gain():
    """Drawn from the model itself, so that the average information is nearly the observed one."""
    rows = np.arange(0, N, 2)
    kernel = Matern(SPECTRUM, 1.5, 5.0)
    rng = np.random.default_rng(0)
    y = kernel.prior_draws(rows, 4, rng) + 0.5 * rng.standard_normal((len(rows), 4))
    case = problem(kernel, rows, outputs=4, noise=0.25)._replace(y=y, mean=np.zeros(4))
    model = model_of(case)
    theta = np.asarray(parameters.pack(model)) + 0.1
    local = IterativeEvidence(model, case.observations(), EXACT).local_model(theta, ())
    dense = EvidenceObjective(model, case.observations(), "dense")
    height = dense.value(theta, ())
    assert local.value == pytest.approx(height, abs=1e-5)
    for direction in np.eye(len(theta))[:4]:
        for size in (-0.2, 0.2):
            there = theta + size * direction
            gained = dense.value(there, ()) - height
            assert abs(local.gain(there)[0] - gained) < 0.25 * abs(gained) + 0.1


def test_priors_are_part_of_the_model():
    case = PROBLEMS["plain"]
    model = model_of(case)
    priors = match_priors(model, check_priors({"lengthscale": LogNormal(2.0, 0.3)}))
    theta = np.asarray(parameters.pack(model))
    objective = IterativeEvidence(model, case.observations(), EXACT)
    plain, held = (objective.local_model(theta, chosen) for chosen in ((), priors))
    there = theta + np.array([0.0, 0.0, -0.5, 0.0, 0.0])
    log_prior = [float(np.squeeze(-0.5 * ((t[2] - np.log(2.0)) / 0.3) ** 2)) for t in (theta, there)]
    assert held.gain(there)[0] - plain.gain(there)[0] == pytest.approx(log_prior[1] - log_prior[0], rel=1e-6)


def leading(case, n_deflated=8):
    model = model_of(case)
    objective = IterativeEvidence(model, case.observations(), Iterative(n_deflated=n_deflated))
    return objective, LeadingEvidence.of(model, case.observations(), objective.workspace, ())


@pytest.mark.parametrize("name", ["plain", "several outputs", "two filters"])
def test_the_evidence_of_leading_eigenvectors_is_that_of_their_covariance(name):
    case = PROBLEMS[name]
    objective, evidence = leading(case)
    workspace, model = objective.workspace, model_of(case)
    background, gains = workspace.structure.skeleton.deflated(model.kernel, jnp.asarray(workspace.subspace.values))
    Q = np.asarray(workspace.subspace.vectors)[case.observations().rows].astype(float)
    d = float(case.noise + background)
    C = d * np.eye(len(Q)) + (Q * np.asarray(gains)) @ Q.T
    y = case.observations().mean
    densities = [multivariate_normal(np.full(len(Q), m), C).logpdf(y[:, j]) for j, m in enumerate(case.mean)]
    of_share = -0.5 * np.log(float(background) / d / 0.03) ** 2
    theta = jnp.asarray(parameters.pack(model))
    assert float(evidence.log_evidence(theta)) == pytest.approx(sum(densities) + of_share, rel=1e-6)
    slope = jax.jit(jax.grad(evidence.log_evidence))(theta)
    found = oracles.central_differences(
        lambda t: float(evidence.log_evidence(jnp.asarray(t))), np.asarray(theta), step=1e-4
    )
    assert np.allclose(slope, found, rtol=1e-4, atol=1e-4)


def test_its_top_is_offered_as_a_start_where_there_is_one():
    objective, _ = leading(PROBLEMS["plain"])
    theta = np.asarray(parameters.pack(objective.model))
    (start,) = objective.further_starts(theta, ())
    limits = parameters.bounds(objective.model)
    assert (start >= limits[:, 0]).all()
    assert (start <= limits[:, 1]).all()
    for case, n_deflated in ((PROBLEMS["different noise"], 8), (PROBLEMS["repeated"], 8), (PROBLEMS["plain"], 0)):
        objective, evidence = leading(case, n_deflated)
        assert evidence is None
        assert objective.further_starts(theta, ()) == []


def test_a_kernel_without_a_plain_filter_has_no_such_start():
    case = problem(Matern(SPECTRUM, 2.0, 4.0) * Linear(COVARIATES))
    objective, evidence = leading(case)
    assert evidence is None
    assert objective.further_starts(np.asarray(parameters.pack(objective.model)), ()) == []
