"""The iterative solver on a cluster of two worker processes against the same solver in one process.

The planted hypergraph with N = M = 1,000,000 (hyperedges of 2 + Poisson(3) vertices, nine in ten from one of 50
communities), 200,000 vertices observed with noise of half the signal's standard deviation. It is written as Parquet in
eight partitions; the cluster (`LocalCluster`, two processes with one thread each) reads them, finds an order, and
computes the posterior mean at every vertex; so does one process with two threads, from the hypergraph in memory. Then
the cluster does it again, and one of its workers is killed half way.

Times are by the clock, with seconds of processor time of all processes beside them. Targets: means agree to 1e-6, and
the cluster takes at most twice as long.
"""

from __future__ import annotations

import importlib
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from benchmarks.common import is_quick, publish, table, verdict
from hypergauss import Spectrum, kernels
from hypergauss.datasets import Planted, make_planted_hypergraph
from hypergauss.inference import Prior, Sites, condition
from hypergauss.operators import LaplacianOperator, LocalLaplacian, ShardedLaplacian
from hypergauss.spectrum import normalised_incidence

MEASURES = ("operators", "solvers/iterative", "solvers/conjugate_gradients.py", "spectrum")
SIZE, COMMUNITIES, PARTITIONS = 1_000_000, 50, 8
NU, LENGTHSCALE, NOISE = 1.5, 5.0, 0.25
MOST_DIFFERENCE, MOST_RATIO = 1e-6, 2.0
#: Products with which one is timed: those of a polynomial of this degree, three times.
DEGREE = 30
#: Tasks of a product with two shards: a step each, and every eighth product a state that is kept.
TASKS = 2 * (1 + 1 / 8)


class Taken(NamedTuple):
    """Seconds by the clock and of processors, and what was found."""

    clock: float
    processor: float
    processor_here: float
    result: Any


class Stopwatch:
    """Times calls by the clock and by the processors of this process and, if there is one, of a cluster's."""

    def __init__(self, client: Client | None = None) -> None:
        self.client = client

    def __call__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Taken:
        """Call and time."""
        before, start = self._processor(), time.perf_counter()
        result = function(*arguments, **options)
        clock = time.perf_counter() - start
        after = self._processor()
        # A worker that was killed is not asked again: its seconds are lost, and its successor's begin at 0.
        spent = {name: value - before.get(name, 0.0) for name, value in after.items()}
        return Taken(clock, sum(spent.values()), spent["here"], result)

    def _processor(self) -> dict[str, float]:
        workers = {} if self.client is None else self.client.run(time.process_time)
        return {"here": time.process_time(), **workers}


def write(planted: Planted, folder: Path) -> None:
    """Write one row a membership, in partitions."""
    coo = planted.hypergraph.incidence.tocoo()
    frame = pd.DataFrame({"vertex": coo.row, "edge": coo.col})
    for number, rows in enumerate(np.array_split(np.random.default_rng(1).permutation(len(frame)), PARTITIONS)):
        frame.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)


def one_product(operator: LaplacianOperator, stopwatch: Stopwatch) -> Taken:
    """Return the seconds of one product: the least of three polynomials'."""
    c = np.ones(DEGREE + 1) / (DEGREE + 1)
    X = operator.settle(operator.white_noise(1, np.random.default_rng(2)))

    def run() -> None:
        image = operator.clenshaw(operator.enter(X), c, 2.0)
        operator.fetch(operator.dot(image, image))

    run()
    taken = [stopwatch(run) for _ in range(3)]
    return Taken(*(min(seconds) / DEGREE for seconds in list(zip(*taken, strict=True))[:3]), None)


