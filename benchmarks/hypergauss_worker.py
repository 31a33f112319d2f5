"""Contender: hypergauss, from the incidence matrix. ``python -m benchmarks.hypergauss_worker PROBLEM``."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.contest import START, contend
from benchmarks.problem import Problem
from hypergauss import Hypergraph, Spectrum, kernels, parameters
from hypergauss.inference import GaussianModel, Observations, learn
from hypergauss.solvers import solver_for

problem = Problem.load(sys.argv[1])
observations = Observations.of(problem.rows, problem.targets[:, None])


def start() -> GaussianModel:
    spectrum = Spectrum.of(Hypergraph.from_incidence(problem.incidence))
    kernel = kernels.Matern(spectrum, START["nu"], START["lengthscale"], variance=START["variance"])
    return GaussianModel(kernel, START["noise_variance"], np.zeros(1), fixed=("mean",))


def fit() -> dict[str, float]:
    return parameters.values(learn(start(), observations, n_starts=1).model)


if __name__ == "__main__":
    model = start()
    objective = solver_for(model.kernel, observations.rows).objective(observations)
    contend(fit, lambda: objective.value_and_gradient(model))
