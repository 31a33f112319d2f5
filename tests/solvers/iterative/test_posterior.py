"""The iterative posterior is the dense one: means and covariances to the tolerance, the rest within its own error."""

import numpy as np
import pytest
from scipy.stats import chi2

from hypergauss.exceptions import ConvergenceError, NumericalError
from hypergauss.kernels import Diffusion, Linear, Matern, SquaredExponential
from hypergauss.solvers import Iterative, Prior, Sites, condition
from hypergauss.solvers.iterative.system import System
from hypergauss.spectrum import Spectrum
from tests import oracles
from tests.solvers.iterative.problems import (
    COVARIATES,
    OTHER,
    PLAIN,
    PROBLEMS,
    ROWS,
    SPECTRUM,
    H,
    N,
    different_noise,
    problem,
)

EVERYTHING = np.arange(N)
every_problem = pytest.mark.parametrize("case", PROBLEMS.values(), ids=PROBLEMS.keys())


@every_problem
def test_means_covariances_and_weights_are_the_dense_ones_to_the_tolerance(case):
    mean, covariance = case.exact()
    posterior = case.posterior("iterative")
    error = np.linalg.norm(posterior.mean(EVERYTHING) - mean) / np.linalg.norm(mean - case.mean)
    assert error < 1e-6
    rows = np.array([3, case.rows[0], 3, 88, 61])
    scale = np.diag(case.covariance).max()  # errors are relative to the prior's variance, those of variances far less
    assert np.allclose(posterior.covariance(rows), covariance[np.ix_(rows, rows)], atol=1e-6 * scale)
    assert np.allclose(posterior.variance(rows), np.diag(covariance)[rows], rtol=1e-5, atol=1e-10 * scale)
    dense = case.posterior("dense")
    weights = dense.observation_weights(rows)
    assert np.allclose(posterior.observation_weights(rows), weights, atol=1e-5 * np.abs(weights).max())
    dual = dense.dual_weights()
    assert np.allclose(posterior.dual_weights(), dual, atol=1e-5 * np.abs(dual).max())


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_a_tolerance_is_met_and_a_looser_one_is_cheaper(tolerance):
    case = PROBLEMS["steep"]
    mean, _ = case.exact()
    posterior = case.posterior(Iterative(tolerance))
    error = np.linalg.norm(posterior.mean(EVERYTHING) - mean) / np.linalg.norm(mean - case.mean)
    assert error < tolerance
    finer = case.posterior(Iterative(tolerance / 100))
    finer.mean(EVERYTHING)
    assert posterior.num_products < finer.num_products


@pytest.mark.parametrize("name", ["plain", "different noise", "several outputs", "covariates added", "steep"])
def test_leave_one_out_is_the_dense_one_where_sites_are_few(name):
    case = PROBLEMS[name]
    found, expected = (case.posterior(solver).leave_one_out() for solver in ("iterative", "dense"))
    assert np.allclose(found.mean, expected.mean, atol=1e-5)
    assert np.allclose(found.variance, expected.variance, rtol=1e-5)


def test_leave_one_out_of_many_sites_is_within_the_error_of_its_draws():
    """Noise from far below to far above what the other vertices leave open: no site may come out absurd."""
    case = problem(PLAIN, EVERYTHING, noise=np.geomspace(1e-3, 100.0, N)[np.random.default_rng(1).permutation(N)])
    expected = case.posterior("dense").leave_one_out()
    found = case.posterior(Iterative(n_samples=100)).leave_one_out()
    ratio = found.variance / expected.variance
    # The smaller share of s q + v / s = 1 has a relative error of about (2 / 100)^1/2 = 0.14, the larger one less.
    assert 0.55 < ratio.min() < ratio.max() < 1.8
    assert ratio.mean() == pytest.approx(1.0, abs=0.06)
    assert np.std(ratio) < 0.16
    scores = (found.mean - expected.mean)[:, 0] / np.sqrt(expected.variance)
    assert np.abs(scores).max() < 1.0


@pytest.mark.parametrize("name", ["different noise", "two relations", "covariates multiplied"])
def test_variances_from_draws_are_chi_square_around_the_dense_ones(name):
    """n v^/v is chi-square with n degrees of freedom at each vertex; over seeds the deviations average out."""
    case, n = PROBLEMS[name], 50
    truth = np.diag(case.exact()[1])
    ratios = np.array([case.posterior(Iterative(n_samples=n, seed=s)).variance(EVERYTHING) / truth for s in range(4)])
    low, high = chi2.ppf([1e-6, 1 - 1e-6], n) / n
    assert low < ratios.min() < ratios.max() < high
    assert ratios.mean() == pytest.approx(1.0, abs=0.06)
    assert ratios.std() == pytest.approx(np.sqrt(2 / n), rel=0.25)


