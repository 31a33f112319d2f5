"""Does a process that fits all day grow? ``python -m benchmarks.growth_of_memory``.

Two hundred fits in one process, regressor and classifier in turn, at their defaults, on random hypergraphs whose
numbers of vertices, hyperedges and observations change from fit to fit: whatever is kept for a size met before is kept
in vain. Resident memory is read after each. The first twenty may fill it with what every fit needs.

Target: less than 50 MB more after the last fit than after the twentieth.
"""

from __future__ import annotations

import warnings

import numpy as np

import hypergauss as hg
from benchmarks.common import is_quick, publish, resident, table, verdict

FITS, SETTLED, EVERY = 200, 20, 20
MOST_GROWTH = 50.0
VERTICES, EDGES = (60, 300), (20, 150)


def fit(number: int, rng: np.random.Generator) -> None:
    """Fit one model, of a kind that alternates, to a target that is smooth on a random hypergraph, and predict."""
    count, edges = rng.integers(*VERTICES), rng.integers(*EDGES)
    R = rng.random((count, edges)) < rng.uniform(0.05, 0.2)
    signal = R @ rng.standard_normal(edges) + rng.standard_normal(count)
    rows = rng.permutation(count)[: count // 2]
    H = hg.Hypergraph.from_incidence(R.astype(float))
    if number % 2:
        labels = np.searchsorted(np.quantile(signal, (0.33, 0.67)), signal)
        hg.HypergraphGPClassifier(H, random_state=0).fit(rows, labels[rows]).predict_proba(H.vertices)
    else:
        hg.HypergraphGPRegressor(H, random_state=0).fit(rows, signal[rows]).predict(H.vertices, return_std=True)


def main(*, quick: bool) -> None:
    warnings.simplefilter("ignore")  # whether learning converged is not asked here
    rng = np.random.default_rng(0)
    fits, settled, every = (12, 2, 2) if quick else (FITS, SETTLED, EVERY)
    held = []
    for number in range(fits):
        fit(number, rng)
        held.append(resident())
    growth = held[-1] - held[settled - 1]
    rows = [[f"{done}", f"{held[done - 1]:,.0f} MB"] for done in range(every, fits + 1, every)]
    notes = [
        f"From fit {settled} to fit {fits} memory grew by {growth:.0f} MB ({verdict(growth, at_most=MOST_GROWTH)}); in "
        f"between, by {max(held[settled - 1 :]) - held[settled - 1]:.0f} MB at most.",
        f"{VERTICES[0]} to {VERTICES[1]} vertices, {EDGES[0]} to {EDGES[1]} hyperedges, half of the vertices observed; "
        "three classes.",
    ]
    publish("growth_of_memory", [table("Resident memory", ("fits", "memory"), rows)], notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
