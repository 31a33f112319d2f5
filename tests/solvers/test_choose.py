import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.inference import Prior, Sites, condition
from hypergauss.solvers.choose import choose_solver
from hypergauss.kernels import Matern, SquaredExponential
from tests import oracles


def test_the_solver_is_chosen_by_size(hypergraph):
    spectral, euclidean = Matern(Spectrum.of(hypergraph)), SquaredExponential(np.eye(12))
    assert choose_solver(spectral, spectral.rank + 1) == "low-rank"
    assert choose_solver(spectral, spectral.rank) == "dense"
    assert choose_solver(euclidean, 10**6) == "dense"
    assert choose_solver(spectral, 1, "low-rank") == "low-rank"


def test_an_unknown_solver_is_refused_with_the_choices(hypergraph):
    with pytest.raises(ValueError, match=r"one of 'auto', 'dense', 'low-rank', 'iterative'. Got 'cg'"):
        choose_solver(Matern(Spectrum.of(hypergraph)), 3, "cg")


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
