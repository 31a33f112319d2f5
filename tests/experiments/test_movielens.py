"""The splits of the MovieLens study, and that it goes on where it was interrupted."""

import numpy as np
import pandas as pd
import pytest

from hypergauss.datasets import MovieLens
from hypergauss.exceptions import SamplingWarning
from hypergauss.experiments import movielens
from hypergauss.experiments.movielens_splits import splits
from hypergauss.factorisation import gibbs
from hypergauss.hypergraph import Hypergraph
from tests.factorisation.problems import random_ratings


@pytest.fixture
def data():
    user, film, value = random_ratings(20, 15, 0.6, seed=0)
    ratings = pd.DataFrame({"user": user, "film": film, "rating": np.clip(np.round(value), 1, 5)})
    ratings["timestamp"] = 10**6 * np.arange(len(ratings)) % 7
    users = pd.DataFrame({"age": 20 + np.arange(20), "sex": ["M", "F"] * 10, "occupation": ["a", "b"] * 10})
    films = pd.DataFrame({"release_date": ["01-Jan-1995"] * 14 + [None]})
    genres = Hypergraph.from_edges({"drama": [0, 1, 2], "action": [3, 4]}, vertices=range(15))
    official = (ratings[::2], ratings[1::2])
    return MovieLens(ratings, users, films, genres, official, "made up")


def test_splits_are_those_of_the_permutation(data):
    named = {(split.name, split.seed): split for split in splits(data, range(2))}
    assert list(named) == [("u1", 0), ("20%", 0), ("80%", 0), ("20%", 1), ("80%", 1)]
    n = len(data.ratings)
    order = np.random.default_rng(1).permutation(n)
    assert named["20%", 1].test.index.tolist() == order[: round(0.2 * n)].tolist()
    assert named["80%", 1].train.index.tolist() == order[round(0.8 * n) :].tolist()


def test_an_interrupted_study_makes_only_what_is_missing(data, tmp_path, monkeypatch):
    models = {"Gibbs": {"n_factors": 1}, "Gibbs, independent priors": {"n_factors": 1, "kernel": "independent"}}
    monkeypatch.setattr(movielens, "_MODELS", models)
    fewer = {"chains": 1, "warm_up": 1, "draws": 2}
    path = tmp_path / "scores.csv"
    first = movielens.scores(data, range(1), fewer, path)
    assert len(first) == 7  # two models on three splits, and side information on u1
    monkeypatch.setattr(movielens, "score", lambda *_: pytest.fail("made again"))
    again = movielens.scores(data, range(1), fewer, path)
    pd.testing.assert_frame_equal(first, again)
    assert [row[0] for row in movielens.table_rows(again, "u1")] == [*models, "Gibbs, side information"]
    assert movielens.gains(again).startswith("20%: RMSE")


def test_rows_are_made_in_parts_that_are_kept_and_the_note_says_what_is_missing(data, tmp_path, monkeypatch):
    monkeypatch.setattr(movielens, "_MODELS", {"Gibbs": {"n_factors": 1}})
    fewer = {"chains": 1, "warm_up": 1, "draws": 2}
    path = tmp_path / "scores.csv"
    first = movielens.scores(data, range(2), fewer, path, ("Gibbs",))
    assert first["split"].tolist() == ["u1", "20%", "80%", "20%", "80%"]
    assert movielens.missing(first, range(3)) == (
        "Not made yet: Gibbs, 20%: 2 of 3; Gibbs, 80%: 2 of 3; Gibbs, side information, u1: 0 of 1; "
        "Gibbs, ordered probit, side information, u1: 0 of 1.\n\n"
    )
    assert movielens.gains(first) == "The gain by the hypergraph needs rows that are not made yet."
    both = movielens.scores(data, range(2), fewer, path, ("Gibbs, side information",))
    pd.testing.assert_frame_equal(both.iloc[:5], first)
    assert both["model"].tolist()[5:] == ["Gibbs, side information"]
    monkeypatch.setattr(movielens, "fetch_movielens_100k", lambda: data)
    with pytest.raises(ValueError, match=r"`only` must name rows: Gibbs; .*; paper. Got 'gibbs'"):
        movielens.run(tmp_path, None, only=["gibbs"])


def test_a_fit_that_is_interrupted_is_not_kept(data, tmp_path, monkeypatch):
    monkeypatch.setattr(movielens, "_MODELS", {"Gibbs": {"n_factors": 1}})
    sweep, count = gibbs.sweep, []

    def interrupted(*given):
        count.append(1)
        if len(count) == 4:
            raise KeyboardInterrupt
        return sweep(*given)

    monkeypatch.setattr(gibbs, "sweep", interrupted)
    with pytest.raises(SamplingWarning, match="Interrupted"):
        movielens.scores(data, range(1), {"chains": 1, "warm_up": 1, "draws": 9}, tmp_path / "scores.csv")
    assert not (tmp_path / "scores.csv").exists()
