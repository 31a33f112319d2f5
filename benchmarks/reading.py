"""Five million memberships from Parquet: ``python -m benchmarks.reading``.

Our `read_table`, hypergraph included, against `pandas.read_parquet` of the same file, in turns: the best of seven,
by the clock and in processor time.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import hypergauss as hg
from benchmarks.common import heading

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("hypergraph", "io")

RESULTS = Path(__file__).parent / "results" / "reading.txt"
SIZES = {"memberships": 5_000_000, "vertices": 500_000, "hyperedges": 200_000}


def best_of_seven(*actions: Callable[[], object]) -> list[np.ndarray]:
    """Return the best clock and processor time of each action."""
    times: list[list[tuple[float, float]]] = [[] for _ in actions]
    for _ in range(7):
        for own, action in zip(times, actions, strict=True):
            clock, processor = time.perf_counter(), time.process_time()
            action()
            own.append((time.perf_counter() - clock, time.process_time() - processor))
    return [np.min(own, axis=0) for own in times]


def main() -> None:
    rng = np.random.default_rng(0)
    count = SIZES["memberships"]
    vertex, edge = rng.integers(SIZES["vertices"], size=count), rng.integers(SIZES["hyperedges"], size=count)
    frames = {
        "whole numbers": pd.DataFrame({"vertex": vertex, "edge": edge}),
        "text": pd.DataFrame(
            {"vertex": np.char.add("v", vertex.astype(str)), "edge": np.char.add("e", edge.astype(str))}
        ),
    }
    sizes = ", ".join(f"{number:,} {name}" for name, number in SIZES.items())
    lines = [*heading("reading"), sizes]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        for name, frame in frames.items():
            frame.to_parquet(path, index=False)
            pandas, ours = best_of_seven(lambda: pd.read_parquet(path), lambda: hg.read_table(path))
            for at, kind in enumerate(("clock", "processor")):
                lines.append(
                    f"names of {name:<14} {kind:<10} pandas {pandas[at]:5.2f} s  hypergauss {ours[at]:5.2f} s  "
                    f"ratio {ours[at] / pandas[at]:4.1f}"
                )
                print(lines[-1], flush=True)
    lines += ["", f"pandas {pd.__version__}; the machine's load at the end was {os.getloadavg()[0]:.1f}."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
