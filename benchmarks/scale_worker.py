"""One size of `benchmarks.scale` in its own process: python -m benchmarks.scale_worker N (learn | fixed | mean)."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.planted import NOISE, Problem, planted
from hypergauss import Spectrum
from hypergauss.inference import GaussianModel, Iterative, Observations, condition, maximise
from hypergauss.inference.iterative.evidence import IterativeEvidence
from hypergauss.kernels import Matern
from hypergauss.parameters import as_array, pack, values
from hypergauss.spectrum import normalised_incidence


def clocked(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return seconds of the clock and of all processors, and the result."""
    wall, busy = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - wall, time.process_time() - busy, result


def least(function: Callable[[], Any], repeats: int = 10) -> tuple[float, float]:
    """Return the least seconds of the clock and of all processors over some calls."""
    times = [clocked(function)[:2] for _ in range(repeats)]
    return min(wall for wall, _ in times), min(busy for _, busy in times)


def _scipy_product(problem: Problem, x: np.ndarray) -> tuple[float, float]:
    """Return the least time of A (A' x) by SciPy alone, which uses one thread."""
    A = normalised_incidence(problem.hypergraph)
    return least(lambda: A @ (A.T @ x))


def main(size: int, mode: str) -> dict[str, Any]:
    problem = planted(size)
    x = np.random.default_rng(1).standard_normal((size, 1))
    incidences = problem.hypergraph.num_incidences
    found: dict[str, Any] = {"size": size, "incidences": incidences, "observed": len(problem.rows)}
    found["scipy_product"] = _scipy_product(problem, x[:, 0])
    wall, busy, spectrum = clocked(lambda: Spectrum.matrix_free(problem.hypergraph))
    found["spectrum"] = (wall, busy)
    operator = spectrum.source.multiplier()
    single = operator.in_single()
    for name, products in (("product", operator), ("product_single", single)):
        inside = products.enter(x)
        found[name] = least(lambda products=products, inside=inside: products.affine(inside, 1.0, 0.0))
    del single

    observations = Observations.of(problem.rows, problem.y[:, None])
    options = Iterative()
    model = GaussianModel(Matern(spectrum), as_array(NOISE**2), as_array(np.zeros(1)))
    everywhere = np.arange(size)

    posterior = condition(model.prior(), observations.sites(model.noise_variance), options)
    before = posterior.num_products
    wall, busy, mean = clocked(lambda: posterior.mean(everywhere)[:, 0])
    products = posterior.num_products - before
    start = operator.enter(x)
    bare = least(lambda: operator.affine(start, 1.0, 0.0))
    found["mean"] = {
        "seconds": (wall, busy),
        "products": products,
        "ratio": (wall / products / bare[0], busy / products / bare[1]),
        "r2": problem.r2(mean),
    }
    if mode != "mean":
        wall, busy, objective = clocked(lambda: IterativeEvidence(model, observations, options))
        found["subspace"] = (wall, busy)
        wall, busy, _ = clocked(lambda: objective.value_and_gradient(pack(model), ()))
        found["evaluation"] = (wall, busy)
        workspace = objective.workspace
        if mode == "learn":
            wall, busy, learned = clocked(lambda: maximise(objective, model, n_starts=1))
            model, workspace = learned.model, learned.state
            found["learning"] = {
                "seconds": (wall, busy),
                "evaluations": learned.n_evaluations,
                "hyperparameters": {name: np.ravel(value).tolist() for name, value in values(model).items()},
                "log_evidence": learned.log_evidence,
                "standard_error": objective.standard_error,
            }
        posterior = condition(model.prior(), observations.sites(model.noise_variance), options, workspace=workspace)
        wall, busy, mean = clocked(lambda: posterior.mean(everywhere)[:, 0])
        found["final_mean"] = {"seconds": (wall, busy), "r2": problem.r2(mean)}
        wall, busy, std = clocked(lambda: np.sqrt(posterior.variance(everywhere)))
        inside = np.abs(mean - problem.signal)[problem.hidden] <= 1.6449 * std[problem.hidden]
        found["std"] = {"seconds": (wall, busy), "coverage": float(inside.mean())}
    found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2])))
