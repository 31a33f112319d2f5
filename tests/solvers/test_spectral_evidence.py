"""The likelihood of a spectral measure of vertices measured at random: its expectation, its slopes, where it leads."""

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.kernels import Matern
from hypergauss.learning.search import maximise
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.markov import outlook
from hypergauss.solvers.markov.outlook import by_outlook
from hypergauss.solvers.sites import Observations
from hypergauss.solvers.spectral_evidence import SpectralEvidence
from tests import oracles

N = 300
H = make_planted_hypergraph(N, N, 4, random_state=0).hypergraph


def measured(share, seed=0, noise=0.4, scale=1.0):
    """Return a draw of a field of nu = 2, measured at a share of the vertices, and the model it is of."""
    rng = np.random.default_rng(seed)
    kernel = Matern(Spectrum.of(H), 2, 4.0, variance=1.5, fixed=("nu",))
    values, vectors = np.linalg.eigh(kernel.gram())
    signal = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(N))
    rows = np.flatnonzero(rng.random(N) < share)
    y = scale * (signal[rows] + noise * rng.standard_normal(len(rows)))
    return Observations.of(rows, y[:, None])


def model(nu=2, lengthscale=4.0):
    free = Spectrum.matrix_free(H, random_state=0)
    return GaussianModel(Matern(free, nu, lengthscale, variance=1.5, fixed=("nu",)), 0.16, np.zeros(1))


def spectral(observations):
    spectrum = model().kernel.spectrum
    return SpectralEvidence.of_some(spectrum.source.multiplier(), observations, spectrum.density)


def test_over_the_choice_of_vertices_squares_along_eigenvectors_have_the_mean_that_is_taken():
    rng = np.random.default_rng(1)
    u = np.linalg.eigh(Spectrum.of(H).laplacian())[1][:, 5]
    y, share = rng.standard_normal(N) + 3 * u, 0.3
    chosen = rng.random((40_000, N)) < share
    squares = ((chosen * y) @ u) ** 2
    expected = share**2 * (u @ y) ** 2 + share * (1 - share) * (u**2 * y**2).sum()
    assert np.mean(squares) == pytest.approx(expected, abs=4 * np.std(squares) / np.sqrt(len(squares)))


def test_with_every_vertex_measured_it_is_the_likelihood_itself():
    observations = measured(2.0)
    mine = spectral(observations)
    assert mine.share == 1.0
    assert mine.floor == 0.0


def test_its_slopes_are_those_of_its_value():
    mine, own = spectral(measured(0.4)), model()
    gradient = mine.value_and_gradient(own)[1]
    found = oracles.central_differences(lambda theta: mine.value(parameters.unpack(own, theta)), parameters.pack(own))
    assert np.allclose(gradient, found, rtol=1e-5, atol=1e-5)


def test_noise_to_begin_with_is_a_share_of_the_variance_at_least():
    observations = measured(0.3, seed=1, noise=1e-3)
    least = 0.1 * observations.mean.var()
    assert all(each.noise_variance >= least * (1 - 1e-12) for each in by_outlook([model(2)], observations, [()]))


def test_models_begin_higher_than_where_they_stood_and_the_most_promising_is_first(monkeypatch):
    observations = measured(0.5, seed=3)
    models = [model(nu) for nu in (2, 1, 3)]
    monkeypatch.setattr(outlook, "_LEAST_NOISE", 0.0)
    found = by_outlook(models, observations, [(), (), ()])
    mine = spectral(observations)
    heights = [mine.value(each) for each in found]
    assert heights == sorted(heights, reverse=True)
    assert sorted(each.kernel.nu for each in found) == [1, 2, 3]
    for each in found:
        (before,) = (own for own in models if own.kernel.nu == each.kernel.nu)
        assert mine.value(each) > mine.value(before)
        assert mine.value(each) >= maximise(mine, before, n_starts=1).objective - 1e-3


def test_noise_that_differs_between_vertices_leaves_models_as_they_are():
    rows = np.arange(50)
    known = Observations.of(rows, np.ones((50, 1)), np.linspace(0.1, 1.0, 50))
    models = [model(2), model(1)]
    assert by_outlook(models, known, [(), ()]) == models
