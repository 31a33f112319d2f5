"""Fit after fit on random hypergraphs: ``python -m benchmarks.soak [--minutes 10]``.

Each round draws a hypergraph of random size, weights and awkward parts (isolated, empty, singleton, repeated), a random
target, kernel and solver or likelihood, and fits, predicts, explains, saves and loads. Whatever it draws, predictions
must be finite, probabilities sum to one, and the loaded model say the same, and memory must not grow. The outcome goes
to ``benchmarks/results/soak.txt``.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import hypergauss as hg
from benchmarks.common import resident

RESULTS = Path(__file__).parent / "results" / "soak.txt"
#: Fits after which memory is looked at.
EVERY = 100
SIZES = ((12, 8), (30, 50), (60, 20))


def draw(rng: np.random.Generator) -> hg.Hypergraph:
    """Return a random hypergraph with awkward parts."""
    n, m = SIZES[rng.integers(len(SIZES))]
    R = (rng.random((n, m)) < rng.uniform(0.15, 0.5)) * rng.choice([1.0, 0.5, 3.0], (n, m))
    R[:, -1] = R[:, -2]
    R[0] = 0.0
    R[:, 0] = 0.0
    return hg.Hypergraph.from_incidence(R, [f"v{i}" for i in range(n)], weights=rng.choice([0.1, 1.0, 10.0], m))


def one_round(rng: np.random.Generator, folder: Path) -> str:
    """Fit one model and check what it says; return what kind it was."""
    H = draw(rng)
    count = H.num_vertices // 2
    chosen = rng.permutation(H.vertices.to_numpy())[:count]
    kernel = str(rng.choice(["matern", "diffusion", "bernstein"]))
    model: Any
    if rng.random() < 0.7:
        y = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e3])
        solver = str(rng.choice(["dense", "low-rank"]))
        model = hg.HypergraphGPRegressor(H, kernel, solver=solver, size_exponent=0.0, n_starts=1, random_state=0)
        kind = f"regression, {kernel}, {solver}"
        says = lambda fitted: np.stack(fitted.predict(H.vertices, return_std=True))  # noqa: E731
    else:
        y = rng.integers(2, size=count)
        y[:2] = [0, 1]
        model = hg.HypergraphGPClassifier(H, kernel, likelihood="probit", size_exponent=0.0, random_state=0)
        kind = f"classification, {kernel}"
        says = lambda fitted: fitted.predict_proba(H.vertices)  # noqa: E731
    model.fit(chosen, y)
    said = says(model)
    assert np.isfinite(said).all(), "a prediction is not finite"
    if "classification" in kind:
        assert np.abs(said.sum(axis=1) - 1).max() < 1e-9, "probabilities do not sum to one"
    hg.save(model, folder / "model.hypergauss")
    assert (says(hg.load(folder / "model.hypergauss")) == said).all(), "the loaded model differs"
    explained = model.explain(H.vertices[-1])
    total = explained.mean + explained.vertices["contribution"].sum()
    assert abs(total - explained.prediction) <= 1e-6 * max(1.0, np.abs(y).max()), "contributions do not add up"
    return kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    kinds: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    held = []
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < end:
            kinds[one_round(rng, Path(name))] += 1
            if kinds.total() % EVERY == 0:
                gc.collect()
                held.append(resident())
    lines = [f"$ python -m benchmarks.soak --minutes {minutes:g}", "", f"{kinds.total():,} fits, no failure"]
    lines += [f"  {kind:<40} {number:>6,}" for kind, number in sorted(kinds.items())]
    lines.append(f"MB after each {EVERY} fits: {' '.join(f'{number:,.0f}' for number in held)}")
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
