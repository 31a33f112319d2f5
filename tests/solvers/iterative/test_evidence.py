"""The estimated log evidence: unbiased as it is, and of few sites the dense one to many digits."""

import gc
import weakref

import numpy as np
import pytest

from hypergauss import parameters
from hypergauss.kernels import Bernstein, Diffusion, Linear, Matern
from hypergauss.learning.search import maximise
from hypergauss.operators import LaplacianOperator
from hypergauss.solvers import Iterative, learn, solver_for, spectral_evidence
from hypergauss.solvers.iterative import determinant
from hypergauss.solvers.iterative.evidence import IterativeEvidence
from hypergauss.solvers.iterative.system import FactorisedSystem, System, Workspace, evidence_system
from hypergauss.solvers.spectral_evidence import SpectralEvidence
from hypergauss.spectrum import Spectrum
from tests import oracles
from tests.solvers.iterative.problems import COVARIATES, OTHER, PLAIN, PROBLEMS, REPEATED, SPECTRUM, N, problem

EXACT = Iterative(tolerance=1e-10)
MODELS = {
    "repeated": problem(Matern(SPECTRUM, 1.5, 5.0, variance=0.7), REPEATED, outputs=2),
    "two relations and covariates": problem(
        PLAIN + Diffusion(Spectrum.of(OTHER), 3.0) + Linear(COVARIATES, [0.5, 1.0, 2.0])
    ),
    "multiplied": problem(Matern(SPECTRUM, 3.0, 4.0, normalise=False) + Bernstein(SPECTRUM, 3) * Linear(COVARIATES)),
}


def evaluate(case, solver):
    return case.objective(solver).value_and_gradient(case.model())


