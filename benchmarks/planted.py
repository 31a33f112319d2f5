"""The planted problem at any size: hyperedges of 2 + Poisson(3) vertices, nine in ten within one of 50 communities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss import Hypergraph
from hypergauss.datasets import make_planted_hypergraph

COMMUNITIES, OBSERVED, NOISE = 50, 0.2, 0.5


class Problem(NamedTuple):
    """A hypergraph with a hidden signal of variance 1, measured at a fifth of its vertices."""

    hypergraph: Hypergraph
    communities: np.ndarray
    signal: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    hidden: np.ndarray

    def r2(self, mean: np.ndarray) -> float:
        """Return how much of the signal's variance at unobserved vertices a prediction explains."""
        truth = self.signal[self.hidden]
        return float(1 - ((mean[self.hidden] - truth) ** 2).mean() / truth.var())


def planted(size: int, seed: int = 0) -> Problem:
    """Return N = M = ``size`` vertices and hyperedges, and measurements with noise of half the signal's spread."""
    found = make_planted_hypergraph(size, size, COMMUNITIES, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(size)[: int(OBSERVED * size)])
    y = found.signal[rows] + NOISE * rng.standard_normal(len(rows))
    hidden = np.setdiff1d(np.arange(size), rows)
    return Problem(found.hypergraph, found.communities, found.signal, rows, y, hidden)
