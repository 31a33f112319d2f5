"""Users and items that were not there in the fit."""

import warnings

import numpy as np
import pandas as pd
import pytest

from hypergauss import KPMF, Hypergraph
from hypergauss.exceptions import UnseenWarning
from hypergauss.factorisation.named_predictions import together
from hypergauss.factorisation.newcomers import Measured, row_posterior
from hypergauss.factorisation.row_priors import RowPrior
from tests.factorisation.problems import random_ratings

USER, ITEM, VALUE = random_ratings(60, 40, 0.4, seed=3)
NEW = USER >= 50
OLD = ~NEW
GIVEN = NEW & (pd.Series(ITEM).groupby(USER).cumcount().to_numpy() < 8)
REST = NEW & ~GIVEN
OPTIONS = {"n_factors": 3, "warm_up": 40, "draws": 80, "chains": 2, "random_state": 0, "bounds": None}


def named(mask):
    return USER[mask], ITEM[mask], VALUE[mask]


@pytest.fixture(scope="module")
def model():
    return KPMF(**OPTIONS).fit(*named(OLD))


@pytest.fixture(scope="module")
def refit():
    return KPMF(**OPTIONS).fit(*named(OLD | GIVEN))


def predicted(model, **options):
    found = np.zeros(len(USER))
    for user in np.unique(USER[NEW]):
        given, rest = GIVEN & (user == USER), REST & (user == USER)
        found[rest] = model.predict_new(ITEM[given], VALUE[given], ITEM[rest], **options)
    return found[REST]


def rmse(found):
    return np.sqrt(((found - VALUE[REST]) ** 2).mean())


def test_a_newcomer_is_predicted_as_by_a_refit(model, refit):
    ours, theirs = predicted(model, prior="hypergraph"), refit.predict(USER[REST], ITEM[REST])
    assert abs(rmse(ours) - rmse(theirs)) < 0.05
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97
    with pytest.warns(UnseenWarning):
        alone = model.predict(USER[REST], ITEM[REST])
    assert rmse(ours) < 0.8 * rmse(alone)


def test_the_population_is_the_prior_unless_told(model):
    other = predicted(model)
    assert np.array_equal(other, predicted(model, prior="population"))
    assert rmse(other) < VALUE[REST].std()
    assert np.abs(other - predicted(model, prior="hypergraph")).max() > 0.01


def test_deviations_for_a_newcomer_are_as_wide_as_those_of_a_refit(model, refit):
    _, wide = refit.predict(USER[REST], ITEM[REST], return_std=True)
    deviations = np.zeros(len(USER))
    for user in np.unique(USER[NEW]):
        given, rest = GIVEN & (user == USER), REST & (user == USER)
        own = (ITEM[given], VALUE[given], ITEM[rest])
        _, deviations[rest] = model.predict_new(*own, prior="hypergraph", return_std=True)
    assert np.median(np.abs(np.log(deviations[REST] / wide))) < 0.1
    assert abs(np.log(deviations[REST] / wide).mean()) < 0.05


def test_a_new_item_is_predicted_from_its_first_ratings(model):
    late = ITEM >= 34
    first = late & (pd.Series(USER).groupby(ITEM).cumcount().to_numpy() < 10)
    fitted = KPMF(**(OPTIONS | {"chains": 1})).fit(*named(~late))
    found, truth = [], []
    for item in np.unique(ITEM[late]):
        given, rest = first & (item == ITEM), late & ~first & (item == ITEM)
        found.append(fitted.predict_new_item(USER[given], VALUE[given], USER[rest]))
        truth.append(VALUE[rest])
    error = np.concatenate(found) - np.concatenate(truth)
    with pytest.warns(UnseenWarning):
        alone = fitted.predict(USER[late & ~first], ITEM[late & ~first])
    without = alone - VALUE[late & ~first]
    assert np.sqrt((error**2).mean()) < 0.85 * np.sqrt((without**2).mean())


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("row", [-1, 7])
def test_ratings_count_by_the_noise_of_both_who_have_them(model, side, row):
    """One row against a dense regression, draw by draw, with weights written out here."""
    kept, rng = together(model.draws_), np.random.default_rng(0)
    assert kept.user_noise.std(axis=1).min() > 0
    others, values = np.array([3, 1, 8]), np.array([2.0, 4.5, 3.0])
    prior = RowPrior(rng.standard_normal((160, 4)), rng.gamma(2.0, size=(160, 4)))
    found = row_posterior(kept, side, prior, Measured(others, values, row), model.scale_, None)
    theirs = (kept.items, kept.users)[side]
    own_noise, their_noise = (kept.user_noise, kept.item_noise)[:: 1 - 2 * side]
    for draw in (0, 80, 159):
        mine = 1.0 if row < 0 else own_noise[draw, row]  # a newcomer's mean precision
        noise = np.diag(kept.noise_variance[draw] * mine * their_noise[draw, others])
        Z = np.column_stack([np.ones(3), theirs[draw, others, 1:]])
        y = (values - model.scale_.center) / model.scale_.spread - kept.mean[draw] - theirs[draw, others, 0]
        P = np.diag(prior.variance[draw])
        gain = P @ Z.T @ np.linalg.inv(Z @ P @ Z.T + noise)
        assert np.allclose(found.mean[draw], prior.mean[draw] + gain @ (y - Z @ prior.mean[draw]), atol=1e-5)
        assert np.allclose(found.covariance[draw], P - gain @ Z @ P, atol=1e-5)