@pytest.mark.parametrize(
    ("name", "n_deflated"),
    [("repeated", 0), ("repeated", 6), ("two relations and covariates", 6), ("multiplied", 6)],
)
def test_of_few_sites_value_and_gradient_are_the_dense_ones(name, n_deflated):
    """The system is factorised, and the mean over probes of z z' is P itself: the control variate must vanish."""
    case = MODELS[name]
    objective = case.objective(EXACT._replace(n_deflated=n_deflated))
    value, gradient = objective.value_and_gradient(case.model())
    assert (objective.workspace.subspace is not None) == (n_deflated > 0)
    expected_value, expected = evaluate(case, "dense")
    assert value == pytest.approx(expected_value, abs=1e-5)
    assert np.allclose(gradient, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert objective.standard_error < 1e-6


@pytest.mark.parametrize("tolerance", [0.1, 1e-2, 1e-4])
def test_of_few_sites_what_polynomials_leave_is_within_what_is_reported(tolerance):
    """They err by a quarter of the tolerance at most, in each of the logarithms that are added up."""
    case = MODELS["repeated"]
    expected, _ = evaluate(case, "dense")
    objective = case.objective(Iterative(tolerance=tolerance, n_deflated=0))
    value, _ = objective.value_and_gradient(case.model())
    outputs, sites = case.y.shape[1], len(np.unique(case.rows))
    wanted = outputs * sites * tolerance / 8
    assert wanted * (1 - 1e-9) <= objective.standard_error < 3 * wanted  # more where single precision rounds more
    assert 0 < abs(value - expected) < objective.standard_error + 0.1 * tolerance * abs(expected)


@pytest.mark.parametrize(("n_probes", "is_factorised"), [(None, True), (50, True), (49, False)])
def test_a_system_is_factorised_where_there_are_no_more_sites_than_probes(n_probes, is_factorised):
    case = PROBLEMS["plain"]
    workspace = Workspace(case.kernel, Iterative(n_probes=n_probes))
    precision = np.zeros((N, 1))
    precision[case.rows] = 5.0
    system = evidence_system(workspace, case.kernel, precision)
    assert isinstance(system, FactorisedSystem) == is_factorised


def test_a_factorised_system_solves_as_conjugate_gradients_do():
    case = PROBLEMS["different noise"]
    workspace = Workspace(case.kernel, Iterative())
    precision = np.zeros((N, 1))
    precision[case.rows, 0] = 1 / case.noise
    rhs = np.random.default_rng(0).standard_normal((N, 3))
    factorised, iterated = (kind(workspace, case.kernel, precision, 1e-9) for kind in (FactorisedSystem, System))
    assert np.allclose(factorised.solve(rhs).x, iterated.solve(rhs).x, atol=1e-7)
    root = np.sqrt(precision)
    expected = np.linalg.slogdet(np.eye(N) + root * case.covariance * root.T)[1]
    assert factorised.log_det() == pytest.approx(expected, abs=factorised.log_det_bound)


def test_what_a_geometric_series_is_missing():
    terms = 3.0 * 0.2 ** np.arange(8)
    latest = np.cumsum(terms)[::-1]
    limit = 3.0 / 0.8
    assert determinant._missing(list(latest[:3])) == pytest.approx(limit - latest[0], rel=1e-6)
    assert determinant._missing([1.0, 0.5, 0.5]) == 0.5  # nothing shows how fast it converges


def test_of_few_sites_finite_differences_agree():
    case = MODELS["repeated"]
    model = case.model()
    objective = case.objective(EXACT._replace(n_deflated=0))
    _, gradient = objective.value_and_gradient(model)
    found = oracles.central_differences(
        lambda theta: objective.value_and_gradient(parameters.unpack(model, theta))[0],
        parameters.pack(model),
        step=1e-3,
    )
    assert np.allclose(gradient, found, rtol=1e-3, atol=1e-3)


def test_the_gradient_from_few_probes_is_unbiased():
    case, seeds = MODELS["repeated"], 12
    _, expected = evaluate(case, "dense")
    found = np.array([evaluate(case, Iterative(n_probes=8, seed=s))[1] for s in range(seeds)])
    error = found.std(axis=0, ddof=1) / np.sqrt(seeds)
    assert (np.abs(found.mean(axis=0) - expected) < 4 * error + 1e-3 * np.abs(expected)).all()


def test_the_control_variate_leaves_little_to_estimate():
    """With P close to B, the gradient varies far less between probes than the trace alone would."""
    case = PROBLEMS["ill-conditioned"]._replace(noise=0.1)

    def spread(n_deflated):
        settings = [Iterative(n_probes=8, n_deflated=n_deflated, seed=s) for s in range(4)]
        return np.std([evaluate(case, options)[1] for options in settings], axis=0).max()

    assert spread(64) < 0.3 * spread(0)


def test_the_log_determinant_of_scaled_signs_has_no_bias_at_few_vertices():
    """All sign vectors of a system of few sites: the mean over pairs of probes is the log determinant itself."""
    case = problem(PLAIN, [3, 50, 90], noise=np.array([0.01, 0.1, 1.0]))
    workspace = Workspace(case.kernel, Iterative(n_probes=2, n_deflated=2, probe_tolerance=1e-10))
    workspace.find_subspace()
    rank = len(workspace.subspace.values)
    precision = np.zeros((N, 1))
    precision[case.rows, 0] = 1 / case.noise
    K = case.covariance[np.ix_(case.rows, case.rows)]
    expected = np.linalg.slogdet(np.eye(3) + np.sqrt(np.outer(1 / case.noise, 1 / case.noise)) * K)[1]
    total = 3 + rank
    # Signs that differ by a common factor give the same: half of them is all of them.
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * (total - 1))).reshape(total - 1, -1)
    signs = np.vstack([np.ones(signs.shape[1]), signs])
    outer = np.zeros((N, signs.shape[1]))
    outer[case.rows] = signs[:3]
    system = System(workspace, case.kernel, precision, 1e-10)
    by_pair = []
    with pytest.MonkeyPatch.context() as patch:
        count = signs.shape[1]
        for shift in range(count):  # each vector with each, so that the two are independent
            pick = (np.arange(count) + shift) % count
            for first, second in zip(range(count), pick, strict=True):
                both = [first, second]
                patch.setattr(LaplacianOperator, "signs", lambda self, size, rng, both=both: outer[:, both])
                patch.setattr(determinant, "random_signs", lambda shape, rng, both=both: signs[3:, both])
                by_pair.append(determinant.log_determinant(system).value)
    assert np.mean(by_pair) == pytest.approx(expected, abs=1e-7)


ALL = np.arange(N)
MEASURED = {
    "matern": problem(Matern(SPECTRUM, 1.5, 5.0), ALL, outputs=2),
    "graph": problem(Matern(Spectrum.of(OTHER.clique_expansion()), 1.5, 3.0), ALL),
}


