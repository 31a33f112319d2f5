"""Moods of a day: one number for all that a user rated on one day."""

import numpy as np
import pandas as pd
import pytest

from hypergauss import KPMF, load, save
from hypergauss.factorisation.moods import MOOD_RATE, MOOD_SHAPE, Moods

RNG = np.random.default_rng(0)
USER, ITEM = np.nonzero(RNG.random((40, 30)) < 0.7)
#: Three days of each user, and how kind they were.
DAY = np.array(["mon", "tue", "sun"])[RNG.integers(3, size=len(USER))]
KIND = pd.Series(RNG.standard_normal(120), pd.MultiIndex.from_product([range(40), ["mon", "tue", "sun"]]))
VALUE = 3 + KIND[list(zip(USER, DAY, strict=True))].to_numpy() + 0.3 * RNG.standard_normal(len(USER))
HELD = RNG.random(len(USER)) < 0.3
OPTIONS = {"n_factors": 2, "chains": 2, "warm_up": 30, "draws": 40, "bounds": None, "random_state": 0}


def named(mask):
    return USER[mask], ITEM[mask], VALUE[mask]


@pytest.fixture(scope="module")
def model():
    return KPMF(**OPTIONS).fit(*named(~HELD), days=DAY[~HELD])


def test_moods_are_drawn_from_their_conditional(rng):
    place, left, precision = np.array([0, 0, 2]), np.array([1.0, 3.0, -1.0]), np.array([2.0, 1.0, 4.0])
    drawn = [Moods(np.zeros(3), 0.5).draw(place, left, precision, rng) for _ in range(4000)]
    each = np.array([moods.each for moods in drawn])
    total = 2.0 + np.array([3.0, 0.0, 4.0])
    assert np.allclose(each.mean(axis=0), np.array([5.0, 0.0, -4.0]) / total, atol=0.05)
    assert np.allclose(each.var(axis=0) * total, 1.0, atol=0.1)
    inverse = np.array([(MOOD_RATE + 0.5 * moods.each @ moods.each) / moods.variance for moods in drawn])
    assert np.isclose(inverse.mean(), MOOD_SHAPE + 1.5, rtol=0.05)


def test_the_mood_of_a_day_is_learned_and_counts_on_that_day(model):
    on_the_day, alone = (model.predict(*named(HELD)[:2], **days) for days in ({"days": DAY[HELD]}, {}))
    errors = [np.sqrt(((found - VALUE[HELD]) ** 2).mean()) for found in (on_the_day, alone)]
    assert errors[0] < 0.45 < 0.7 < errors[1]
    density = [model.log_density(*named(HELD), **days).mean() for days in ({"days": DAY[HELD]}, {})]
    assert density[0] > density[1] + 0.5
    assert model.summary().loc["mood variance", "R-hat"] < 1.2


def test_a_day_not_seen_is_a_day_of_which_nothing_is_known(model):
    pair = [USER[0]], [ITEM[0]]
    new, without = (model.predict(*pair, return_std=True, **days) for days in ({"days": ["fri"]}, {}))
    assert np.allclose(new, without)
    assert new[1] > model.predict(*pair, return_std=True, days=[DAY[0]])[1]


def test_a_newcomers_ratings_are_of_one_day(model):
    mean, std = model.predict_new([0, 1, 2, 3, 4, 5, 6, 7], [5.0] * 8, return_std=True)
    assert (mean > 3.8).all()
    assert (std < 1.0).all()


@pytest.mark.parametrize("likelihood", ["gaussian", "ordinal"])
def test_days_have_every_answer(likelihood, tmp_path):
    grades = np.clip(np.round(VALUE), 1, 5)
    options = {**OPTIONS, "likelihood": likelihood, "warm_up": 3, "draws": 4}
    fitted = KPMF(**options).fit(USER, ITEM, grades, days=DAY)
    asked = USER[:9], ITEM[:9]
    low, high = fitted.predict_interval(*asked, days=DAY[:9])
    assert (low <= high).all()
    assert fitted.sample(*asked, 2, 0, days=DAY[:9]).shape == (2, 9)
    save(fitted, tmp_path / "model.hypergauss")
    again = load(tmp_path / "model.hypergauss")
    assert np.array_equal(again.predict(*asked, days=DAY[:9]), fitted.predict(*asked, days=DAY[:9]))
    order = RNG.permutation(len(USER))
    shuffled = KPMF(**options).fit(USER[order], ITEM[order], grades[order], days=DAY[order])
    assert shuffled.ratings_.values.tolist() != grades.tolist()
    mine = shuffled.days_.name[shuffled.days_.place]
    place = pd.MultiIndex.from_arrays([USER, ITEM]).get_indexer(
        pd.MultiIndex.from_arrays([shuffled.users_[shuffled.ratings_.user], shuffled.items_[shuffled.ratings_.item]])
    )
    assert mine.tolist() == DAY[place].tolist()


def test_a_run_with_days_resumes_to_the_same_draws(tmp_path):
    options = {**OPTIONS, "warm_up": 2, "checkpoint": tmp_path / "chains.npz"}
    KPMF(**options | {"draws": 3}).fit(*named(~HELD), days=DAY[~HELD])
    resumed = KPMF(**options | {"draws": 5}).fit(*named(~HELD), days=DAY[~HELD])
    whole = KPMF(**options | {"draws": 5, "checkpoint": None}).fit(*named(~HELD), days=DAY[~HELD])
    assert np.array_equal(resumed.draws_[0].moods, whole.draws_[0].moods)
    with pytest.raises(ValueError, match="must belong to the same ratings and settings"):
        KPMF(**options | {"draws": 5}).fit(*named(~HELD), days=DAY[~HELD][::-1])


def test_days_that_would_not_act_are_refused(model):
    for options in ({"inference": "map"}, {"biases": False}):
        with pytest.raises(ValueError, match="`days` must be left out unless inference='gibbs'"):
            KPMF(2, **options).fit(*named(~HELD), days=DAY[~HELD])
    with pytest.raises(ValueError, match="`days` must be left out unless inference='gibbs'"):
        KPMF(2, likelihood="implicit").fit(USER, ITEM, days=DAY)
    without = KPMF(**{**OPTIONS, "warm_up": 1, "draws": 2}).fit(*named(~HELD))
    with pytest.raises(ValueError, match="`days` must be left out, since `fit` was not told of any"):
        without.predict([0], [0], days=["mon"])
    for call in (
        lambda: model.update([0], [0], [3.0]),
        lambda: model.explain(0, 0),
        lambda: model.predict_new_item([0], [3.0]),
    ):
        with pytest.raises(ValueError, match="needs ratings without days"):
            call()


def test_days_must_be_named_one_for_each_rating(model):
    frame = pd.DataFrame({"user": [0, 1], "film": [0, 1], "rating": [1.0, 2.0], "day": [1, 2]})
    with pytest.raises(ValueError, match="`users` and `days` must have one index"):
        KPMF(2).fit(frame["user"], frame["film"], frame["rating"], days=frame["day"][::-1])
    with pytest.raises(ValueError, match="`days`"):
        KPMF(2).fit(*named(~HELD), days=["mon"])
    with pytest.raises(ValueError, match=r"`days` must name a day for each rating. Got none at position 1"):
        KPMF(2).fit([0, 1], [0, 1], [1.0, 2.0], days=["mon", None])
    with pytest.raises(ValueError, match="`days`"):
        model.predict([0, 1], [0, 1], days=["mon"])
