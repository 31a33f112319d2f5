"""Labels as zeros and ones: held-out labels against fits without them, gradients against differences, one line."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

import hypergauss as hg
from hypergauss import parameters
from hypergauss.inference.calibration import best_temperature, held_out_probabilities
from hypergauss.inference.one_hot import SIZE, OneHotObjective
from hypergauss.kernels import UnitRows
from hypergauss.likelihoods import Softmax
from hypergauss.solvers import solver_for
from tests.inference.problems import classification

ZOO = hg.datasets.load_zoo()
NAMES, LABELS = ZOO.hypergraph.vertices, ZOO.target.to_numpy()
WORDS = sp.csr_array(ZOO.hypergraph.incidence)


def zoo(**settings):
    kernel = hg.kernels.Matern(hg.Spectrum.of(ZOO.hypergraph), 1.5, 2.0, variance=4.0)
    return hg.HypergraphGPClassifier(ZOO.hypergraph, kernel, inference="one-hot", **settings)


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


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_the_gradient_is_that_of_differences(solver):
    found, model, _, _ = objective(solver)
    theta, step = parameters.pack(model), 1e-5
    gradient = found.value_and_gradient(model)[1]
    for at, slope in enumerate(gradient):
        ends = [found.value(parameters.unpack(model, theta + s * np.eye(len(theta))[at])) for s in (step, -step)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-6)


def test_marginals_are_those_of_the_solver():
    found, model, _, _ = objective("dense")
    settled = found.settle(model)
    expected = found.solver.marginals(model.kernel, model.mean, settled.sites)
    assert np.allclose(settled.marginals.mean, expected.mean, atol=1e-9)
    assert np.allclose(settled.marginals.variance, expected.variance, atol=1e-9)


def test_held_out_labels_are_predicted_exactly_as_by_a_fit_without_them():
    held_out = held_out_probabilities(zoo(learn=False).fit(NAMES, LABELS).posterior_)
    for at in (0, 30, 77):
        others = np.arange(len(NAMES)) != at
        anew = zoo(learn=False, calibrate=False).fit(NAMES[others], LABELS[others]).predict_proba(NAMES[at : at + 1])
        assert np.allclose(held_out[at], anew[0], atol=1e-7)


def test_a_fit_is_calibrated_learned_explained_saved_and_loaded(tmp_path):
    known = np.random.default_rng(0).permutation(len(NAMES))[:60]
    rest = np.setdiff1d(np.arange(len(NAMES)), known)
    model = zoo().fit(NAMES[known], LABELS[known])
    p = model.predict_proba(NAMES[rest])
    assert np.allclose(p.sum(axis=1), 1.0)
    assert model.score(NAMES[rest], LABELS[rest]) > 0.85
    explained = model.explain(NAMES[rest[0]])
    assert explained.prediction == pytest.approx(explained.mean + explained.vertices["contribution"].sum())
    hg.save(model, tmp_path / "zoo.hypergauss")
    assert np.array_equal(hg.load(tmp_path / "zoo.hypergauss").predict_proba(NAMES[rest]), p)


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
        zoo(likelihood="robust-max").fit(NAMES, LABELS)
    with pytest.raises(ValueError, match=r"finds posteriors by `inference='variational'`. Got 'one-hot'"):
        hg.HypergraphGPClassifier(ZOO.hypergraph, inference="one-hot", solver="iterative").fit(NAMES, LABELS)
