"""Shares of classes: what labels say of them, the levels that make them, and what a vertex's own has of them."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.inference.mixtures import components
from hypergauss.inference.shares import level_for, shares_of
from hypergauss.likelihoods import Bernoulli, MultinomialProbit, Softmax
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(40, 30, seed=4)
ROWS = np.arange(25)


def test_each_class_has_one_label_more_than_it_has():
    assert shares_of(np.array([0, 2, 2, 2]), 3).tolist() == [2 / 7, 1 / 7, 4 / 7]


@pytest.mark.parametrize(
    "likelihood", [Bernoulli("probit"), Bernoulli("logit"), MultinomialProbit(4), Softmax(4)], ids=repr
)
@pytest.mark.parametrize("variance", [0.3, 400.0])
def test_levels_make_the_shares_that_are_asked_for(likelihood, variance):
    shares = np.array([0.05, 0.95]) if likelihood.num_latents == 1 else np.array([0.6, 0.02, 0.3, 0.08])
    level = level_for(likelihood, shares, variance)
    found = likelihood.probabilities(level[None, :], np.full((1, len(level)), variance))[0]
    assert np.allclose(found, shares, rtol=1e-5)


def classified(num_classes):
    labels = np.array(["a", "b", "a", "c", "a"] * 5 if num_classes == 3 else ["a", "b", "a", "a", "a"] * 5)
    return hg.HypergraphGPClassifier(H, learn=False, size_exponent=0.0).fit(H.vertices[ROWS], labels)


@pytest.mark.parametrize("inducing", [None, list("abcdef")], ids=["exact", "sparse"])
def test_isolated_vertices_have_the_shares_by_inducing_variables_too(inducing):
    alone = hg.Hypergraph.from_edges([list("abc"), list("cd"), list("de"), list("ef")], vertices=list("abcdefghi"))
    model = hg.HypergraphGPClassifier(alone, learn=False, size_exponent=0.0, inducing=inducing)
    model.fit(list("abcdefg"), ["x", "x", "x", "y", "x", "x", "x"])
    assert model.shares_.tolist() == [7 / 9, 2 / 9]
    assert model.predict_proba(["h"])[0, 0] == pytest.approx(7 / 9, abs=0.08)
    told = str(model.explain("h"))
    assert "without observations" in told
    assert "by the classes' shares" in told


@pytest.mark.parametrize("num_classes", [2, 3])
def test_latents_are_told_by_memberships_and_regressed_towards_the_shares(num_classes):
    model = classified(num_classes)
    everywhere = np.arange(40)
    for _, latents in components(model.posterior_):
        told = np.hstack([posterior.mean(everywhere) for posterior in latents.posteriors])
        own = latents.posteriors[0].prior.kernel.own_shares(everywhere)
        assert 0 < own.mean() < 1
        mean, variance = latents.conditionals(everywhere)
        assert np.allclose(mean - told, own[:, None] * latents.own)
        assert (latents._replace(own=None).conditionals(everywhere)[1] == variance).all()
        drawn, plain = (
            each.sample(everywhere, 2, np.random.default_rng(0)) for each in (latents, latents._replace(own=None))
        )
        assert np.allclose(drawn - plain, mean - told)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_label_held_out_is_regressed_as_a_vertex_without_one(num_classes):
    """Where all that is told is taken away by a share of 1, and nothing by a share of 0, shares say all or nothing."""
    model = classified(num_classes)
    (_, latents), *_ = components(model.posterior_)
    own = latents.posteriors[0].prior.kernel.own_shares(ROWS)
    moved = np.abs(latents.left_out_probabilities() - latents._replace(own=None).left_out_probabilities()).max(axis=1)
    assert (moved[own == 0] < 1e-12).all()
    assert (moved[own > 0.1] > 1e-4).all()
    for at in np.flatnonzero(own > 0.1)[:3]:
        others = np.setdiff1d(ROWS, [at])
        labels = model.labels_.to_numpy()
        without = hg.HypergraphGPClassifier(H, learn=False, size_exponent=0.0, calibrate=False)
        without.fit(H.vertices[others], labels[others])
        anew = without.predict_proba(H.vertices[[at]])[0]
        assert np.abs(latents.left_out_probabilities()[at] - anew).max() < 0.05


def test_a_given_kernel_without_a_level_has_nothing_to_do_with_shares():
    kernel = hg.kernels.Matern(hg.Spectrum.of(H))
    model = hg.HypergraphGPClassifier(H, kernel, learn=False).fit(H.vertices[:4], ["a", "b", "a", "b"])
    assert model.shares_ is None
    assert all(latents.own is None for _, latents in components(model.posterior_))
