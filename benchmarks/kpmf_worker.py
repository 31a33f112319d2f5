"""Ours: ``python -m benchmarks.kpmf_worker PROBLEM gaussian|ordinal|independent``.

`KPMF` with its defaults. Prints as JSON the seconds of fitting, spectrum included, RMSE, log predictive density and the
share of held-out ratings inside 90% intervals.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

from benchmarks.movielens import timed
from hypergauss import KPMF
from hypergauss.exceptions import UnseenWarning


def main(path: str, kind: str) -> dict[str, float]:
    problem = np.load(path)
    options = {"kernel": "independent"} if kind == "independent" else {"likelihood": kind}
    model = KPMF(bounds=(1, 5), random_state=0, **options)
    train, test = ([problem[f"{part}_{name}"] for name in ("user", "film", "rating")] for part in ("train", "test"))
    times, _ = timed(model.fit, *train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)
        mean = model.predict(*test[:2])
        low, high = model.predict_interval(*test[:2])
        density = float(model.log_density(*test).mean())
    truth = test[2]
    return {
        **times,
        "rmse": float(np.sqrt(((mean - truth) ** 2).mean())),
        "density": density,
        "coverage": float(((truth >= low) & (truth <= high)).mean()),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
