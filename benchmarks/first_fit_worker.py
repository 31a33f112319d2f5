"""Contender: hypergauss by its public names. ``python -m benchmarks.first_fit_worker JOB PATH... [--beside svd|bare]``.

JOB is what a newcomer's first script does with a `Problem`, from the incidence matrix on:

regression, classification
    The default estimator, and predictions of all vertices that were not observed, with standard deviations.
evidence
    The fit alone, of the model that GPJax is given (see `benchmarks.contest`): one start, and hyperedges as they are.

With two problems these are the first and the second fit of the process. With one and --beside predictions are at all
vertices, and ``beside`` tells the seconds that NumPy's dense SVD took afterwards, in the same process: that of the
normalised incidence matrix (svd), or one that is the same for every problem (`benchmarks.common.bare`).
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from benchmarks.common import bare, start_up, timed
from benchmarks.congress import contend
from benchmarks.problem import Problem
from hypergauss import Hypergraph, HypergraphGPClassifier, HypergraphGPRegressor, Spectrum
from hypergauss.kernels import Matern


def regression(problem: Problem, everywhere: bool = False) -> float:
    model = HypergraphGPRegressor(Hypergraph.from_incidence(problem.incidence), random_state=0)
    model.fit(problem.rows, problem.targets).predict(problem.vertices(everywhere), return_std=True)
    return model.log_marginal_likelihood_


def classification(problem: Problem, everywhere: bool = False) -> float:
    model = HypergraphGPClassifier(Hypergraph.from_incidence(problem.incidence), random_state=0)
    model.fit(problem.rows, problem.targets).predict_proba(problem.vertices(everywhere))
    return model.elbo_


def evidence(problem: Problem) -> float:
    H = Hypergraph.from_incidence(problem.incidence)
    model = HypergraphGPRegressor(H, Matern(Spectrum.of(H)), n_starts=1)
    return model.fit(problem.rows, problem.targets).log_marginal_likelihood_


def svd(problem: Problem) -> None:
    """Decompose D_v^-1/2 R D_e^-1/2, of which Zhou's Laplacian is made."""
    R = problem.incidence.toarray()
    np.linalg.svd(R / np.sqrt(np.outer(R.sum(axis=1), R.sum(axis=0))), full_matrices=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("regression", "classification", "evidence"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--beside", choices=("svd", "bare"))
    asked = parser.parse_args()
    job = globals()[asked.job]
    if asked.beside is None:
        contend(job, asked.paths)
    else:
        started, problem = start_up(), Problem.load(*asked.paths)
        first, _ = timed(job, problem, True)
        beside, _ = timed(svd, problem) if asked.beside == "svd" else timed(bare)
        print(json.dumps({"start_up": started, "first": first, "beside": beside}))
