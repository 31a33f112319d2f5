import numpy as np
import pytest
from jax.test_util import check_grads

from hypergauss import Hypergraph, Spectrum
from hypergauss.inference import Observations, Prior, Sites, condition
from hypergauss.inference.low_rank import GeneralEvidence, UniformEvidence, capacitance, low_rank_evidence
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
    monkeypatch.setattr("hypergauss.inference.low_rank._CHUNK", 4)
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
