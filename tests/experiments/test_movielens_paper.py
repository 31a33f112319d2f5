"""The baselines of the paper's table are what they are called, and the table has a row for each setting."""

import numpy as np
import pandas as pd
import pytest

from hypergauss.experiments import movielens_paper as paper
from hypergauss.experiments.movielens_splits import Split
from tests.factorisation.problems import random_ratings


@pytest.fixture
def split():
    user, film, value = random_ratings(12, 9, 0.8, seed=0)
    ratings = pd.DataFrame({"user": user, "film": film, "rating": np.clip(np.round(value), 1, 5)})
    held_out = np.arange(len(ratings)) % 3 == 0
    return Split("80%", 4, ratings[~held_out], ratings[held_out])


def test_biases_alone_solve_their_ridge_regression(split):
    """At the fixed point (n + 5) b = sum of residuals: the normal equations of a ridge of 5 on centred ratings."""
    train, test = split.train, split.test
    design = np.zeros((len(train), 21))
    design[np.arange(len(train)), train["user"]] = 1.0
    design[np.arange(len(train)), 12 + train["film"]] = 1.0
    mu = train["rating"].mean()
    x = np.linalg.solve(design.T @ design + 5.0 * np.eye(21), design.T @ (train["rating"] - mu))
    predicted = np.clip(mu + x[test["user"]] + x[12 + test["film"]], 1, 5)
    expected = np.sqrt(((predicted - test["rating"]) ** 2).mean())
    assert paper.biases_only(split) == pytest.approx(expected, abs=1e-4)


def test_the_constant_is_the_mean_of_what_is_known(split):
    expected = np.sqrt(((split.test["rating"] - split.train["rating"].mean()) ** 2).mean())
    assert paper.constant(split) == pytest.approx(expected)


def test_the_table_has_a_row_for_each_setting_and_a_study_goes_on(split, tmp_path, monkeypatch):
    monkeypatch.setitem(paper._KERNELS, "hypergraph, sparse", {"inducing": (5, 5)})
    curve, path = split._replace(seed=100), tmp_path / "scores.csv"
    found = paper.scores([split], curve, path, max_iterations=2)
    assert len(found) == 2 + 2 * 2 * 4 + 3 * 5
    rows = paper.paper_table(found, [split]).row_count
    assert rows == 2 + 2 * 2 * 4
    monkeypatch.setattr(paper, "mode", lambda *_, **__: pytest.fail("made again"))
    pd.testing.assert_frame_equal(paper.scores([split], curve, path), found)
    paper.figure(found, curve, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 0
