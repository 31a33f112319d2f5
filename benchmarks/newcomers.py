"""Newcomers and updates: what they cost beside a fit, and what holding the sizes of hyperedges would get wrong.

Default regressors on cars (log prices) and on the Congress of Peru (government or not). Twenty vertices are left out of
the hypergraph, and predicted one at a time: exactly, as after an update, and by the closed form that holds sizes
(docs/theory/growth.md). Then a planted problem that the low-rank solver takes: one more measurement, and one more
vertex. Then a Markov field of 100,000 vertices (nu = 2, lengthscale 5): a new vertex with 5 memberships is predicted
(at most 10 ms), one label taken in (50 ms), 1,000 hyperedges (1 s), each held against conditioning the same field anew
(within 1e-6 of the measurements' spread at every vertex). Targets are held against seconds of processors: on a machine
that does nothing else these are at least those of the clock; where it does, the clock counts others.
"""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.common import is_quick, publish, table, verdict
from benchmarks.planted import planted
from hypergauss import Hypergraph, HypergraphGPRegressor, Markov, Spectrum
from hypergauss.datasets import fetch_peru_congress, load_automobiles, make_planted_hypergraph
from hypergauss.embedding.newcomers import newcomer_vectors
from hypergauss.inference import condition
from hypergauss.inference.mixtures import components
from hypergauss.kernels import Matern
from hypergauss.kernels.standard_parts import StandardVertices

LEFT_OUT, MEMBERSHIPS = 20, 5
#: Targets of a Markov field: seconds of a new vertex, a label and hyperedges, how many of these, and the largest error.
MOST_VERTEX, MOST_LABEL, MOST_EDGES, NEW_EDGES, WITHIN = 0.01, 0.05, 1.0, 1_000, 1e-6


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
        whole, own = newcomer_vectors(H, kernel.spectrum, row), np.count_nonzero(row)
        vectors = kernel.spectrum.centred(whole)
        typical, mean = np.median(counts[counts > 0]), counts.mean()
        inputs = StandardVertices(
            np.array([-1]),
            vectors,
            np.array([own / typical]),
            (whole**2).sum(axis=1) - (vectors**2).sum(axis=1),  # what centring has taken out
            np.array([np.sqrt(own / mean) - np.sqrt(counts / mean).mean()]),
        )
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
    problem = make_planted_hypergraph(num_vertices, num_edges, random_state=100)
    H, measured = problem.hypergraph, np.arange(num_vertices // 5)
    y = problem.signal + 0.1 * np.random.default_rng(0).standard_normal(num_vertices)
    fit, model = timed(lambda: HypergraphGPRegressor(H, random_state=0).fit(H.vertices[measured], y[measured]))
    further = H.vertices[[len(measured)]]
    one, _ = timed(lambda: model.update(X=further, y=y[[len(measured)]]))
    edges = list(H.edges[:MEMBERSHIPS])
    new, _ = timed(lambda: model.predict_new({"new": edges}))
    grown, _ = timed(lambda: model.update(H.with_members({edge: ["new"] for edge in edges})))
    steps = {"fit": fit, "one more measurement": one, "`predict_new`": new, "update with a new vertex": grown}
    return [[step, f"{seconds:.2f} s"] for step, seconds in steps.items()]


def field(size: int, edges: int) -> list[list[str]]:
    """Return times and errors of growth on the Markov solver."""
    problem = planted(size, 100)
    H, y = problem.hypergraph, problem.y
    kernel = Matern(Spectrum.matrix_free(H), 2, fixed=("nu",))
    model = HypergraphGPRegressor(H, kernel, solver="markov", learn=False).fit(H.vertices[problem.rows], y)
    rng, further = np.random.default_rng(0), problem.hidden[:4]

    def newcomer(name: str) -> np.ndarray:
        return model.predict_new({name: list(rng.choice(H.edges, MEMBERSHIPS, replace=False))})

    def label(row: int) -> np.ndarray:
        return model.update(X=H.vertices[[row]], y=problem.signal[[row]]).predict(H.vertices)

    def hyperedges(grown: Hypergraph) -> np.ndarray:
        return model.update(grown).predict(H.vertices)

    def row(step: str, took: list[Clocked], most: float, error: float) -> list[str]:
        wall, busy = (float(np.median(seconds)) for seconds in ([t.wall for t in took], [t.busy for t in took]))
        means = verdict(error, at_most=WITHIN)
        return [
            step,
            f"{1e3 * wall:.0f} ms",
            f"{1e3 * busy:.0f} ms",
            verdict(busy, at_most=most),
            f"{error:.0e}",
            means,
        ]

    newcomer("warm")
    state = rng.bit_generator.state
    rows = [clocked(lambda name=name: newcomer(name)) for name in ("a", "b", "c")]
    rng.bit_generator.state = state
    joined = [
        HypergraphGPRegressor.update(
            copy.copy(model), H.with_members({e: [name] for e in rng.choice(H.edges, MEMBERSHIPS, replace=False)})
        )
        for name in ("a", "b", "c")
    ]
    errors = [_error(each, [name], took.found, y) for each, name, took in zip(joined, "abc", rows, strict=True)]
    table_rows = [row("a new vertex is predicted", rows, MOST_VERTEX, max(errors))]
    rows = [clocked(lambda vertex=vertex: label(vertex)) for vertex in further[:3]]
    table_rows.append(row("one label", rows, MOST_LABEL, _error(model, H.vertices, rows[-1].found, y)))
    members = {f"new {j}": list(rng.choice(H.vertices, MEMBERSHIPS, replace=False)) for j in range(edges)}
    took = clocked(lambda: hyperedges(H.with_edges(members)))
    table_rows.append(row(f"{edges:,} hyperedges", [took], MOST_EDGES, _error(model, H.vertices, took.found, y)))
    return table_rows


class Clocked(NamedTuple):
    """Seconds of the clock and of all processors, and what was found."""

    wall: float
    busy: float
    found: np.ndarray


def clocked(function: Callable[[], np.ndarray]) -> Clocked:
    wall, busy = time.perf_counter(), time.process_time()
    found = function()
    return Clocked(time.perf_counter() - wall, time.process_time() - busy, found)


def _error(model: HypergraphGPRegressor, names: Any, found: np.ndarray, y: np.ndarray) -> float:
    """Return the largest difference from the same field conditioned anew, in spreads of the measurements."""
    prior, sites = model.posterior_.prior, model.posterior_.sites
    anew = condition(prior, sites, Markov(tolerance=1e-9)).mean(model.vertices_.get_indexer(names))[:, 0]
    return float(np.abs(found - anew).max() / y.std())


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
        grown = field(*((2_000, 20) if quick else (100_000, NEW_EDGES)))
    columns = ("data", "gap: median, largest", "RMSE exact", "sizes held", "`predict_new`", "update", "fit")
    tables = [
        table("Sizes held against exact, gaps in posterior standard deviations", columns, rows),
        table(f"{size[0]:,} vertices, {size[1]:,} hyperedges, a fifth measured", ("step", "processor"), times),
        table(
            f"A Markov field of {2_000 if quick else 100_000:,} vertices",
            ("step", "clock", "processors", "target", "error", "target of the error"),
            grown,
        ),
    ]
    notes = [
        "Processor time on one thread, of the Markov field on all; a vertex that is new has its memberships.",
        f"Load of the machine at the end: {os.getloadavg()[0]:.1f} processes want its {os.cpu_count()} cores.",
    ]
    publish("newcomers", tables, notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
