"""Averages over hyperparameters against integrals over them."""

import numpy as np
import pytest

from hypergauss import HypergraphGPClassifier, HypergraphGPRegressor, LogNormal, Spectrum, parameters
from hypergauss.estimators.averaging import Neighbour, average
from hypergauss.estimators.defaults import default_class_priors, default_priors
from hypergauss.estimators.latent_task import LatentTask
from hypergauss.estimators.tasks import GaussianTask, How
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior, components
from hypergauss.kernels import Matern, ShapedWalk, Standardised, Walk
from hypergauss.learning.curvature import curvature_at
from hypergauss.learning.search import Penalised
from hypergauss.likelihoods import Bernoulli, Poisson
from hypergauss.solvers.sites import Observations
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(30, 25, seed=4, awkward=False)
ROWS, ASKED = np.arange(0, 30, 2), np.arange(1, 30, 4)
NAMES = list(H.vertices)


def kernel(size_exponent=0.0):
    """Return one of which only the variance is free."""
    part = Walk(Spectrum.of(H, size_exponent=size_exponent), fixed=("steps",))
    return Standardised(part, level=1.0, fixed=("individuality", "evenness"))


def drawn(outputs):
    rng = np.random.default_rng(0)
    y = kernel().prior_draws(ROWS, outputs, rng) + 0.4 * rng.standard_normal((len(ROWS), outputs))
    how = How("dense", None, {}, default_priors(1.0), True, 1, 200, 0, None)
    return GaussianTask(Observations.of(ROWS, y), np.zeros(outputs), 1.0, noise_variance=0.1, how=how)


@pytest.fixture(scope="module")
def task():
    return drawn(1)


