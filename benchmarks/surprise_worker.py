"""Contender: Surprise, in its own environment. ``python -m benchmarks.surprise_worker PROBLEM svd|svdpp``.

SVD is tuned by a five-fold search over its number of factors, epochs and regularisation, whose time counts; SVD++
has its defaults. Prints as JSON the seconds of fitting, search included, and the RMSE.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from surprise import SVD, Dataset, Reader, SVDpp
from surprise.model_selection import GridSearchCV

from benchmarks.movielens import timed

GRID = {"n_factors": [20, 100], "n_epochs": [30, 60], "reg_all": [0.05, 0.1], "lr_all": [0.005]}


class Rows:
    """Ratings in the form that Surprise reads."""

    def __init__(self, problem: np.lib.npyio.NpzFile) -> None:
        rows = zip(problem["train_user"], problem["train_film"], problem["train_rating"], strict=True)
        self.data = Dataset(Reader(rating_scale=(1, 5)))
        self.data.raw_ratings = [(int(u), int(f), float(r), None) for u, f, r in rows]


def fit(data: Dataset, kind: str) -> SVD:
    if kind == "svdpp":
        model = SVDpp(random_state=0, cache_ratings=True)
    else:
        search = GridSearchCV(SVD, GRID, measures=["rmse"], cv=5)
        search.fit(data)
        model = SVD(random_state=0, **search.best_params["rmse"])
    return model.fit(data.construct_trainset(data.raw_ratings))


def main(path: str, kind: str) -> dict[str, float]:
    problem = np.load(path)
    data = Rows(problem).data
    np.random.seed(0)  # noqa: NPY002
    times, model = timed(fit, data, kind)
    pairs = zip(problem["test_user"], problem["test_film"], strict=True)
    mean = np.array([model.predict(int(u), int(f)).est for u, f in pairs])
    return {**times, "rmse": float(np.sqrt(((mean - problem["test_rating"]) ** 2).mean()))}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
