"""Quadrature from Lanczos' recurrence: exact where it must be, and estimates as uncertain as they say."""

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.kernels import Bernstein, Matern
from hypergauss.operators import LocalLaplacian
from hypergauss.spectrum import SpectralDensity, lanczos
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes, random_hypergraph

H = hypergraph_of_sizes(80, [2, 3, 4, 8] * 12, seed=0)
EXACT = Spectrum.of(H)
LAPLACIAN = EXACT.laplacian()


def operator():
    return EXACT.source.multiplier()


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_a_rule_is_exact_for_polynomials_of_twice_its_steps(steps):
    X = np.random.default_rng(0).standard_normal((80, 3))
    rule = lanczos.measure(operator(), X, steps)
    for degree in range(2 * steps):
        expected = np.einsum("ij,ij->j", X, np.linalg.matrix_power(LAPLACIAN, degree) @ X)
        assert np.allclose((rule.weights * rule.nodes**degree).sum(axis=1), expected, rtol=1e-10)
    beyond = np.einsum("ij,ij->j", X, np.linalg.matrix_power(LAPLACIAN, 2 * steps) @ X)
    assert not np.allclose((rule.weights * rule.nodes ** (2 * steps)).sum(axis=1), beyond, rtol=1e-10)


def test_a_recurrence_that_ends_early_gives_a_complete_rule():
    """Eigenvectors, a sum of two, nothing at all, and more steps than there are vertices."""
    values, vectors = np.linalg.eigh(LAPLACIAN)
    X = np.column_stack([vectors[:, 0], vectors[:, 40], vectors[:, 3] + 2 * vectors[:, 70], np.zeros(80)])
    rule = lanczos.measure(operator(), X, 100)
    assert np.isfinite(rule.nodes).all()
    assert np.allclose(rule.weights.sum(axis=1), [1.0, 1.0, 5.0, 0.0])
    expected = [np.exp(values[0]), np.exp(values[40]), np.exp(values[3]) + 4 * np.exp(values[70]), 0.0]
    assert np.allclose((rule.weights * np.exp(rule.nodes)).sum(axis=1), expected, rtol=1e-8)


def test_many_steps_without_orthogonalisation_stay_exact():
    X = np.random.default_rng(1).standard_normal((80, 2))
    rule = lanczos.measure(operator(), X, 300)
    values, vectors = np.linalg.eigh(LAPLACIAN)
    expected = ((vectors.T @ X) ** 2).T @ np.log(values + 0.01)
    assert np.allclose((rule.weights * np.log(rule.nodes + 0.01)).sum(axis=1), expected, rtol=1e-7)
    assert rule.nodes.min() >= 0.0
    assert rule.nodes.max() <= 1.0


@pytest.mark.parametrize("phi", [lambda x: np.exp(-8 * x), lambda x: (1 + 8 * x) ** -1.5], ids=["heat", "matern"])
def test_traces_are_within_their_standard_error(phi):
    """Over seeds the errors, each in units of its reported standard error, spread as they should."""
    truth = phi(np.linalg.eigvalsh(LAPLACIAN)).mean()
    found = [SpectralDensity.of(operator(), 16, 30, np.random.default_rng(seed)) for seed in range(40)]
    scores = np.array([(density.mean(phi) - truth) / density.standard_error(phi) for density in found])
    assert abs(scores.mean()) < 4 / np.sqrt(40)
    assert 0.7 < scores.std() < 1.6  # of Student's distribution with 15 degrees of freedom: 1.07
    errors = np.array([density.mean(phi) - truth for density in found])
    assert abs(errors.mean()) < 3.5 * errors.std() / np.sqrt(40)  # no bias


def test_weights_of_a_density_add_up_to_one_and_one_probe_has_no_standard_error():
    density = SpectralDensity.of(operator(), 1, 10, np.random.default_rng(0))
    assert density.weights.sum() == pytest.approx(1.0)
    assert np.isnan(density.standard_error(np.exp))


@pytest.mark.parametrize(
    "make",
    [
        lambda spectrum: Matern(spectrum, 1.5, 5.0, variance=2.0),
        lambda spectrum: Matern(spectrum, 20, 12.0),
        lambda spectrum: Bernstein(spectrum, [0.05, 0.1, 0.4, 2.0]),
    ],
    ids=["matern", "steep", "rising"],
)
def test_the_normalisation_of_a_matrix_free_kernel_is_within_its_standard_error_of_the_exact_one(make):
    exact = make(EXACT)
    scores = []
    for seed in range(12):
        spectrum = Spectrum.matrix_free(H, random_state=seed, n_probes=32)
        free = make(spectrum)
        ratio = float(exact.density().scale / free.density().scale)  # the mean diagonal, estimated over exact
        error = spectrum.density.standard_error(lambda x, k=free: np.asarray(k.filter(x)))
        scores.append((ratio - 1) / (error / float(np.mean(exact.filter(np.linalg.eigvalsh(LAPLACIAN))))))
    assert np.abs(scores).max() < 3.5
    assert 0.5 < np.std(scores) < 1.7


def test_leading_eigenvectors_leave_little_to_probes():
    """A filter that few eigenvalues pass has its trace to a fraction of what random vectors alone leave open."""
    planted = make_planted_hypergraph(1_200, 1_200, 10, random_state=0).hypergraph
    exact, phi = Spectrum.of(planted), lambda x: np.exp(-20 * x)
    truth = (phi(exact.eigenvalues).sum() + (1_200 - exact.rank) * phi(1.0)) / 1_200
    for seed in range(4):
        density = Spectrum.matrix_free(planted, random_state=seed).density
        alone = Spectrum.matrix_free(planted, random_state=seed, n_probes=8).density
        assert density.weights.sum() == pytest.approx(1.0)
        assert abs(density.mean(phi) - truth) < 4 * density.standard_error(phi)
        assert density.standard_error(phi) < 0.1 * alone.standard_error(phi)


def test_with_every_vertex_for_a_probe_the_normalisation_is_exact():
    """Orthogonal probes that span the space make a trace of what was an estimate."""
    rule = lanczos.measure(operator(), np.sqrt(80) * np.eye(80), 80)
    density = SpectralDensity(rule.nodes, rule.weights / (80 * 80), 0)
    kernel = Matern(EXACT, 20, 12.0)
    found = density.mean(lambda x: np.asarray(kernel.filter(x)))
    assert found == pytest.approx(float(kernel.variance / kernel.density().scale), rel=1e-9)


def test_awkward_hypergraphs_have_a_density():
    awkward = random_hypergraph(12, 8, seed=1)
    density = Spectrum.matrix_free(awkward).density
    exact = np.linalg.eigvalsh(oracles.zhou_laplacian(awkward))
    assert np.isfinite(density.nodes).all()
    # The mean eigenvalue is that of the diagonal, which signs see without error.
    assert density.mean(lambda x: x) == pytest.approx(exact.mean(), abs=0.2)
    empty = LocalLaplacian.of_incidence(EXACT.source.incidence.scipy()[:5] * 0)
    assert SpectralDensity.of(empty, 2, 5, np.random.default_rng(0)).mean(lambda x: x) == pytest.approx(1.0)
