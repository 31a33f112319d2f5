"""The readers that are fuzzed, good files for each, and a trial that lets nothing but our errors pass."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

import hypergauss as hg
from hypergauss.cli.inputs import problem
from hypergauss.cli.parser import make_parser
from hypergauss.cli.problems import settled
from hypergauss.cli.targets import labels
from hypergauss.exceptions import FileError

#: Seconds after which a reader counts as hanging.
PATIENCE = 20
HIF_PIECES = [
    b'{"incidences":[',
    b'{"incidences":[{"edge":"a","node":1,"weight":0},{"edge":"a","node":"1"}]}',
    b'{"edge":"a","node":1}',
    b'{"edge":1e9999,"node":"x"}',
    b'"weight":-1',
    b'{"incidences":[{"edge":"a","node":1,"weight":-2.5},{"edge":"a","node":1,"weight":1}]}',
    b'{"edge":"a","node":1,"weight":-1e999}',
    b'"direction":"head"',
    b'"attrs":{"a":[]}',
    b'"network-type":"asc"',
    b"]",
    b"}",
    b",",
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
    "é,ü\n".encode(),
    b"a;b;c\n",
    b"-1e400,3\n",
    b"\t",
    b"#",
    b"members\n",
    b"a,1,2,3\n",
    b"a,1,\n",  # a field more than the header
    b"a,1\na,2\n",  # no header
    b"0,1\n1,2\n",
]
WIDE_PIECES = [
    *CSV_PIECES,
    b"id,kind,size,price\n",
    b"7,x,0.5,1.5\n",
    b"007,y,abc,2.5\n",
    b'8,x,"3,5",$3\n',
    b'"$3,500"',
    b"n/a",
    b"x,x,x,x\n",
    b"1e309",
    b"-inf",
    b"True",
]


class Reader(NamedTuple):
    """A good file's name, pieces to invent others of, and how to read them."""

    good: str
    pieces: list[bytes]
    read: Callable[[Path], object]


def read_wide(path: Path) -> object:
    """Read one row a vertex, as `hypergauss fit --table` does."""
    options = make_parser().parse_args(["fit", "--table", str(path), "--target", "price", "--out", "nowhere"])
    with our_sentences():
        return problem(options)


def read_labels(path: Path) -> object:
    """Read labels, as `hypergauss fit --labels` does."""
    options = make_parser().parse_args(["fit", "--out", "nowhere"])
    with our_sentences():
        return settled(None, labels(path, options, known={"v1"}), None, options, [])


@contextmanager
def our_sentences() -> Iterator[None]:
    """Let a `ValueError` that we have raised ourselves count as refused; of others none may come out."""
    try:
        yield
    except ValueError as error:
        *_, last = traceback.walk_tb(error.__traceback__)
        if Path(hg.__file__).parent in Path(last[0].f_code.co_filename).parents:
            raise FileError(str(error)) from error
        raise


READERS = {
    "read_hif": Reader("good.json", HIF_PIECES, hg.read_hif),
    "read_table, CSV": Reader("good.csv", CSV_PIECES, hg.read_table),
    "read_table, text": Reader("good.txt", CSV_PIECES, hg.read_table),
    "read_table, no header": Reader("good.csv", CSV_PIECES, lambda path: hg.read_table(path, header=False)),
    "read_table, weights": Reader("good.csv", CSV_PIECES, lambda path: hg.read_table(path, weight="w")),
    "read_table, lists": Reader(
        "lists.csv", CSV_PIECES, lambda path: hg.read_table(path, edge="edge", members="members")
    ),
    "read_table, Parquet": Reader("good.parquet", [b"PAR1", b"\x00" * 8, b"\xff" * 8], hg.read_table),
    "lists in Parquet": Reader(
        "lists.parquet", [b"PAR1", b"\x00" * 8], lambda path: hg.read_table(path, edge="edge", members="members")
    ),
    "fit, one row a vertex": Reader("wide.csv", WIDE_PIECES, read_wide),
    "fit, labels": Reader("labels.csv", WIDE_PIECES, read_labels),
    "load": Reader("good.hypergauss", [b"PK\x03\x04", b"\x00" * 16, b"\xff" * 4], hg.load),
}


def make_good_files(folder: Path) -> None:
    """Write a good file for each reader."""
    rng = np.random.default_rng(0)
    H = hg.Hypergraph.from_incidence(
        (rng.random((12, 8)) < 0.4) * rng.uniform(0.5, 2, (12, 8)), [f"v{i}" for i in range(12)]
    )
    H = H.with_attributes(vertices={"v1": {"age": 3}}, metadata={"name": "small"})
    hg.write_hif(H, folder / "good.json")
    frame = pd.DataFrame({"vertex": [f"v{i % 7}" for i in range(30)], "edge": [i % 5 for i in range(30)], "w": 1.5})
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_csv(folder / "good.txt", index=False, sep=";")
    frame.to_parquet(folder / "good.parquet", index=False)
    lists = pd.DataFrame({"edge": ["a", "b", "c"], "members": ["x;y", "y", "x;z"]})
    lists.to_csv(folder / "lists.csv", index=False)
    lists.assign(members=lists["members"].str.split(";")).to_parquet(folder / "lists.parquet", index=False)
    wide = pd.DataFrame({"id": range(7, 37), "kind": ["x", "y", "z"] * 10, "size": rng.normal(size=30).round(3)})
    wide.assign(price=np.arange(30) + 0.5).to_csv(folder / "wide.csv", index=False)
    wide.assign(id=[f"v{i % 7}" for i in range(30)])[["id", "size"]].to_csv(folder / "labels.csv", index=False)
    model = hg.HypergraphGPRegressor(H, learn=False).fit(["v1", "v2", "v3"], [1.0, 2.0, 3.0])
    hg.save(model, folder / "good.hypergauss")


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


class Trial:
    """Feeds a reader one input after another, in a folder where nothing else may appear.

    Python tells of every file that is opened for writing, made, renamed or removed: while a reader reads, none may be.
    """

    def __init__(self, reader: Reader) -> None:
        self.read = reader.read
        self.suffix = Path(reader.good).suffix
        self.outcomes: Counter[str] = Counter()
        self._is_reading = False
        self._written: list[str] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        self._target = Path(self._folder.name) / f"input{self.suffix}"
        sys.addaudithook(self._watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def feed(self, data: bytes) -> None:
        """Let the reader read; anything but a result or one of our errors is raised again, its input kept."""
        self._target.write_bytes(data)
        self._is_reading = True
        signal.alarm(PATIENCE)
        try:
            self.read(self._target)
            self.outcomes["read"] += 1
        except FileError:
            self.outcomes["refused"] += 1
        except BaseException:
            self._is_reading = False
            kept = Path(tempfile.gettempdir()) / f"fuzz-failure{self.suffix}"
            kept.write_bytes(data)
            print(f"failed on {kept}")
            raise
        finally:
            signal.alarm(0)
            self._is_reading = False
        if self._written or [item.name for item in self._target.parent.iterdir()] != [self._target.name]:
            raise AssertionError(f"a file was written: {self._written or list(self._target.parent.iterdir())}")

    def _watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_reading:
            return
        if event == "open":
            flags = arguments[2] or 0
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
                self._written.append(f"{arguments[0]!r}")
        elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "subprocess.Popen"):
            self._written.append(f"{event} {arguments!r}")
