"""Held-out scores are of held-out vertices, each predicted once, beside baselines that know less."""

import warnings

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.analysis.assessment import CONSTANT, LINEAR, MODEL
from hypergauss.datasets import make_planted_hypergraph

pytestmark = pytest.mark.usefixtures("few_points")

PLANTED = make_planted_hypergraph(60, 90, 2, random_state=1)
H, NAMES, Y = PLANTED.hypergraph, np.arange(45), PLANTED.signal[:45]


@pytest.fixture(scope="module")
def regression():
    model = hg.HypergraphGPRegressor(H, learn=False, noise_variance=0.05).fit(NAMES, Y)
    lines = []
    return model, hg.assess(model, NAMES, Y, folds=4, report=lines.append), lines


def test_every_observed_vertex_is_held_out_once(regression):
    _, found, lines = regression
    assert sorted(found.held_out.index) == NAMES.tolist()
    np.testing.assert_array_equal(found.held_out.loc[NAMES, "observed"], Y)
    assert len(lines) == 4
    assert set(found.scores["method"]) == {MODEL, LINEAR, CONSTANT}
    assert len(found.scores) == 12


def test_predictions_are_those_of_a_model_that_never_saw_the_vertex(regression):
    model, found, _ = regression
    seen = model.predict(NAMES)
    assert np.abs(found.held_out.loc[NAMES, "mean"] - Y).mean() > 2 * np.abs(seen - Y).mean()
    # A model without the fold, fitted by hand, says the same: the vertices of a fold stand together in the table.
    scores = found.scores[found.scores["method"] == MODEL].set_index("fold")
    sizes = [12, 11, 11, 11]
    for fold, names in enumerate(np.split(found.held_out.index.to_numpy(), np.cumsum(sizes)[:-1])):
        others = np.setdiff1d(NAMES, names)
        by_hand = hg.HypergraphGPRegressor(H, learn=False, noise_variance=0.05).fit(others, Y[others])
        mean, std = by_hand.predict(names, return_std=True)
        np.testing.assert_allclose(found.held_out.loc[names, "mean"], mean, atol=1e-10)
        np.testing.assert_allclose(found.held_out.loc[names, "std"], std, atol=1e-10)
        r2 = 1 - ((Y[names] - mean) ** 2).sum() / ((Y[names] - Y[names].mean()) ** 2).sum()
        assert scores.loc[fold, "R2"] == pytest.approx(r2, abs=1e-9)


def test_the_constant_is_the_mean_of_the_training_folds(regression):
    _, found, _ = regression
    constant = found.scores[found.scores["method"] == CONSTANT]
    assert (constant["R2"] <= 0).all()
    assert constant["RMSE"].mean() == pytest.approx(np.std(Y), rel=0.1)


def test_the_summary_is_mean_and_standard_error_over_folds(regression):
    _, found, _ = regression
    own = found.scores.loc[found.scores["method"] == MODEL, "R2"]
    assert found.summary().loc[MODEL, ("mean", "R2")] == pytest.approx(own.mean())
    assert found.summary().loc[MODEL, ("error", "R2")] == pytest.approx(own.std(ddof=1) / 2)
    assert list(found.summary().index) == [MODEL, LINEAR, CONSTANT]
    assert f"<td>{own.mean():.3f}</td>" in found._repr_html_()


def test_the_fitted_model_is_not_changed(regression):
    model, _, _ = regression
    again = hg.HypergraphGPRegressor(H, learn=False, noise_variance=0.05).fit(NAMES, Y)
    np.testing.assert_array_equal(model.predict(NAMES), again.predict(NAMES))


def test_classes_are_dealt_evenly_and_scored():
    labels = np.where(Y > 0, "high", "low")
    model = hg.HypergraphGPClassifier(H, kernel="diffusion", likelihood="probit", learn=False).fit(NAMES, labels)
    found = hg.assess(model, NAMES, labels, folds=3)
    np.testing.assert_allclose(found.held_out[["high", "low"]].sum(axis=1), 1.0)
    assert set(found.summary()["mean"].columns) == {"accuracy", "log density", "Brier score", "calibration error"}
    constant = found.scores[found.scores["method"] == CONSTANT]
    assert constant["accuracy"].std() < 0.05  # each fold has its share of either class


def test_too_many_folds_are_refused(regression):
    model, _, _ = regression
    with pytest.raises(ValueError, match="folds"):
        hg.assess(model, NAMES[:3], Y[:3], folds=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.PerformanceWarning)
        assert len(hg.assess(model, NAMES[:4], Y[:4], folds=2).scores) == 6


def test_labels_may_be_tuples_and_covariates_multiplied():
    made = make_planted_hypergraph(30, 40, 2, within=0.95, random_state=0)
    labels = [("group", int(community)) for community in made.communities]
    vertices = list(made.hypergraph.vertices)
    covariates = np.sin(np.arange(30.0))[:, None]
    model = hg.HypergraphGPClassifier(made.hypergraph, covariates=covariates, combine="product", size_exponent=0.0)
    model.fit(vertices, labels)
    held_out = hg.assess(model, vertices, labels, folds=2, random_state=0).held_out
    assert set(held_out["observed"]) == {("group", 0), ("group", 1)} == set(held_out.columns) - {"observed"}


def test_vertices_may_be_named_by_tuples_and_come_in_any_order():
    names = [("made", int(i)) for i in range(60)]
    named = hg.Hypergraph.from_incidence(H.incidence, vertices=names)
    for make, y in ((hg.HypergraphGPRegressor, Y), (hg.HypergraphGPClassifier, np.where(Y > 0, "high", "low"))):
        observed = pd.Series(y, index=pd.Index(names[:45], tupleize_cols=False))
        model = make(named, learn=False).fit(observed.index, observed)
        found = hg.assess(model, names[:45], observed.iloc[::-1], folds=3)
        assert set(found.held_out.index) == set(names[:45])
        for name, row in found.held_out.iterrows():
            assert row["observed"] == observed[name]
        plain = hg.assess(make(H, learn=False).fit(NAMES, y), NAMES, y, folds=3)
        np.testing.assert_allclose(found.scores.drop(columns="method"), plain.scores.drop(columns="method"), atol=1e-9)


def test_ordered_classes_are_held_out_in_their_order():
    levels = np.array(["low", "medium", "high"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
    y = pd.Categorical(levels, ["low", "medium", "high"], ordered=True)
    model = hg.HypergraphGPClassifier(H, likelihood="ordinal", learn=False).fit(NAMES, y)
    found = hg.assess(model, NAMES, y, folds=3)
    numbers = hg.HypergraphGPClassifier(H, likelihood="ordinal", learn=False).fit(NAMES, y.codes.astype(int))
    same = hg.assess(numbers, NAMES, y.codes.astype(int), folds=3)
    pd.testing.assert_frame_equal(found.summary(), same.summary())
