"""What was watched, without ratings."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import hypergauss as hg
from hypergauss import KPMF
from hypergauss.exceptions import UnseenWarning
from hypergauss.factorisation.convergence import watched
from hypergauss.factorisation.implicit import _sampled, with_unobserved
from hypergauss.factorisation.predictive import at_rate, log_at_rate
from hypergauss.factorisation.ratings import tabulate
from hypergauss.metrics import ndcg, recall_at

RNG = np.random.default_rng(0)
USERS, ITEMS = 120, 60
TASTE, KIND = RNG.standard_normal((USERS, 2)), RNG.standard_normal((ITEMS, 2))
POPULARITY = 0.5 * RNG.standard_normal(ITEMS) - 1.0
P = ndtr(POPULARITY + TASTE @ KIND.T)
WATCHED = RNG.random(P.shape) < P
HELD_OUT = WATCHED & (RNG.random(P.shape) < 0.3)
TRAIN = WATCHED & ~HELD_OUT
USER, ITEM = np.nonzero(TRAIN)
OPTIONS = {"n_factors": 3, "likelihood": "implicit", "chains": 2, "warm_up": 40, "draws": 40, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return KPMF(**OPTIONS).fit(USER, ITEM)


def scores_of(predicted):
    """Return recall and gain of an order of what was not watched in training."""
    user, item = np.nonzero(~TRAIN)
    hit = HELD_OUT[user, item]
    return recall_at(user, hit, predicted[user, item], n=10), ndcg(user, hit, predicted[user, item], n=10)


def everything(model):
    user, item = np.indices(P.shape).reshape(2, -1)
    return model.predict(user, item).reshape(P.shape)


def test_it_finds_what_was_held_out_better_than_popularity(model):
    popular = np.tile(TRAIN.sum(axis=0).astype(float), (USERS, 1))
    ours, theirs = scores_of(everything(model)), scores_of(popular)
    assert ours[0] > theirs[0] + 0.05
    assert ours[1] > theirs[1] + 0.05


def test_probabilities_are_those_of_all_cells_and_not_of_the_sample(model):
    predicted = everything(model)
    assert np.corrcoef(predicted[~TRAIN], P[~TRAIN])[0, 1] > 0.5
    # Of all cells, a share of those in training is watched; the sample had one in four.
    assert predicted.mean() == pytest.approx(TRAIN.mean(), rel=0.1)


def test_the_answers_of_one_model_agree_with_each_other(model):
    users, items = USER[:7], ITEM[:7][::-1]
    p = model.predict_proba(users, items)
    mean, std = model.predict(users, items, return_std=True)
    assert list(p.columns) == [0.0, 1.0]
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.allclose(mean, p[1.0])
    assert np.allclose(std, np.sqrt(mean * (1 - mean)))
    for value in (0.0, 1.0):
        assert np.allclose(np.exp(model.log_density(users, items, np.full(7, value))), p[value])
    drawn = model.sample(users, items, 4000, random_state=0)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert np.allclose(drawn.mean(axis=0), mean, atol=4 * 0.5 / np.sqrt(4000))
    found = model.recommend(3, 5)
    assert not set(found["item"]) & set(ITEM[USER == 3])
    assert found["rating"].between(0, 1).all()


def test_a_newcomer_is_known_by_what_they_watched(model):
    taste = np.random.default_rng(1).standard_normal((40, 2))
    p = ndtr(POPULARITY + taste @ KIND.T)
    events = np.random.default_rng(2).random(p.shape) < p
    popular = TRAIN.sum(axis=0).astype(float)
    ours, theirs = [], []
    for row in events:
        watched = np.flatnonzero(row)
        if len(watched) < 4:
            continue
        given, hidden = watched[::2], watched[1::2]
        rest = np.setdiff1d(np.arange(ITEMS), given)
        ours.append(recall_at(np.zeros(len(rest)), np.isin(rest, hidden), model.predict_new(given, targets=rest), n=10))
        theirs.append(recall_at(np.zeros(len(rest)), np.isin(rest, hidden), popular[rest], n=10))
        assert not set(model.recommend_new(given, n=5)["item"]) & set(given)
    assert np.mean(ours) > np.mean(theirs)
    with pytest.warns(UnseenWarning):
        model.predict_new([])


def test_an_explanation_counts_what_was_watched_and_what_was_not(model):
    found = model.explain(3, int(model.recommend(3, 1)["item"][0]))
    assert set(found.items["rating"]) == {0.0, 1.0}
    total = found.mean + found.item_bias + found.expected + found.items["contribution"].sum()
    assert found.prediction == pytest.approx(total)


def test_chains_are_compared_by_what_events_and_others_identify(model):
    found = watched(model.draws_, model.cells_, "implicit")
    assert set(found) == {"prediction", "bias_variance", "factor_variance", "thresholds"}
    # A level that goes from the mean to the threshold changes no probability, and nothing that is watched.
    moved = [chain._replace(mean=chain.mean + 3, thresholds=chain.thresholds + 3) for chain in model.draws_]
    again = watched(moved, model.cells_, "implicit")
    assert all(np.allclose(again[name], found[name], atol=1e-5) for name in found)


def test_it_comes_back_from_a_file(model, tmp_path):
    hg.save(model, tmp_path / "m.hypergauss")
    again = hg.load(tmp_path / "m.hypergauss")
    assert np.array_equal(again.predict(USER[:9], ITEM[:9]), model.predict(USER[:9], ITEM[:9]))
    assert np.array_equal(again.predict_new([1, 2]), model.predict_new([1, 2]))
    assert str(again.explain(3, 5)) == str(model.explain(3, 5))


@pytest.mark.parametrize("listed", [1 << 24, 0])
def test_the_sample_is_uniform_over_what_was_not_watched(monkeypatch, listed):
    monkeypatch.setattr("hypergauss.factorisation.implicit._LISTED", listed)
    table = tabulate([0, 0, 1, 2], [0, 1, 1, 2], np.ones(4), bounds=None)
    counts = np.zeros((3, 3))
    for seed in range(600):
        cells, rate = with_unobserved(table, 0.5, np.random.default_rng(seed))
        assert rate == pytest.approx(2 / 5)
        assert cells.values.sum() == 4
        np.add.at(counts, (cells.user[cells.values == 0], cells.item[cells.values == 0]), 1)
    free = counts > 0
    assert free.sum() == 5
    assert np.all(np.abs(counts[free] - 240) < 4 * np.sqrt(600 * 0.4 * 0.6))
    whole, rate = with_unobserved(table, 100.0, np.random.default_rng(0))
    assert (len(whole.values), rate) == (9, 1.0)
    assert len(_sampled(10, np.array([1, 2]), 8, np.random.default_rng(0))) == 8


def test_the_correction_is_bayes_rule_by_counting():
    rng = np.random.default_rng(0)
    watched = rng.random(400_000) < 0.1
    seen = watched | (rng.random(len(watched)) < 0.25)
    in_sample = watched[seen].mean()
    corrected = at_rate(np.array([1 - in_sample, in_sample]), 0.25)
    assert corrected[1] == pytest.approx(0.1, abs=0.003)
    for label in (0, 1):
        log_p = log_at_rate(np.log([[1 - in_sample, in_sample][label]]), np.array([label]), 0.25)
        assert np.exp(log_p[0]) == pytest.approx(corrected[label])


def test_the_hypergraph_is_of_what_was_watched_alone(model):
    assert np.array_equal(model.ratings_.hypergraph().incidence.sum(axis=1), TRAIN.sum(axis=1)[model.users_])
    assert len(model.cells_.values) == pytest.approx(4 * len(USER), rel=0.01)
    assert model.scale_.rate < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KPMF(**OPTIONS).fit(USER, ITEM, np.ones(len(USER))), r"`ratings` must be left out"),
        (lambda: KPMF(2).fit(USER, ITEM), r"`ratings` must be given, one for each pair"),
        (lambda: KPMF(**OPTIONS, bounds=(0, 1)).fit(USER, ITEM), r"`bounds` must be left as it is unless likelihood="),
        (lambda: KPMF(2, unobserved=2.0).fit(USER, ITEM, USER), r"`unobserved` .* unless likelihood='implicit'"),
        (lambda: KPMF(**(OPTIONS | {"unobserved": 0})).fit(USER, ITEM), r"`unobserved` must be positive"),
        (lambda: KPMF(likelihood="implicit", inference="map").fit(USER, ITEM), r"unless inference='gibbs'"),
        (lambda: KPMF(**OPTIONS).fit([1, 1], [1, 2]), r"needs items that some users have not watched"),
        (lambda: KPMF(**OPTIONS).fit([1, 1], [1, 1]), r"is rated twice"),
    ],
)
def test_what_does_not_go_with_it_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_needs_ratings_is_refused(model):
    with pytest.raises(ValueError, match=r"`update` needs ratings.*Fit again"):
        model.update([1], [1])
    with pytest.raises(ValueError, match=r"`ratings` must be left out"):
        model.predict_new([1], [1.0])
    with pytest.raises(ValueError, match=r"must be among the levels"):
        model.log_density([1], [1], [0.5])


def test_a_fit_from_a_table_repeats_itself():
    frame = pd.DataFrame({"user": USER, "film": ITEM})
    options = OPTIONS | {"warm_up": 2, "draws": 3}
    one, two = (KPMF(**options).fit(frame["user"], frame["film"]) for _ in range(2))
    assert np.array_equal(one.predict(USER, ITEM), two.predict(USER, ITEM))
