"""Newcomers and updates: what they cost beside a fit, and what holding the sizes of hyperedges would get wrong.

Default regressors on cars (log prices) and on the Congress of Peru (government or not). Twenty vertices are left out of
the hypergraph, and predicted one at a time: exactly, as after an update, and by the closed form that holds sizes
(docs/theory/growth.md). Then a planted problem that the low-rank solver takes: one more measurement, and one more
vertex.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import is_quick, publish, table
from hypergauss import Hypergraph, HypergraphGPRegressor
from hypergauss.datasets import fetch_peru_congress, load_automobiles, make_planted_hypergraph
from hypergauss.embedding.newcomers import newcomer_vectors
from hypergauss.inference.mixtures import components
from hypergauss.kernels.standardised import StandardVertices

LEFT_OUT, MEMBERSHIPS = 20, 5


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds of processor time, and the outcome."""
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def held(model: HypergraphGPRegressor, row: np.ndarray) -> float:
    """Return the mean at a newcomer if hyperedges kept their sizes: features a V / s, and everybody else as before."""
    H, total = model.H, 0.0
    counts = np.diff(H.incidence.indptr)
    for weight, part in components(model.posterior_):
        kernel = part.prior.kernel
        vectors = kernel.spectrum.centred(newcomer_vectors(H, kernel.spectrum, row))
        typical = np.median(counts[counts > 0])
        inputs = StandardVertices(np.array([-1]), vectors, np.array([np.count_nonzero(row) / typical]))
        cross = kernel.cross(inputs, kernel.inputs(part.sites.rows))
        total += weight * float(part.prior.mean[0] + (cross @ part.dual_weights())[0, 0])
    return total


def study(name: str, H: Hypergraph, y: pd.Series, seed: int) -> list[str]:
    """Return a row: differences in posterior standard deviations, errors, and times."""
    names = [vertex for vertex in H.vertices if vertex in y.index]
    order = np.random.default_rng(seed).permutation(len(names))
    new, known = ([names[i] for i in part] for part in (order[:LEFT_OUT], order[LEFT_OUT:]))
    fit, model = timed(
        lambda: HypergraphGPRegressor(H.without(vertices=new), random_state=0).fit(known, y[known].to_numpy())
    )
    found, seconds = [], 0.0
    for vertex in new:
        row = H.incidence[[H.vertices.get_loc(vertex)]]
        memberships = {vertex: dict(zip(H.edges[row.indices], row.data, strict=True))}
        took, (mean, std) = timed(
            lambda given=memberships: model.predict_new(given, return_std=True, include_noise=False)
        )
        seconds += took / len(new)
        found.append((mean[0], std[0], held(model, row.toarray())))
    mean, std, held_mean = np.array(found).T
    gaps, truth = np.abs(held_mean - mean) / std, y[new].to_numpy()
    errors = [np.sqrt(((guess - truth) ** 2).mean()) for guess in (mean, held_mean)]
    update, _ = timed(lambda: model.update(H, new[:1], y[new[:1]].to_numpy()))
    return [
        f"{name}, seed {seed}",
        f"{np.median(gaps):.2f}, {gaps.max():.2f}",
        *(f"{error:.3f}" for error in errors),
        f"{1e3 * seconds:.0f} ms",
        f"{1e3 * update:.0f} ms",
        f"{fit:.2f} s",
    ]


def large(num_vertices: int, num_edges: int) -> list[list[str]]:
    """Return times at a size that the low-rank solver takes."""
    planted = make_planted_hypergraph(num_vertices, num_edges, random_state=100)
    H, measured = planted.hypergraph, np.arange(num_vertices // 5)
    y = planted.signal + 0.1 * np.random.default_rng(0).standard_normal(num_vertices)
    fit, model = timed(lambda: HypergraphGPRegressor(H, random_state=0).fit(H.vertices[measured], y[measured]))
    further = H.vertices[[len(measured)]]
    one, _ = timed(lambda: model.update(X=further, y=y[[len(measured)]]))
    edges = list(H.edges[:MEMBERSHIPS])
    new, _ = timed(lambda: model.predict_new({"new": edges}))
    grown, _ = timed(lambda: model.update(H.with_members({edge: ["new"] for edge in edges})))
    steps = {"fit": fit, "one more measurement": one, "`predict_new`": new, "update with a new vertex": grown}
    return [[step, f"{seconds:.2f} s"] for step, seconds in steps.items()]


def main(*, quick: bool) -> None:
    cars, congress = load_automobiles(), fetch_peru_congress(2007)
    problems = {
        "cars": (cars.hypergraph, np.log(cars.target.dropna().astype(float))),
        "congress": (congress.hypergraph, (congress.target == "government").astype(float)),
    }
    size = (2_000, 200) if quick else (20_000, 1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [study(name, *given, seed) for name, given in problems.items() for seed in (100, 101)]
        times = large(*size)
    columns = ("data", "gap: median, largest", "RMSE exact", "sizes held", "`predict_new`", "update", "fit")
    tables = [
        table("Sizes held against exact, gaps in posterior standard deviations", columns, rows),
        table(f"{size[0]:,} vertices, {size[1]:,} hyperedges, a fifth measured", ("step", "processor"), times),
    ]
    publish(
        "newcomers", tables, ["Processor time on one thread; a vertex that is new has its memberships."], quick=quick
    )


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
