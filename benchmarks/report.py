"""From a CSV of house votes to ``report.html`` in one command: ``python -m benchmarks.report``.

Runs ``hypergauss fit --table votes.csv --target party``, cross-validation included, in processes of their own: with
nothing kept beforehand, and again with what the first run has kept. Start-up, importing all that the command needs,
is measured apart. Clock and processor time. Then pages of three sizes are opened in Chromium
(`benchmarks.report_pages`); ``--pages`` does only that, and keeps the rest of the stored outcome. It goes to
``benchmarks/results/report.txt``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import heading
from benchmarks.report_pages import HEADER, timings

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = (".",)

RESULTS = Path(__file__).parent / "results" / "report.txt"
HELP = "from hypergauss.cli import main; main(['--help'])"
START = "import hypergauss.cli.fit"
COMMAND = "import sys; from hypergauss.cli import main; sys.exit(main())"


class Times(NamedTuple):
    """Seconds by the clock and of the processor."""

    clock: float
    processor: float

    def __sub__(self, other: Times) -> Times:
        return Times(self.clock - other.clock, self.processor - other.processor)

    def line(self, what: str) -> str:
        """Return a line of the outcome."""
        return f"{what:<44} clock {self.clock:6.2f} s   processor {self.processor:6.2f} s"


def timed(code: str, arguments: Sequence[str] = (), **environment: str) -> Times:
    """Run Python code in a process and return its times."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.PIPE, env=os.environ | environment
    )
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Times(clock, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main() -> None:
    commands = _commands() if "--pages" not in sys.argv[1:] else _stored().split("\n\n$", maxsplit=1)[0].splitlines()
    with tempfile.TemporaryDirectory() as name:
        pages = [HEADER, *(timing.line() for timing in timings(Path(name)))]
    load = f"The machine's load after was {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
    lines = [*commands, "", *heading("report --pages"), *pages, "", load]
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _stored() -> str:
    return RESULTS.read_text(encoding="utf-8")


def _commands() -> list[str]:
    """Return the times of the command line."""
    load = os.getloadavg()[0]
    votes = str(files("hypergauss.datasets") / "data" / "house-votes-84.csv")
    lines = heading("report")
    with tempfile.TemporaryDirectory() as name:
        cache = str(Path(name) / "cache")
        timed(START)  # the files of every package come from the disk once
        startup = min(timed(START) for _ in range(3))
        lines.append(min(timed(HELP) for _ in range(3)).line("hypergauss --help"))
        lines.append(startup.line("start-up of hypergauss fit"))
        for state in ("nothing kept before", "with what the first run has kept"):
            out = Path(name) / state.replace(" ", "-")
            arguments = ["fit", "--table", votes, "--target", "party", "--out", str(out)]
            took = timed(COMMAND, arguments, HYPERGAUSS_CACHE=cache) - startup
            assert (out / "report.html").stat().st_size > 0
            lines.append(took.line(f"after it, {state}"))
    return [*lines, "", f"The machine's load before was {load:.1f} on {os.cpu_count()} cores."]


if __name__ == "__main__":
    main()
