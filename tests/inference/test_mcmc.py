"""Sampling against what is known without it: closed forms, grids and quadrature."""

import sys
from functools import cache
from itertools import product

import arviz
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from hypergauss import LogNormal, Spectrum, parameters
from hypergauss.exceptions import NumericalError, SamplingWarning
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mcmc.sampling import sample_posterior
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax
from hypergauss.likelihoods.base import OneLatent
from hypergauss.parameters import positive
from hypergauss.solvers import NaturalSites, solver_for
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

#: Monte Carlo standard errors within which an estimate must lie.
ERRORS = 5
KERNEL = ("nu", "lengthscale", "variance")


class Normal(OneLatent):
    """y = f + noise: the likelihood whose posterior is known."""

    noise_variance = positive()

    def __init__(self, noise_variance, fixed=("noise_variance",)):
        self.noise_variance = noise_variance
        self.fixed = self.check_fixed(fixed)

    @property
    def is_log_concave(self):
        return True

    def pointwise(self, latent, y):
        return -((y - latent) ** 2 / self.noise_variance + np.log(2 * np.pi * self.noise_variance)) / 2


class Flat(OneLatent):
    """Observations that say nothing."""

    @property
    def is_log_concave(self):
        return True

    def pointwise(self, latent, y):
        return np.zeros_like(latent)


@cache
def spectrum(num_vertices):
    return Spectrum.of(hypergraph_of_sizes(num_vertices, [3, 5, 4] * 2, seed=0))


def latent_model(likelihood, *, free=(), num_vertices=12, mean=0.0, **values):
    """Return a model on a small hypergraph in which only ``free`` hyperparameters are drawn."""
    settings = {"nu": 2.0, "lengthscale": 3.0, "variance": 1.5} | values
    kernel = Matern(spectrum(num_vertices), **settings, fixed=[name for name in KERNEL if name not in free])
    means = np.full(likelihood.num_latents, mean)
    return LatentModel(kernel, likelihood, means, fixed=() if "mean" in free else ("mean",))


def draw(model, rows, y, **settings):
    """Return many draws, however alike neighbours are: their errors are measured."""
    return sample_posterior(model, rows, y, **{"warm_up": 50, "thin": 1, "draws": 250, **settings})


def assert_agrees(draws, truth):
    """Check a mean over (chains, draws, ...) against the truth, within its Monte Carlo standard errors."""
    data = arviz.convert_to_dataset({"x": draws})
    error = np.asarray(arviz.mcse(data)["x"])
    assert np.all(np.abs(draws.mean(axis=(0, 1)) - truth) <= ERRORS * error + 1e-9)
    assert np.all(error <= 0.2 * draws.std(axis=(0, 1)))  # or the comparison would say little


def test_latents_of_a_gaussian_likelihood_have_the_exact_posterior():
    model = latent_model(Normal(0.3), mean=0.5)
    rows, y = np.array([7, 1, 4, 10]), np.array([1.2, -0.4, 0.8, 2.0])
    exact, covariance = oracles.posterior(model.kernel.gram(), rows, y[:, None], 0.3, np.array([0.5]))
    exact, exact_variance = exact[:, 0], np.diag(covariance)
    drawn = draw(model, rows, y)
    latents = drawn.latents[..., 0]
    assert_agrees(latents, exact[rows])
    assert_agrees((latents - exact[rows]) ** 2, exact_variance[rows])
    mean, variance = drawn.conditionals(np.arange(12))
    mixture = mean[..., 0].reshape(4, -1, 12)
    assert_agrees(mixture, exact)
    total = variance[..., 0].mean(axis=0) + mixture.var(axis=(0, 1))
    assert np.allclose(total, exact_variance, rtol=0.1)


def test_a_vertex_observed_twice_has_one_latent():
    model = latent_model(Normal(0.3))
    rows, y = np.array([3, 8, 3]), np.array([1.0, -0.5, 2.0])
    mean, covariance = oracles.posterior(model.kernel.gram(), rows, y[:, None], 0.3, np.zeros(1))
    drawn = draw(model, rows, y)
    assert drawn.rows.tolist() == [3, 8]
    assert drawn.log_likelihood.shape == (4, 250, 3)
    assert_agrees(drawn.latents[..., 0], mean[[3, 8], 0])
    assert_agrees((drawn.latents[..., 0] - mean[[3, 8], 0]) ** 2, np.diag(covariance)[[3, 8]])


