"""Two and five classes on 100,000 vertices, end to end: the iterative solver beside the low-rank one on the same data.

The planted problem's communities, merged into two or five classes, one label in ten replaced by a random one; 2,000
labelled vertices, tested on all others. Both solvers learn by the variational bound with the softmax (or logit)
likelihood; the low-rank one on 100 leading eigenvectors, which is an approximation, as its error bound says.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.common import is_quick, publish, table
from benchmarks.planted import planted
from hypergauss import HypergraphGPClassifier
from hypergauss.exceptions import LearningWarning
from hypergauss.metrics import accuracy, expected_calibration_error, log_predictive_density

LABELLED, WRONG, RANK = 2_000, 0.1, 100


def main(*, quick: bool) -> None:
    problem = planted(3_000 if quick else 100_000)
    size = len(problem.signal)
    rng = np.random.default_rng(3)
    train = np.sort(rng.permutation(size)[: 300 if quick else LABELLED])
    test = np.setdiff1d(np.arange(size), train)
    rows = []
    for classes, likelihood in ((2, "logit"), (5, "softmax")):
        labels = problem.communities % classes
        labels = np.where(rng.random(size) < WRONG, rng.integers(classes, size=size), labels)
        for name, settings in {
            "iterative": {"solver": "iterative"},
            f"low-rank, {RANK} eigenvectors": {"solver": "low-rank", "rank": RANK},
        }.items():
            wall, busy = time.perf_counter(), time.process_time()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", LearningWarning)
                model = HypergraphGPClassifier(
                    problem.hypergraph, likelihood=likelihood, size_exponent=0.0, max_iterations=20, **settings
                ).fit(train, labels[train])
                proba = model.predict_proba(test)
            rows.append(
                [
                    f"{classes}, {name}",
                    f"{accuracy(labels[test], proba, model.classes_):.4f}",
                    f"{expected_calibration_error(labels[test], proba, model.classes_):.4f}",
                    f"{log_predictive_density(labels[test], proba, model.classes_):.4f}",
                    f"{model.elbo_:.1f}",
                    "yes" if not any(issubclass(warning.category, LearningWarning) for warning in caught) else "no",
                    f"{time.perf_counter() - wall:.0f} s ({time.process_time() - busy:.0f})",
                ]
            )
            print(*rows[-1], sep="  ", flush=True)
    columns = ("classes, solver", "accuracy", "ECE", "log density", "bound", "converged", "time (all cores)")
    notes = [
        f"{size:,} vertices, {len(train):,} labelled, {len(test):,} tested. One label in ten is random: no method can "
        f"exceed an accuracy of about {1 - WRONG / 2:.2f} with two classes and {1 - WRONG * 0.8:.2f} with five.",
        "The bounds are of different kernels and cannot be compared across solvers.",
    ]
    publish("labels", [table("Classification at scale", columns, rows)], notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
