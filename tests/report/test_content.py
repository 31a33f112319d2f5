"""What the report's page is told: observations beside predictions without them, hyperedges, warnings, samples."""

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.analysis.assessment import assess
from hypergauss.estimators.domain import Domain
from hypergauss.report import light, report_html
from hypergauss.report.unusual import unlike_observed
from tests.report.conftest import content_of, planted


@pytest.fixture(scope="module")
def classes():
    H, names, signal = planted()
    labels = pd.Series(np.where(signal > 0, "high", "low"), index=pd.Index(names)).iloc[:40]
    model = hg.HypergraphGPClassifier(H, learn=False, size_exponent=0.0).fit(labels.index, labels)
    held_out = assess(model, labels.index, labels, folds=4)
    return model, labels, held_out, content_of(report_html(model, labels, assessment=held_out))


def test_an_observed_number_stands_beside_its_leave_one_out_prediction(regression):
    model, observed, held_out = regression
    content = content_of(report_html(model, observed, assessment=held_out))
    assert content["leftOut"]["source"] == "leave-one-out"
    left_out = model.leave_one_out()
    rows = [model.H.vertices.get_loc(name) for name in left_out.index]
    np.testing.assert_allclose([content["leftOut"]["mean"][row] for row in rows], left_out["mean"], rtol=1e-4)
    assert sum(mean is None for mean in content["leftOut"]["mean"]) == 20


def test_mistakes_and_the_confusion_matrix_are_those_of_cross_validation(classes):
    model, _, held_out, content = classes
    held = held_out.held_out
    guess = held[list(model.classes_)].to_numpy().argmax(axis=1)
    truth = (held["observed"] == model.classes_[1]).to_numpy().astype(int)
    table = np.array([[((truth == o) & (guess == p)).sum() for p in (0, 1)] for o in (0, 1)])
    np.testing.assert_array_equal(content["mistakes"]["confusion"], table)
    wrong = {model.H.vertices.get_loc(name) for name in held.index[truth != guess]}
    assert set(content["mistakes"]["missed"]) == wrong
    chance = held[list(model.classes_)].to_numpy()[np.arange(len(held)), truth]
    place, surprise = content["mistakes"]["surprising"][0]
    assert place == model.H.vertices.get_loc(held.index[chance.argmin()])
    assert surprise == pytest.approx(1 - chance.min(), rel=1e-3)


def test_without_an_assessment_mistakes_come_from_leaving_one_out(classes):
    model, labels, _, _ = classes
    content = content_of(report_html(model, labels))
    assert content["mistakes"]["source"] == "leave-one-out"
    assert content["calibration"] is None
    assert len(content["mistakes"]["judged"]) == 40


def test_what_a_hyperedge_says_on_average_is_the_mean_of_what_its_members_hear(regression):
    model, observed, _ = regression
    speaking = content_of(report_html(model, observed))["speaking"]
    members = [model.H.vertices.get_loc(name) for name in model.H.members("edge 3")]
    assert speaking["members"][3] == sorted(members)
    assert speaking["sizes"][3] == len(members)
    heard = []
    for row in members:
        edges = model.explain(model.H.vertices[row]).edges
        heard.append(edges.loc[edges["edge"] == "edge 3", "contribution"].item())
    assert speaking["leaning"][3] == pytest.approx(np.mean(heard), rel=1e-3)


def test_a_vertex_with_memberships_unlike_those_observed_is_named():
    usual = [[f"v{i}" for i in range(start, start + 12)] for start in range(0, 40, 4)]
    H = hg.Hypergraph.from_edges([*usual, ["far", "farther"]])
    found = unlike_observed(Domain.of(H), np.arange(30), np.random.default_rng(0))
    shared = dict(zip(H.vertices[found["rows"]], found["shared"], strict=True))
    assert shared["far"] == shared["farther"] == 0
    assert shared["v36"] == 1  # one hyperedge of three, of an observed vertex
    assert not {"v31", "v32"} & set(shared)
    observed = {f"v{i}": float(i % 3) for i in range(30)}
    model = hg.HypergraphGPRegressor(H, learn=False).fit(list(observed), list(observed.values()))
    content = content_of(report_html(model, observed))
    assert [H.vertices.get_loc("far"), 0] in content["unlike"]["vertices"]


def test_the_learned_filter_is_one_at_its_highest_eigenvalue_and_has_a_band_where_it_is_averaged(regression):
    model, observed, _ = regression
    [curve] = content_of(report_html(model, observed))["filters"]
    assert max(curve["at"]) == pytest.approx(0.0, abs=1e-9)
    assert np.all(np.asarray(curve["band"][0]) <= np.asarray(curve["band"][1]))
    given = hg.HypergraphGPRegressor(model.H, hg.kernels.Diffusion(hg.Spectrum.of(model.H), beta=2.0), learn=False)
    [plain] = content_of(report_html(given.fit(list(observed), list(observed.values())), observed))["filters"]
    assert plain["band"] is None
    np.testing.assert_allclose(plain["y"], -2.0 * np.asarray(plain["x"]) / np.log(10), atol=1e-3)