@pytest.mark.parametrize(
    ("name", "free", "prior"),
    [
        ("nu", "nu", LogNormal(1.0, 0.8)),
        ("noise_variance", "noise", LogNormal(0.2, 0.6)),
    ],
)
def test_a_hyperparameter_has_the_posterior_of_a_grid(name, free, prior):
    """The evidence of the Gaussian likelihood is known: times the prior, over a grid in the logarithm."""
    likelihood = Normal(0.3, fixed=() if free == "noise" else ("noise_variance",))
    rows, y = np.arange(8), np.array([1.5, 0.2, 1.9, -1.0, 0.4, 2.2, -0.3, 0.9])
    grid = np.log(prior.median) + prior.spread * np.linspace(-5, 5, 61)
    logs = -0.5 * ((grid - np.log(prior.median)) / prior.spread) ** 2
    for i, value in enumerate(np.exp(grid)):
        values = {} if free == "noise" else {name: value}
        K = latent_model(likelihood, **values).kernel.gram()
        logs[i] += oracles.log_evidence(K, rows, y[:, None], value if free == "noise" else 0.3, np.zeros(1))
        if name == "nu" and value < 1 / 20:  # the end of its range
            logs[i] = -np.inf
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    drawn = draw(latent_model(likelihood, free=(free,)), rows, y, priors={name: prior})
    found = np.log(drawn.hyperparameters[name])
    mean = weights @ grid
    assert_agrees(found, mean)
    assert_agrees((found - mean) ** 2, weights @ (grid - mean) ** 2)


def test_the_constant_mean_has_its_exact_posterior():
    """A mean m ~ N(m0, 2^2) is Gaussian a posteriori, by the sum of the entries of (K + noise)^-1."""
    model = latent_model(Normal(0.3), free=("mean",), mean=0.7)
    rows, y = np.array([0, 5, 9]), np.array([2.0, 1.0, 1.6])
    precision = np.linalg.inv(model.kernel.gram(rows, rows) + 0.3 * np.eye(3))
    variance = 1 / (precision.sum() + 1 / 4)
    mean = variance * ((precision @ y).sum() + 0.7 / 4)
    found = draw(model, rows, y).hyperparameters["mean"][..., 0]
    assert_agrees(found, mean)
    assert_agrees((found - mean) ** 2, variance)


def test_two_class_probabilities_are_those_of_quadrature():
    """All of E p(y* | f*) by brute force: a grid over two observed latents and the one predicted."""
    model = latent_model(Bernoulli(), variance=3.0)
    rows, y, target = np.array([2, 6]), np.array([1, 0]), 3
    joint = np.array([2, 6, target])
    L = np.linalg.cholesky(model.kernel.gram(joint, joint))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    z = np.array(list(product(nodes, repeat=3)))
    w = np.array([np.prod(part) for part in product(weights, repeat=3)])
    p = 1 / (1 + np.exp(-(z @ L.T)))
    w = w * p[:, 0] * (1 - p[:, 1])
    truth = w @ p / w.sum()
    drawn = draw(model, rows, y, draws=1200)
    assert np.allclose(drawn.probabilities(joint, every=2)[:, 1], truth, atol=0.012)
    assert_agrees(1 / (1 + np.exp(-drawn.latents[..., 0])), truth[:2])


def test_robust_max_probabilities_are_those_of_weighted_draws_of_the_prior():
    """A likelihood in steps, without gradients: draws of the prior, weighted by the likelihood of two labels."""
    model = latent_model(RobustMax(3, epsilon=0.05, fixed="epsilon"))
    rows, y, target = np.array([0, 5]), np.array([0, 1]), 3
    prior = model.kernel.prior_draws(np.append(rows, target), 3 * 60_000, np.random.default_rng(0))
    largest = prior.reshape(3, 3, -1).argmax(axis=1)
    weights = np.where(largest[:2] == y[:, None], 0.95, 0.025).prod(axis=0)
    share = np.array([weights @ (largest[2] == c) for c in range(3)]) / weights.sum()
    drawn = draw(model, rows, y, draws=600)
    assert np.allclose(drawn.probabilities([target], every=2)[0], 0.95 * share + 0.025 * (1 - share), atol=0.015)


