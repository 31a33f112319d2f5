import jax
import numpy as np
import pytest
from jax.test_util import check_grads

from hypergauss import Hypergraph, Spectrum
from hypergauss.inference import Observations, Posterior, Prior, Sites, condition
from hypergauss.solvers.dense import DensePosterior
from hypergauss.solvers.low_rank import (
    GeneralEvidence,
    LowRankPosterior,
    UniformEvidence,
    capacitance,
    capacitance_of,
    low_rank_evidence,
    positive_capacitance,
)
from hypergauss.kernels import Linear, Matern, SquaredExponential
from tests.hypergraphs import random_hypergraph

POSITIVE, MIXED = [0.5, 2.0, 0.0, 1.0], [0.5, -0.02, 0.0, -0.1]


@pytest.fixture
def system(rng):
    F = rng.standard_normal((7, 4))
    return F.T @ F / 2, rng.standard_normal((4, 2))


@pytest.mark.parametrize("w", [POSITIVE, MIXED])
def test_the_capacitance_is_woodburys(system, w):
    G, B = system
    log_det, quadratic = capacitance(G, B, np.array(w))
    capacity = np.eye(4) + G @ np.diag(w)
    assert float(log_det) == pytest.approx(np.linalg.slogdet(capacity)[1], rel=1e-12)
    assert float(quadratic) == pytest.approx(np.trace(B.T @ np.diag(w) @ np.linalg.inv(capacity) @ B), rel=1e-10)


@pytest.mark.parametrize("w", [POSITIVE, MIXED])
def test_hand_written_derivatives_of_the_capacitance_match_finite_differences(system, w):
    def symmetric(G, B, w):  # a Gram matrix stays symmetric however it is moved
        return capacitance((G + G.T) / 2, B, w)

    check_grads(symmetric, (*system, np.array(w)), order=1, modes=["rev"], atol=1e-5, rtol=1e-5)


