"""Which vertices carry a sparse model, and whether a model fits in memory."""

from __future__ import annotations

import numpy as np

from hypergauss import _checks
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.model import MapModel, Vertices

SOLVERS = ("auto", "dense", "sparse")
#: Vertices up to which the exact model is the default: there all starts take half a minute at most.
LARGEST_DENSE = 600
#: What one fit may hold, in bytes.
MOST_BYTES = 6 * 2**30
#: The share of the largest variance below which what is left of one is rounding.
_NOTHING = 1e-12


def choose_solver(solver: str, data: Memberships, n_inducing: int) -> str:
    """Return "dense" or "sparse", or explain why neither fits in memory."""
    _checks.one_of("solver", solver, SOLVERS)
    N, m = data.values.shape
    P = len(data.patterns)
    J = min(n_inducing, N)
    # N x N: the covariance, its factors, slope, inverse and temporaries; and one inverse a pattern to predict with.
    needs = {"dense": 8 * (10 * N**2 + P * N**2 + 4 * N * m), "sparse": 8 * (12 * N * J + P * J**2 + 4 * N * m)}
    chosen = solver
    if solver == "auto":
        chosen = "dense" if N <= LARGEST_DENSE and needs["dense"] <= MOST_BYTES else "sparse"
    if needs[chosen] > MOST_BYTES:
        cure = "Take `solver='sparse'`" if chosen == "dense" else "Lower `n_inducing`, or embed a part of the vertices"
        raise ValueError(
            f"A {chosen} model must fit in {MOST_BYTES / 2**30:.0f} GB. With {N:,} vertices, {m:,} hyperedges and "
            f"{P:,} patterns of known entries it takes about {needs[chosen] / 2**30:.1f} GB. {cure}."
        )
    return chosen


def choose_inducing(model: MapModel, vertices: Vertices, size: int) -> np.ndarray:
    """Return the vertices of largest variance given those chosen before: a pivoted Cholesky factorisation of K.

    K is the covariance without nugget at the model's coordinates; what is left of its trace is exactly what the sparse
    bound charges for.
    """
    u = model.coordinates
    left = model.latent.variances(u) * model.smooth_variances(vertices)
    least = _NOTHING * left.max()
    factor = np.zeros((size, len(u)))
    chosen = np.zeros(size, dtype=int)
    for k in range(size):
        pivot = chosen[k] = int(left.argmax())
        one = chosen[k : k + 1]
        column = (model.latent.cross(u, u[one]) * model.smooth(vertices, vertices.at(one)))[:, 0]
        if left[pivot] > least:
            factor[k] = (column - factor[:k].T @ factor[:k, pivot]) / np.sqrt(left[pivot])
        left -= factor[k] ** 2
        left[chosen[: k + 1]] = -np.inf  # never twice, also where rounding leaves something
    return np.sort(chosen)
