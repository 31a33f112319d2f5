"""A fitted factorisation as a table and as a picture."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hypergauss import KPMF

RNG = np.random.default_rng(100)
USERS, ITEMS = (part.ravel() for part in np.meshgrid(np.arange(12), np.arange(10), indexing="ij"))
RATINGS = np.clip(np.round(3 + RNG.normal(size=12)[USERS] + RNG.normal(size=10)[ITEMS]), 1, 5)


def fitted(**settings):
    return KPMF(1, chains=2, warm_up=20, draws=40, random_state=0, **settings).fit(USERS, ITEMS, RATINGS)


def test_the_summary_is_of_what_the_draws_identify():
    model = fitted()
    table = model.summary()
    assert table.index.tolist() == [
        "bias variance of users",
        "bias variance of items",
        "factor variance",
        "noise variance",
    ]
    assert (table["lower"] <= table["mean"]).all()
    assert (table["mean"] <= table["upper"]).all()
    assert (table["R-hat"] > 0.9).all()
    rows = model.ratings_.user, model.ratings_.item
    variances = []
    for chain in model.draws_:
        for users, items in zip(chain.users, chain.items, strict=True):
            # Of b_i + u_i . w over all ratings, w the mean factors of the items rated.
            variances.append((users[:, 0] + users[:, 1:] @ items[rows[1], 1:].mean(axis=0))[rows[0]].var())
    assert table.loc["bias variance of users", "mean"] == pytest.approx(np.mean(variances), rel=1e-4)
    assert "<table" in table._repr_html_()


def test_notebooks_show_what_the_draws_say_and_what_a_rating_is_made_of():
    model = fitted()
    shown = model._repr_mimebundle_()["text/html"]
    assert "KPMF, fitted" in shown
    assert "bias variance of users" in shown
    assert "bias variance" not in KPMF(1)._repr_mimebundle_()["text/html"]
    found = model.explain(0, 1)
    view = found._repr_html_()
    assert f"{found.prediction:.4g}" in view
    assert "by rated item, 9 in all" in view
    at_mode = KPMF(1, inference="map", random_state=0).fit(USERS, ITEMS, RATINGS)
    assert "KPMF, fitted" in at_mode._repr_mimebundle_()["text/html"]


def test_thresholds_are_in_the_summary_of_grades():
    names = fitted(likelihood="ordinal").summary().index.tolist()
    assert names[-4:] == [f"threshold {number}" for number in (1, 2, 3, 4)]


def test_a_mode_has_no_draws_to_sum_up():
    model = KPMF(1, inference="map", random_state=0).fit(USERS, ITEMS, RATINGS)
    with pytest.raises(ValueError, match=r"told of draws.* Got inference='map'.* Fit with inference='gibbs'"):
        model.summary()


def test_the_picture_is_of_ratings_against_predictions():
    model = fitted()
    ax = model.plot(USERS[:30], ITEMS[:30], RATINGS[:30])
    drawn = np.concatenate([container[0].get_xydata() for container in ax.containers])
    expected = np.column_stack([RATINGS[:30], model.predict(USERS[:30], ITEMS[:30])])
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    plt.close(ax.figure)
    with pytest.raises(ValueError, match=r"`users` and `ratings` must have the same length. Got 2 and 1"):
        model.plot(USERS[:2], ITEMS[:2], RATINGS[:1])
