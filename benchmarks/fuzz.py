"""Damaged and invented files for every reader: ``python -m benchmarks.fuzz [--inputs 10000] [--guided]``.

Each input is either a good file with bytes changed, cut, doubled or swapped, or made of pieces that mean something to
the format; with ``--guided`` atheris makes them, and keeps those that reach code which none before had reached. A
reader must return, or raise one of our own errors, within seconds, and open no file for writing anywhere. The outcome
goes to ``benchmarks/results/fuzz.txt``, or ``fuzz-guided.txt``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.common import RESULTS, heading
from benchmarks.fuzz_readers import READERS, Trial, changed, make_good_files

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("hypergraph", "io", "storage")

MEANING = "Refused means a FileError with a sentence. Nothing else was raised, and no file was opened for writing."


def mutated(name: str, inputs: int, folder: Path) -> dict[str, int]:
    """Feed a reader changed files; anything but a result or one of our errors is raised again."""
    rng = np.random.default_rng(1)
    reader = READERS[name]
    data = (folder / reader.good).read_bytes()
    with Trial(reader) as trial:
        for _ in range(inputs):
            trial.feed(changed(data, reader.pieces, rng))
    return dict(trial.outcomes)


def guided(name: str, inputs: int, folder: Path) -> dict[str, int]:
    """Let atheris feed a reader, in a process of its own, since it ends the one it runs in."""
    reader = READERS[name]
    corpus = folder / f"corpus {name}"
    corpus.mkdir()
    (corpus / "good").write_bytes((folder / reader.good).read_bytes())
    for number, piece in enumerate(reader.pieces):
        (corpus / f"piece {number}").write_bytes(piece)
    outcome = folder / f"{name}.json"
    command = [sys.executable, "-m", "benchmarks.fuzz_worker", name, str(inputs), str(corpus), str(outcome)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode or not outcome.exists():
        print(done.stdout[-4000:])
        raise SystemExit(f"{name} failed")
    return json.loads(outcome.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="for each reader (%(default)s)")
    parser.add_argument("--guided", action="store_true", help="by coverage (needs atheris)")
    parser.add_argument("--reader", choices=READERS, help="only this one; nothing is written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    feed = guided if options.guided else mutated
    switch = " --guided" if options.guided else ""
    target = RESULTS / ("fuzz-guided.txt" if options.guided else "fuzz.txt")
    lines = heading(f"fuzz --inputs {options.inputs}{switch}")
    with tempfile.TemporaryDirectory() as name:
        make_good_files(Path(name))
        for reader in [options.reader] if options.reader else READERS:
            start = time.perf_counter()
            outcomes = feed(reader, options.inputs, Path(name))
            counts = f"{outcomes.get('refused', 0):>7,} refused  {outcomes.get('read', 0):>7,} read"
            kept = f"  {outcomes['kept']:>5,} reached new code" if "kept" in outcomes else ""
            lines.append(f"{reader:<22} {counts}{kept}  {time.perf_counter() - start:6.0f} s")
            print(lines[-1], flush=True)
    if options.reader is None:
        target.write_text("\n".join([*lines, "", MEANING]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