def test_of_many_draws_some_of_every_chain_stand_for_all(model, monkeypatch):
    some = together(model.draws_, most=50)
    assert np.array_equal(some.mean, np.concatenate([chain.mean[::4] for chain in model.draws_]))
    given = GIVEN & (USER == 55)
    mean, std = model.predict_new(ITEM[given], VALUE[given], return_std=True)
    monkeypatch.setattr("hypergauss.factorisation.growth._MOST_DRAWS", 50)
    fewer = model.predict_new(ITEM[given], VALUE[given])
    assert 0 < np.abs(fewer - mean).max() < 4 * std.max() / np.sqrt(40)


def test_recommendations_for_a_newcomer_are_the_best_of_their_predictions(model):
    given = GIVEN & (USER == 55)
    table = model.recommend_new(ITEM[given], VALUE[given], 5)
    everything = pd.Series(model.predict_new(ITEM[given], VALUE[given]), index=model.items_)
    best = everything.drop(ITEM[given]).nlargest(5)
    assert table["item"].tolist() == best.index.tolist()
    assert np.allclose(table["rating"], best)
    assert len(model.recommend_new(ITEM[given], VALUE[given], 100, include_seen=True)) == 40


def test_the_model_stays_as_it_was(model):
    before = model.predict([0, 1], [2, 3])
    model.predict_new([1, 2], [3.0, 4.0])
    assert np.array_equal(model.predict([0, 1], [2, 3]), before)
    assert np.array_equal(model.predict_new([1], [3.0]), model.predict_new([1], [3.0]))


def test_a_newcomer_without_anything_is_the_prior_and_says_so(model):
    with pytest.warns(UnseenWarning, match=r"it has rated nothing, and no relation tells of it.*those of the prior"):
        nothing = model.predict_new([], [], [3, 4], return_std=True)
    with pytest.warns(UnseenWarning):
        assert np.allclose(nothing, model.predict([999, 999], [3, 4], return_std=True))
    with pytest.warns(UnseenWarning, match="no user has rated it"):
        model.predict_new_item([], [], [3, 4])


def test_relations_alone_tell_of_a_newcomer():
    rng = np.random.default_rng(0)
    camp = rng.integers(2, size=80)
    user, item = np.nonzero(rng.random((80, 30)) < 0.4)
    value = 3 + np.where((camp[user] + item) % 2 == 0, 1.0, -1.0) + 0.3 * rng.standard_normal(len(user))
    H = Hypergraph.from_edges({"left": np.flatnonzero(camp == 0), "right": np.flatnonzero(camp == 1)})
    old = user < 70
    model = KPMF(
        2, user_relations={"camp": H.without(vertices=range(70, 80))}, warm_up=60, draws=60, chains=2, random_state=0
    )
    model.fit(user[old], item[old], value[old])
    errors = {"relations": [], "prior": []}
    for newcomer in range(70, 80):
        own = user == newcomer
        camps = {"camp": [["left", "right"][camp[newcomer]]]}
        mean = model.predict_new([], [], item[own], relations=camps)
        errors["relations"].append(mean - value[own])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenWarning)
            errors["prior"].append(model.predict_new([], [], item[own]) - value[own])
    with_relations, prior = (np.sqrt((np.concatenate(errors[name]) ** 2).mean()) for name in ("relations", "prior"))
    assert with_relations < 0.7 * prior


def test_grades_of_a_newcomer_count():
    grades = np.clip(np.round(VALUE), 1, 5)
    options = OPTIONS | {"chains": 1, "likelihood": "ordinal", "bounds": (1, 5)}
    model = KPMF(**options).fit(USER[OLD], ITEM[OLD], grades[OLD])
    errors, without = [], []
    for user in np.unique(USER[NEW]):
        given, rest = GIVEN & (user == USER), REST & (user == USER)
        mean, std = model.predict_new(ITEM[given], grades[given], ITEM[rest], return_std=True)
        assert (std > 0).all()
        errors.append(mean - grades[rest])
        without.append(grades[OLD].mean() - grades[rest])
    assert (np.concatenate(errors) ** 2).mean() < 0.8 * (np.concatenate(without) ** 2).mean()
    with pytest.raises(ValueError, match=r"must be among the levels seen in `fit`.*Got 3.5"):
        model.predict_new([1], [3.5])


