"""The README's headline ratios again, beside those that are stored: ``python -m benchmarks.check``.

Reruns the jobs of `benchmarks.first_fit` that take under a minute each, writes what they took beside what
``results/first_fit.txt`` says and the targets, to ``results/check.txt``, and ends with status 1 where a target is
missed. What is counted and not timed is a test of every change (``tests/test_counts.py``).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.common import RESULTS, command_line, publish, table, verdict
from benchmarks.first_fit import TARGETS
from benchmarks.first_fit_jobs import DATA, JOBS, NEED_DATA, Times

#: Of all jobs those that need no environment of their own.
SHORT = ("automobiles", "zoo", "mushroom", "svd", "command", "import")


def main(*, quick: bool, only: Sequence[str] = SHORT) -> int:
    """Return how many targets are missed."""
    found: dict[str, Times] = {}
    notes = []
    for name in only:
        if name in NEED_DATA and DATA not in os.environ:
            notes.append(f"{name} is skipped: {DATA} does not name the folder of the development data.")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found |= JOBS[name](Path(folder), quick=quick)
    before = stored((RESULTS / "first_fit.txt").read_text())
    now = {job: next(ratio for ratio in times.ratios() if ratio is not None) for job, times in found.items()}
    rows = compared(now, before)
    columns = ("", "now", "stored", "target")
    publish(
        "check",
        [table("Ratios of processor time", columns, rows)],
        notes,
        quick=quick,
        complete=set(only) == set(SHORT),
    )
    return sum("MISSED" in row[-1] for row in rows)


def compared(now: Mapping[str, float], before: Mapping[str, float]) -> list[list[str]]:
    """Return a row for each job: its ratio, the stored one, and whether its target is met."""
    rows = []
    for job, ratio in now.items():
        told = f"{before[job]:.3g}" if job in before else ""
        rows.append([job, f"{ratio:.3g}", told, verdict(ratio, at_most=TARGETS[job].at_most) if job in TARGETS else ""])
    return rows


def stored(text: str) -> dict[str, float]:
    """Return the ratio of each job in a file of results: after import where there is one, else with imports."""
    ratios: dict[str, float] = {}
    for line in text.partition("\nTimes")[0].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("│").split("│")]
        if len(cells) == 7 and cells[0]:
            ratios[cells[0]] = float(cells[2] or cells[4])
    return ratios


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", choices=SHORT, default=SHORT, metavar="JOB", help=f"of {', '.join(SHORT)}")
    asked = parser.parse_args()
    missed = main(quick=asked.quick, only=asked.only)
    sys.exit(0 if asked.quick or not missed else f"{missed} targets are missed.")
