"""Calibration: cavities against fits without the vertex, and the temperature that spoilt probabilities."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hypergauss as hg
from hypergauss.inference.calibration import best_temperature, held_out_probabilities, temperature_of, tempered
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


def test_what_is_sharpened_is_how_much_more_probable_a_class_is_than_it_is_of_any_vertex():
    rng = np.random.default_rng(2)
    shares = np.array([0.6, 0.3, 0.1])
    assert np.allclose(tempered(shares[None, :], 0.4, shares), shares)
    raw = tempered(rng.dirichlet(np.full(3, 0.7), size=20_000), 1.5)
    codes = (rng.random((20_000, 1)) > tempered(raw, 0.6, shares).cumsum(axis=1)).sum(axis=1)
    assert best_temperature(raw, codes, shares=shares) == pytest.approx(0.6, rel=0.03)


def test_a_few_labels_that_are_all_predicted_right_do_not_make_a_model_certain():
    right = np.tile([0.8, 0.1, 0.1], (30, 1))
    assert 0.3 < best_temperature(right, np.zeros(30, dtype=int)) < 1.0


def test_calibration_is_asked_for_and_says_what_it_did():
    plain, calibrated = model().fit(NAMES, LABELS), model(calibrate=True).fit(NAMES, LABELS)
    assert plain.temperature_ == 1.0 != calibrated.temperature_
    expected = tempered(plain.predict_proba(NAMES), calibrated.temperature_)
    assert np.allclose(calibrated.predict_proba(NAMES), expected)
    assert (calibrated.predict(NAMES) == plain.predict(NAMES)).all()


def test_coupled_latents_are_held_out_nearly_as_by_a_fit_without_the_vertex():
    kernel = Matern(hg.Spectrum.of(ZOO.hypergraph), 1.5, 2.0, variance=4.0)
    coupled = hg.HypergraphGPClassifier(ZOO.hypergraph, kernel, learn=False)
    held_out = held_out_probabilities(coupled.fit(NAMES[:60], LABELS[:60]).posterior_)
    for at in (0, 30, 47):
        others = np.arange(60) != at
        anew = coupled.fit(NAMES[:60][others], LABELS[:60][others])
        found = pd.Series(held_out[at], np.unique(LABELS[:60]))[anew.classes_]
        assert np.abs(found - anew.predict_proba(NAMES[at : at + 1])[0]).max() < 0.02


@pytest.mark.parametrize("labels", [LABELS, np.where(LABELS[0] == LABELS, "a", "b")], ids=["many", "two"])
def test_the_default_calibrates_classes_however_many(labels):
    calibrated = hg.HypergraphGPClassifier(ZOO.hypergraph, size_exponent=0.0, integrate=False, random_state=0)
    calibrated.fit(NAMES[:40], labels[:40])
    assert calibrated.temperature_ != 1.0
    plain = clone(calibrated).set_params(calibrate=False).fit(NAMES[:40], labels[:40])
    assert plain.temperature_ == 1.0
    expected = tempered(plain.predict_proba(NAMES), calibrated.temperature_, calibrated.shares_)
    assert np.allclose(calibrated.predict_proba(NAMES), expected)
    unlearned = clone(calibrated).set_params(learn=False, integrate=True).fit(NAMES[:40], labels[:40])
    assert unlearned.temperature_ == 1.0


def test_hyperparameters_learned_from_the_same_labels_leave_less_to_a_temperature():
    posterior = model().fit(NAMES, LABELS).posterior_
    codes = np.searchsorted(np.unique(LABELS), LABELS)
    free, held = temperature_of(posterior, codes), temperature_of(posterior, codes, by_evidence=True)
    assert abs(np.log(held)) < abs(np.log(free))


def test_a_label_alone_in_its_class_says_nothing_of_the_temperature():
    posterior = model().fit(NAMES, LABELS).posterior_
    codes = np.searchsorted(np.unique(LABELS), LABELS)
    all_alone = np.arange(len(codes))
    assert temperature_of(posterior, all_alone) == 1.0
    probabilities = held_out_probabilities(posterior)
    changed = codes.copy()
    changed[0] = codes.max() + 1  # a class of its own, of which no probability is known
    assert temperature_of(posterior, changed) == best_temperature(probabilities[1:], codes[1:])


def test_calibration_that_is_no_yes_or_no_is_refused():
    with pytest.raises(TypeError, match="`calibrate` must be True or False"):
        model(calibrate="yes").fit(NAMES, LABELS)
