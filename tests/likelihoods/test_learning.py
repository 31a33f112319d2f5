"""Hyperparameters of likelihoods are learned along with those of the kernel."""

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.inference import LatentModel, maximise
from hypergauss.inference.laplace import LaplaceObjective
from hypergauss.inference.site_objective import TIGHT
from hypergauss.inference.variational import VariationalObjective
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Gaussian, OneLatent, OrderedProbit, Poisson, StudentT
from hypergauss.solvers import solver_for
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

ROWS = np.random.default_rng(0).permutation(40)[:30]
KERNEL = Matern(Spectrum.of(hypergraph_of_sizes(40, [3, 5, 8, 12] * 3, seed=0)), 2.0, 8.0, variance=2.0)
KERNEL_NAMES = {"variance", "nu", "lengthscale"}


def drawn(kind):
    """Return a likelihood at a wrong start, observations from it, and the names of what it learns."""
    rng = np.random.default_rng(1)
    f = KERNEL.prior_draws(ROWS, 1, rng)[:, 0]
    if kind == "gaussian":
        return Gaussian(1.0), f + 0.5 * rng.standard_normal(30), {"noise_variance"}
    if kind == "poisson":
        return Poisson(), rng.poisson(np.exp(f)), set()
    if kind == "student":
        return StudentT(1.0, fixed=()), f + 0.2 * rng.standard_t(2.0, 30), {"scale", "degrees_of_freedom"}
    return OrderedProbit(4), np.digitize(f + rng.standard_normal(30), [-1.0, 0.0, 1.5]), {"first_threshold", "gaps"}


def bound(likelihood, y):
    return VariationalObjective(solver_for(KERNEL, ROWS), np.asarray(y, dtype=float), likelihood.num_latents)


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "student", "ordered"])
def test_learning_raises_the_bound_along_its_gradient(kind):
    likelihood, y, names = drawn(kind)
    # Thresholds take the place of the mean.
    model = LatentModel(KERNEL, likelihood, np.zeros(1), fixed=("mean",))
    assert set(parameters.values(model)) == KERNEL_NAMES | names
    objective = bound(likelihood, y)
    objective.tolerance = TIGHT
    value, gradient = objective.value_and_gradient(model)
    expected = oracles.central_differences(
        lambda theta: objective.value(parameters.unpack(model, theta)), parameters.pack(model), step=1e-3
    )
    assert np.allclose(gradient, expected, atol=2e-3)
    learned = maximise(objective, model, n_starts=1)
    assert learned.log_evidence > value + 0.1
    assert all(np.isfinite(found).all() for found in parameters.values(learned.model.likelihood).values())


def test_degrees_of_freedom_stay_unless_they_are_set_free():
    assert list(parameters.values(StudentT())) == ["scale"]
    assert parameters.values(StudentT(), free_only=False)["degrees_of_freedom"] == 4.0


def test_the_bound_of_a_gaussian_likelihood_is_the_log_evidence():
    """The posterior is Gaussian, so that nothing is lost: dense algebra without variational inference agrees."""
    likelihood, y, _ = drawn("gaussian")
    model = LatentModel(KERNEL, likelihood, np.array([0.3]))
    objective = bound(likelihood, y)
    expected = oracles.log_evidence(KERNEL.gram(), ROWS, y[:, None], 1.0, np.array([0.3]))
    assert objective.value_and_gradient(model)[0] == pytest.approx(expected, rel=1e-8)
    assert objective.value(model) == pytest.approx(expected, rel=1e-8)


class Laplacian(OneLatent):
    """Errors with heavier tails than a Gaussian's, smooth at zero: a likelihood of one's own."""

    scale = parameters.positive()

    def __init__(self, scale=1.0):
        self.scale = scale

    def pointwise(self, latent, y):
        return -np.sqrt(1 + ((y - latent) / self.scale) ** 2) - np.log(self.scale)


@pytest.mark.parametrize("kind", [VariationalObjective, LaplaceObjective])
def test_a_likelihood_of_ones_own_is_one_formula(kind):
    """Its scale is learned, and a measurement far off moves the latent function less than under a Gaussian."""
    rng = np.random.default_rng(2)
    f = KERNEL.prior_draws(ROWS, 1, rng)[:, 0]
    y = f + 0.1 * rng.standard_normal(30)
    y[3] += 50.0
    model = LatentModel(KERNEL, Laplacian(), np.zeros(1))
    objective = kind(solver_for(KERNEL, ROWS), y, 1)
    objective.tolerance = TIGHT
    expected = oracles.central_differences(
        lambda theta: objective.value(parameters.unpack(model, theta)), parameters.pack(model), step=1e-3
    )
    assert np.allclose(objective.value_and_gradient(model)[1], expected, rtol=1e-4, atol=2e-3)
    learned = maximise(objective, model, n_starts=1)
    assert learned.converged
    assert learned.model.likelihood.scale < 0.3
    marginals = objective.settle(learned.model).marginals
    assert np.abs(np.delete(marginals.mean[:, 0] - f, 3)).max() < 0.5
