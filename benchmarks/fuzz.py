"""Damaged and invented files for every reader: ``python -m benchmarks.fuzz [--inputs 10000]``.

Each input is either a good file with bytes changed, cut, doubled or swapped, or made of pieces that mean something to
the format. A reader must return, or raise one of our own errors, within seconds, and write nothing. The outcome goes to
``benchmarks/results/fuzz.txt``.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import hypergauss as hg
from hypergauss.exceptions import FileError

RESULTS = Path(__file__).parent / "results" / "fuzz.txt"
#: Seconds after which a reader counts as hanging.
PATIENCE = 20

HIF_PIECES = [
    b'{"incidences":[',
    b'{"edge":"a","node":1}',
    b'{"edge":1e9999,"node":"x"}',
    b'"weight":-1',
    b"]",
    b"}",
    b",",
]
HIF_PIECES += [
    b'"nodes":[',
    b'{"node":"\\ud800"}',
    b'"edges":[',
    b"null",
    b"NaN",
    b"[" * 3000,
    b'"metadata":{"a":1}',
    b"1" * 5000,
]
CSV_PIECES = [
    b"vertex,edge\n",
    b"a,1\n",
    b"b,\n",
    b'"x',
    b'"',
    b",,,,\n",
    b"\x00",
    b"\xff\xfe",
    b"\r",
    b"9" * 400,
    b"nan",
    b"\n",
]
CSV_PIECES += ["é,ü\n".encode(), b"a;b;c\n", b"-1e400,3\n", b"\t", b"#", b"members\n", b"a,1,2,3\n"]


def good_files(folder: Path) -> dict[str, tuple[Path, list[bytes], Callable[[Path], object]]]:
    """Return for each reader a good file, pieces to invent others of, and how to read them."""
    rng = np.random.default_rng(0)
    H = hg.Hypergraph.from_incidence(
        (rng.random((12, 8)) < 0.4) * rng.uniform(0.5, 2, (12, 8)), [f"v{i}" for i in range(12)]
    )
    H = H.with_attributes(vertices={"v1": {"age": 3}}, metadata={"name": "small"})
    hg.write_hif(H, folder / "good.json")
    frame = pd.DataFrame({"vertex": [f"v{i % 7}" for i in range(30)], "edge": [i % 5 for i in range(30)], "w": 1.5})
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_parquet(folder / "good.parquet", index=False)
    pd.DataFrame({"edge": ["a", "b", "c"], "members": ["x;y", "y", "x;z"]}).to_csv(folder / "lists.csv", index=False)
    model = hg.HypergraphGPRegressor(H, learn=False).fit(["v1", "v2", "v3"], [1.0, 2.0, 3.0])
    hg.save(model, folder / "good.hypergauss")
    return {
        "read_hif": (folder / "good.json", HIF_PIECES, hg.read_hif),
        "read_table, CSV": (folder / "good.csv", CSV_PIECES, hg.read_table),
        "read_table, weights": (folder / "good.csv", CSV_PIECES, lambda path: hg.read_table(path, weight="w")),
        "read_table, lists": (
            folder / "lists.csv",
            CSV_PIECES,
            lambda path: hg.read_table(path, edge="edge", members="members"),
        ),
        "read_table, Parquet": (folder / "good.parquet", [b"PAR1", b"\x00" * 8, b"\xff" * 8], hg.read_table),
        "load": (folder / "good.hypergauss", [b"PK\x03\x04", b"\x00" * 16, b"\xff" * 4], hg.load),
    }


def changed(data: bytes, pieces: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a damaged copy, or something invented of pieces."""
    if rng.random() < 0.25:
        return b"".join(pieces[i] for i in rng.integers(len(pieces), size=rng.integers(1, 12)))
    damaged = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(damaged) + 1))
        kind = rng.integers(5)
        if kind == 0 and at < len(damaged):
            damaged[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            damaged[at:at] = bytes(rng.integers(256, size=rng.integers(1, 5), dtype=np.uint8))
        elif kind == 2:
            del damaged[at : at + int(rng.integers(1, 20))]
        elif kind == 3:
            damaged[at:at] = damaged[at : at + int(rng.integers(1, 40))]
        else:
            damaged[at:at] = pieces[int(rng.integers(len(pieces)))]
    return bytes(damaged)


def fuzz(path: Path, pieces: list[bytes], read: Callable[[Path], object], inputs: int) -> Counter[str]:
    """Feed a reader; anything but a result or one of our errors is raised again, its input kept."""
    rng = np.random.default_rng(1)
    data = path.read_bytes()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / f"input{path.suffix}"
        for _ in range(inputs):
            target.write_bytes(changed(data, pieces, rng))
            signal.alarm(PATIENCE)
            try:
                read(target)
                outcomes["read"] += 1
            except FileError:
                outcomes["refused"] += 1
            except BaseException:
                kept = Path(tempfile.gettempdir()) / f"fuzz-failure{path.suffix}"
                kept.write_bytes(target.read_bytes())
                print(f"failed on {kept}")
                raise
            finally:
                signal.alarm(0)
            if [item.name for item in Path(name).iterdir()] != [target.name]:
                raise AssertionError(f"a file was written: {list(Path(name).iterdir())}")
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="for each reader (%(default)s)")
    inputs = parser.parse_args().inputs
    warnings.simplefilter("ignore")
    lines = [f"$ python -m benchmarks.fuzz --inputs {inputs}", ""]
    with tempfile.TemporaryDirectory() as name:
        for reader, (path, pieces, read) in good_files(Path(name)).items():
            start = time.perf_counter()
            outcomes = fuzz(path, pieces, read, inputs)
            counts = f"{outcomes['refused']:>7,} refused  {outcomes['read']:>7,} read"
            line = f"{reader:<22} {counts}  {time.perf_counter() - start:6.0f} s"
            print(line, flush=True)
            lines.append(line)
    lines += ["", "Refused means a FileError with a sentence. Nothing else was raised, and no other file was written."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
