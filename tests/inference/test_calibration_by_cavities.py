"""Calibration: cavities against fits without the vertex, and the temperature that spoilt probabilities."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.inference.calibration import best_temperature, held_out_probabilities, tempered
from hypergauss.kernels import Matern

ZOO = hg.datasets.load_zoo()
NAMES, LABELS = ZOO.hypergraph.vertices, ZOO.target.to_numpy()


def model(**settings):
    kernel = Matern(hg.Spectrum.of(ZOO.hypergraph), 1.5, 2.0, variance=4.0)
    return hg.HypergraphGPClassifier(ZOO.hypergraph, kernel, learn=False, likelihood="softmax", **settings)


def test_a_vertex_held_out_is_predicted_nearly_as_by_a_fit_without_it():
    held_out = held_out_probabilities(model().fit(NAMES, LABELS).posterior_)
    for at in (0, 30, 77):
        others = np.arange(len(NAMES)) != at
        anew = model().fit(NAMES[others], LABELS[others]).predict_proba(NAMES[at : at + 1])[0]
        assert np.abs(held_out[at] - anew).max() < 0.02


def test_the_temperature_that_spoilt_honest_probabilities_is_found():
    rng = np.random.default_rng(1)
    raw = rng.dirichlet(np.full(4, 0.5), size=20_000)
    codes = (rng.random((20_000, 1)) > tempered(raw, 0.6).cumsum(axis=1)).sum(axis=1)
    assert best_temperature(raw, codes) == pytest.approx(0.6, rel=0.03)
    assert np.array_equal(tempered(raw, 1.0), raw)


def test_a_few_labels_that_are_all_predicted_right_do_not_make_a_model_certain():
    right = np.tile([0.8, 0.1, 0.1], (30, 1))
    assert 0.3 < best_temperature(right, np.zeros(30, dtype=int)) < 1.0


def test_calibration_is_asked_for_and_says_what_it_did():
    plain, calibrated = model().fit(NAMES, LABELS), model(calibrate=True).fit(NAMES, LABELS)
    assert plain.temperature_ == 1.0 != calibrated.temperature_
    expected = tempered(plain.predict_proba(NAMES), calibrated.temperature_)
    assert np.allclose(calibrated.predict_proba(NAMES), expected)
    assert (calibrated.predict(NAMES) == plain.predict(NAMES)).all()


def test_calibration_of_what_it_cannot_hold_out_is_refused():
    coupled = hg.HypergraphGPClassifier(ZOO.hypergraph, learn=False, calibrate=True)
    with pytest.raises(ValueError, match=r"Got coupled ones. Use `likelihood='softmax'`, or `calibrate=False`"):
        coupled.fit(NAMES[:30], LABELS[:30])
    with pytest.raises(TypeError, match="`calibrate` must be True or False"):
        model(calibrate="yes").fit(NAMES, LABELS)