def over_a_grid(task, attempt, steps=25):
    """Return log evidence times prior over all of variance and noise, mean and variance of f, and E log noise."""
    model = attempt.learned.model
    objective = Penalised(task.objective(attempt.solver, model, None), model, task.priors_for(model))
    centre, limits = parameters.pack(model), parameters.bounds(model)
    reach = 6 * np.sqrt(np.diag(curvature_at(objective, centre, limits, widest=task.widest).covariance))
    axes = [np.linspace(c - r, c + r, steps) for c, r in zip(centre, reach, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    points = points[((points > limits[:, 0]) & (points < limits[:, 1])).all(axis=1)]
    heights = np.array([objective(theta)[0] for theta in points])
    weights = np.exp(heights - heights.max())
    total = np.log(weights.sum() * reach.prod()) + heights.max()
    weights /= weights.sum()
    moments = []
    for weight, theta in zip(weights, points, strict=True):
        if weight > 1e-7:
            found = parameters.unpack(model, theta)
            part = attempt.solver.posterior(found.prior(), task.measured.sites(found.noise_variance))
            moments.append((weight, part.mean(ASKED), part.variance(ASKED), np.log(found.noise_variance)))
    mean = sum(w * m for w, m, *_ in moments)
    variance = sum(w * (v + ((m - mean) ** 2).mean(axis=1)) for w, m, v, _ in moments)
    return total, mean, variance, sum(w * noise for w, *_, noise in moments)


def averaged_moments(task, attempt, neighbours, count):
    found = average(task, attempt, neighbours, count)
    assert sum(point.weight for point in found.points) == pytest.approx(1.0)
    assert found.points[0].weight == max(point.weight for point in found.points)
    assert 1.0 <= found.effective_size <= count
    mixed = task.mixed(attempt, found.points)
    noise = sum(w * np.log(point.learned.model.noise_variance) for w, point in found.points)
    return mixed.mean(ASKED), mixed.variance(ASKED), noise, found


@pytest.mark.parametrize("outputs", [1, 6])
def test_averages_are_nearly_those_of_a_fine_grid(outputs):
    """Up to a tail towards no noise at all, which points around the mode do not reach."""
    task = drawn(outputs)
    attempt = task.learn(kernel())
    _, mean, variance, noise = over_a_grid(task, attempt)
    # As many points as a fit of so few measurements takes.
    *own, found = averaged_moments(task, attempt, [Neighbour(0.0, attempt.objective, attempt)], 80)
    spread = np.sqrt(found.curvature.covariance[1, 1])  # of the noise's logarithm
    mode = task.posterior(attempt)
    assert np.abs(own[0] - mean).max() < 0.1 * np.sqrt(variance).max()
    assert np.allclose(own[1], variance, rtol=0.05)
    assert own[2] == pytest.approx(noise, abs=0.35 * spread)
    assert np.abs(own[1] / variance - 1).max() < 0.5 * np.abs(mode.variance(ASKED) / variance - 1).max()


def test_what_measurements_say_nothing_of_is_averaged_over_as_its_prior_has_it():
    """Of three measurements the last cosines of a filter cannot be told."""
    rng = np.random.default_rng(0)
    how = How("dense", None, {}, default_priors(1.0), True, 1, 200, 0, None)
    task = GaussianTask(
        Observations.of(ROWS[:3], rng.standard_normal((3, 1))), np.zeros(1), 1.0, noise_variance=0.1, how=how
    )
    part = ShapedWalk(Spectrum.of(H), fixed=("steps", "variance"))
    attempt = task.learn(Standardised(part, level=1.0, fixed=("individuality", "evenness")))
    found = average(task, attempt, [Neighbour(0.0, attempt.objective, attempt)], 80)
    logs = np.log([point.attempt.learned.model.kernel.part.shape[-1] for point in found.points])
    weights = np.array([point.weight for point in found.points])
    assert found.effective_size > 50
    assert weights @ (logs - weights @ logs) ** 2 == pytest.approx(default_priors(1.0)["shape"].spread ** 2, rel=0.2)


@pytest.mark.parametrize(("likelihood", "widest"), [(Bernoulli("probit"), 1.0), (Poisson(), 2.0)])
def test_averages_of_classes_stay_nearer_to_the_mode_than_those_of_counts(likelihood, widest):
    """Of a filter's shape three labels or counts say next to nothing, and its prior is wider than both."""
    how = How("dense", None, {}, default_class_priors(), True, 1, 200, 0, None)
    task = LatentTask(likelihood, ROWS[:3], np.array([0.0, 1.0, 0.0]), inference="ep", batch_size=None, how=how)
    part = ShapedWalk(Spectrum.of(H), fixed=("steps",))
    attempt = task.learn(Standardised(part, level=1.0, fixed=("individuality", "evenness")))
    spreads = np.sqrt(
        np.linalg.eigvalsh(average(task, attempt, [Neighbour(0.0, 0.0, attempt)], 8).curvature.covariance)
    )
    assert spreads.max() == pytest.approx(widest)


def test_size_exponents_share_the_average_by_evidence_and_prior(task):
    attempts = [task.learn(kernel(exponent)) for exponent in (0.0, 1.5)]
    log_priors = [-0.3, -1.1]
    totals = np.array([over_a_grid(task, attempt)[0] for attempt in attempts]) + log_priors
    expected = np.exp(totals - totals.max())
    expected /= expected.sum()
    neighbours = [Neighbour(p, a.objective + p, a) for p, a in zip(log_priors, attempts, strict=True)]
    found = average(task, attempts[0], neighbours, 150)
    share = sum(w for w, point in found.points if point.learned.model.kernel.spectrum.size_exponent == 0.0)
    assert share == pytest.approx(expected[0], abs=0.05)
    assert 0.1 < share < 0.9


def test_the_average_is_wider_than_the_mode():
    """At the mode, what is not known of hyperparameters is left out."""
    rng = np.random.default_rng(1)
    y = kernel().prior_draws(ROWS, 1, rng)[:, 0] + 0.4 * rng.standard_normal(len(ROWS))
    names = [NAMES[i] for i in ROWS]
    options = {"random_state": 0, "size_exponent": 0.0}
    whole, mode = (HypergraphGPRegressor(H, integrate=i, **options).fit(names, y) for i in (True, False))
    assert isinstance(whole.posterior_, MixedPosterior)
    assert len(components(mode.posterior_)) == 1
    assert whole.hyperparameters_["variance"] == pytest.approx(mode.hyperparameters_["variance"])
    assert whole.log_marginal_likelihood_ == pytest.approx(mode.log_marginal_likelihood_)
    spread = [model.predict(NAMES, return_std=True, include_noise=False).std.mean() for model in (whole, mode)]
    assert spread[0] > spread[1]


@pytest.mark.parametrize("make", [HypergraphGPRegressor, HypergraphGPClassifier])
def test_the_order_of_observations_does_not_matter(make):
    """With few of them many hyperparameters are as the prior left them, all equally flat."""
    names, y = np.array(["a", "b", "c", "d"]), np.array([1, 0, 0, 1])
    G = type(H).from_edges([["a", "b", "c"], ["c", "d"], ["d", "e", "a"]])
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]):
        model = make(G, random_state=0).fit(names[order], y[order])
        found.append(model.predict_proba(["e"]) if make is HypergraphGPClassifier else model.predict(["e"], True))
    for other in found[1:]:
        assert np.allclose(found[0], other, rtol=1e-6)


