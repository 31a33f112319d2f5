"""What a plan predicts against what the fit then takes: ``python -m benchmarks.planning``.

Default estimators on planted hypergraphs with few vertices and many hyperedges, many vertices and few hyperedges, and
as many of both; measurements, two classes, and several. Predicted seconds are those of ``solver_plan_``, of one core;
measured ones are processor time of `fit` alone, on one thread, nothing cached. The iterative solver is asked for in its
rows, and planned for one core too.

Target: every ratio of predicted to measured lies between 1/4 and 4. With --only, numbers of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import command_line, publish, table, timed
from hypergauss import HypergraphGPClassifier, HypergraphGPRegressor
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.fitting import Fitted
from hypergauss.solvers import costs

MEASURES = ("estimators", "hypergraph", "inference", "kernels", "learning", "likelihoods", "solvers", "spectrum")
#: The largest factor between prediction and measurement.
FACTOR = 4.0


class Shape(NamedTuple):
    """A problem: its hypergraph, the observed vertices, and their classes (1 for measurements)."""

    num_vertices: int
    num_edges: int
    num_sites: int
    num_classes: int = 1
    solver: str = "auto"

    def __str__(self) -> str:
        kind = "measured" if self.num_classes == 1 else f"labelled, {self.num_classes} classes"
        solver = "" if self.solver == "auto" else f"; {self.solver}"
        return f"{self.num_vertices:,} x {self.num_edges:,}, {self.num_sites:,} {kind}{solver}"


SHAPES = (
    Shape(300, 3_000, 200),
    Shape(800, 8_000, 500),
    Shape(2_000, 60, 1_000),
    Shape(5_000, 300, 3_000),
    Shape(10_000, 600, 5_000),
    Shape(400, 400, 200),
    Shape(1_200, 1_200, 900),
    Shape(300, 3_000, 150, 2),
    Shape(4_000, 100, 1_000, 2),
    Shape(5_000, 400, 2_000, 2),
    Shape(1_000, 1_000, 500, 2),
    Shape(200, 1_000, 80, 4),
    Shape(2_000, 80, 150, 3),
    Shape(2_000, 200, 400, 3),
    Shape(600, 600, 100, 6),
    Shape(2_000, 100, 2_000, 4),
    Shape(2_000, 2_000, 500, solver="iterative"),
    Shape(1_000, 1_000, 200, 2, solver="iterative"),
)


def main(*, quick: bool, only: Sequence[int] | None = None) -> None:
    costs.num_cores = lambda: 1
    chosen = SHAPES[:1] if quick else SHAPES if only is None else [SHAPES[number] for number in only]
    ratios, rows = [], []
    for shape in chosen:
        predicted, measured, plan = compare(shape)
        ratios.append(predicted / measured)
        told = "ok" if 1 / FACTOR <= ratios[-1] <= FACTOR else "MISSED"
        size = "" if plan.learning_size == shape.num_sites else f"{plan.learning_size:,}"
        points = "" if plan.is_iterative else f"{plan.exact.num_points}"
        rows.append([str(shape), size, points, f"{predicted:.2g} s", f"{measured:.2g} s", f"{ratios[-1]:.2f}", told])
    columns = ("shape", "learned from", "averaged over", "predicted", "measured", "ratio", "within 1/4 and 4")
    missed = sum(row[-1] == "MISSED" for row in rows)
    notes = [f"Ratios from {min(ratios):.2f} to {max(ratios):.2f}; {missed} of {len(rows)} outside 1/4 and 4."]
    publish("planning", [table("Plans", columns, rows)], notes, quick=quick, complete=only is None)


def compare(shape: Shape) -> tuple[float, float, Any]:
    """Return the seconds that a fit was predicted to take and did, and its plan."""
    planted = make_planted_hypergraph(shape.num_vertices, shape.num_edges, random_state=0)
    rng = np.random.default_rng(0)
    y = planted.signal + 0.5 * planted.signal.std() * rng.standard_normal(shape.num_vertices)
    rows = np.sort(rng.permutation(shape.num_vertices)[: shape.num_sites])
    options = {"random_state": 0, "solver": shape.solver}
    model: HypergraphGPRegressor | HypergraphGPClassifier
    if shape.num_classes == 1:
        model = HypergraphGPRegressor(planted.hypergraph, **options)
    else:
        borders = np.quantile(y, np.arange(1, shape.num_classes) / shape.num_classes)
        y = np.searchsorted(borders, y)
        model = HypergraphGPClassifier(planted.hypergraph, **options)
    plans: list[Fitted] = []
    keep = model._keep

    def watched(blueprint: Blueprint, fitted: Fitted, *arguments: Any, **options: Any) -> None:
        plans.append(fitted)
        keep(blueprint, fitted, *arguments, **options)

    model._keep = watched  # type: ignore[method-assign]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measured, _ = timed(model.fit, rows, y[rows])
    plan = plans[0].plan
    assert plan is not None
    return plan.chosen.seconds, measured, plan


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", type=int, choices=range(len(SHAPES)), metavar="ROW")
    asked = parser.parse_args()
    main(quick=asked.quick, only=asked.only)
