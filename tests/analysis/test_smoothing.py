"""Smoothing of covariates: against its definitions by a linear system and by the Laplacian."""

import numpy as np
import pytest
import scipy.sparse as sp

from hypergauss import Hypergraph, Spectrum, smooth_covariates

RNG = np.random.default_rng(0)
EDGES = {"x": [0, 1, 2], "y": [2, 3], "z": [3, 4, 5, 6], "loop": [7]}
H = Hypergraph.from_edges(EDGES, vertices=range(9), weights=[1.0, 2.0, 0.5, 1.0])
X = RNG.normal(size=(9, 3))


@pytest.mark.parametrize("restart", [0.1, 0.4, 0.9])
def test_it_is_a_matern_filter_of_the_laplacian(restart):
    connected = H.vertex_degrees > 0
    root = np.sqrt(H.vertex_degrees[connected])[:, None]
    delta = Spectrum.of(H).laplacian()[np.ix_(connected, connected)]
    filtered = np.linalg.inv(np.eye(8) + delta * (1 - restart) / restart)
    smoothed = smooth_covariates(H, X, restart)
    assert np.allclose(smoothed[connected], filtered @ (root * X[connected]) / root, atol=1e-10)
    assert np.allclose(smoothed[~connected], X[~connected], atol=1e-10)


def test_a_constant_stays_and_a_sparse_matrix_is_as_good_as_a_dense_one():
    assert np.allclose(smooth_covariates(H, np.ones(9)), 1.0)
    assert np.array_equal(smooth_covariates(H, sp.csr_array(X)), smooth_covariates(H, X))


def test_restarting_at_once_leaves_covariates_as_they_are():
    assert np.array_equal(smooth_covariates(H, X, 1.0), X)


@pytest.mark.parametrize("restart", [0.0, -0.1, 1.5])
def test_restart_must_be_a_probability(restart):
    with pytest.raises(ValueError, match="`restart` must be a probability above 0"):
        smooth_covariates(H, X, restart)


def test_covariates_must_have_a_row_for_every_vertex():
    with pytest.raises(ValueError, match=r"one row for each of the 9 vertices. Got shape \(8, 3\)"):
        smooth_covariates(H, X[:8])


def test_a_hyperedge_of_very_many_is_smoothed_without_its_pairs():
    many = 30_000  # a pair takes 12 bytes at least: more than ten gigabytes
    everyone = Hypergraph.from_incidence(np.ones((many, 1)))
    smoothed = smooth_covariates(everyone, np.arange(many))
    assert np.allclose(smoothed.ravel(), (np.arange(many) + (many - 1) / 2) / 2)