@pytest.mark.parametrize(
    ("given", "options", "kind", "message"),
    [
        (([1, 99], [3, 4]), {}, ValueError, r"`items` must belong to the items of the fit \(40\). Got 99. .*`update`"),
        (([1], [9.0]), {}, ValueError, r"`ratings` must lie in the bounds, 1 to 5. Got 9 at position 0"),
        (([1], [np.nan]), {}, ValueError, r"must not contain NaN"),
        (([1, 2], [3.0]), {}, ValueError, r"`items` and `ratings` must have the same length"),
        (([1, 1], [3.0, 4.0]), {}, ValueError, r"must be rated once each. 1 is there twice"),
        (([1], [3.0], [99]), {}, ValueError, r"`targets` must belong to those known"),
        (([1], [3.0]), {"prior": "flat"}, ValueError, r"`prior` must be one of 'hypergraph', 'population'"),
        (([1], [3.0]), {"relations": {"age": ["old"]}}, ValueError, r"must name relations of the fit \(none\)"),
        (([1], [[3.0]]), {}, ValueError, r"must be a list of numbers"),
        (("ab", [3.0]), {}, TypeError, r"pass \['ab'\]"),
    ],
)
def test_what_does_not_fit_a_newcomer_is_refused(model, given, options, kind, message):
    model.bounds_ = (1.0, 5.0)
    try:
        with pytest.raises(kind, match=message):
            model.predict_new(*given, **options)
    finally:
        model.bounds_ = None


def test_the_population_does_not_look_at_relations():
    H = Hypergraph.from_edges({"a": [0, 1], "b": [2, 3]})
    model = KPMF(1, user_relations={"r": H}, warm_up=2, draws=2).fit(*named(OLD))
    with pytest.raises(ValueError, match=r"`relations` must be left out with prior='population'"):
        model.predict_new([1], [3.0], prior="population", relations={"r": ["a"]})


@pytest.mark.parametrize("biases", [False, True])
def test_at_the_mode_a_newcomer_is_a_ridge_regression(biases):
    model = KPMF(2, inference="map", biases=biases, variance=0.7, noise_variance=0.4, bounds=None).fit(*named(OLD))
    given = GIVEN & (USER == 55)
    mean, std = model.predict_new(ITEM[given], VALUE[given], return_std=True)
    rows = model.items_.get_indexer(ITEM[given])
    c, w = model.mode_.items[:, 0], model.mode_.items[:, 1:]
    Z = np.column_stack([np.ones(len(w)), w])[:, 0 if biases else 1 :]
    P = np.linalg.inv(np.eye(Z.shape[1]) / 0.7 + Z[rows].T @ Z[rows] / 0.4)
    x = P @ Z[rows].T @ (VALUE[given] - model.scale_.center - c[rows]) / 0.4
    assert np.allclose(mean, model.scale_.center + c + Z @ x)
    assert np.allclose(std**2, 0.4 + np.einsum("nk,kl,nl->n", Z, P, Z))
    assert model.recommend_new(ITEM[given], VALUE[given], 1)["rating"][0] == np.delete(mean, rows).max()
    by_population = model.predict_new(ITEM[given], VALUE[given], prior="population")
    assert np.corrcoef(by_population, mean)[0, 1] > 0.9
    assert np.isfinite(model.predict_new_item([0], [3.0])).all()


def test_the_mode_refuses_what_needs_draws():
    model = KPMF(2, inference="map").fit(*named(OLD))
    with pytest.raises(ValueError, match=r"Got inference='map'.*Fit with inference='gibbs'"):
        model.update([1], [1], [3.0])
    with pytest.raises(ValueError, match=r"`prior='hypergraph'` needs inference='gibbs'.*leave `prior` out"):
        model.predict_new([1], [3.0], prior="hypergraph")
    with pytest.raises(ValueError, match=r"`relations` must be left out with inference='map'"):
        model.predict_new([1], [3.0], relations={"age": ["young"]})


def test_without_biases_a_newcomer_has_none():
    model = KPMF(**(OPTIONS | {"biases": False, "warm_up": 20, "draws": 10})).fit(*named(OLD))
    assert all((chain.lone_users[:, 0] == 0).all() for chain in model.draws_)
    model.update([777], [ITEM[0]], [3.0], random_state=0)
    assert all((chain.users[:, -1, 0] == 0).all() for chain in model.draws_)
