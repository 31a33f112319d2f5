"""Hypergraphs with what a field must bear: weighted memberships, isolated vertices, several components."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss import Hypergraph, Spectrum
from hypergauss.kernels import Matern
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.sites import Observations


def hypergraph(size, seed=0):
    """Return three components of different size with weighted memberships and hyperedges, and isolated vertices."""
    rng = np.random.default_rng(seed)
    cuts = [0, size // 2, size // 2 + size // 3, size - max(size // 50, 3)]
    blocks = [sp.random_array((b - a, b - a), density=4 / (b - a), rng=rng) for a, b in pairwise(cuts)]
    R = sp.block_diag([*blocks, sp.csr_array((size - cuts[-1], 1))], format="csr")
    R.data = rng.uniform(0.2, 3.0, R.nnz)
    return Hypergraph.from_incidence(R, weights=rng.uniform(0.5, 2.0, R.shape[1]))


@cache
def decomposed(size):
    """Return a hypergraph and its eigenvectors."""
    H = hypergraph(size)
    return H, Spectrum.of(H)


class Case(NamedTuple):
    """Measurements of one hypergraph, some of them repeated."""

    model: GaussianModel
    observations: Observations

    def by_products(self, seed):
        """Return the model on a spectrum without eigenvectors."""
        kernel = self.model.kernel
        free = Spectrum.matrix_free(decomposed(kernel.num_vertices)[0], random_state=seed)
        moved = Matern(free, kernel.nu, kernel.lengthscale, variance=kernel.variance, fixed=("nu",))
        return GaussianModel(moved, self.model.noise_variance, self.model.mean)

    def sites(self):
        return self.observations.sites(self.model.noise_variance)


def case(size, nu, *, lengthscale=3.0, noise=0.3, outputs=2):
    rng = np.random.default_rng(5)
    rows = rng.permutation(size)[: size // 4]
    rows = np.append(rows, rows[:5])
    observations = Observations.of(rows, rng.standard_normal((len(rows), outputs)))
    kernel = Matern(decomposed(size)[1], nu, lengthscale, variance=0.7, fixed=("nu",))
    return Case(GaussianModel(kernel, noise, np.array([0.4, -0.1])[:outputs]), observations)
