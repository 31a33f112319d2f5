"""Labels as Gaussian measurements: evidence, posterior and held-out labels against dense formulas, and one line."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import lognorm, multivariate_normal

import hypergauss as hg
from hypergauss.inference.dirichlet import PSEUDO_COUNT, DirichletObjective, label_measurements
from hypergauss.likelihoods import Softmax
from hypergauss.solvers import InducingVertices, solver_for
from tests.inference.problems import LABELS, NAMES, ZOO, classification, zoo


def objective(solver="auto", induced=None):
    model, rows, y = classification(Softmax(3))
    inducing = None if induced is None else InducingVertices.of(model.kernel, np.arange(induced))
    return DirichletObjective(solver_for(model.kernel, rows, solver, inducing), y, 3), model, rows, y


def test_measurements_have_the_moments_of_gamma_counts():
    mean, variance = label_measurements(np.array([2, 0]), 3)
    counts = PSEUDO_COUNT + np.eye(3)[[2, 0]]
    plain = np.log(counts) - variance / 2  # rows of the others are these less their mean
    found = lognorm(np.sqrt(variance), scale=np.exp(plain))
    assert np.allclose(found.mean(), counts)
    assert np.allclose(found.var(), counts)
    assert np.allclose(mean, plain - plain.mean(axis=1, keepdims=True))


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_the_evidence_is_that_of_the_dense_formula(solver):
    found, model, rows, y = objective(solver)
    mean, variance = label_measurements(y, 3)
    K = model.kernel.gram()[np.ix_(rows, rows)]
    expected = sum(
        multivariate_normal(np.zeros(len(y)), K + np.diag(variance[:, c])).logpdf(mean[:, c]) for c in range(3)
    )
    assert found.value(model) == pytest.approx(expected, rel=1e-10)


def test_inducing_variables_give_a_bound_on_the_evidence():
    exact, model, _, _ = objective()
    bound, full = (objective(induced=number)[0].value(model) for number in (12, 40))
    assert bound < exact.value(model)
    assert full == pytest.approx(exact.value(model), rel=1e-6)


def test_two_classes_have_a_latent_function_each():
    is_mammal = np.where(LABELS[0] == LABELS, "yes", "no")
    model = zoo("dirichlet", learn=False).fit(NAMES, is_mammal)
    assert len(model.posterior_.posteriors) == 2
    assert np.allclose(model.predict_proba(NAMES).sum(axis=1), 1.0)


def test_more_labels_with_many_features_than_a_dense_solver_serves_are_taken_as_measurements(monkeypatch):
    monkeypatch.setattr("hypergauss.estimators.classifier.coupled_is_affordable", lambda *_: False)
    monkeypatch.setattr("hypergauss.estimators.classifier.dense_is_affordable", lambda *_: False)
    words = sp.csr_array(ZOO.hypergraph.incidence)
    settings = {"covariates": words, "learn": False, "size_exponent": 0.0}
    auto = hg.HypergraphGPClassifier(ZOO.hypergraph, **settings).fit(NAMES, LABELS)
    asked = hg.HypergraphGPClassifier(ZOO.hypergraph, inference="dirichlet", **settings).fit(NAMES, LABELS)
    assert auto.temperature_ == asked.temperature_ != 1.0
    assert np.array_equal(auto.predict_proba(NAMES), asked.predict_proba(NAMES))
    softmax = hg.HypergraphGPClassifier(ZOO.hypergraph, likelihood="softmax", **settings).fit(NAMES, LABELS)
    assert not np.allclose(softmax.predict_proba(NAMES), auto.predict_proba(NAMES), atol=1e-3)


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match=r"takes labels as counts.* Got RobustMax. Leave `likelihood` out"):
        zoo("dirichlet", likelihood="robust-max").fit(NAMES, LABELS)
    with pytest.raises(ValueError, match=r"finds posteriors by `inference='variational'`. Got 'dirichlet'"):
        hg.HypergraphGPClassifier(ZOO.hypergraph, inference="dirichlet", solver="iterative").fit(NAMES, LABELS)
    with pytest.raises(ValueError, match="`batch_size` is for"):
        zoo("dirichlet", batch_size=10, inducing=20).fit(NAMES, LABELS)
