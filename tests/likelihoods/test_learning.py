"""Hyperparameters of likelihoods are learned along with those of the kernel."""

import numpy as np
import pytest
from scipy.special import gammaln

from hypergauss import Spectrum, parameters
from hypergauss.inference import LatentModel, maximise
from hypergauss.inference.laplace import LaplaceObjective
from hypergauss.inference.site_objective import TIGHT
from hypergauss.inference.variational import VariationalObjective
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Bernoulli, Gaussian, OneLatent, OrderedProbit, Poisson, RobustMax, StudentT
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
    rng = np.random.default_rng(2)
    f = KERNEL.prior_draws(ROWS, 1, rng)[:, 0]
    y = f + 0.2 * rng.laplace(size=30)
    model = LatentModel(KERNEL, Laplacian(), np.zeros(1))
    objective = kind(solver_for(KERNEL, ROWS), y, 1)
    objective.tolerance = TIGHT
    expected = oracles.central_differences(
        lambda theta: objective.value(parameters.unpack(model, theta)), parameters.pack(model), step=1e-3
    )
    value, gradient = objective.value_and_gradient(model)
    assert np.allclose(gradient, expected, rtol=1e-4, atol=2e-3)
    learned = maximise(objective, model, n_starts=1)
    assert learned.converged
    assert 0.05 < learned.model.likelihood.scale < 0.4
    assert learned.log_evidence > value + 1.0


class Kinked(OneLatent):
    """The same without smoothing, whose complex step has no imaginary part."""

    def pointwise(self, latent, y):
        return -abs(y - latent)


class Counting(OneLatent):
    """A formula that does not take complex hyperparameters."""

    shape = parameters.positive()

    def __init__(self):
        self.shape = 2.0

    def pointwise(self, latent, y):
        return self.shape * latent - gammaln(self.shape)


@pytest.mark.parametrize(
    ("likelihood", "error", "message"),
    [
        (Kinked(), ValueError, "`pointwise` of Kinked must be a formula.*derivative in `latent`.*without `abs`"),
        (Counting(), TypeError, "`pointwise` of Counting must be a formula that takes complex numbers.*loggamma"),
    ],
)
def test_a_formula_without_derivatives_is_refused_where_learning_starts(likelihood, error, message):
    model = LatentModel(KERNEL, likelihood, np.zeros(1))
    y = np.ones(len(ROWS))
    with pytest.raises(error, match=message):
        maximise(bound(likelihood, y), model)


def test_derivatives_of_a_formula_hold_however_near_its_singularities_are():
    """Of sqrt(1 + (y - f)^2 / scale^2) they are at a distance of scale."""
    f, y = np.linspace(-0.3, 0.3, 13), np.zeros(13)
    for scale in (1.0, 0.15, 0.05, 0.01):
        r = f / scale
        root = np.sqrt(1 + r**2)
        first, second, third = Laplacian(scale).derivatives(f, y)
        assert np.allclose(first, -r / root / scale, rtol=1e-10)
        assert np.allclose(second, -1 / root**3 / scale**2, rtol=1e-6, atol=1e-6)
        assert np.allclose(third, 3 * r / root**5 / scale**3, rtol=1e-5, atol=1e-4 / scale**2)


@pytest.mark.parametrize("likelihood", [Laplacian(), Bernoulli(), OrderedProbit(4), RobustMax(3)])
def test_slopes_in_a_variance_of_next_to_nothing_are_not_rounding(likelihood):
    """A vertex without hyperedges has a variance of 1e-90 where the lengthscale is long."""
    mean = np.full((4, likelihood.num_latents), 0.3)
    y = np.ones(4)
    tiny = np.array([1e-14, 1e-30, 1e-90, 1e-300])[:, None] * np.ones_like(mean)
    found = likelihood.expectation(mean, tiny, y).in_variance
    if isinstance(likelihood, RobustMax):  # a step, drawn out to 1e-5
        assert np.abs(found).max() < 1e12
    else:
        assert np.allclose(found, -likelihood.curvature(mean, y)[:, :, 0] / 2, rtol=1e-8)
