"""One size of `benchmarks.scale` in its own process: python -m benchmarks.scale_worker N MODE [SEED].

Modes: learn, fixed (hyperparameters as given), field (the Markov form alone), field-mean (no more than its mean),
field-learning (no more than a default fit).
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.planted import NOISE, Problem, planted
from hypergauss import HypergraphGPRegressor, Markov, Spectrum
from hypergauss.inference import GaussianModel, Iterative, Observations, condition, maximise
from hypergauss.kernels import Matern
from hypergauss.metrics import interval_coverage
from hypergauss.operators import LaplacianOperator
from hypergauss.parameters import values
from hypergauss.solvers.iterative.solver import IterativeSolver
from hypergauss.spectrum import normalised_incidence


def clocked(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return seconds of the clock and of all processors, and the result."""
    wall, busy = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - wall, time.process_time() - busy, result


def medians(functions: dict[str, Callable[[], Any]], repeats: int = 21) -> dict[str, list[float]]:
    """Return the median seconds of the clock and of all processors of some calls, made in turn."""
    times = {name: np.array([[0.0, 0.0]] * repeats) for name in functions}
    for turn in range(repeats):
        for name, function in functions.items():
            times[name][turn] = clocked(function)[:2]
    return {name: np.median(pairs, axis=0).tolist() for name, pairs in times.items()}


def _products(problem: Problem, operator: LaplacianOperator, x: np.ndarray) -> dict[str, list[float]]:
    """Return the time of A (A' x) by SciPy, which uses one thread, and of our products in either precision.

    In turn, so that all meet the same machine; and SciPy's alone, which finds in the cache what its last product left.
    """
    A = normalised_incidence(problem.hypergraph)
    single = operator.in_single()
    here, there = operator.enter(x), single.enter(x)
    by_scipy = {"scipy_product": lambda: A @ (A.T @ x[:, 0])}
    ours = {
        "product": lambda: operator.affine(here, 1.0, 0.0),
        "product_single": lambda: single.affine(there, 1.0, 0.0),
    }
    return medians(by_scipy | ours) | {"scipy_alone": medians(by_scipy)["scipy_product"]}


def _coverage(problem: Problem, mean: np.ndarray, std: np.ndarray, noise_variance: float) -> tuple[float, float]:
    """Return how often 90% intervals hold the hidden signal, and new measurements of it."""
    truth, mean, std = (array[problem.hidden] for array in (problem.signal, mean, std))
    measured = truth + NOISE * np.random.default_rng(2).standard_normal(len(truth))
    return tuple(
        interval_coverage(values, mean, spread, level=0.9)
        for values, spread in ((truth, std), (measured, np.sqrt(std**2 + noise_variance)))
    )


def markov_mean(problem: Problem, spectrum: Spectrum) -> tuple[dict[str, Any], Any]:
    """Return the time and products of the mean of the Markov form at nu = 2, and the posterior."""
    size = problem.hypergraph.num_vertices
    everywhere, observations = np.arange(size), Observations.of(problem.rows, problem.y[:, None])
    model = GaussianModel(Matern(spectrum, 2, fixed=("nu",)), NOISE**2, np.zeros(1))
    operator = spectrum.source.multiplier()
    start = operator.enter(np.random.default_rng(1).standard_normal((size, 1)))
    times, bare = [], []
    for _ in range(3):
        posterior = condition(model.prior(), observations.sites(NOISE**2), Markov())
        before = posterior.num_products
        times.append(clocked(lambda posterior=posterior: posterior.mean(everywhere))[:2])
        products = posterior.num_products - before
        bare.append(medians({"product": lambda: operator.affine(start, 1.0, 0.0)}, 5)["product"])
    seconds, one = (np.median(pairs, axis=0) for pairs in (times, bare))
    found = {
        "seconds": seconds.tolist(),
        "products": products,
        "ratio": (seconds / products / one).tolist(),
        "r2": problem.r2(posterior.mean(everywhere)[:, 0]),
    }
    return found, posterior


def markov(problem: Problem, spectrum: Spectrum, *, learns: bool) -> dict[str, Any]:
    """Return what the Markov form takes: the mean, a fit without learning, draws, and a default fit."""
    everywhere, found = np.arange(problem.hypergraph.num_vertices), dict[str, Any]()
    found["mean"], posterior = markov_mean(problem, spectrum)
    before = posterior.num_products
    found["std"] = {"seconds": clocked(lambda: posterior.variance(everywhere))[:2]}
    found["std"]["products"] = posterior.num_products - before
    names, kernel = problem.hypergraph.vertices, Matern(spectrum, 2)

    def conditioned() -> np.ndarray:
        fixed = HypergraphGPRegressor(problem.hypergraph, kernel, solver="markov", learn=False)
        return fixed.fit(names[problem.rows], problem.y).predict(names)

    found["learn_false"] = clocked(conditioned)[:2]
    if learns:
        found["default"] = default_fit(problem, has_intervals=True)
    return found


