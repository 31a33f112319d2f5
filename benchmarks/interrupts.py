"""Ctrl-C in a pseudo-terminal at random moments of a fit: ``python -m benchmarks.interrupts [--tries 10] [--seed 0]``.

Each try must end with exit code 130 within 3 seconds, without a traceback or a signal, and leave no result behind. The
outcome goes to ``benchmarks/results/interrupts.txt``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from tests.cli.terminal import interrupted

from benchmarks.common import heading
from hypergauss.cli import main as hypergauss

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = (".",)

RESULTS = Path(__file__).parent / "results" / "interrupts.txt"
#: A fit's moments: from the first that code of ours answers for (before, Python itself ends, with 130 and a traceback),
#: to seconds in which it learns and cross-validates.
FIRST, LAST = 0.5, 8.0
#: So many that the fit still runs at the last of them.
FOLDS = 60
AT_MOST = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=10, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (%(default)s)")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    lines, failures = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hypergauss(["datasets", "house-votes", "--out", str(folder / "data")])
        files = ["--edges", folder / "data" / "edges.csv", "--labels", folder / "data" / "labels.csv"]
        for moment in rng.uniform(FIRST, LAST, options.tries):
            out = folder / "out"
            ended = interrupted(["fit", *files, "--folds", FOLDS, "--out", out], after=moment)
            is_fine = ended.code == 130 and ended.seconds <= AT_MOST and not out.exists()
            is_fine = is_fine and "Traceback" not in ended.shown and "egmentation" not in ended.shown
            failures += not is_fine
            verdict = "" if is_fine else "  FAILED"
            lines.append(f"after {moment:4.1f} s: exit {ended.code} within {ended.seconds:.2f} s{verdict}")
            print(lines[-1], flush=True)
    head = heading(f"interrupts --tries {options.tries} --seed {options.seed}")
    RESULTS.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    if failures:
        raise SystemExit(f"{failures} of {options.tries} did not end as they should")


if __name__ == "__main__":
    main()