@pytest.mark.parametrize("case", MEASURED.values(), ids=MEASURED.keys())
def test_with_every_vertex_measured_two_quadratures_are_the_dense_log_evidence(monkeypatch, case):
    monkeypatch.setattr(spectral_evidence, "_PROBES", N)
    monkeypatch.setattr(spectral_evidence, "_STEPS", N)
    monkeypatch.setattr(LaplacianOperator, "signs", lambda self, size, rng: np.sqrt(N) * np.eye(N))
    assert isinstance(case.objective("iterative"), SpectralEvidence)
    value, gradient = evaluate(case, "iterative")
    expected_value, expected = evaluate(case, "dense")
    assert value == pytest.approx(expected_value, rel=1e-8)
    assert np.allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_with_every_vertex_measured_signs_give_the_log_evidence_to_their_error():
    case = MEASURED["matern"]
    found = [evaluate(case, Iterative(seed=s))[0] for s in range(12)]
    error = np.std(found, ddof=1) / np.sqrt(12)
    assert abs(np.mean(found) - case.log_evidence()) < 4 * error
    assert np.std(found) < 10.0


@pytest.mark.parametrize(
    "case",
    [PROBLEMS["plain"], PROBLEMS["covariates added"], problem(PLAIN, ALL, noise=np.full(N, 0.2))],
    ids=["not all measured", "not one filter", "known noise"],
)
def test_where_quadratures_do_not_serve_the_log_evidence_is_estimated(case):
    assert not SpectralEvidence.applies(case.kernel, case.observations())
    assert isinstance(case.objective("iterative"), IterativeEvidence)


@pytest.mark.parametrize("case", MEASURED.values(), ids=MEASURED.keys())
def test_the_gradient_by_quadratures_is_that_of_their_value(case):
    objective, model = case.objective("iterative"), case.model()
    found = oracles.central_differences(
        lambda theta: objective.value(parameters.unpack(model, theta)), parameters.pack(model)
    )
    assert np.allclose(objective.value_and_gradient(model)[1], found, rtol=1e-6, atol=1e-6)


def drawn_problem():
    rows = np.arange(0, N, 2)
    case = problem(Matern(SPECTRUM, 1.5, 5.0), rows, outputs=6)
    f = case.kernel.prior_draws(rows, 6, np.random.default_rng(2))
    return case._replace(y=f + 0.5 * np.random.default_rng(3).standard_normal(f.shape), mean=np.zeros(6))


def test_learning_without_chance_finds_the_hyperparameters_of_the_dense_solver():
    case = drawn_problem()
    found, exact = (
        learn(case.model(), case.observations(), solver=solver, n_starts=1) for solver in (Iterative(), "dense")
    )
    assert found.converged
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-3)
    for name, value in parameters.values(exact.model).items():
        if name != "mean":
            assert parameters.values(found.model)[name] == pytest.approx(value, rel=0.02), name


def test_learning_with_few_probes_ends_near_the_top_of_the_dense_log_evidence():
    case = drawn_problem()
    few = Iterative(n_probes=16)
    found, exact = (learn(case.model(), case.observations(), solver=s, n_starts=1) for s in (few, "dense"))
    assert found.converged
    height = case.objective("dense").value(found.model)
    assert exact.log_evidence - 0.5 < height <= exact.log_evidence + 1e-6


def test_fits_that_are_gone_leave_no_operator_behind():
    case = drawn_problem()
    observations = case.observations()

    def fit(seed):
        solver = solver_for(case.kernel, observations.rows, Iterative(n_probes=8, seed=seed))
        learned = maximise(solver.objective(observations), case.model(), n_starts=1, max_iterations=1)
        posterior = solver.posterior(learned.model.prior(), observations.sites(learned.model.noise_variance))
        posterior.variance(ALL)
        kinds = [solver.workspace.terms, solver.workspace._in_single()]
        return posterior, [weakref.ref(operator) for terms in kinds for operator in terms.operators]

    fits = [fit(seed) for seed in range(2)]
    operators = [operator for _, kept in fits for operator in kept]
    assert all(isinstance(operator(), LaplacianOperator) for operator in operators)
    del fits
    gc.collect()
    assert [operator() for operator in operators] == [None] * 4
