"""The contest of classifiers: the bills of Peru's congress in 2007, two partitions, one way to time.

Vertices are 120 members of congress, hyperedges the bills that they signed together, classes government, opposition and
minority. A random third of the members is left out. The data may not be redistributed: they are read from the folder
named by HYPERGAUSS_DATA.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.common import start_up, timed
from benchmarks.problem import Problem

NUM_LEFT_OUT = 40


def read(vertices: Path, hyperedges: Path) -> tuple[sp.csr_array, np.ndarray]:
    """Return the incidence matrix and the class of each vertex, 0, 1, ..., of a data set in two files."""
    with vertices.open(newline="") as file:
        _, classes = np.unique([row["label"] for row in csv.DictReader(file)], return_inverse=True)
    members = [np.fromstring(line, dtype=int, sep=",") for line in hyperedges.read_text().split()]
    edge_of = np.repeat(np.arange(len(members)), [len(edge) for edge in members])
    ones = np.ones(len(edge_of))
    return sp.csr_array((ones, (np.concatenate(members), edge_of)), shape=(len(classes), len(members))), classes


def partition(folder: Path, seed: int) -> Problem:
    """Return the incidence matrix, the members that are not left out, and their classes 0, 1, 2."""
    R, classes = read(folder / "vertices_2007.csv", folder / "hyperedges_2007.txt")
    rows = np.sort(np.random.default_rng(seed).permutation(len(classes))[NUM_LEFT_OUT:])
    return Problem(R, rows, classes[rows])


def contend(fit: Callable[[Problem], float], paths: Iterable[str]) -> None:
    """Time two fits in this fresh process, each of a partition of its own, and print the outcome as JSON.

    ``first`` is with all that a library compiles for it; ``again``, of the other partition, without. ``bounds`` are the
    bounds that the two reached; ``start_up`` is what the process spent before the first fit.
    """
    started = start_up()
    (first, bound), (again, other) = (timed(fit, Problem.load(path)) for path in paths)
    print(json.dumps({"start_up": started, "first": first, "again": again, "bounds": [bound, other]}))
