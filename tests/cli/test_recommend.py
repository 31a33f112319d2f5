"""Items for users from a file of ratings."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

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
    monkeypatch.setattr(recommend, "KPMF", partial(recommend.KPMF, chains=2, warm_up=20, draws=20))
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
    monkeypatch.setattr(targets, "ratings", lambda _: (Counted(table["user"]), table["item"], table["rating"]))
    monkeypatch.setattr("hypergauss.cli.recommend.KPMF", Nobody)
    assert main(["recommend", "--ratings", str(ratings)]) == 0
    assert Counted.passes <= 1
