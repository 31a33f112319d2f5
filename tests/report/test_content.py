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
