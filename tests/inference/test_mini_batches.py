"""Mini-batches: the same q and the same bound as with all observations at once."""

import numpy as np
import pytest

from hypergauss import parameters
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mini_batches import Batch, Coefficients, Marginals, _estimate, _gradient, learn_in_batches
from hypergauss.inference.variational import best_sites
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax
from hypergauss.solvers import InducingVertices, NaturalSites, SpectralFeatures, solver_for
from tests import oracles
from tests.inference.problems import classification


@pytest.fixture(scope="module", params=["vertices", "spectral"])
def problem(request):
    model, rows, y = classification(Softmax(3), n=30)
    inducing = InducingVertices.of(model.kernel, rows[:8]) if request.param == "vertices" else SpectralFeatures(6)
    solver = solver_for(model.kernel, rows, inducing=inducing)
    return model, rows, y, inducing, solver, best_sites(model, solver, y, NaturalSites.empty(30, 3))


def test_one_batch_of_everything_reaches_the_best_bound(problem):
    model, rows, y, inducing, _, best = problem
    found = learn_in_batches(model, rows, y, inducing, batch_size=30, n_passes=100, learn=False)
    assert found.elbo == pytest.approx(best.value, abs=1e-6)
    assert found.trace[-1] == pytest.approx(found.elbo, abs=1e-6)


def test_small_batches_come_close_to_it(problem):
    model, rows, y, inducing, solver, best = problem
    found = learn_in_batches(model, rows, y, inducing, batch_size=10, n_passes=100, learn=False)
    assert found.elbo <= best.value
    assert found.elbo == pytest.approx(best.value, abs=0.1)
    mean, variance = GaussianLatents.of(model, found.sites, solver).conditionals(rows)
    assert np.allclose(mean, best.marginals.mean, atol=0.2)
    assert np.allclose(variance, best.marginals.total_variance, atol=0.2)


@pytest.mark.parametrize("likelihood", [Bernoulli(), RobustMax(3)], ids=repr)
@pytest.mark.parametrize("family", ["vertices", "spectral"])
def test_a_batch_estimates_the_bound_with_its_gradient(likelihood, family):
    """At any q: away from the best one, where nothing is stationary."""
    model, rows, y = classification(likelihood, n=12)
    rng = np.random.default_rng(3)
    inducing = InducingVertices.of(model.kernel, rows[:5]) if family == "vertices" else SpectralFeatures(4)
    batch = Batch(model.kernel.inputs(rows), y.astype(float), 2.5)
    J, L = len(inducing.weights(model.kernel)), likelihood.num_latents
    roots = rng.normal(size=(L, J, J))
    q = Coefficients(rng.normal(size=(L, J)), roots @ roots.swapaxes(1, 2))

    def of_theta(theta):
        there = parameters.unpack(model, theta)
        return _estimate(there, batch, Marginals.of(there, inducing.project(there.kernel, batch.inputs), q))

    projected = inducing.project(model.kernel, batch.inputs)
    found = _gradient(model, inducing, batch, projected, Marginals.of(model, projected, q))
    expected = oracles.central_differences(of_theta, parameters.pack(model))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_learning_raises_the_bound_and_the_seed_decides_it():
    model, rows, y = classification(Bernoulli(), n=30)
    options = {"batch_size": 10, "n_passes": 30, "seed": 1}
    held = learn_in_batches(model, rows, y, SpectralFeatures(6), learn=False, **options)
    learned, again = (learn_in_batches(model, rows, y, SpectralFeatures(6), **options) for _ in range(2))
    assert learned.elbo > held.elbo + 0.1
    assert learned.elbo == again.elbo
