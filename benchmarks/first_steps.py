"""What a newcomer does first, timed in a fresh environment: ``python -m benchmarks.first_steps``.

A wheel is built and installed where nothing else is. Then, in an empty folder and as they are printed: the README's ten
lines, whose output must be the one below them; the first tutorial; the filter of one's own from the how-to; and from
two files to a report by the command line. Any of them that fails ends this with its error. Seconds by the clock and of
the processor go to ``benchmarks/results/first_steps.txt``. With ``--python PATH``, only the steps, in an environment
that has the package already; nothing is written.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import heading

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = (".",)

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "first_steps.txt"
_TUTORIAL = ROOT / "docs" / "examples" / "tutorials" / "plot_1_your_own_csv.py"
_HOW_TO = ROOT / "docs" / "howto" / "own-kernel.md"


def timed(what: str, *command: str | Path, folder: Path) -> tuple[str, str]:
    """Run a command as a newcomer would, with no data folder and no path of ours; return its line and its output."""
    ours = ("HYPERGAUSS_DATA", "HYPERGAUSS_CACHE", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in ours} | {"MPLBACKEND": "Agg"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run = subprocess.run([*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(f"{what} failed:\n{run.stdout}{run.stderr}")
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return f"{what:<44} clock {clock:6.1f} s   processor {processor:6.1f} s", run.stdout


def ten_lines() -> tuple[str, str]:
    """Return the README's example and what it says that it prints."""
    found = re.search(r"```python\n(.*?)```\n```\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1], found[2]


def steps(python: Path, folder: Path) -> list[str]:
    """Take the steps with an interpreter that has the package; return a line for each."""
    code, expected = ten_lines()
    line, printed = timed("the README's ten lines", python, "-c", code, folder=folder)
    if printed != expected:
        sys.exit(f"The README's ten lines print\n{printed}where it says\n{expected}")
    lines = [line, timed("the tutorial's first page", python, _TUTORIAL, folder=folder)[0]]
    how_to = "\n".join(re.findall(r"```python\n(.*?)```", _HOW_TO.read_text("utf-8"), re.DOTALL))
    lines.append(timed("a filter of one's own, from the how-to", python, "-c", how_to, folder=folder)[0])
    command = python.parent / "hypergauss"
    lines.append(timed("hypergauss datasets", command, "datasets", folder=folder)[0])
    timed("data", command, "datasets", "house-votes", "--out", "votes", folder=folder)
    lines.append(timed("hypergauss info votes/edges.csv", command, "info", "votes/edges.csv", folder=folder)[0])
    files = ("votes/edges.csv", "votes/labels.csv")
    lines.append(timed(f"hypergauss fit {' '.join(files)}", command, "fit", *files, folder=folder)[0])
    if not list(folder.rglob("report.html")):
        sys.exit("`hypergauss fit` wrote no report.html.")
    return lines


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        if "--python" in sys.argv[1:]:
            given = Path(sys.argv[sys.argv.index("--python") + 1]).absolute()
            print("\n".join(steps(given, folder / "work")))
            return
        python = folder / "environment" / "bin" / "python"
        lines = heading("first_steps")
        lines.append(timed("a fresh environment", sys.executable, "-m", "venv", "environment", folder=folder)[0])
        build = (python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ROOT)
        lines.append(timed("the wheel is built", *build, folder=folder)[0])
        (wheel,) = (folder / "dist").glob("*.whl")
        install = (python, "-m", "pip", "install", "--quiet", wheel)
        lines.append(timed("and installed, with all that it needs", *install, folder=folder)[0])
        lines += steps(python, folder / "work")
        load = os.getloadavg()[0]
        lines += ["", f"Each worked as printed. The machine's load was {load:.1f} on {os.cpu_count()} cores."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
