"""The data that every benchmark is given: a hypergraph with locality, and noisy targets drawn from the model on it.

Vertices and hyperedges lie on a ring. Each vertex joins 5 hyperedges among the 20 nearest to it, so that there are
smooth functions to learn; the targets are a draw of the Matern prior plus noise, at a random half of the vertices.

Run as ``python -m benchmarks.problem VERTICES EDGES FILE`` it writes one to a file: in a process of its own, so that
the memory that drawing takes is not counted as anybody's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

INCIDENCES_PER_VERTEX, NEAREST = 5, 20
NOISE_VARIANCE = 0.1


class Problem(NamedTuple):
    """An N x M incidence matrix, the observed vertices and their targets."""

    incidence: sp.csr_array
    rows: np.ndarray
    targets: np.ndarray

    def vertices(self, everywhere: bool = False) -> np.ndarray:
        """Return the vertices that were not observed, or all of them."""
        every = np.arange(self.incidence.shape[0])
        return every if everywhere else np.setdiff1d(every, self.rows)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path) as stored:
            triple = (stored["data"], stored["indices"], stored["indptr"])
            return cls(sp.csr_array(triple, shape=tuple(stored["shape"])), stored["rows"], stored["targets"])

    def save(self, path: str | Path) -> None:
        """Write to an .npz file."""
        R = self.incidence
        parts = {"data": R.data, "indices": R.indices, "indptr": R.indptr, "shape": R.shape}
        np.savez(path, **parts, rows=self.rows, targets=self.targets)


def ring(num_vertices: int, num_edges: int, rng: np.random.Generator) -> sp.csr_array:
    """Return the incidence matrix, 5 distinct hyperedges a vertex."""
    home = np.arange(num_vertices) * num_edges // num_vertices
    steps = rng.random((num_vertices, NEAREST)).argpartition(INCIDENCES_PER_VERTEX, axis=1)[:, :INCIDENCES_PER_VERTEX]
    edges = (home[:, None] + steps) % num_edges
    vertices = np.repeat(np.arange(num_vertices), INCIDENCES_PER_VERTEX)
    return sp.csr_array((np.ones(edges.size), (vertices, edges.ravel())), shape=(num_vertices, num_edges))


def draw(num_vertices: int, num_edges: int, seed: int = 0) -> Problem:
    """Return a problem with half of the vertices observed."""
    from hypergauss import Hypergraph, Spectrum, kernels

    rng = np.random.default_rng(seed)
    incidence = ring(num_vertices, num_edges, rng)
    rows = np.sort(rng.choice(num_vertices, num_vertices // 2, replace=False))
    kernel = kernels.Matern(Spectrum.of(Hypergraph.from_incidence(incidence)), nu=1.5, lengthscale=20.0)
    noise = np.sqrt(NOISE_VARIANCE) * rng.standard_normal(len(rows))
    return Problem(incidence, rows, kernel.prior_draws(rows, 1, rng)[:, 0] + noise)


if __name__ == "__main__":
    vertices, edges, file = sys.argv[1:]
    draw(int(vertices), int(edges)).save(file)