def test_joint_draws_have_the_posteriors_covariance():
    case, size = PROBLEMS["covariates added"], 400
    mean, covariance = case.exact()
    rows = np.array([3, case.rows[0], 61, 3])
    draws = case.posterior("iterative").sample(rows, size, np.random.default_rng(0))
    assert draws.shape == (size, 4, 2)
    assert np.array_equal(draws[:, 0], draws[:, 3])
    expected = covariance[np.ix_(rows, rows)]
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / size)
    for output in range(2):
        centred = draws[:, :, output] - mean[rows, output]
        assert np.abs((centred.T @ centred / size - expected) / spread).max() < 4.5
        assert np.abs(centred.mean(axis=0) / np.sqrt(np.diag(expected) / size)).max() < 4.5
    across = (draws[:, :, 0] - mean[rows, 0]).T @ (draws[:, :, 1] - mean[rows, 1]) / size
    assert np.abs(across / np.sqrt(np.outer(np.diag(expected), np.diag(expected)) / size)).max() < 4.5


@pytest.mark.parametrize("name", ["several outputs", "repeated, different noise", "steep", "two relations"])
def test_the_log_evidence_is_within_its_standard_error_and_unbiased(name):
    case, seeds = PROBLEMS[name], 10
    expected = case.log_evidence()
    found = [case.posterior(Iterative(n_probes=16, seed=s)).log_evidence_estimate for s in range(seeds)]
    errors = np.array([estimate.value - expected for estimate in found])
    scores = errors / [estimate.standard_error for estimate in found]
    assert np.abs(scores).max() < 4.5
    assert abs(errors.mean()) < 4 * errors.std(ddof=1) / np.sqrt(seeds)
    assert 0.5 < scores.std() < 1.7


def test_eigenvectors_of_a_steep_filter_make_it_nearly_certain():
    case = PROBLEMS["ill-conditioned"]
    with_them, without = (case.posterior(Iterative(n_probes=32, n_deflated=k)).log_evidence_estimate for k in (64, 0))
    expected = case.log_evidence()
    assert abs(with_them.value - expected) < 4 * with_them.standard_error
    assert abs(without.value - expected) < 4 * without.standard_error
    assert with_them.standard_error < 0.5 * without.standard_error


@pytest.mark.parametrize("n_deflated", [0, 5, 64])
def test_an_ill_conditioned_system_is_solved_with_and_without_eigenvectors(n_deflated):
    case = PROBLEMS["ill-conditioned"]
    posterior = case.posterior(Iterative(n_deflated=n_deflated))
    posterior.workspace.find_subspace()
    mean, _ = case.exact()
    error = np.linalg.norm(posterior.mean(EVERYTHING) - mean) / np.linalg.norm(mean - case.mean)
    assert error < 1e-6


def test_iterations_that_do_not_converge_are_an_error_with_residual_and_causes():
    case = PROBLEMS["ill-conditioned"]
    posterior = case.posterior(Iterative(max_iterations=3, n_deflated=0))
    message = r"stopped after 3 iterations at a relative residual of .*not 1.0e-07. Likely causes: a noise variance"
    with pytest.raises(ConvergenceError, match=message):
        posterior.mean(EVERYTHING)
    with pytest.raises(NumericalError, match="n_deflated"):
        posterior.covariance(np.array([0]))


def test_a_residual_that_rounding_has_carried_away_is_an_error():
    """Noise so small beside the kernel's variance that no residual of 1e-11 can be had in double precision."""
    case = problem(Matern(SPECTRUM, 20, 12.0), noise=1e-9)
    with pytest.raises(ConvergenceError, match="condition number may be as large as"):
        case.posterior(Iterative(1e-10, max_iterations=4000)).mean(EVERYTHING)


@pytest.mark.parametrize("name", ["tolerance", "sample_tolerance", "learning_tolerance", "probe_tolerance"])
@pytest.mark.parametrize("value", [1e-11, 0.0, -1.0, 1.0, np.nan])
def test_tolerances_that_double_precision_cannot_tell_are_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        PROBLEMS["plain"].posterior(Iterative(**{name: value}))


@pytest.mark.parametrize(
    ("settings", "match"),
    [({"n_samples": 1}, "n_samples"), ({"n_probes": 1}, "n_probes"), ({"n_deflated": -1}, "n_def")],
)
def test_numbers_that_make_no_sense_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        PROBLEMS["plain"].posterior(Iterative(**settings))


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (SquaredExponential(COVARIATES), "takes covariates through features. Got SquaredExponential"),
        (PLAIN + SquaredExponential(COVARIATES), "Use `Linear` on columns of your own"),
        (PLAIN * SquaredExponential(COVARIATES), "Got SquaredExponential, which has none"),
        (Linear(COVARIATES), "needs a kernel with a hypergraph in it"),
        (PLAIN * Diffusion(SPECTRUM), "takes covariates through features. Got Diffusion"),
        (PLAIN * (Linear(COVARIATES) + Matern(Spectrum.of(OTHER))), "one that features tell in full"),
        ((PLAIN + Diffusion(SPECTRUM)) * Linear(COVARIATES), "Got a product of Sum and Linear"),
    ],
)
def test_kernels_that_products_cannot_serve_are_refused_in_words(kernel, match):
    with pytest.raises(ValueError, match=match):
        problem(kernel).posterior("iterative")


