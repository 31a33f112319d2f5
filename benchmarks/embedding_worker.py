"""Time one map in a fresh process: ``python -m benchmarks.embedding_worker VERTICES SOLVER``.

`HypergraphGPLVM(solver=SOLVER, random_state=0).fit(H)` at its defaults, four starts, on vertices of eight kinds: each
kind has its own answer to 20 yes-or-no questions, and each vertex gives another in 15% of cases; every answer is a
hyperedge (40 in all).

Prints as JSON: ``seconds`` of the fit; ``evaluations`` of the log posterior; ``peak_gb``, the
peak memory of the process; ``ami`` and ``spectral``, adjusted mutual information of k-means with the kinds on this map
and on Zhou's.
"""

from __future__ import annotations

import json
import resource
import sys

import numpy as np

from benchmarks.common import timed
from hypergauss import Hypergraph, HypergraphGPLVM, SpectralEmbedding
from hypergauss.metrics import kmeans_agreement

KINDS, QUESTIONS, OTHERWISE = 8, 20, 0.15


def questionnaire(num_vertices: int, rng: np.random.Generator) -> tuple[Hypergraph, np.ndarray]:
    """Return the hypergraph of answers, and the kind of each vertex."""
    kinds = np.arange(num_vertices) % KINDS
    usual = rng.random((KINDS, QUESTIONS)) < 0.5
    yes = usual[kinds] ^ (rng.random((num_vertices, QUESTIONS)) < OTHERWISE)
    return Hypergraph.from_incidence(np.hstack([yes, ~yes]).astype(float)), kinds


if __name__ == "__main__":
    vertices, solver = sys.argv[1:]
    H, kinds = questionnaire(int(vertices), np.random.default_rng(0))
    seconds, model = timed(HypergraphGPLVM(solver=solver, random_state=0).fit, H)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ami, spectral = (
        kmeans_agreement(X, kinds, n_init=10).adjusted_mutual_information
        for X in (model.embedding_, SpectralEmbedding().fit_transform(H))
    )
    outcome = {"seconds": seconds, "evaluations": int(model.starts_.evaluations.sum()), "peak_gb": peak}
    print(json.dumps(outcome | {"ami": ami, "spectral": spectral}))
