"""Mini-batches: the same q and the same bound as with all observations at once."""

import numpy as np
import pytest

from hypergauss.inference.latent import GaussianLatents, LatentData, empty_sites
from hypergauss.solvers.projection import InducingVertices, SpectralFeatures
from hypergauss.inference.mini_batches import learn_in_batches
from hypergauss.inference.variational import best_sites
from hypergauss.likelihoods import Bernoulli, Softmax
from tests.inference.problems import classification


@pytest.fixture(scope="module", params=["vertices", "spectral"])
def problem(request):
    model, rows, y = classification(Softmax(3), n=30)
    inducing = InducingVertices.of(model.kernel, rows[:8]) if request.param == "vertices" else SpectralFeatures(6)
    data = LatentData.of(model.kernel, rows, y, inducing=inducing)
    return model, rows, y, inducing, data, best_sites(model, data, empty_sites(model, data))


def test_one_batch_of_everything_reaches_the_best_bound(problem):
    model, rows, y, inducing, _, best = problem
    found = learn_in_batches(model, rows, y, inducing, batch_size=30, n_passes=100, learn=False)
    assert found.elbo == pytest.approx(float(best.value), abs=1e-6)
    assert found.trace[-1] == pytest.approx(found.elbo, abs=1e-6)


def test_small_batches_come_close_to_it(problem):
    model, rows, y, inducing, data, best = problem
    found = learn_in_batches(model, rows, y, inducing, batch_size=10, n_passes=100, learn=False)
    assert found.elbo <= float(best.value)
    assert found.elbo == pytest.approx(float(best.value), abs=0.1)
    mean, variance = GaussianLatents.of(model, data.rows, found.sites, inducing=inducing).conditionals(rows)
    assert np.allclose(mean, best.marginals.mean, atol=0.2)
    assert np.allclose(variance, best.marginals.total_variance, atol=0.2)


def test_learning_raises_the_bound_and_the_seed_decides_it():
    model, rows, y = classification(Bernoulli(), n=30)
    options = {"batch_size": 10, "n_passes": 30, "seed": 1}
    held = learn_in_batches(model, rows, y, SpectralFeatures(6), learn=False, **options)
    learned, again = (learn_in_batches(model, rows, y, SpectralFeatures(6), **options) for _ in range(2))
    assert learned.elbo > held.elbo + 0.1
    assert learned.elbo == again.elbo
