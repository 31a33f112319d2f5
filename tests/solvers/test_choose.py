import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.kernels import Matern, SquaredExponential
from hypergauss.solvers import InducingVertices, Iterative, Prior, Sites, condition, solver_for
from tests import oracles


def test_the_solver_is_chosen_by_size(hypergraph):
    spectral, euclidean = Matern(Spectrum.of(hypergraph)), SquaredExponential(np.eye(12))
    assert spectral.rank < 12
    assert solver_for(spectral, np.arange(spectral.rank + 1)).name == "low-rank"
    assert solver_for(spectral, np.arange(spectral.rank)).name == "dense"
    assert solver_for(euclidean, np.arange(12)).name == "dense"
    assert solver_for(spectral, np.arange(1), "low-rank").name == "low-rank"


def test_what_is_given_beside_decides(hypergraph):
    kernel, rows = Matern(Spectrum.of(hypergraph)), np.arange(5)
    inducing = InducingVertices.of(kernel, rows[:2])
    assert solver_for(kernel, rows, "dense", inducing).name == "sparse"
    assert solver_for(kernel, rows, Iterative(n_probes=4)).name == "iterative"
    assert solver_for(Matern(Spectrum.matrix_free(hypergraph)), rows).name == "iterative"


def test_a_solver_that_needs_eigenvectors_says_so(hypergraph):
    kernel = Matern(Spectrum.matrix_free(hypergraph))
    with pytest.raises(ValueError, match=r"`solver='dense'` needs eigenvectors.*`solver='iterative'`"):
        solver_for(kernel, np.arange(3), "dense")


def test_an_unknown_solver_is_refused_with_the_choices(hypergraph):
    with pytest.raises(ValueError, match=r"one of 'auto', 'dense', 'low-rank', 'iterative', 'markov'. Got 'cg'"):
        solver_for(Matern(Spectrum.of(hypergraph)), np.arange(3), "cg")


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_a_truncated_spectrum_is_conditioned_exactly_under_its_own_kernel(hypergraph, solver, rng):
    kernel = Matern(Spectrum.of(hypergraph, rank=3))
    rows, y = np.arange(2, 9), rng.standard_normal((7, 1))
    posterior = condition(Prior(kernel, np.zeros(1)), Sites(rows, y, np.full(7, 0.2)), solver)
    mean, covariance = oracles.posterior(np.asarray(kernel.gram()), rows, y, 0.2, np.zeros(1))
    assert np.allclose(posterior.mean(np.arange(12)), mean, atol=1e-10)
    assert np.allclose(posterior.covariance(np.arange(12)), covariance, atol=1e-10)


def test_what_is_measured_without_noise_is_known(hypergraph):
    posterior = condition(
        Prior(Matern(Spectrum.of(hypergraph)), np.zeros(1)), Sites(np.array([3]), np.array([[2.0]]), np.array([1e-12]))
    )
    assert np.isclose(posterior.mean(np.array([3])).item(), 2.0)
    assert posterior.variance(np.array([3])).item() < 1e-9
