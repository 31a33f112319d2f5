"""Items for users from a file of ratings."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from hypergauss import Hypergraph, SpectralEmbedding, save
from hypergauss.cli import main, recommend, targets


@pytest.fixture
def ratings(tmp_path):
    """Write ratings where even users like even items, each user having rated half of them."""
    rng = np.random.default_rng(0)
    rows = [
        (f"u{user}", f"i{item}", 5 if (user + item) % 2 == 0 else 1)
        for user in range(20)
        for item in rng.permutation(16)[:8]
    ]
    path = tmp_path / "ratings.csv"
    pd.DataFrame(rows, columns=["user", "item", "rating"]).to_csv(path, index=False)
    return path


def test_what_was_rated_is_not_recommended(ratings, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recommend, "KPMF", partial(recommend.KPMF, chains=1, warm_up=10, draws=10))
    assert main(["recommend", "--ratings", str(ratings), "--user", "u0", "-n", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["recommendations"]
    table = pd.read_csv(ratings)
    seen = set(table.item[table.user == "u0"])
    assert len(found) == 3
    assert all(row["user"] == "u0" and row["item"] not in seen and row["std"] > 0 for row in found)
    assert all(1 <= row["rating"] <= 5 for row in found)
    assert main(["recommend", "--ratings", str(ratings), "-n", "2", "--out", str(tmp_path / "all.csv")]) == 0
    assert pd.read_csv(tmp_path / "all.csv").user.nunique() == 20


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda table: table, ["--user", "u00"], "must have rated something. Got 'u00'"),
        (lambda table: table.drop(columns="rating"), [], "must have three columns"),
        (lambda table: table.assign(rating="good"), [], "Row 1 does not"),
        (lambda table: table, ["--rating-column", "ratng"], "Did you mean"),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(ratings, change, arguments, message, capsys):
    change(pd.read_csv(ratings)).to_csv(ratings, index=False)
    assert main(["recommend", "--ratings", str(ratings), *arguments]) == 1
    assert message in capsys.readouterr().err


def test_the_column_of_users_is_gone_through_once_however_many_are_asked_for(ratings, monkeypatch):
    class Counted(pd.Series):
        passes = 0

        def __iter__(self):
            Counted.passes += 1
            return super().__iter__()

    class Nobody:
        def __init__(self, *_, **__):
            pass

        def fit(self, *_):
            return self

        def recommend(self, user, n):
            return pd.DataFrame({"item": ["i0"], "rating": [3.0], "std": [1.0]})

    table = pd.read_csv(ratings)
    monkeypatch.setattr(targets, "ratings", lambda *_: (Counted(table["user"]), table["item"], table["rating"]))
    monkeypatch.setattr("hypergauss.cli.recommend.KPMF", Nobody)
    assert main(["recommend", "--ratings", str(ratings)]) == 0
    assert Counted.passes <= 1


@pytest.fixture
def newcomers(tmp_path):
    path = tmp_path / "new.csv"
    rows = [("ann", "i0", 5), ("ann", "i2", 5), ("ann", "i1", 1), ("ann", "i3", 1), ("bob", "i1", 5)]
    pd.DataFrame(rows, columns=["user", "item", "rating"]).to_csv(path, index=False)
    return path


def test_newcomers_get_their_lists_from_a_saved_model(ratings, newcomers, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recommend, "KPMF", partial(recommend.KPMF, chains=2, warm_up=60, draws=40))
    model = tmp_path / "m.hypergauss"
    assert main(["recommend", "--ratings", str(ratings), "--user", "u0", "--save", str(model), "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)["recommendations"]
    monkeypatch.undo()
    assert main(["recommend", "--model", str(model), "--user", "u0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recommendations"] == fitted
    assert main(["recommend", "--model", str(model), "--new", str(newcomers), "-n", "4", "--json"]) == 0
    found = pd.DataFrame(json.loads(capsys.readouterr().out)["recommendations"])
    assert found["user"].unique().tolist() == ["ann", "bob"]
    of_ann = found[found["user"] == "ann"]
    assert not set(of_ann["item"]) & {"i0", "i1", "i2", "i3"}
    assert all(int(item[1:]) % 2 == 0 for item in of_ann["item"])
    assert main(["recommend", "--ratings", str(ratings), "--save", str(model)]) == 1
    assert "--overwrite" in capsys.readouterr().err


def test_files_need_no_options_and_it_says_what_it_understood(ratings, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(recommend, "KPMF", partial(recommend.KPMF, chains=1, warm_up=10, draws=10))
    model = tmp_path / "m.hypergauss"
    assert main(["recommend", str(ratings), "--user", "u0", "--save", str(model)]) == 0
    said = capsys.readouterr()
    assert "ratings.csv  'user' names 20 users, 'item' 16 items; 160 ratings ('rating') from 1 to 5\n" in said.err
    monkeypatch.undo()
    assert main(["recommend", str(model), "--user", "u0"]) == 0
    assert capsys.readouterr().out == said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "need a file of ratings or of a saved model, and one of them: --ratings FILE or --model FILE"),
        (["--model", "m", "--ratings", "r"], "need a file of ratings or of a saved model, and one of them"),
        (["r.csv", "--ratings", "r"], "r.csv would be --ratings, and that is r"),
        (["a.csv", "b.csv"], "One file is needed here. Got 2"),
        (["--model", "m", "--factors", "3"], "--factors goes with --ratings"),
        (["--model", "m", "--save", "x"], "--save goes with --ratings"),
    ],
)
def test_a_source_is_one_of_two(arguments, message, capsys):
    assert main(["recommend", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_newcomer_who_is_known_is_refused(ratings, newcomers, capsys):
    table = pd.read_csv(newcomers)
    table.assign(user="u3").drop_duplicates("item").to_csv(newcomers, index=False)
    assert main(["recommend", "--ratings", str(ratings), "--new", str(newcomers)]) == 1
    assert "'u3' was" in capsys.readouterr().err


def test_a_model_of_something_else_is_refused(tmp_path, capsys):
    path = tmp_path / "m.hypergauss"
    save(SpectralEmbedding(1).fit(Hypergraph.from_edges([["a", "b"], ["b", "c"]])), path)
    assert main(["recommend", "--model", str(path)]) == 1
    assert "holds a SpectralEmbedding" in capsys.readouterr().err
