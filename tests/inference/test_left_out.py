"""Probabilities with a vertex's own site left out, beside fits without that vertex."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.datasets import load_zoo
from hypergauss.solvers.choose import condition
from hypergauss.solvers.sites import Sites


@pytest.fixture(scope="module")
def animals():
    zoo = load_zoo()
    return zoo.hypergraph, zoo.target.iloc[:60]


def fitted(H, labels, likelihood):
    return hg.HypergraphGPClassifier(
        H, kernel="walk", likelihood=likelihood, learn=False, size_exponent=0.0, integrate=True
    ).fit(labels.index, labels)


def test_leaving_a_site_out_is_close_to_a_fit_without_the_vertex(animals):
    H, labels = animals
    model = fitted(H, labels, "probit")
    left_out = model.posterior_.left_out_probabilities()
    rows = model.posterior_.posteriors[0].sites.rows
    np.testing.assert_allclose(left_out.sum(axis=1), 1.0, atol=1e-6)
    for at in (0, 7, 21, 40):
        vertex = model.vertices_[rows[at]]
        without = fitted(H, labels.drop(vertex), "probit")
        np.testing.assert_allclose(left_out[at], without.predict_proba([vertex])[0], atol=5e-3)
    assert np.abs(left_out - model.predict_proba(model.vertices_[rows])).max() > 0.05


@pytest.mark.parametrize("likelihood", ["softmax", "robust-max"])
def test_latents_without_a_site_are_those_of_a_solver_that_never_saw_it(animals, likelihood):
    H, labels = animals
    posterior = fitted(H, labels, likelihood).posterior_
    left_out = posterior.left_out_probabilities()
    for at in (0, 21, 40):
        moments = []
        for latent in posterior.posteriors:
            rows, mean, variance = latent.sites.rows, latent.sites.mean, latent.sites.variance
            kept = np.arange(len(rows)) != at
            without = condition(latent.prior, Sites(rows[kept], mean[kept], variance[kept]), "dense")
            moments.append((without.mean(rows[[at]])[0, 0], without.variance(rows[[at]])[0]))
        expected = posterior.likelihood.probabilities(*np.array(moments).T[:, None, :])
        np.testing.assert_allclose(left_out[[at]], expected, atol=1e-6)


def test_two_classes_are_left_out_in_the_same_way(animals):
    H, labels = animals
    two = labels == labels.iloc[0]
    model = fitted(H, two, "probit")
    rows = model.posterior_.posteriors[0].sites.rows
    left_out = model.posterior_.left_out_probabilities()
    for at in (3, 30):
        vertex = model.vertices_[rows[at]]
        expected = fitted(H, two.drop(vertex), "probit").predict_proba([vertex])[0]
        np.testing.assert_allclose(left_out[at], expected, atol=5e-3)


def test_an_average_leaves_out_in_each_of_its_components(animals):
    H, labels = animals
    two = labels == labels.iloc[0]
    model = hg.HypergraphGPClassifier(H, size_exponent=0.0, random_state=0).fit(two.index, two)
    parts = [part.left_out_probabilities() for part in model.posterior_.components]
    expected = sum(weight * part for weight, part in zip(model.posterior_.weights, parts, strict=True))
    np.testing.assert_allclose(model.posterior_.left_out_probabilities(), expected, atol=1e-12)


def test_a_vertex_that_is_the_level_alone_is_left_out_like_any_other():
    """A walk gives an isolated vertex no variance: without its label, the mean of the others is all there is."""
    edges = [["a", "b", "c"], ["b", "c", "d"], ["d", "e", "f"], ["e", "f", "g"]]
    H = hg.Hypergraph.from_edges(edges, vertices=[*"abcdefg", "alone"])
    labels = {"a": 0, "b": 0, "e": 1, "g": 1, "alone": 1}
    walk = hg.kernels.Walk(hg.Spectrum.of(H))
    model = hg.HypergraphGPClassifier(H, kernel=walk, likelihood="probit", learn=False).fit(
        list(labels), list(labels.values())
    )
    latent = model.posterior_.posteriors[0]
    assert latent.variance(latent.sites.rows)[-1] == 0.0
    left_out = model.posterior_.left_out_probabilities()
    np.testing.assert_allclose(left_out[-1], model.predict_proba(["alone"])[0], atol=1e-12)