def test_the_best_gaussian_predicts_softmax_labels_nearly_as_the_posterior_does():
    model = latent_model(Softmax(3), num_vertices=20)
    rows, everywhere = np.arange(10), np.arange(20)
    y = np.argmax(model.kernel.prior_draws(rows, 3, np.random.default_rng(0)), axis=1)
    solver = solver_for(model.kernel, rows)
    sites = best_sites(model, solver, y, NaturalSites.empty(10, 3)).sites
    approximate = GaussianLatents.of(model, sites, solver).probabilities(everywhere)
    exact = draw(model, rows, y, draws=500).probabilities(everywhere, every=8)
    assert np.abs(approximate - exact).max() < 0.03


def test_a_flat_likelihood_leaves_the_prior():
    model = latent_model(Flat(), free=(*KERNEL, "mean"), lengthscale=2.0)
    rows = np.array([1, 4])
    drawn = draw(model, rows, np.zeros(2), priors={"lengthscale": LogNormal(5.0, 0.3)})
    found = drawn.hyperparameters
    expected = {"nu": (2.0, 1.0), "lengthscale": (5.0, 0.3), "variance": (1.5, 1.0)}
    for name, (median, spread) in expected.items():
        logs = np.log(found[name])
        assert_agrees(logs, np.log(median))
        assert_agrees((logs - np.log(median)) ** 2, spread**2)
    assert_agrees(found["mean"][..., 0], 0.0)
    assert_agrees(found["mean"][..., 0] ** 2, 4.0)
    # A latent has the kernel's variance at each draw of the hyperparameters; scaled by it, it is a standard normal.
    kernel = latent_model(Flat(), variance=1.0).kernel

    def deviation(nu, lengthscale):
        there = parameters.with_value(kernel, ("inverse_nu",), np.asarray(1 / nu))
        there = parameters.with_value(there, ("lengthscale",), np.asarray(lengthscale))
        return np.sqrt(there.variances(there.inputs(rows)))

    pairs = zip(found["nu"].ravel(), found["lengthscale"].ravel(), strict=True)
    scale = np.array([deviation(*pair) for pair in pairs]).reshape(*found["nu"].shape, 2)
    scale = scale * np.sqrt(found["variance"])[..., None]
    scaled = (drawn.latents[..., 0] - found["mean"]) / scale
    assert_agrees(scaled, 0.0)
    assert_agrees(scaled**2, 1.0)


def small_run(**settings):
    model = latent_model(Softmax(3), free=("lengthscale", "mean"))
    return sample_posterior(
        model, np.array([5, 0, 9]), np.array([2, 0, 1]), **{"chains": 2, "warm_up": 5, "thin": 1, **settings}
    )


def test_the_seed_decides_the_draws():
    first, again, other = small_run(draws=25, warm_up=3), small_run(draws=25, warm_up=3), small_run(draws=25, seed=1)
    assert np.array_equal(first.latents, again.latents)
    assert np.array_equal(first.coordinates, again.coordinates)
    assert not np.allclose(first.latents, other.latents)
    # Warm-up is the beginning of the same chains.
    assert np.array_equal(small_run(draws=28, warm_up=0).latents[:, 3:], first.latents)


