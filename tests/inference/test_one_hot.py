"""Labels as zeros and ones: held-out labels against fits without them, gradients against differences, one line."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

import hypergauss as hg
from hypergauss.inference.calibration import best_temperature
from hypergauss.inference.one_hot import SIZE, OneHotObjective
from hypergauss.kernels import UnitRows
from hypergauss.likelihoods import Softmax
from hypergauss.solvers import solver_for
from tests.inference.problems import LABELS, NAMES, ZOO, classification, zoo

WORDS = sp.csr_array(ZOO.hypergraph.incidence)


def objective(solver="auto"):
    model, rows, y = classification(Softmax(3))
    return OneHotObjective(solver_for(model.kernel, rows, solver), y, 3), model, rows, y


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_the_objective_is_the_density_of_labels_predicted_one_by_one(solver):
    found, model, rows, y = objective(solver)
    K = model.kernel.gram()[np.ix_(rows, rows)]
    targets = SIZE * (np.eye(3)[y.astype(int)] - 1 / 3)
    means = []
    for at in range(len(y)):
        others = np.arange(len(y)) != at
        system = K[np.ix_(others, others)] + np.eye(len(y) - 1)
        means.append(model.mean + K[at, others] @ np.linalg.solve(system, targets[others] - model.mean))
    logs = log_softmax(np.array(means), axis=1)
    T = best_temperature(np.exp(logs), y.astype(int))
    expected = log_softmax(logs / T, axis=1)[np.arange(len(y)), y.astype(int)].sum() - (np.log(T) / 0.5) ** 2 / 2
    assert found.value(model) == pytest.approx(expected, rel=1e-9)


def test_marginals_are_those_of_the_solver():
    found, model, _, _ = objective("dense")
    settled = found.settle(model)
    expected = found.solver.marginals(model.kernel, model.mean, settled.sites)
    assert np.allclose(settled.marginals.mean, expected.mean, atol=1e-9)
    assert np.allclose(settled.marginals.variance, expected.variance, atol=1e-9)


def test_many_labels_with_many_features_are_told_by_angles_where_a_dense_solver_serves_them(monkeypatch, tmp_path):
    monkeypatch.setattr("hypergauss.estimators.classifier.coupled_is_affordable", lambda *_: False)
    settings = {"covariates": WORDS, "learn": False, "size_exponent": 0.0}
    auto = hg.HypergraphGPClassifier(ZOO.hypergraph, **settings).fit(NAMES, LABELS)
    asked = hg.HypergraphGPClassifier(ZOO.hypergraph, inference="one-hot", **settings).fit(NAMES, LABELS)
    assert sum(isinstance(term, UnitRows) for term in auto.kernel_.terms) == 2
    assert np.array_equal(auto.predict_proba(NAMES), asked.predict_proba(NAMES))
    hg.save(auto, tmp_path / "words.hypergauss")
    assert np.array_equal(hg.load(tmp_path / "words.hypergauss").predict_proba(NAMES), auto.predict_proba(NAMES))


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match=r"takes labels as zeros and ones.* Got RobustMax. Leave `likelihood` out"):
        zoo("one-hot", likelihood="robust-max").fit(NAMES, LABELS)
    with pytest.raises(ValueError, match=r"finds posteriors by `inference='variational'`. Got 'one-hot'"):
        hg.HypergraphGPClassifier(ZOO.hypergraph, inference="one-hot", solver="iterative").fit(NAMES, LABELS)