def default_fit(problem: Problem, *, has_intervals: bool) -> dict[str, Any]:
    """Return what a regressor with nothing set takes, and what it predicts."""
    names = problem.hypergraph.vertices
    wall, busy, fitted = clocked(lambda: HypergraphGPRegressor(problem.hypergraph).fit(names[problem.rows], problem.y))
    mean = fitted.predict(names)
    found = {
        "seconds": (wall, busy),
        "products": getattr(fitted.posterior_, "num_products", 0),  # of few vertices eigenvectors are found
        "kernel": repr(fitted.kernel_),
        "r2": problem.r2(mean),
    }
    if has_intervals:
        wall, busy, pair = clocked(lambda: fitted.predict(names, return_std=True, include_noise=False))
        found |= {"std": (wall, busy), "coverage": _coverage(problem, *pair, float(fitted.noise_variance_))}
    return found


def main(size: int, mode: str, seed: int = 0) -> dict[str, Any]:
    problem = planted(size, seed)
    x = np.random.default_rng(1).standard_normal((size, 1))
    incidences = problem.hypergraph.num_incidences
    found: dict[str, Any] = {"size": size, "incidences": incidences, "observed": len(problem.rows)}
    if mode == "field-learning":
        return found | {"markov": {"default": default_fit(problem, has_intervals=False)}, "peak_gb": _peak()}
    wall, busy, spectrum = clocked(lambda: Spectrum.matrix_free(problem.hypergraph))
    found["spectrum"] = (wall, busy)
    if mode in ("field", "field-mean"):
        is_whole = mode == "field"
        own = markov(problem, spectrum, learns=True) if is_whole else {"mean": markov_mean(problem, spectrum)[0]}
        return found | {"markov": own, "peak_gb": _peak()}
    operator = spectrum.source.multiplier()
    found |= _products(problem, operator, x)

    observations = Observations.of(problem.rows, problem.y[:, None])
    options = Iterative()
    model = GaussianModel(Matern(spectrum), NOISE**2, np.zeros(1))
    everywhere = np.arange(size)

    start = operator.enter(x)
    times, bare = [], []
    for _ in range(4):
        posterior = condition(model.prior(), observations.sites(model.noise_variance), options)
        before = posterior.num_products
        wall, busy, mean = clocked(lambda posterior=posterior: posterior.mean(everywhere)[:, 0])
        products = posterior.num_products - before
        times.append((wall, busy))
        bare.append(medians({"product": lambda: operator.affine(start, 1.0, 0.0)})["product"])
    # The first time meets memory that is not there yet.
    seconds, one = (np.median(pairs[-3:], axis=0) for pairs in (times, bare))
    found["mean"] = {
        "seconds": seconds.tolist(),
        "products": products,
        "one_product": one.tolist(),
        "ratio": (seconds / products / one).tolist(),
        "r2": problem.r2(mean),
    }
    solver = IterativeSolver(model.kernel, observations.rows, options)
    objective = solver.objective(observations)
    wall, busy, _ = clocked(solver.workspace.find_subspace)
    found["subspace"] = (wall, busy)
    for _ in range(2):
        wall, busy, _ = clocked(lambda: objective.value_and_gradient(model))
    found["evaluation"] = (wall, busy)
    if mode == "learn":
        wall, busy, learned = clocked(lambda: maximise(objective, model, n_starts=1))
        model = learned.model
        found["learning"] = {
            "seconds": (wall, busy),
            "evaluations": learned.n_evaluations,
            "hyperparameters": {name: np.ravel(value).tolist() for name, value in values(model).items()},
            "log_evidence": learned.log_evidence,
            "standard_error": objective.standard_error,
        }
    posterior = solver.posterior(model.prior(), observations.sites(model.noise_variance))
    wall, busy, mean = clocked(lambda: posterior.mean(everywhere)[:, 0])
    found["final_mean"] = {"seconds": (wall, busy), "r2": problem.r2(mean)}
    wall, busy, std = clocked(lambda: np.sqrt(posterior.variance(everywhere)))
    found["std"] = {"seconds": (wall, busy), "coverage": _coverage(problem, mean, std, float(model.noise_variance))}
    found["markov"] = markov(problem, spectrum, learns=mode == "learn")
    return found | {"peak_gb": _peak()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))))
