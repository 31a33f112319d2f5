"""What the benchmarks share: fresh processes, alternation, and results as a table on screen and a text file."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.table import Table

RESULTS = Path(__file__).parent / "results"
_ROOT = Path(__file__).parents[1]
_LIBRARIES = ("hypergauss", "numpy", "scipy")


def command_line(description: str | None) -> argparse.ArgumentParser:
    """Return the command line of a benchmark: --quick for a smoke run at small sizes that writes no results."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat, nothing written")
    return parser


def is_quick(description: str | None) -> bool:
    """Read the command line of a benchmark that has no other option."""
    return command_line(description).parse_args().quick


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds that a call took, and its result.

    On one thread they are seconds of processor time: those of the clock on an idle machine, and blind to other work on
    a busy one. With more threads they are seconds of the clock.
    """
    clock = time.process_time if os.environ["OPENBLAS_NUM_THREADS"] == "1" else time.perf_counter
    start = clock()
    result = function(*arguments)
    return clock() - start, result


def bare() -> None:
    """Do what tells one machine from another: NumPy's SVD of a fixed 1,500 x 1,500 matrix of random numbers."""
    np.linalg.svd(np.random.default_rng(0).standard_normal((1_500, 1_500)))


def start_up() -> float:
    """Return the seconds of processor time since this process began: Python's own start and all imports so far."""
    return time.process_time()


def resident() -> float:
    """Return the megabytes that this process holds now, where the system tells (Linux)."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if pages.exists() else float("nan")


def fresh(module: str, *arguments: object, python: str = sys.executable) -> Any:
    """Run ``python -m benchmarks.module arguments`` in a fresh process and return the JSON on its last line, if any."""
    command = [python, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else None


def environment(name: str, *requirements: str) -> str:
    """Return the interpreter of an environment of its own, `.venv-NAME`, made if it is missing."""
    home = _ROOT / f".venv-{name}"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return str(python)


def alternate(tasks: Mapping[Any, Callable[[], dict[str, Any]]], repeats: int) -> dict[Any, list[dict[str, Any]]]:
    """Run all tasks in turn, again and again, every other round backwards, so that all meet the same machine."""
    outcomes: dict[Any, list[dict[str, Any]]] = {name: [] for name in tasks}
    for turn in range(repeats):
        for name in list(tasks)[:: -1 if turn % 2 else 1]:
            outcomes[name].append(tasks[name]())
    return outcomes


def median(outcomes: Iterable[Mapping[str, Any]], key: str) -> float:
    """Return the median of one entry."""
    return statistics.median(outcome[key] for outcome in outcomes)


def verdict(value: float, *, at_most: float | None = None, at_least: float | None = None) -> str:
    """Say whether a figure meets its target, a highest or a lowest value."""
    if at_most is not None:
        return f"at most {at_most:.3g}: {'met' if value <= at_most else 'MISSED'}"
    return f"at least {at_least:.4g}: {'met' if at_least is not None and value >= at_least else 'MISSED'}"


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table whose first column is text and whose others are figures."""
    from rich.table import Table  # here, so that it is no part of the start-up of workers

    result = Table(title=title, title_justify="left", title_style="bold")
    for position, column in enumerate(columns):
        result.add_column(column, justify="right" if position else "left")
    for row in rows:
        result.add_row(*row)
    return result


def publish(name: str, tables: Iterable[Table], notes: Iterable[str], *, quick: bool, complete: bool = True) -> None:
    """Print tables and notes, and write those of a complete run that was not a quick one to results/NAME.txt."""
    from rich.console import Console

    screen = Console(record=True, width=110, highlight=False)
    screen.print(f"python -m benchmarks.{name}{' --quick' if quick else ''}")
    screen.print(_setting())
    if quick:
        screen.print("A smoke run: at these sizes the targets say nothing.")
    for part in (*tables, *notes):
        screen.print()
        screen.print(part)
    if complete and not quick:
        RESULTS.mkdir(exist_ok=True)
        text = "\n".join(line.rstrip() for line in screen.export_text().splitlines())
        (RESULTS / f"{name.replace(' --', '-')}.txt").write_text(text + "\n")


def heading(command: str) -> list[str]:
    """Return the first lines of an outcome that is no table: the command, and what it ran on and with."""
    return [f"$ python -m benchmarks.{command}", _setting(), ""]


def _setting() -> str:
    libraries = ", ".join(map(_installed, _LIBRARIES))
    return (
        f"{datetime.date.today()}; {os.cpu_count()} cores, {os.environ['OPENBLAS_NUM_THREADS']} thread(s) for all; "
        f"Python {platform.python_version()}, {libraries}; the code of commit {commit()}"
    )


def commit() -> str:
    """Return the commit that is measured, with a plus sign where ``src`` has changed since."""
    from hypergauss.experiments import origin  # here: workers run where the package is not, or time its import

    return origin.commit() or "unknown"


def _installed(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"no {library}"
