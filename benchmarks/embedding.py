"""How the time of a map grows with the number of vertices: the exact latent variable model, and the sparse one.

Each size in a process of its own, at the defaults (see `benchmarks.embedding_worker`). An evaluation of the log
posterior costs O(N^3) exactly, and O(N J^2 + N J M) with J inducing vertices; how many are needed differs between data,
so the exponents are those of one evaluation, by the two largest sizes. Target: 2,000 vertices within a minute, all
starts included.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import fresh, is_quick, publish, table, verdict

MEASURES = ("embedding", "hypergraph", "kernels", "learning", "solvers", "spectrum")
SIZES = {"dense": (150, 300, 600), "sparse": (600, 1_000, 2_000, 5_000)}
QUICK = {"dense": (50, 100), "sparse": (100, 200)}
TARGET_SIZE, MOST_SECONDS = 2_000, 60.0


def exponent(sizes: tuple[int, ...], outcomes: list[dict[str, float]]) -> float:
    """Return the exponent of growth of one evaluation between the two largest sizes."""
    each = [outcome["seconds"] / outcome["evaluations"] for outcome in outcomes[-2:]]
    return float(np.log(each[1] / each[0]) / np.log(sizes[-1] / sizes[-2]))


def main(*, quick: bool) -> None:
    chosen = QUICK if quick else SIZES
    outcomes = {solver: [fresh("embedding_worker", size, solver) for size in sizes] for solver, sizes in chosen.items()}
    rows = [
        [
            solver,
            f"{size:,}",
            f"{outcome['seconds']:.1f} s",
            f"{outcome['evaluations']:,}",
            f"{1e3 * outcome['seconds'] / outcome['evaluations']:.1f} ms",
            f"{outcome['peak_gb']:.2f} GB",
            f"{outcome['ami']:.2f}",
            f"{outcome['spectral']:.2f}",
        ]
        for solver, sizes in chosen.items()
        for size, outcome in zip(sizes, outcomes[solver], strict=True)
    ]
    columns = ("solver", "vertices", "fit", "evaluations", "each", "peak memory", "AMI", "AMI, spectral")
    grown = table("A map as N grows, 40 hyperedges", columns, rows)
    notes = [
        f"Exponent of one evaluation, {solver}: {exponent(sizes, outcomes[solver]):.2f}"
        for solver, sizes in chosen.items()
    ]
    if not quick:
        seconds = outcomes["sparse"][SIZES["sparse"].index(TARGET_SIZE)]["seconds"]
        notes.append(f"{TARGET_SIZE:,} vertices: {seconds:.0f} s ({verdict(seconds, at_most=MOST_SECONDS)})")
    publish("embedding", [grown], notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