def test_a_given_kernel_is_neither_averaged_nor_given_default_priors():
    y, names = np.sin(ROWS), [NAMES[i] for i in ROWS]
    model = HypergraphGPRegressor(H, Matern(Spectrum.of(H)), n_starts=1, random_state=0).fit(names, y)
    assert len(components(model.posterior_)) == 1
    loose = LogNormal(1.0, 1e6)
    flat = HypergraphGPRegressor(H, Matern(Spectrum.of(H)), priors={"variance": loose}, n_starts=1, random_state=0).fit(
        names, y
    )
    assert model.log_marginal_likelihood_ == pytest.approx(flat.log_marginal_likelihood_, abs=1e-3)


# ------------------------------------------------------------------ input that leaves little to learn

ALONE = {
    "one hyperedge of all": {"edges": [NAMES]},
    "the same hyperedge twice": {"edges": [NAMES, NAMES]},
    "only hyperedges of one": {"edges": [[name] for name in NAMES]},
}


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
@pytest.mark.parametrize("options", ALONE.values(), ids=ALONE)
@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_a_hypergraph_that_tells_no_vertices_apart_predicts_the_same_of_all_and_no_nan(options, kind):
    G = type(H).from_edges(**options)
    observed, others = NAMES[:12], NAMES[12:]
    if kind == "numbers":
        mean, std = HypergraphGPRegressor(G, random_state=0).fit(observed, np.arange(12.0)).predict(others, True)
        assert np.allclose(mean, 5.5, atol=0.1)
        assert (std > 3).all()
        return
    labels = [("a", "b", "c")[i % 3 if kind == "three classes" else i % 2] for i in range(12)]
    p = HypergraphGPClassifier(G, random_state=0).fit(observed, labels).predict_proba(others)
    assert np.allclose(p, 1 / p.shape[1], atol=0.1)


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
def test_labels_in_one_component_say_little_of_another():
    edges = [NAMES[:5], NAMES[3:8], NAMES[6:10], NAMES[15:20], NAMES[18:24]]
    G = type(H).from_edges(edges, vertices=NAMES)
    labels = ["a", "a", "a", "b", "b", "b"]
    model = HypergraphGPClassifier(G, random_state=0).fit(NAMES[:3] + NAMES[7:10], labels)
    assert isinstance(model.posterior_, MixedLatents)
    p = model.predict_proba(NAMES)
    assert np.isfinite(p).all()
    assert p[:3, 0].min() > 0.6
    assert np.abs(p[15:, 0] - 0.5).max() < 0.2  # others, and isolated ones


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
def test_one_vertex_is_a_hypergraph_too():
    G = type(H).from_edges([["a"]])
    mean, std = HypergraphGPRegressor(G, random_state=0).fit(["a"], [3.0]).predict(["a"], return_std=True)
    assert mean[0] == pytest.approx(3.0)
    assert np.isfinite(std).all()