def test_arviz_receives_every_draw_by_name():
    drawn = small_run(draws=25)
    data = drawn.inference_data()
    assert dict(data.posterior.sizes) == {"chain": 2, "draw": 25, "vertex": 3, "latent": 3}
    assert set(data.posterior.data_vars) == {"lengthscale", "mean", "latents"}
    assert data.posterior["latents"].dims == ("chain", "draw", "vertex", "latent")
    assert data.posterior["mean"].dims == ("chain", "draw", "latent")
    assert data.posterior["vertex"].values.tolist() == [5, 0, 9]
    assert np.array_equal(data.posterior["latents"], drawn.latents)
    assert np.array_equal(data.observed_data["y"], [2, 0, 1])
    p = log_softmax(drawn.latents, axis=-1)
    assert np.allclose(data.log_likelihood["y"][..., 0], p[:, :, 0, 2])
    assert {"ess_bulk", "r_hat"} <= set(arviz.summary(data).columns)


def test_predictions_at_observed_vertices_are_the_draws():
    drawn = small_run(draws=20)
    mean, variance = drawn.conditionals(drawn.rows, every=4)
    assert mean.shape == variance.shape == (10, 3, 3)
    assert np.allclose(mean, drawn.latents[:, ::4].reshape(10, 3, 3), atol=1e-4)
    assert np.all(variance < 1e-6)
    probabilities = softmax(drawn.latents[:, ::4], axis=-1).mean(axis=(0, 1))
    assert np.allclose(drawn.probabilities(drawn.rows, every=4), probabilities, atol=1e-4)


def test_many_vertices_are_predicted_in_parts(monkeypatch):
    drawn = small_run(draws=10)
    whole = drawn.conditionals(np.arange(12)), drawn.probabilities(np.arange(12))
    monkeypatch.setattr("hypergauss.inference.mcmc.draws._ROWS", 5)
    parts = drawn.conditionals(np.arange(12)), drawn.probabilities(np.arange(12))
    assert all(np.allclose(a, b) for a, b in zip((*whole[0], whole[1]), (*parts[0], parts[1]), strict=True))
    assert drawn.probabilities([]).shape == (0, 3)


def test_an_interrupt_keeps_the_draws_made_so_far():
    lines = []

    def interrupt(line):
        lines.append(line)
        if len(lines) == 30:
            raise KeyboardInterrupt

    with pytest.warns(SamplingWarning, match="25 of 100 draws"):
        drawn = small_run(draws=100, warm_up=5, report=interrupt)
    assert lines[0] == "1 of 105 draws in each chain, the first 5 to warm up"
    assert np.array_equal(drawn.latents, small_run(draws=25, warm_up=5).latents)


def test_an_interrupt_during_warm_up_is_an_interrupt():
    def interrupt(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_run(draws=10, warm_up=10, report=interrupt)


def test_a_missing_arviz_is_named_with_its_extra(monkeypatch):
    drawn = small_run(draws=10)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"arviz.*pip install hypergauss\[mcmc\]"):
        drawn.inference_data()


def test_wrong_input_is_explained():
    model = latent_model(Bernoulli(), free=("nu",), nu=np.inf)
    rows, y = np.array([0, 1]), np.array([0, 1])
    with pytest.raises(ValueError, match=r"`nu` must be positive and finite.*Got inf"):
        sample_posterior(model, rows, y)
    fixed = latent_model(Bernoulli())
    with pytest.raises(ValueError, match=r"labels 0\.\.1\. Got 2"):
        sample_posterior(fixed, rows, np.array([0, 2]))
    with pytest.raises(ValueError, match="must have the same length"):
        sample_posterior(fixed, rows, np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="`thin` must be at least 1"):
        sample_posterior(fixed, rows, y, thin=0)
    with pytest.raises(TypeError, match="Got Normal"):
        draw(latent_model(Normal(0.3)), rows, y, chains=1, draws=10).probabilities(rows)


def test_too_many_vertices_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr("hypergauss.inference.mcmc.sampling._MOST_VERTICES", 3)
    with pytest.raises(ValueError, match=r"at most 3 observed vertices\. Got 4"):
        sample_posterior(latent_model(Bernoulli()), np.arange(4), np.zeros(4))


def test_hyperparameters_that_cannot_be_evaluated_are_a_numerical_error():
    model = latent_model(Bernoulli(), free=("lengthscale",), lengthscale=1e5)
    with pytest.raises(NumericalError, match="outside their range"):
        sample_posterior(model, np.array([0]), np.array([1]))