def test_sites_of_negative_precision_are_refused():
    sites = Sites(np.arange(3), np.ones((3, 1)), np.array([1.0, -2.0, 1.0]))
    with pytest.raises(ValueError, match="needs sites with positive variances"):
        condition(Prior(PLAIN, np.zeros(1)), sites, "iterative")


def test_a_site_may_say_nothing():
    """Variance infinite, precision zero: as if the vertex were not observed."""
    rows, y = np.array([4, 9, 30]), np.array([[1.0], [5.0], [-1.0]])
    with_it = condition(Prior(PLAIN, np.zeros(1)), Sites(rows, y, np.array([0.1, np.inf, 0.1])), "iterative")
    without = condition(Prior(PLAIN, np.zeros(1)), Sites(rows[::2], y[::2], np.array([0.1, 0.1])), "iterative")
    assert np.allclose(with_it.mean(EVERYTHING), without.mean(EVERYTHING), atol=1e-12)


def test_loose_systems_multiply_in_single_precision_and_every_product_is_counted():
    posterior = PROBLEMS["plain"].posterior("iterative")
    workspace = posterior.workspace
    loose, tight = (System(workspace, PLAIN, posterior._precision, t) for t in (1e-2, 1e-7))
    assert {term.operator.precision for term in loose.covariance.terms.spectral} == {np.finfo(np.float32).eps}
    assert {term.operator.precision for term in tight.covariance.terms.spectral} == {np.finfo(np.float64).eps}
    before = posterior.num_products
    X = np.random.default_rng(0).standard_normal((N, 3))
    expected = X + np.sqrt(posterior._precision) * (PLAIN.gram() @ (np.sqrt(posterior._precision) * X))
    assert np.allclose(tight.product(X), expected, atol=1e-6)
    assert np.allclose(loose.product(X), expected, rtol=0, atol=1e-2 * np.abs(expected).max())
    assert posterior.num_products - before == 3 * (tight.covariance.degree + loose.covariance.degree)
    workspace.find_subspace()
    assert posterior.num_products - before > 3 * (tight.covariance.degree + loose.covariance.degree)


@pytest.mark.parametrize("name", ["plain", "different noise", "covariates added", "covariates multiplied", "graph"])
def test_the_condition_number_and_the_error_of_the_covariance_are_bounded(name):
    case = PROBLEMS[name]
    posterior = case.posterior("iterative")
    system = posterior._system
    w = posterior._precision[:, 0]
    B = np.eye(N) + np.sqrt(np.outer(w, w)) * case.covariance
    assert np.linalg.eigvalsh(B).max() <= system.condition * (1 + 1e-9)
    error = np.linalg.norm(system.covariance @ np.eye(N) - case.covariance, 2)
    assert error <= 1e-7 / (4 * system.condition) * system.covariance.largest() + 1e-12 * system.covariance.largest()


def test_a_truncated_spectrum_is_solved_with_the_whole_filter_and_its_own_normalisation():
    """Nothing is truncated but the mean diagonal, so the answer lies within the bound that the kernel reports."""
    kernel = Matern(Spectrum.of(H, rank=25), 1.5, 5.0)
    truncated, exact = problem(kernel), problem(Matern(SPECTRUM, 1.5, 5.0))
    phi = oracles.filtered(SPECTRUM.laplacian(), lambda x: kernel.filter(np.clip(x, 0.0, 1.0)))
    K = float(kernel.density().scale) * phi
    mean, _ = oracles.posterior(K, truncated.rows, truncated.y, truncated.noise, truncated.mean)
    assert np.allclose(truncated.posterior("iterative").mean(EVERYTHING), mean, atol=1e-6)
    assert 0 < np.linalg.norm(K - exact.covariance, 2) <= kernel.error_bound()


def test_answers_are_those_of_the_matrix_free_kernel():
    """The same solver on products alone: its kernel differs from the exact one by a factor only."""
    free = Matern(Spectrum.matrix_free(H), 1.5, 5.0)
    factor = float(free.density().scale / PLAIN.density().scale)
    found, expected = problem(free), problem(PLAIN.scaled(factor))
    assert np.allclose(found.posterior("auto").mean(EVERYTHING), expected.exact()[0], atol=1e-6)


def test_nothing_asked_gives_nothing():
    posterior = problem(PLAIN, noise=different_noise(ROWS)).posterior("iterative")
    nothing = np.zeros(0, dtype=int)
    assert posterior.covariance(nothing).shape == (0, 0)
    assert posterior.observation_weights(nothing).shape == (0, 50)
    assert posterior.sample(nothing, 3, np.random.default_rng(0)).shape == (3, 0, 1)