def test_sufficient_statistics_serve_where_the_diagonal_is_one_number(hypergraph, rng):
    kernel = Matern(Spectrum.of(hypergraph))
    y = rng.standard_normal((12, 1))
    rows = np.arange(12)
    assert isinstance(low_rank_evidence(kernel, Observations.of(rows, y)), UniformEvidence)
    assert isinstance(low_rank_evidence(kernel, Observations.of(rows, y, np.ones(12))), GeneralEvidence)
    assert isinstance(low_rank_evidence(kernel, Observations.of(rows // 2, y)), GeneralEvidence)
    assert isinstance(low_rank_evidence(kernel * Linear(np.ones(12)), Observations.of(rows, y)), GeneralEvidence)


def test_chunks_of_features_add_up_to_the_whole(monkeypatch, rng):
    prior = Prior(Matern(Spectrum.of(random_hypergraph(11, 6, seed=0))), np.zeros(1))
    rows = np.arange(11)
    observations = Observations.of(rows, rng.standard_normal((11, 1)))

    def answers():
        posterior = condition(prior, observations.sites(0.1), "low-rank")
        evidence = low_rank_evidence(prior.kernel, observations)
        left_out = posterior.leave_one_out()
        return np.concatenate(
            [
                posterior.mean(rows).ravel(),
                posterior.variance(rows),
                left_out.mean.ravel(),
                left_out.variance,
                [posterior.log_evidence, float(evidence(prior.kernel, 0.1, np.zeros(1)))],
            ]
        )

    whole = answers()
    monkeypatch.setattr("hypergauss.solvers.low_rank._CHUNK", 4)
    assert np.allclose(answers(), whole, rtol=1e-10)


def test_a_kernel_without_features_is_refused_with_the_cure():
    prior = Prior(SquaredExponential(np.eye(3)), np.zeros(1))
    with pytest.raises(ValueError, match=r"needs a kernel with features. Got SquaredExponential.*solver='dense'"):
        condition(prior, Sites(np.arange(2), np.zeros((2, 1)), np.ones(2)), "low-rank")


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_without_hyperedges_a_vertex_learns_from_itself_alone(solver):
    prior = Prior(Matern(Spectrum.of(Hypergraph.from_edges([], vertices=range(4)))), np.zeros(1))
    observations = Observations.of(np.arange(2), np.ones((2, 1)))
    posterior = condition(prior, observations.sites(0.25), solver)
    assert np.allclose(posterior.mean(np.arange(4))[:, 0], [0.8, 0.8, 0.0, 0.0])
    assert np.allclose(posterior.variance(np.arange(4)), [0.2, 0.2, 1.0, 1.0])
    assert np.isfinite(posterior.log_evidence)


def test_a_weight_that_rounding_takes_below_zero_does_no_harm():
    # A singular value of 1e-9 has eigenvalue 1 in floating point: its weight is zero, or a rounding error either way.
    kernel = Matern(Spectrum.of(Hypergraph.from_edges([["a", "b"], ["b", "c"], ["c", "d"]])), 2.0, 8.0)
    G = np.eye(3)
    wanted = capacitance(G, np.ones((3, 1)), np.array([2.0, 1.0, 0.0]))
    found = capacitance_of(kernel, G, np.ones((3, 1)), np.array([2.0, 1.0, -1e-18]))
    assert np.allclose(found, wanted)


def test_the_cholesky_route_agrees_with_the_lu_route():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(9, 6))
    G, B, w = F.T @ F, rng.normal(size=(6, 2)), rng.uniform(0, 3, 6)
    assert np.allclose(positive_capacitance(G, B, w), capacitance(G, B, w), rtol=1e-12)
    gradients = [jax.jacobian(f, argnums=(0, 1, 2))(G, B, w) for f in (positive_capacitance, capacitance)]
    for ours, theirs in zip(*map(jax.tree.leaves, gradients), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_huge_weights_and_a_distant_target_do_not_make_up_evidence():
    # y lies along the feature of largest weight: y'y / d and the quadratic form are 1e14 and all but cancel.
    rng = np.random.default_rng(0)
    F, _ = np.linalg.qr(rng.normal(size=(60, 5)))
    y, d = 600.0 * F[:, :1] + 1e-3 * rng.normal(size=(60, 1)), 1e-7
    w = np.array([1e7, 1e3, 1.0, 1e-3, 1e-6]) / d
    _, quadratic = positive_capacitance(F.T @ F, F.T @ y, w)
    left = ((y**2).sum() - quadratic) / d
    exact = ((y - F @ (F.T @ y)) ** 2).sum() / d + ((F.T @ y)[:, 0] ** 2 / (d * (1 + w))).sum()
    assert abs(left - exact) < 1.0


def test_weights_of_observations_are_the_same_by_every_route(hypergraph, rng):
    prior = Prior(Matern(Spectrum.of(hypergraph)), np.array([0.3]))
    sites = Sites(np.array([1, 4, 5, 9]), rng.standard_normal((4, 1)), np.array([0.1, 0.2, 0.3, 0.4]))
    rows = np.array([0, 4, 7])
    dense, low_rank = DensePosterior(prior, sites), LowRankPosterior(prior, sites)
    K = np.asarray(prior.kernel.gram())
    inverse = np.linalg.inv(K[np.ix_(sites.rows, sites.rows)] + np.diag(sites.variance))
    for posterior in (dense, low_rank):
        weights = posterior.observation_weights(rows)
        np.testing.assert_allclose(weights, K[np.ix_(rows, sites.rows)] @ inverse, atol=1e-10)
        np.testing.assert_allclose(Posterior.observation_weights(posterior, rows), weights, atol=1e-10)
        dual = posterior.dual_weights()
        np.testing.assert_allclose(dual, inverse @ (sites.mean - 0.3), atol=1e-10)
        np.testing.assert_allclose(Posterior.dual_weights(posterior), dual, atol=1e-9)
