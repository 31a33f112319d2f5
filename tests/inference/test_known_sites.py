"""What labels as measurements and labels as zeros and ones have in common: sites that are known beforehand."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss import parameters
from hypergauss.inference.calibration import held_out_probabilities
from hypergauss.inference.dirichlet import DirichletObjective
from hypergauss.inference.one_hot import OneHotObjective
from hypergauss.likelihoods import Softmax
from hypergauss.solvers import InducingVertices, solver_for
from tests.inference.problems import LABELS, NAMES, classification, zoo

both = pytest.mark.parametrize("inference", ["dirichlet", "one-hot"])


@pytest.mark.parametrize(
    ("kind", "solver", "induced"),
    [
        (DirichletObjective, "auto", None),
        (DirichletObjective, "auto", 12),
        (OneHotObjective, "dense", None),
        (OneHotObjective, "low-rank", None),
    ],
)
def test_the_gradient_is_that_of_differences(kind, solver, induced):
    model, rows, y = classification(Softmax(3))
    inducing = None if induced is None else InducingVertices.of(model.kernel, np.arange(induced))
    found = kind(solver_for(model.kernel, rows, solver, inducing), y, 3)
    theta, step = parameters.pack(model), 1e-5
    gradient = found.value_and_gradient(model)[1]
    for at, slope in enumerate(gradient):
        ends = [found.value(parameters.unpack(model, theta + s * np.eye(len(theta))[at])) for s in (step, -step)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-6)


@both
def test_held_out_labels_are_predicted_exactly_as_by_a_fit_without_them(inference):
    held_out = held_out_probabilities(zoo(inference, learn=False).fit(NAMES, LABELS).posterior_)
    for at in (0, 30, 77):
        others = np.arange(len(NAMES)) != at
        model = zoo(inference, learn=False, calibrate=False).fit(NAMES[others], LABELS[others])
        assert np.allclose(held_out[at], model.predict_proba(NAMES[at : at + 1])[0], atol=1e-7)


@both
def test_a_fit_is_calibrated_learned_explained_saved_and_loaded(inference, tmp_path):
    known = np.random.default_rng(0).permutation(len(NAMES))[:60]
    rest = np.setdiff1d(np.arange(len(NAMES)), known)
    model = zoo(inference).fit(NAMES[known], LABELS[known])
    p = model.predict_proba(NAMES[rest])
    assert np.allclose(p.sum(axis=1), 1.0)
    assert model.score(NAMES[rest], LABELS[rest]) > 0.85
    if inference == "dirichlet":
        assert model.temperature_ < 1.0
    explained = model.explain(NAMES[rest[0]])
    assert explained.prediction == pytest.approx(explained.mean + explained.vertices["contribution"].sum())
    hg.save(model, tmp_path / "zoo.hypergauss")
    assert np.array_equal(hg.load(tmp_path / "zoo.hypergauss").predict_proba(NAMES[rest]), p)
