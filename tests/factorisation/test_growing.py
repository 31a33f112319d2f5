"""Further ratings without a refit, and what predictions are made of."""

import copy

import numpy as np
import pandas as pd
import pytest

from hypergauss import KPMF
from hypergauss.factorisation import growing
from hypergauss.factorisation.growing import row_prior
from hypergauss.factorisation.named_predictions import together
from hypergauss.factorisation.newcomers import Measured, row_posterior, side_draws
from tests.factorisation.problems import random_ratings

USER, ITEM, VALUE = random_ratings(60, 40, 0.4, seed=3)
RANK = pd.Series(ITEM).groupby(USER).cumcount().to_numpy()
NEW = USER >= 50
LATER = (NEW & (RANK < 8)) | ((USER < 8) & (RANK < 5))
REST = NEW & (RANK >= 8)
FIRST = ~NEW & ~LATER
OPTIONS = {"n_factors": 3, "warm_up": 40, "draws": 80, "chains": 2, "random_state": 0, "bounds": None}


def named(mask):
    return USER[mask], ITEM[mask], VALUE[mask]


@pytest.fixture(scope="module")
def fitted():
    return KPMF(**OPTIONS).fit(*named(FIRST))


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


def test_an_update_is_a_refit_but_for_noise(model):
    refit = KPMF(**(OPTIONS | {"chains": 1})).fit(*named(FIRST | LATER))
    assert model.update(*named(LATER), random_state=0) is model
    ours, theirs = (each.predict(USER[REST], ITEM[REST]) for each in (model, refit))
    errors = [np.sqrt(((found - VALUE[REST]) ** 2).mean()) for found in (ours, theirs)]
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97
    assert abs(errors[0] - errors[1]) < 0.05
    others = ~NEW & (USER >= 8)
    assert (
        np.corrcoef(model.predict(USER[others], ITEM[others]), refit.predict(USER[others], ITEM[others]))[0, 1] > 0.97
    )
    assert model.ratings_.shape == refit.ratings_.shape
    assert len(model.ratings_.values) == (FIRST | LATER).sum()


def test_an_update_with_a_newcomer_agrees_with_predict_new(model):
    own = NEW & (USER == 55) & (RANK < 8)
    mean, std = model.predict_new(ITEM[own], VALUE[own], prior="hypergraph", return_std=True)
    model.update(*named(own), random_state=0)
    items = model.items_
    there = model.predict(np.full(len(items), 55), items)
    # 160 draws of the newcomer's row, and items that took in one rating each.
    assert np.abs(there - mean).max() < 5 * std.max() / np.sqrt(160)
    assert set(model.recommend(55, 40)["item"]).isdisjoint(ITEM[own])


def test_rows_of_an_update_are_drawn_from_what_they_are_given_all_else(model, monkeypatch):
    """A known user who rates more: their rows against the exact conditional, draw by draw."""
    monkeypatch.setattr(growing, "_SWEEPS", 1)
    own = LATER & (USER == 3)
    before = together(model.draws_)
    table = model.ratings_
    row = int(model.users_.get_loc(3))
    mine = table.user == row
    others = np.concatenate([table.item[mine], model.items_.get_indexer(ITEM[own])])
    measured = Measured(others, np.concatenate([table.values[mine], VALUE[own]]), row)
    prior = row_prior(side_draws(before, 0), model.grounds_[0], row, others)
    exact = row_posterior(before, 0, prior, measured, model.scale_, None)
    after = together(model.update(*named(own), random_state=0).draws_)
    roots = np.linalg.cholesky(exact.covariance)
    white = np.linalg.solve(roots, (after.users[:, row] - exact.mean)[:, :, None])[:, :, 0]
    count = white.size
    assert abs(white.mean()) < 4 / np.sqrt(count)
    assert abs(white.var() - 1) < 4 * np.sqrt(2 / count)
    untouched = np.arange(before.users.shape[1]) != row
    assert np.array_equal(after.users[:, untouched], before.users[:, untouched])


def test_a_new_user_may_rate_a_new_item(model):
    model.update([901, 901, 902], [0, 801, 801], [3.0, 4.0, 2.0], random_state=0)
    assert 901 in model.users_
    assert 801 in model.items_
    assert np.isfinite(model.predict([901, 902, 3], [801, 801, 801], return_std=True)).all()
    for chain in model.draws_:
        assert chain.user_noise.shape == chain.users.shape[:2]
        assert chain.item_noise.shape == chain.items.shape[:2]
        assert (chain.user_noise[:, -2:] > 0).all()
    model.update([902], [1], [3.5], random_state=0)  # a newcomer of an earlier update
    assert np.isfinite(model.predict_new([801, 1], [3.0, 3.0])).all()


