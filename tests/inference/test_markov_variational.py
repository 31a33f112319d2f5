"""Likelihoods with the Markov solver: the bound of exact variational inference, by products alone."""

import numpy as np
import pytest

from hypergauss import Hypergraph, HypergraphGPClassifier, Markov, Spectrum, parameters
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import VariationalObjective
from hypergauss.inference.variational_by_products import MarkovVariational
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Bernoulli, Softmax
from hypergauss.solvers import solver_for

PLANTED = make_planted_hypergraph(200, 150, 3, within=0.9, random_state=3)
ROWS = np.random.default_rng(1).permutation(200)[:60]
OPTIONS = Markov(tolerance=1e-8, learning_tolerance=1e-8, probe_tolerance=1e-6, n_probes=200)


def problem(kind):
    spectrum = Spectrum.of(PLANTED.hypergraph)
    kernel = Matern(spectrum, 2, 3.0, variance=2.0, fixed=("nu",))
    if kind == "classes":
        return LatentModel(kernel, Softmax(3), np.zeros(3)), PLANTED.communities[ROWS].astype(float)
    return LatentModel(kernel, Bernoulli(), np.zeros(1)), (PLANTED.signal[ROWS] > 0).astype(float)


@pytest.mark.parametrize("kind", ["classes", "two classes"])
def test_bound_and_gradient_are_near_those_of_exact_variational_inference(kind):
    """Variances at the sites come from 64 draws, so the bound is that of slightly other sites: a little lower."""
    model, y = problem(kind)
    markov = MarkovVariational(solver_for(model.kernel, ROWS, OPTIONS), model, y)
    exact = VariationalObjective(solver_for(model.kernel, ROWS, "dense"), y, model.likelihood.num_latents, None)
    value, gradient = markov.value_and_gradient(model)
    expected, slopes = exact.value_and_gradient(model)
    assert value == pytest.approx(expected, abs=0.02 * len(ROWS))
    assert np.allclose(gradient, slopes, atol=0.1 * np.abs(slopes).max() + 0.3)
    assert len(gradient) == len(parameters.pack(model))


def test_a_classifier_asked_for_the_markov_solver_learns_and_predicts():
    H, communities = PLANTED.hypergraph, PLANTED.communities
    model = HypergraphGPClassifier(H, solver=Markov(n_probes=16)).fit(H.vertices[ROWS], communities[ROWS])
    assert model.solver_ == "markov"
    assert model.kernel_.nu in (1, 2, 3)
    probabilities = model.predict_proba(H.vertices)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    hidden = np.setdiff1d(np.arange(200), ROWS)
    exact = HypergraphGPClassifier(H).fit(H.vertices[ROWS], communities[ROWS]).predict(H.vertices)
    mine = model.classes_[probabilities.argmax(axis=1)]
    truth = communities[hidden]
    assert (mine[hidden] == truth).mean() >= (exact[hidden] == truth).mean() - 0.05


def test_two_components_and_an_isolated_vertex_are_no_trouble():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["d", "e"]], vertices=list("abcdef"))
    model = HypergraphGPClassifier(H, solver="markov", learn=False).fit(["a", "c", "d"], ["x", "x", "y"])
    found = model.predict_proba(list("abcdef"))
    assert np.isfinite(found).all()
    assert found[1, 0] > 0.5 > found[4, 0]
