"""Contender: hypergauss, from the incidence matrix. ``python -m benchmarks.hypergauss_worker PROBLEM``."""

from __future__ import annotations

import sys

import equinox as eqx
import jax
import numpy as np

from benchmarks.contest import START, contend
from benchmarks.problem import Problem
from hypergauss import Hypergraph, Spectrum, kernels, parameters
from hypergauss.inference import GaussianModel, Observations, learn
from hypergauss.solvers.choose import evidence_of

problem = Problem.load(sys.argv[1])
observations = Observations.of(problem.rows, problem.targets[:, None])


def start() -> GaussianModel:
    spectrum = Spectrum.of(Hypergraph.from_incidence(problem.incidence))
    kernel = kernels.Matern(spectrum, START["nu"], START["lengthscale"], variance=START["variance"])
    return GaussianModel(kernel, START["noise_variance"], np.zeros(1), fixed=("mean",))


def fit() -> dict[str, float]:
    return parameters.values(learn(start(), observations, n_starts=1).model)


@eqx.filter_jit
def value_and_gradient(theta, model, evidence):
    return jax.value_and_grad(lambda theta: parameters.unpack(model, theta).log_evidence(evidence))(theta)


if __name__ == "__main__":
    model = start()
    theta, evidence = parameters.pack(model), evidence_of(model.kernel, observations)
    contend(fit, lambda: jax.block_until_ready(value_and_gradient(theta, model, evidence)))
