"""Factorisation: the sparse objective against the dense one, and how a sweep of Gibbs sampling grows with the ratings.

The objective is the log posterior of the paper's model at given factors' coordinates on MovieLens 100K (u1), kernels
included, as it has to be evaluated when their hyperparameters move: from fixed spectra, dense covariances of 943 users
and 1,682 films with their Cholesky factors, against those of 45 and 80 inducing vertices. Target: 4.3 times faster, the
paper's figure. The sweeps have 10 factors and 50 eigenvectors, on synthetic ratings, some 100 a user;
each size in a process of its own. Targets: an exponent of at most 1.1, and 12 GB for ten million
ratings.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np

from benchmarks.common import fresh, is_quick, publish, table, verdict

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("factorisation", "hypergraph", "kernels/filters.py", "likelihoods/ordinal.py", "operators", "spectrum")

SPEED, MOST_SLOPE, MOST_MEMORY = 4.3, 1.1, 12.0


def main(*, quick: bool) -> None:
    tables, notes = [], []
    if "HYPERGAUSS_DATA" in os.environ:
        found = fresh("factorisation_worker", "objective", 2 if quick else 7)
        ratio = found["dense"] / found["sparse"]
        rows = [["dense", f"{found['dense'] * 1e3:.1f} ms"], ["sparse", f"{found['sparse'] * 1e3:.1f} ms"]]
        tables.append(table("One evaluation of the objective", ("", "time"), rows))
        notes.append(f"The sparse objective is {ratio:.1f} times faster ({verdict(ratio, at_least=SPEED)})")
    sizes = [10_000, 100_000] if quick else [10_000, 100_000, 1_000_000, 10_000_000]
    outcomes = [partial(fresh, "factorisation_worker", "sweep", size)() for size in sizes]
    ratings, seconds, memory = (
        np.array([outcome[key] for outcome in outcomes]) for key in ("ratings", "seconds", "peak_gb")
    )
    rows = [
        [
            f"{outcome['ratings']:,}",
            f"{outcome['users']:,} x {outcome['items']:,}",
            f"{outcome['seconds']:.3f} s",
            f"{outcome['peak_gb']:.2f} GB",
        ]
        for outcome in outcomes
    ]
    tables.append(table("One sweep of Gibbs sampling", ("ratings", "users x items", "time", "peak memory"), rows))
    slope = float(np.polyfit(np.log(ratings), np.log(seconds), 1)[0])
    notes.append(f"Exponent of growth: {slope:.2f} ({verdict(slope, at_most=MOST_SLOPE)})")
    notes.append(f"Peak memory, spectrum included: {memory[-1]:.2f} GB ({verdict(memory[-1], at_most=MOST_MEMORY)})")
    publish("factorisation", tables, notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
