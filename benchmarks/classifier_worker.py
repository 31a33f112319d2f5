"""Contender: our classifier, from the incidence matrix. ``python -m benchmarks.classifier_worker PATH PATH``."""

from __future__ import annotations

import sys

from benchmarks.congress import contend
from benchmarks.problem import Problem
from hypergauss import Hypergraph, HypergraphGPClassifier, Spectrum
from hypergauss.kernels import Matern


def fit(problem: Problem) -> float:
    H = Hypergraph.from_incidence(problem.incidence)
    model = HypergraphGPClassifier(H, Matern(Spectrum.of(H)), likelihood="robust-max")
    return model.fit(problem.rows, problem.targets).elbo_


if __name__ == "__main__":
    contend(fit, sys.argv[1:])
