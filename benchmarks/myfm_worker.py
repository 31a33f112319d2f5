"""Contender: myFM, in its own environment. ``python -m benchmarks.myfm_worker PROBLEM gaussian|ordinal``.

A Bayesian factorisation machine of rank 10 on one-hot users and films, 500 sweeps of which the last 400 are kept: with
fewer its error has not settled. Prints as JSON the seconds of fitting, RMSE and log predictive density.
"""

from __future__ import annotations

import json
import sys

import myfm
import numpy as np
from scipy import sparse as sps
from scipy.special import logsumexp
from scipy.stats import norm

from benchmarks.movielens import RANK, timed

SWEEPS, KEPT = 500, 400


def one_hot(user: np.ndarray, film: np.ndarray, shape: np.ndarray) -> sps.csr_matrix:
    rows = np.arange(len(user))
    columns = np.stack([user, shape[0] + film], axis=1).ravel()
    return sps.csr_matrix((np.ones(2 * len(rows)), (rows.repeat(2), columns)), shape=(len(rows), int(shape.sum())))


def main(path: str, likelihood: str) -> dict[str, float]:
    problem = np.load(path)
    train, test = (
        one_hot(problem[f"{part}_user"], problem[f"{part}_film"], problem["shape"]) for part in ("train", "test")
    )
    y, truth = problem["train_rating"], problem["test_rating"]
    groups = problem["shape"].tolist()
    if likelihood == "gaussian":
        model = myfm.MyFMRegressor(rank=RANK, random_seed=0)
        times, _ = timed(lambda: model.fit(train, y, n_iter=SWEEPS, n_kept_samples=KEPT, group_shapes=groups))
        mean = model.predict(test)
        terms = [
            norm.logpdf(truth, fm.predict_score(test, []), sample.alpha**-0.5)
            for fm, sample in zip(model.predictor_.samples, model.history_.hypers[-KEPT:], strict=True)
        ]
    else:
        model = myfm.MyFMOrderedProbit(rank=RANK, random_seed=0)
        times, _ = timed(
            lambda: model.fit(train, y.astype(int) - 1, n_iter=SWEEPS, n_kept_samples=KEPT, group_shapes=groups)
        )
        p = model.predict_proba(test)
        mean = p @ np.arange(1, p.shape[1] + 1)
        terms = [np.log(p[np.arange(len(p)), truth.astype(int) - 1])]
    density = float((logsumexp(terms, axis=0) - np.log(len(terms))).mean())
    rmse = float(np.sqrt(((np.clip(mean, 1, 5) - truth) ** 2).mean()))
    return {**times, "rmse": rmse, "density": density}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
