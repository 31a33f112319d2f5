"""Time one whole job in a fresh process: ``python -m benchmarks.job_worker PROBLEM [--svd first|last] [--phases]``.

The job is `HypergraphGPRegressor(H, size_exponent=0.0, n_starts=1)` from construction to the mean and standard
deviation at every vertex: the spectrum, learning by the evidence (nu, lengthscale, variance, noise, and the constant
mean that the estimator always learns), conditioning, and prediction. Imports and making H are not timed.

Prints as JSON: ``first``, the job in the fresh process; ``again``, the same job a second
time; ``iterations`` of learning; ``peak_gb``, the peak memory of the process up to the end of the first job; with --svd
also ``svd``, NumPy's dense SVD of the normalised incidence, before or after the jobs; with --phases the parts of the
second job.
"""

from __future__ import annotations

import argparse
import json
import resource

import numpy as np

from benchmarks.common import timed
from benchmarks.problem import Problem
from hypergauss import Hypergraph, HypergraphGPRegressor, Spectrum, kernels
from hypergauss.inference import GaussianModel, Observations, condition, learn
from hypergauss.spectrum import normalised_incidence


def job(H: Hypergraph, problem: Problem) -> int:
    """Do the whole job through the public estimator, and return the iterations that learning took."""
    model = HypergraphGPRegressor(H, size_exponent=0.0, n_starts=1).fit(problem.rows, problem.targets)
    model.predict(np.arange(H.num_vertices), return_std=True)
    return model.n_iter_


def phases(H: Hypergraph, problem: Problem) -> dict[str, float]:
    """Do the job step by step and return the seconds of each, and the number of evidence evaluations."""
    seconds: dict[str, float] = {}
    everywhere = np.arange(H.num_vertices)
    observations = Observations.of(problem.rows, problem.targets[:, None])
    seconds["spectrum"], spectrum = timed(Spectrum.of, H)
    start = GaussianModel(kernels.Matern(spectrum), 0.1, np.zeros(1))
    seconds["learning"], learned = timed(lambda: learn(start, observations, n_starts=1))
    prior, sites = learned.model.prior(), observations.sites(learned.model.noise_variance)
    seconds["conditioning"], posterior = timed(condition, prior, sites)
    seconds["mean"], _ = timed(posterior.mean, everywhere)
    seconds["standard deviation"], _ = timed(lambda: np.sqrt(posterior.variance(everywhere)))
    return seconds | {"evaluations": learned.n_evaluations}


def dense_svd(H: Hypergraph) -> None:
    """Do what the job is measured against."""
    np.linalg.svd(normalised_incidence(H).toarray(), full_matrices=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("problem")
    parser.add_argument("--svd", choices=("first", "last"))
    parser.add_argument("--phases", action="store_true")
    asked = parser.parse_args()
    problem = Problem.load(asked.problem)
    H = Hypergraph.from_incidence(problem.incidence)
    outcome = {}
    if asked.svd == "first":
        outcome["svd"], _ = timed(dense_svd, H)
    outcome["first"], outcome["iterations"] = timed(job, H, problem)
    outcome["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    outcome["again"], _ = timed(job, H, problem)
    if asked.svd == "last":
        outcome["svd"], _ = timed(dense_svd, H)
    if asked.phases:
        outcome |= phases(H, problem)
    print(json.dumps(outcome))
