"""Averages over hyperparameters: moments, draws and probabilities of mixtures, from those of their components."""

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior, components, heaviest
from hypergauss.kernels import Standardised, Walk
from hypergauss.likelihoods import Bernoulli
from hypergauss.solvers.base import Prior
from hypergauss.solvers.choose import condition
from hypergauss.solvers.sites import Sites
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(12, 8, seed=1)
ROWS, ASKED = np.array([1, 4, 6, 9]), np.array([0, 4, 7, 11])
WEIGHTS = np.array([0.5, 0.3, 0.2])
Y = np.array([[1.0, -0.3], [0.4, 0.8], [-1.2, 0.1], [2.0, -1.0]])


def parts(y):
    """Return posteriors at three hyperparameters, apart enough for their means to differ."""
    found = []
    for steps, variance, noise in ((1.0, 1.0, 0.1), (3.0, 4.0, 0.5), (0.5, 0.3, 0.05)):
        prior = Prior(Standardised(Walk(Spectrum.of(H), steps, variance=variance), level=0.5), np.zeros(y.shape[1]))
        found.append(condition(prior, Sites(ROWS, y, np.full(4, noise)), "dense"))
    return tuple(found)


@pytest.fixture(scope="module", params=[1, 2], ids=["one output", "two outputs"])
def mixed(request):
    return MixedPosterior(parts(Y[:, : request.param]), WEIGHTS, -1.0)


def by_hand(mixed):
    """Return means (m, L) and second moments around them (L, m, m) of the mixture."""
    means = [part.mean(ASKED) for part in mixed.components]
    mean = sum(w * m for w, m in zip(WEIGHTS, means, strict=True))
    spread = sum(
        w * (part.covariance(ASKED) + np.einsum("il,jl->lij", m - mean, m - mean))
        for w, m, part in zip(WEIGHTS, means, mixed.components, strict=True)
    )
    return mean, spread


def test_moments_are_those_of_the_mixture_with_covariances_averaged_over_outputs(mixed):
    mean, spread = by_hand(mixed)
    assert np.allclose(mixed.mean(ASKED), mean, atol=1e-12)
    assert np.allclose(mixed.covariance(ASKED), spread.mean(axis=0), atol=1e-12)
    assert np.allclose(mixed.variance(ASKED), np.diag(mixed.covariance(ASKED)), atol=1e-12)
    assert np.linalg.eigvalsh(mixed.covariance(ASKED)).min() > 0


def test_draws_have_the_moments_of_the_mixture(mixed):
    size = 60_000
    draws = mixed.sample(ASKED, size, np.random.default_rng(0))
    mean, spread = by_hand(mixed)
    assert draws.shape == (size, 4, mean.shape[1])
    for output in range(mean.shape[1]):
        own, variance = draws[:, :, output], np.diag(spread[output])
        assert (np.abs(own.mean(axis=0) - mean[:, output]) < 4.5 * np.sqrt(variance / size)).all()
        # Tails of mixtures are heavier than a normal's: errors of covariances from the draws themselves.
        products = (own - mean[:, output])[:, :, None] * (own - mean[:, output])[:, None, :]
        error = products.std(axis=0) / np.sqrt(size)
        assert (np.abs(products.mean(axis=0) - spread[output]) < 4.5 * error).all()


def test_draws_come_in_random_order(mixed):
    draws = mixed.sample(ASKED, 2000, np.random.default_rng(0))[:, :, 0]
    first, second = draws[:1000], draws[1000:]
    assert np.abs(first.mean(axis=0) - second.mean(axis=0)).max() < 5 * draws.std() * np.sqrt(2 / 1000)


def test_leaving_one_out_mixes_the_components_predictions(mixed):
    found = mixed.leave_one_out()
    each = [part.leave_one_out() for part in mixed.components]
    mean = sum(w * one.mean for w, one in zip(WEIGHTS, each, strict=True))
    variance = sum(
        w * (one.variance + ((one.mean - mean) ** 2).mean(axis=1)) for w, one in zip(WEIGHTS, each, strict=True)
    )
    assert np.allclose(found.mean, mean, atol=1e-12)
    assert np.allclose(found.variance, variance, atol=1e-12)


def test_a_mixture_of_one_is_that_one():
    (part, *_) = parts(Y)
    alone = MixedPosterior((part,), np.ones(1), part.log_evidence)
    assert np.allclose(alone.mean(ASKED), part.mean(ASKED), atol=1e-14)
    assert np.allclose(alone.covariance(ASKED), part.covariance(ASKED), atol=1e-14)
    assert np.array_equal(alone.leave_one_out().variance, part.leave_one_out().variance)


def test_components_are_found_with_their_weights_and_what_is_no_mixture_is_its_own(mixed):
    assert [weight for weight, _ in components(mixed)] == WEIGHTS.tolist()
    assert heaviest(mixed) is mixed.components[0]
    assert components(mixed.components[1]) == [(1.0, mixed.components[1])]
    assert (mixed.solver, mixed.sites, mixed.prior) == (
        "dense",
        mixed.components[0].sites,
        mixed.components[0].prior,
    )


def test_probabilities_are_averaged_and_latents_have_the_moments_of_the_mixture():
    latents = MixedLatents(tuple(GaussianLatents((part,), Bernoulli("probit")) for part in parts(Y[:, :1])), WEIGHTS)
    each = [part.probabilities(ASKED) for part in latents.components]
    assert np.allclose(latents.probabilities(ASKED), np.tensordot(WEIGHTS, np.stack(each), axes=1), atol=1e-14)
    mean, variance = latents.conditionals(ASKED)
    regression = MixedPosterior(parts(Y[:, :1]), WEIGHTS, 0.0)
    assert np.allclose(mean, regression.mean(ASKED), atol=1e-12)
    assert np.allclose(variance[:, 0], regression.variance(ASKED), atol=1e-12)
    assert latents.sample(ASKED, 7, np.random.default_rng(0)).shape == (7, 4, 1)
