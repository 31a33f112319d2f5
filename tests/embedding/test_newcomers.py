import numpy as np
import pytest
from scipy.stats import norm

from hypergauss import Spectrum
from hypergauss.embedding.newcomers import LogDensities, Newcomers, Scene, newcomer_vectors, place
from hypergauss.embedding.prediction import condition_exactly, condition_on_inducing
from hypergauss.kernels import Matern
from tests import oracles
from tests.embedding.models import case
from tests.hypergraphs import random_hypergraph


def test_an_old_vertex_seen_as_a_newcomer_keeps_its_covariances():
    H = random_hypergraph(10, 7, seed=3)
    for a in (0.0, 1.0):
        spectrum = Spectrum.of(H, size_exponent=a)
        vectors = newcomer_vectors(H, spectrum, H.incidence.toarray())
        assert np.allclose(vectors, spectrum.vertex_vectors, atol=1e-10)


def test_the_extended_kernel_is_positive_semidefinite(rng):
    H = random_hypergraph(10, 7, seed=3)
    kernel = Matern(Spectrum.of(H), 1.5, 4.0)
    new = rng.integers(0, 2, (25, 7)).astype(float)
    vectors = np.vstack([kernel.spectrum.vertex_vectors, newcomer_vectors(H, kernel.spectrum, new)])
    K = (vectors * kernel.weights()) @ vectors.T
    assert np.linalg.eigvalsh(K).min() > -1e-10 * K.max()


def test_a_newcomer_in_no_hyperedge_is_related_to_none():
    H = random_hypergraph(10, 7, seed=3)
    assert not newcomer_vectors(H, Spectrum.of(H), np.zeros((1, 7))).any()


def newcomers(c, rng, n=4, anchors=None):
    rows = rng.integers(0, 2, (n, c.H.num_edges)).astype(float)
    vectors = newcomer_vectors(c.H, c.model.hypergraph.spectrum, rows)
    there = c.vertices._replace(vectors=vectors)
    known = (rng.random((n, len(c.data.edges))) < 0.8).astype(float)
    every = c.vertices if anchors is None else c.vertices._replace(vectors=c.vertices.vectors[anchors])
    own = c.model.smooth_variances(there) + c.model.nugget(there)
    return Newcomers(known * rows[:, c.data.edges], known, c.model.smooth(there, every), own)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_density_is_that_of_the_joint_normal_given_the_known_vertices(missing, rng):
    c = case(missing=missing)
    new = newcomers(c, rng)
    scene = Scene(c.model, condition_exactly(c.covariances(), c.data))
    U = rng.standard_normal((4, 2))
    found = LogDensities(U, scene, new).values
    C, known_at = c.covariance(), c.model.coordinates
    for i in range(4):
        latent = np.exp(-((known_at - U[i]) ** 2).sum(axis=1) / 2)
        cross = float(c.model.variance) * latent * new.smooth[i]
        own = float(c.model.variance) * new.own[i] + float(c.model.noise_variance)
        expected = -0.5 * float(c.model.latent_lengthscale) ** 2 * (U[i] ** 2).sum()
        for j, p in enumerate(c.data.pattern_of):
            seen = c.data.patterns[p]
            gain = np.linalg.solve(C[np.ix_(seen, seen)], cross[seen])
            spread = np.sqrt(own - gain @ cross[seen])
            expected += new.known[i, j] * norm.logpdf(new.values[i, j], gain @ c.data.values[seen, j], spread)
        assert float(found[i]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("latent", ["squared-exponential", "linear", "own"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_derivatives_match_central_differences(latent, missing, rng):
    c = case(latent=latent, missing=missing)
    scene, new = Scene(c.model, condition_exactly(c.covariances(), c.data)), newcomers(c, rng)
    U = rng.standard_normal((4, 2))
    U[0] = c.model.coordinates[0]
    here = LogDensities(U, scene, new)
    for q, step in enumerate(1e-5 * np.eye(2)):
        ahead, behind = (LogDensities(U + move, scene, new) for move in (step, -step))
        assert np.allclose(here.gradients()[:, q], (ahead.values - behind.values) / 2e-5, rtol=1e-6, atol=1e-6)
        differences = (ahead.gradients() - behind.gradients()) / 2e-5
        assert np.allclose(here.hessians()[:, q], differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("inducing", [None, [0, 3, 5, 6]])
def test_placing_ends_where_the_slope_is_zero(inducing, rng):
    c = case()
    if inducing is None:
        conditioned = condition_exactly(c.covariances(), c.data)
    else:
        inducing = np.array(inducing)
        conditioned = condition_on_inducing(c.covariances(inducing), c.data)
    scene, new = Scene(c.model, conditioned), newcomers(c, rng, anchors=inducing)
    placed = place(scene, new)

    def total(flat):
        return float(LogDensities(flat.reshape(-1, 2), scene, new).values.sum())

    slope = oracles.central_differences(total, placed.coordinates.ravel())
    assert np.abs(slope).max() < 1e-3
    assert (np.linalg.eigvalsh(placed.covariances) > 0).all()