def posterior_mean(spectrum: Spectrum, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the posterior mean at every vertex."""
    prior = Prior(kernels.Matern(spectrum, nu=NU, lengthscale=LENGTHSCALE), np.zeros(1))
    sites = Sites(rows, targets[:, None], np.full(len(rows), NOISE))
    return condition(prior, sites, "iterative").mean(np.arange(spectrum.num_vertices))[:, 0]


class Killing:
    """Lets one worker die while a polynomial runs, the n-th since it was armed."""

    def __init__(self, operator: ShardedLaplacian, client: Client) -> None:
        self._clenshaw, self._client = operator.clenshaw, client
        self.calls, self.at = 0, 0
        operator.clenshaw = self  # type: ignore[method-assign]

    def __call__(self, *arguments: Any) -> Any:
        """Do what `clenshaw` does, or worse."""
        image = self._clenshaw(*arguments)
        self.calls += 1
        if self.calls == self.at:
            os.kill(min(self._client.run(os.getpid).values()), signal.SIGKILL)
        return image


def main(*, quick: bool) -> None:
    size = 20_000 if quick else SIZE
    planted = make_planted_hypergraph(size, size, COMMUNITIES, random_state=0)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(size, size // 5, replace=False))
    targets = planted.signal[rows] + np.sqrt(NOISE) * rng.standard_normal(len(rows))
    watch = Stopwatch()
    made = watch(lambda: LocalLaplacian.of_incidence(normalised_incidence(planted.hypergraph)))
    local: LocalLaplacian = made.result
    spectrum = Spectrum.matrix_free(local)
    product = one_product(local, watch)
    posterior_mean(spectrum, rows, targets)  # what it loads is not timed
    local.num_products = 0
    here = watch(posterior_mean, spectrum, rows, targets)
    products = local.num_products
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        write(planted, Path(folder))
        client.run(_ready)
        watch = Stopwatch(client)
        read = watch(ShardedLaplacian.from_parquet, folder, n_vertices=size)
        sharded: ShardedLaplacian = read.result
        unordered = ShardedLaplacian.from_parquet(folder, n_vertices=size, reorder=False).bytes_a_product
        density = watch(Spectrum.matrix_free, sharded)
        their_product = one_product(sharded, watch)
        small = normalised_incidence(make_planted_hypergraph(1_000, 1_000, random_state=0).hypergraph)
        overhead = one_product(ShardedLaplacian.of_incidence(small), watch)
        killing = Killing(sharded, client)
        there = watch(posterior_mean, density.result, rows, targets)
        killing.at, killing.calls = killing.calls // 2 + 1, 0
        killed = watch(posterior_mean, density.result, rows, targets)
    hidden = np.setdiff1d(np.arange(size), rows)
    error = planted.signal[hidden] - here.result[hidden]
    r2 = 1 - (error**2).mean() / planted.signal[hidden].var()
    scale = np.abs(here.result).max()
    difference = float(np.abs(there.result - here.result).max() / scale)
    after_death = float(np.abs(killed.result - here.result).max() / scale)
    ratio = there.clock / here.clock
    timings = table(
        f"Posterior mean, N = M = {size:,}, {local.num_incidences:,} incidences, {len(rows):,} observed",
        ("", "one process, two threads", "two workers", "ratio", "one of them killed"),
        [
            [
                "the operator is made",
                f"{made.clock:.1f} s ({made.processor:.1f})",
                f"{read.clock:.1f} s ({read.processor:.1f})",
                f"{read.clock / made.clock:.2f}",
                "",
            ],
            [
                "the mean",
                f"{here.clock:.1f} s ({here.processor:.1f})",
                f"{there.clock:.1f} s ({there.processor:.1f})",
                f"{ratio:.2f}",
                f"{killed.clock:.1f} s",
            ],
            [
                "one product",
                f"{1e3 * product.clock:.1f} ms ({1e3 * product.processor:.1f})",
                f"{1e3 * their_product.clock:.1f} ms ({1e3 * their_product.processor:.1f})",
                f"{their_product.clock / product.clock:.2f}",
                "",
            ],
        ],
    )
    notes = [
        "By the clock, and in brackets of all processors (of a killed worker they are not known).",
        f"The mean takes {products:,} products; R2 of the signal at unobserved vertices {r2:.3f}.",
        f"Largest difference of the means, relative to the largest mean: {difference:.1e} "
        f"({verdict(difference, at_most=MOST_DIFFERENCE)}); with a worker killed {after_death:.1e} "
        f"({verdict(after_death, at_most=MOST_DIFFERENCE)})",
        f"Time of the cluster: {ratio:.2f} of the local one's ({verdict(ratio, at_most=MOST_RATIO)}); a worker killed "
        f"half way costs {killed.clock - there.clock:.1f} s more.",
        f"Bytes moved a product and vector: {sharded.bytes_a_product:,}, in the order found; {unordered:,} in the "
        "order of the file.",
        f"A product of 1,000 vertices, which is nothing but tasks and messages: {1e3 * overhead.clock:.1f} ms "
        f"({1e3 * overhead.processor:.1f}), of which the scheduler {1e3 * overhead.processor_here / TASKS:.2f} ms of "
        f"its processor for each of {TASKS:g} tasks.",
        f"Load of the machine at the end: {os.getloadavg()[0]:.1f} processes want its {os.cpu_count()} cores.",
    ]
    publish("sharded", [timings], notes, quick=quick)


def _ready() -> None:
    """Import on a worker what it will need, so that no time is measured for it."""
    for module in ("hypergauss.operators", "pyarrow.parquet"):
        importlib.import_module(module)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
