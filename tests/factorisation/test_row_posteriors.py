"""One row given its ratings: dense formulas, quadrature and a long chain say the same."""

import numpy as np
from scipy.stats import norm

from hypergauss.factorisation.grades import truncated_normal
from hypergauss.factorisation.row_posteriors import RowPosterior, Sites, condition, propagate
from hypergauss.factorisation.row_priors import RowPrior

RNG = np.random.default_rng(0)
S, N, K = 3, 5, 2
PRIOR = RowPrior(RNG.standard_normal((S, K)), RNG.random((S, K)) + 0.2)
Z = RNG.standard_normal((S, N, K))
NOISE = RNG.random((S, N)) + 0.5


def test_the_posterior_is_that_of_bayesian_regression():
    sites = Sites(Z, RNG.standard_normal((S, N)), RNG.random((S, N)) + 0.5)
    found = condition(PRIOR, sites)
    for s in range(S):
        precision = np.diag(1 / PRIOR.variance[s]) + Z[s].T @ np.diag(sites.t[s]) @ Z[s]
        linear = PRIOR.mean[s] / PRIOR.variance[s] + Z[s].T @ (sites.t[s] * sites.y[s])
        assert np.allclose(found.covariance[s], np.linalg.inv(precision))
        assert np.allclose(found.mean[s], np.linalg.solve(precision, linear))


def test_a_column_without_variance_stays_where_it_is():
    prior = RowPrior(PRIOR.mean, PRIOR.variance * [0.0, 1.0])
    found = condition(prior, Sites(Z, np.ones((S, N)), np.ones((S, N))))
    assert np.array_equal(found.mean[:, 0], prior.mean[:, 0])
    assert np.allclose(found.draw(np.random.default_rng(0))[:, 0], prior.mean[:, 0], atol=1e-12)


def test_draws_of_a_row_have_its_moments():
    covariance = np.array([[1.0, 0.6], [0.6, 0.5]])
    many = RowPosterior(np.tile([1.0, -2.0], (40_000, 1)), np.tile(covariance, (40_000, 1, 1)))
    drawn = many.draw(np.random.default_rng(0))
    assert np.allclose(drawn.mean(axis=0), [1.0, -2.0], atol=0.02)
    assert np.allclose(np.cov(drawn.T), covariance, atol=0.03)


def _graded():
    thresholds = np.array([-np.inf, -0.7, 0.4, 1.5, np.inf])
    label = np.array([3, 0, 2, 1, 3])
    offset = 0.3 * RNG.standard_normal((S, N))
    low, high = (np.tile(thresholds[label + end], (S, 1)) for end in (0, 1))
    return offset, low, high


def test_grades_are_conditioned_on_as_quadrature_does():
    offset, low, high = _graded()
    found = condition(PRIOR, propagate(PRIOR, Z, offset, low, high, NOISE))
    axis = np.linspace(-7, 7, 701)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, K)
    for s in range(S):
        eta = offset[s] + grid @ Z[s].T
        root = np.sqrt(NOISE[s])
        log_p = np.log(norm.cdf((high[s] - eta) / root) - norm.cdf((low[s] - eta) / root) + 1e-300).sum(axis=1)
        log_p += norm.logpdf(grid, PRIOR.mean[s], np.sqrt(PRIOR.variance[s])).sum(axis=1)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        mean = p @ grid
        covariance = (grid - mean).T @ ((grid - mean) * p[:, None])
        spread = np.sqrt(np.diag(covariance))
        assert np.all(np.abs(found.mean[s] - mean) < 0.02 * spread)
        assert np.allclose(found.covariance[s], covariance, atol=0.02 * spread.max() ** 2)


def test_grades_are_conditioned_on_as_the_sampler_does():
    offset, low, high = _graded()
    found = condition(PRIOR, propagate(PRIOR, Z, offset, low, high, NOISE))
    rng = np.random.default_rng(1)
    copies = 4000  # chains of the first draw, side by side
    x = np.tile(PRIOR.mean[0], (copies, 1))
    z, prior = np.tile(Z[:1], (copies, 1, 1)), RowPrior(*(np.tile(part[:1], (copies, 1)) for part in PRIOR))
    for _ in range(60):
        eta = offset[0] + np.einsum("snk,sk->sn", z, x)
        ends = [((limit[0] - eta) / np.sqrt(NOISE[0])).ravel() for limit in (low, high)]
        noise = np.sqrt(NOISE[0]) * truncated_normal(*ends, rng).reshape(eta.shape)
        x = condition(prior, Sites(z, eta + noise - offset[0], np.tile(1 / NOISE[0], (copies, 1)))).draw(rng)
    error = x.std(axis=0) / np.sqrt(copies)
    assert np.all(np.abs(x.mean(axis=0) - found.mean[0]) < 4 * error + 0.01)


def test_no_ratings_leave_the_prior():
    nothing = np.zeros((S, 0))
    found = condition(PRIOR, propagate(PRIOR, Z[:, :0], nothing, nothing, nothing, nothing))
    assert np.allclose(found.mean, PRIOR.mean)
    assert np.allclose(np.diagonal(found.covariance, axis1=1, axis2=2), PRIOR.variance)
