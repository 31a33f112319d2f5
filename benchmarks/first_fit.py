"""The first fit of a fresh process, and the second: what a newcomer waits for, against what they would use instead.

Every figure is a ratio, our processor time divided by the other's, on one thread: below one, hypergauss is the faster.
The two run in fresh processes, in turn; times are medians. "With imports" counts all that a process did, from Python's
own start on; otherwise time begins when everything is imported. "Before" is the version before the core was rebuilt,
commit 64863a8, measured by this script. The jobs, as --only names them, and what they are measured against:

automobiles, zoo    scikit-learn's Gaussian processes on the incidence matrix
congress            GPflow fitted by L-BFGS-B, in `.venv-gpflow` (see `benchmarks.against_gpflow`)
gpjax               GPJax's objective and SciPy's L-BFGS-B, in `.venv-gpjax` (see `benchmarks.against_gpjax`)
mushroom            406 labels: the job before, by way of a bare operation (`benchmarks.common.bare`)
svd                 one dense SVD of the normalised incidence matrix
command             `hypergauss fit` on house votes, nothing cached, report included: itself before, likewise
import              `import hypergauss`, and its classifier looked up: `import sklearn.gaussian_process`

A bare operation, an SVD, is timed in the same run: a job of another day is known by how many of them it took. Congress
and mushroom are skipped where HYPERGAUSS_DATA does not name the folder of the data.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import command_line, publish, table, verdict
from benchmarks.first_fit_jobs import DATA, JOBS, NEED_DATA, Times


class Target(NamedTuple):
    """What a job is measured against, the largest ratio allowed, and the ratios before, without and with imports."""

    against: str
    at_most: float
    before: float | None
    before_whole: float | None


#: Figures before are medians of three processes on a busy machine of two cores. Targets of mushroom and of the command
#: are shares of what they took before, in bare operations.
TARGETS = {
    "automobiles, first": Target("scikit-learn", 6, 40.4, 4.19),
    "automobiles, second": Target("scikit-learn", 2, 9.80, None),
    "zoo, first": Target("scikit-learn", 8, 91.8, 10.8),
    "zoo, second": Target("scikit-learn", 5, 41.1, None),
    "congress, first": Target("GPflow", 1 / 5, 1.33, 0.819),
    "congress, second": Target("GPflow", 1 / 10, 0.0984, None),
    "1,000 vertices, first": Target("GPJax + SciPy", 1 / 30, 0.365, 0.553),
    "2,000 vertices, first": Target("GPJax + SciPy", 1 / 60, 0.139, 0.260),
    "mushroom, 8,124 vertices": Target("bare operation", 0.1 * 15.5, 15.5, 17.4),
    "20,000 x 1,000": Target("dense SVD", 1.3, 7.97, 8.43),
    "hypergauss fit": Target("bare operation", 0.4 * 9.29, None, 9.29),
    "import": Target("scikit-learn", 1.5, None, 1.85),
}


def main(*, quick: bool, only: Sequence[str] = tuple(JOBS)) -> None:
    found: dict[str, Times] = {}
    notes = []
    for name in only:
        if name in NEED_DATA and DATA not in os.environ:
            notes.append(f"{name} is skipped: {DATA} does not name the folder of the development data.")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found |= JOBS[name](Path(folder), quick=quick)
    ratios = table(
        "Our processor time divided by the other's",
        ("", "against", "now", "before", "with imports", "before", "target"),
        [_ratios(job, times) for job, times in found.items()],
    )
    seconds = table(
        "Times",
        ("", "ours", "the other's", "ours, with imports", "the other's"),
        [[job, *_seconds(times)] for job, times in found.items()],
    )
    publish("first_fit", [ratios, seconds], notes, quick=quick, complete=set(only) == set(JOBS))


def _ratios(job: str, times: Times) -> list[str]:
    """Return a line of ratios; the target is of the time after import, where there is one."""
    after, whole = times.ratios()
    cells = [job, "", _figure(after), "", _figure(whole), "", ""]
    if job in TARGETS:
        target = TARGETS[job]
        cells[1], cells[3], cells[5] = target.against, _figure(target.before), _figure(target.before_whole)
        cells[6] = verdict(whole if after is None else after, at_most=target.at_most)
    return cells


def _seconds(times: Times) -> list[str]:
    return [text for pair in times for text in (("", "") if pair is None else (f"{value:.3g} s" for value in pair))]


def _figure(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=JOBS, default=tuple(JOBS), metavar="JOB", help=f"of {', '.join(JOBS)}"
    )
    asked = parser.parse_args()
    main(quick=asked.quick, only=asked.only)