def test_a_large_hypergraph_has_a_light_page_that_counts_every_vertex(regression, monkeypatch):
    monkeypatch.setattr(light, "MOST_VERTICES", 50)
    monkeypatch.setattr(light, "SAMPLE", 40)
    model, observed, held_out = regression
    content = content_of(report_html(model, observed, assessment=held_out))
    assert content["light"]["total"] == 60
    assert sum(content["light"]["cells"]["count"]) == 60
    names = content["vertices"]["names"]
    assert len(names) == 40
    for place, _ in content["next"] + content["mistakes"]["surprising"]:
        assert place >= 0
    row = model.H.vertices.get_loc(names[7])
    assert content["vertices"]["mean"][7] == pytest.approx(model.predict([names[7]])[0], rel=1e-4)
    assert content["speaking"]["count"][7] == model.H.incidence[[row]].nnz
    assert max(max(members, default=0) for members in content["speaking"]["members"]) < 40


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "iterative"},
        {"inducing": 10},
        {"likelihood": "softmax"},
        {"inference": "laplace", "likelihood": "logit"},
    ],
)
def test_however_classes_are_inferred_a_label_is_less_expected_without_itself(classes, settings):
    model, labels, _, _ = classes
    other = hg.HypergraphGPClassifier(model.H, kernel="diffusion", learn=False, size_exponent=0.0, **settings)
    content = content_of(report_html(other.fit(labels.index, labels), labels))
    without = np.array(content["leftOut"]["chance"][:40])
    proba = np.reshape(content["vertices"]["proba"], (-1, 2))
    with_it = proba[np.arange(40), content["vertices"]["observed"][:40]]
    assert content["leftOut"]["chance"][40:] == [None] * 20
    assert without.mean() < with_it.mean()
    assert (without <= with_it + 0.05).all()


TARGETS = {
    "poisson": lambda signal: np.random.default_rng(0).poisson(np.exp(1 + signal / signal.std() / 2)),
    "student-t": lambda signal: 10 + signal,
    "ordinal": lambda signal: np.digitize(signal, np.quantile(signal, [0.3, 0.6])) + 1,
    "log": lambda signal: np.exp(5 + signal / signal.std()),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_regressors_numbers_are_on_the_scale_of_the_data_whatever_it_learned_on(regression, kind):
    H, names = regression[0].H, list(regression[0].H.vertices)
    values = TARGETS[kind](planted()[2])[:40]
    settings = {"transform": "log"} if kind == "log" else {"likelihood": kind}
    model = hg.HypergraphGPRegressor(H, learn=False, size_exponent=0.0, **settings).fit(names[:40], values)
    held_out = assess(model, names[:40], values, folds=2)
    shuffled = np.random.default_rng(0).permutation(40)
    observed = {names[i]: values[i] for i in shuffled}
    content = content_of(report_html(model, observed, assessment=held_out))
    vertices, left_out = content["vertices"], content["leftOut"]
    np.testing.assert_allclose(vertices["observed"][:40], values, rtol=1e-4)
    ends = model.predict_quantiles(names, [0.05, 0.95])
    np.testing.assert_allclose(np.column_stack([vertices["low"], vertices["high"]]), ends, rtol=1e-4)
    np.testing.assert_allclose(left_out["mean"][:40], model.leave_one_out()["mean"], rtol=1e-4)
    held = held_out.held_out
    missed = (held["observed"] < held["low"]) | (held["observed"] > held["high"])
    assert set(content["mistakes"]["missed"]) == {names.index(name) for name in held.index[missed]}
    points = np.array(content["calibration"]["points"])[:, :4]
    np.testing.assert_allclose(points, held[["observed", "mean", "low", "high"]].to_numpy(dtype=float), rtol=1e-4)
    if kind != "student-t":
        assert min(low for low in left_out["low"] if low is not None) >= 0
    if kind in ("poisson", "ordinal"):
        assert all(high == round(high) for high in left_out["high"][:40])
    assert len(content["speaking"]["top"]) == 60
    assert content["filters"]


def test_without_its_observation_a_number_is_judged_by_what_was_observed(regression):
    H, names = regression[0].H, list(regression[0].H.vertices)
    counts = TARGETS["poisson"](planted()[2])[:40]
    model = hg.HypergraphGPRegressor(H, learn=False, size_exponent=0.0, likelihood="poisson").fit(names[:40], counts)
    content = content_of(report_html(model, dict(zip(names[:40], counts, strict=True))))
    low, high = (np.array(content["leftOut"][end][:40]) for end in ("low", "high"))
    assert content["mistakes"]["source"] == "leave-one-out"
    assert set(content["mistakes"]["missed"]) == set(np.flatnonzero((counts < low) | (counts > high)).tolist())


def test_what_was_learned_and_its_notes_are_those_of_the_summary(regression):
    model, observed, _ = regression
    content = content_of(report_html(model, observed, notes=["first"]))
    summary = model.summary()
    shown = [(row.name, row.estimate, row.interval, row.meaning) for row in summary.shown()]
    assert [tuple(row.values()) for row in content["learned"]] == shown
    assert content["notes"] == ["first", *summary.notes]


def test_a_label_left_out_is_given_chances_of_the_temperature_that_predictions_have(classes):
    model, labels, _, _ = classes
    calibrated = hg.HypergraphGPClassifier(model.H, learn=False, size_exponent=0.0, calibrate=True)
    calibrated.fit(labels.index, labels)
    assert calibrated.temperature_ != 1.0
    shares = calibrated.shares_
    powers = shares * (calibrated.posterior_.left_out_probabilities() / shares) ** (1 / calibrated.temperature_)
    expected = powers / powers.sum(axis=1, keepdims=True)
    content = content_of(report_html(calibrated, labels))
    codes = content["vertices"]["observed"][:40]
    np.testing.assert_allclose(content["leftOut"]["chance"][:40], expected[np.arange(40), codes], rtol=1e-3)
