"""Five million memberships from Parquet: ``python -m benchmarks.reading``.

Our `read_table`, hypergraph included, against `pandas.read_parquet` of the same file; best of three each, in turns.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import hypergauss as hg

RESULTS = Path(__file__).parent / "results" / "reading.txt"
SIZES = {"memberships": 5_000_000, "vertices": 500_000, "hyperedges": 200_000}


def best_of_three(*actions: Callable[[], object]) -> list[float]:
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(3):
        for own, action in zip(times, actions, strict=True):
            start = time.perf_counter()
            action()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


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
    lines = ["$ python -m benchmarks.reading", "", sizes]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        for name, frame in frames.items():
            frame.to_parquet(path, index=False)
            pandas, ours = best_of_three(lambda: pd.read_parquet(path), lambda: hg.read_table(path))
            lines.append(
                f"names of {name:<14} pandas {pandas:5.2f} s  hypergauss {ours:5.2f} s  ratio {ours / pandas:4.1f}"
            )
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
