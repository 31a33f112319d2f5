"""Hypergraphs with something to predict, and how each is split: what defaults are held against.

Vertices of known target in ascending order, classes of a single vertex left out; a permutation by the seed, whose first
share is observed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from hypergauss.datasets import fetch_peru_congress, load_automobiles, load_house_votes, load_zoo
from hypergauss.datasets.folder import Folder
from hypergauss.experiments.congress import NUM_TEST
from hypergauss.hypergraph import Hypergraph

_ORIGIN = "Write `vertices.csv` and `hyperedges.txt` as the documentation of `hypergauss.datasets.fetched` says."
#: The share of labels that is observed, and the one of mushrooms, of which there are thousands.
_SHARE, _SMALL_SHARE = 0.2, 0.05
_ZOO_TRAIN = 60
IDEOLOGY = "common_space_1"


class Split(NamedTuple):
    """Positions among the vertices of known target: those observed, and those asked for."""

    train: np.ndarray
    test: np.ndarray


class Benchmark(NamedTuple):
    """A hypergraph whose vertices are numbered, and a target.

    Attributes
    ----------
    hypergraph : Hypergraph
        Vertices 0 to N - 1.
    vertices : array, shape (n,)
        Those of known target, ascending.
    target : array, shape (n,)
        Labels or values.
    num_train : int
        How many are observed.
    tests_first : bool
        Whether the permutation's first entries are those asked for, in place of those observed.
    """

    hypergraph: Hypergraph
    vertices: np.ndarray
    target: np.ndarray
    num_train: int
    tests_first: bool = False

    def split(self, seed: int) -> Split:
        """Return the split of a seed."""
        order = np.random.default_rng(seed).permutation(len(self.vertices))
        if self.tests_first:
            rest = len(order) - self.num_train
            return Split(order[rest:], order[:rest])
        return Split(order[: self.num_train], order[self.num_train :])


def of_labels(H: Hypergraph, labels: pd.Series, share: float = _SHARE) -> Benchmark:
    """Return classes to predict; blanks and classes of one vertex are left out."""
    counts = labels.map(labels.value_counts())
    known = np.flatnonzero(labels.notna().to_numpy() & (counts.to_numpy() > 1))
    return Benchmark(_numbered(H), known, labels.to_numpy()[known], round(share * len(known)))


def of_values(H: Hypergraph, values: pd.Series) -> Benchmark:
    """Return values to predict, half of which are observed."""
    known = np.flatnonzero(values.notna().to_numpy())
    return Benchmark(_numbered(H), known, values.to_numpy(dtype=float)[known], len(known) // 2)


def with_few_memberships(benchmark: Benchmark, seed: int, kept: int) -> Benchmark:
    """Return the same with only ``kept`` memberships, drawn at random, of each vertex that is asked for."""
    rng = np.random.default_rng([seed, kept])
    R = benchmark.hypergraph.incidence.toarray()
    for row in benchmark.vertices[benchmark.split(seed).test]:
        members = np.flatnonzero(R[row])
        R[row, rng.permutation(members)[kept:]] = 0.0
    return benchmark._replace(hypergraph=Hypergraph.from_incidence(sp.csr_array(R)))


def _numbered(H: Hypergraph) -> Hypergraph:
    return Hypergraph.from_incidence(H.incidence)


def _from_folder(name: str) -> tuple[Hypergraph, pd.DataFrame]:
    folder = Folder(name, _ORIGIN)
    table = pd.read_csv(folder.file("vertices.csv"))
    return Hypergraph.from_edges(folder.hyperedges("hyperedges.txt"), vertices=range(len(table))), table


def _labels_from_folder(name: str, share: float = _SHARE) -> Benchmark:
    H, table = _from_folder(name)
    return of_labels(H, table["label"], share)


def _ideology(name: str) -> Benchmark:
    H, table = _from_folder(name)
    return of_values(H, table[IDEOLOGY])


def _house_votes() -> Benchmark:
    data = load_house_votes()
    return of_labels(data.hypergraph, data.target)


def _zoo() -> Benchmark:
    data = load_zoo()
    return of_labels(data.hypergraph, data.target)._replace(num_train=_ZOO_TRAIN)


def _congress() -> Benchmark:
    data = fetch_peru_congress(2007, multiparty=True)
    whole = of_labels(data.hypergraph, data.target)
    return whole._replace(num_train=len(whole.vertices) - NUM_TEST, tests_first=True)


def _automobiles() -> Benchmark:
    data = load_automobiles()
    return of_values(data.hypergraph, np.log(data.target))


#: Name -> how to load it; the small ones first.
CLASSES: dict[str, Callable[[], Benchmark]] = {
    "us-senate-106": lambda: _labels_from_folder("us-senate-106-cosponsorship"),
    "house-votes": _house_votes,
    "zoo": _zoo,
    "congress": _congress,
    "senate-bills": lambda: _labels_from_folder("senate-bills"),
    "primary-school": lambda: _labels_from_folder("contact-primary-school"),
    "mushroom": lambda: _labels_from_folder("mushroom", _SMALL_SHARE),
}
VALUES: dict[str, Callable[[], Benchmark]] = {
    "us-senate-106 ideology": lambda: _ideology("us-senate-106-cosponsorship"),
    "senate-bills ideology": lambda: _ideology("senate-bills"),
    "automobiles": _automobiles,
}
#: Memberships kept of each car that is asked for.
KEPT = (0, 1, 2, 4, 8)
