"""Classes on hypergraphs that have no affordable eigenvectors: the default classifier, from labels to probabilities.

A planted hypergraph of the shape of a co-authorship network, 41,302 vertices, 22,363 hyperedges and 6 classes with 5%
labelled, and one of 100,000 vertices with 11 classes: hyperedges of 2 + Poisson(2.45) members, nine in ten within a
class. Seconds are of processors, all cores together, and of the clock in brackets. Targets: 60 s and 240 s of
processors. With ``--eigenvectors`` beside the default the low-rank solver on leading eigenvectors, an approximation,
which takes far longer; then accuracy and log density should not be below its own.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import command_line, publish, table, verdict
from hypergauss import HypergraphGPClassifier
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.metrics import accuracy, expected_calibration_error, log_predictive_density

LABELLED, EXTRA, RANK = 0.05, 2.45, 100


class Shape(NamedTuple):
    """A size, and the seconds of processors that it may take."""

    vertices: int
    edges: int
    classes: int
    seconds: float


SHAPES = (Shape(41_302, 22_363, 6, 60.0), Shape(100_000, 54_000, 11, 240.0))
SMALL = (Shape(1_500, 800, 3, 60.0),)


def row(shape: Shape, name: str, settings: dict[str, Any], seed: int) -> list[str]:
    """Return a row: scores at all vertices without a label, and seconds."""
    found = make_planted_hypergraph(shape.vertices, shape.edges, shape.classes, mean_extra=EXTRA, random_state=seed)
    order = np.random.default_rng(seed).permutation(shape.vertices)
    train, test = np.split(order, [int(LABELLED * shape.vertices)])
    wall, busy = time.perf_counter(), time.process_time()
    model = HypergraphGPClassifier(found.hypergraph, **settings).fit(train, found.communities[train])
    proba = model.predict_proba(np.arange(shape.vertices))[test]
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    truth = found.communities[test]
    return [
        f"{shape.vertices:,}, {shape.classes}",
        name,
        model.solver_,
        f"{accuracy(truth, proba, model.classes_):.4f}",
        f"{expected_calibration_error(truth, proba, model.classes_):.4f}",
        f"{log_predictive_density(truth, proba, model.classes_):.4f}",
        f"{busy:.0f} s ({wall:.0f})",
        verdict(busy, at_most=shape.seconds) if not settings else "",
    ]


def main(*, quick: bool, eigenvectors: bool = False) -> None:
    rows: list[list[str]] = []
    ways: dict[str, dict[str, Any]] = {"default": {}}
    if eigenvectors:
        ways[f"{RANK} eigenvectors"] = {"solver": "low-rank", "rank": RANK, "size_exponent": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for shape in SMALL if quick else SHAPES:
            for name, settings in ways.items():
                rows.append(row(shape, name, settings, seed=0))
                print(*rows[-1], sep="  ", flush=True)
    columns = ("vertices, classes", "way", "solver", "accuracy", "ECE", "log density", "processors", "target")
    notes = ["A vertex without a hyperedge, some 9% of them, has nothing but the shares of the classes."]
    command = "coauthors --eigenvectors" if eigenvectors else "coauthors"
    publish(command, [table("Classes at scale, 5% labelled", columns, rows)], notes, quick=quick)


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--eigenvectors", action="store_true", help="the low-rank solver beside the default")
    arguments = parser.parse_args()
    main(quick=arguments.quick, eigenvectors=arguments.eigenvectors)