def test_an_update_says_something_of_a_known_item(model):
    item = ITEM[0]
    raters = np.setdiff1d(model.users_, np.append(USER[FIRST & (item == ITEM)], 5))
    before = model.predict([5], [item])[0]
    higher = model.predict(raters, np.full(len(raters), item)) + 2
    model.update(raters, np.full(len(raters), item), higher, random_state=0)
    assert model.predict([5], [item])[0] > before + 0.05


def test_nothing_new_changes_nothing(model):
    before = together(model.draws_)
    model.update(*named(FIRST), random_state=0)
    model.update([], [], [])
    assert all(np.array_equal(a, b) for a, b in zip(together(model.draws_), before, strict=True))


@pytest.mark.parametrize(
    ("new", "kind", "message"),
    [
        (([USER[FIRST][0]], [ITEM[FIRST][0]], [9.0]), ValueError, r"must not contradict a rating. .* and got 9"),
        (([1, 1], [777, 777], [3.0, 4.0]), ValueError, r"\(1, 777\) is rated twice"),
        ((["ann"], [3], [3.0]), TypeError, r"`users` must be names of one kind"),
        (([1], [3], [np.inf]), ValueError, r"must not contain NaN or infinity"),
        (([1], [3]), ValueError, r"`ratings` must be given, one for each pair"),
        (([1, 2], [3], [3.0]), ValueError, r"same length"),
        (([1], [3, 4], [3.0]), ValueError, r"same length"),
    ],
)
def test_an_update_that_does_not_fit_is_refused_and_leaves_the_model(model, new, kind, message):
    before = model.predict(USER[:9], ITEM[:9])
    with pytest.raises(kind, match=message):
        model.update(*new)
    assert np.array_equal(model.predict(USER[:9], ITEM[:9]), before)


def test_an_update_out_of_bounds_or_of_no_level_is_refused():
    grades = np.clip(np.round(VALUE), 1, 5)
    model = KPMF(2, likelihood="ordinal", bounds=(1, 9), warm_up=3, draws=3, random_state=0).fit(USER, ITEM, grades)
    with pytest.raises(ValueError, match=r"must lie in the bounds, 1 to 9. Got 10"):
        model.update([1], [999], [10])
    with pytest.raises(ValueError, match=r"must be among the levels seen in `fit`.*Got 7. A level that is new needs"):
        model.update([1], [999], [7])
    model.update([1, 999], [999, 3], [4, 2], random_state=0)
    assert model.predict_proba([999], [999]).to_numpy().sum() == pytest.approx(1.0)


def test_an_explanation_adds_up_and_agrees_with_the_prediction(fitted):
    user = USER[FIRST][0]
    item = fitted.recommend(user, 1)["item"][0]
    found = fitted.explain(user, item)
    total = found.mean + found.item_bias + found.expected + found.items["contribution"].sum()
    assert found.prediction == pytest.approx(total)
    mean, std = fitted.predict([user], [item], return_std=True)
    assert abs(found.prediction - mean[0]) < 4 * std[0] / np.sqrt(160)
    assert set(found.items.index) == set(ITEM[FIRST & (user == USER)])
    assert found.items["contribution"].is_monotonic_decreasing
    assert f"of {item} by {user}" in str(found)


def test_contributions_are_what_a_rating_adds_to_what_was_expected(fitted):
    """The prediction is linear in each rating: contributions change in proportion, and no other does."""
    user = USER[FIRST][0]
    item = fitted.recommend(user, 1)["item"][0]
    before = fitted.explain(user, item)
    changed = copy.deepcopy(fitted)
    place = np.flatnonzero(changed.ratings_.user == changed.users_.get_loc(user))[0]
    moved = []
    for step in (1.0, 2.0):
        values = fitted.ratings_.values.copy()
        values[place] += step
        changed.ratings_ = fitted.ratings_._replace(values=values)
        after = changed.explain(user, item)
        name = fitted.items_[fitted.ratings_.item[place]]
        difference = after.items["contribution"] - before.items["contribution"]
        assert np.allclose(difference.drop(name), 0.0)
        assert after.prediction - before.prediction == pytest.approx(difference[name])
        moved.append(difference[name])
    assert moved[1] == pytest.approx(2 * moved[0])


def test_an_explanation_of_a_rated_pair_leaves_its_own_rating_out(fitted):
    user, item = USER[FIRST][0], ITEM[FIRST][0]
    assert item not in fitted.explain(user, item).items.index


def test_an_explanation_of_grades_is_of_the_latent_value():
    grades = np.clip(np.round(VALUE), 1, 5)
    model = KPMF(2, likelihood="ordinal", warm_up=20, draws=10, random_state=0).fit(USER, ITEM, grades)
    found = model.explain(3, 5)
    assert found.of == "latent value"
    total = found.mean + found.item_bias + found.expected + found.items["contribution"].sum()
    assert found.prediction == pytest.approx(total)


def test_who_is_not_known_is_not_explained(fitted):
    with pytest.raises(ValueError, match=r"`user` must belong to the fit. Got 12345. Bring them in by `update`"):
        fitted.explain(12345, ITEM[0])
