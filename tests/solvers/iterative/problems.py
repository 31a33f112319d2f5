"""Problems small enough for dense algebra, with everything in them that the iterative solver must cope with."""

from typing import NamedTuple

import numpy as np

from hypergauss.kernels import Bernstein, Diffusion, Kernel, Linear, Matern
from hypergauss.solvers import GaussianModel, Observations, Prior, condition, solver_for
from hypergauss.spectrum import Spectrum
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes

N = 120
#: Several components and some isolated vertices.
H = hypergraph_of_sizes(N, [2, 3, 4, 6] * 14, seed=3)
OTHER = hypergraph_of_sizes(N, [3, 5] * 20, seed=4)
SPECTRUM = Spectrum.of(H)
COVARIATES = np.column_stack([np.ones(N), np.sin(np.arange(N)), np.cos(0.3 * np.arange(N))])
ROWS = np.random.default_rng(0).permutation(N)[:50]


class Problem(NamedTuple):
    kernel: Kernel
    rows: np.ndarray
    y: np.ndarray
    noise: np.ndarray | float
    mean: np.ndarray

    def observations(self):
        return Observations.of(self.rows, self.y, None if np.ndim(self.noise) == 0 else self.noise)

    def model(self):
        """Return the model; where noise is known, that of the model is not used."""
        return GaussianModel(self.kernel, self.noise if np.ndim(self.noise) == 0 else 1.0, self.mean)

    def posterior(self, solver):
        return condition(Prior(self.kernel, self.mean), self.observations().sites(self.noise), solver)

    def objective(self, solver):
        observations = self.observations()
        return solver_for(self.kernel, observations.rows, solver).objective(observations)

    @property
    def covariance(self):
        return self.kernel.gram()

    def exact(self):
        return oracles.posterior(self.covariance, self.rows, self.y, self.noise, self.mean)

    def log_evidence(self):
        return oracles.log_evidence(self.covariance, self.rows, self.y, self.noise, self.mean)


def problem(kernel, rows=ROWS, *, outputs=1, noise=0.2, seed=5):
    y = np.random.default_rng(seed).standard_normal((len(rows), outputs))
    return Problem(kernel, np.asarray(rows), y, noise, np.linspace(0.3, -0.4, outputs))


def different_noise(rows):
    """Return noise variances over three orders of magnitude."""
    return np.geomspace(0.01, 10.0, len(rows))


PLAIN = Matern(SPECTRUM, 1.5, 5.0)
REPEATED = np.concatenate([ROWS, ROWS[:20], ROWS[:5]])
PROBLEMS = {
    "plain": problem(PLAIN),
    "several outputs": problem(PLAIN, outputs=3),
    "different noise": problem(PLAIN, noise=different_noise(ROWS)),
    "repeated": problem(PLAIN, REPEATED, outputs=2),
    "repeated, different noise": problem(PLAIN, REPEATED, noise=different_noise(REPEATED)),
    "all vertices": problem(Matern(SPECTRUM, 5.0, 4.0), np.arange(N), outputs=2),
    "one": problem(PLAIN, [7]),
    "isolated": problem(PLAIN, np.flatnonzero(H.vertex_degrees == 0)),
    "unnormalised": problem(Matern(SPECTRUM, 1.5, 3.0, normalise=False)),
    "diffusion": problem(Diffusion(SPECTRUM, 4.0, variance=2.0)),
    "rising filter": problem(Bernstein(SPECTRUM, [0.05, 0.1, 0.4, 2.0])),
    "by size": problem(Matern(Spectrum.of(H, size_exponent=0.8), 1.5, 5.0)),
    "graph": problem(Matern(Spectrum.of(H.clique_expansion()), 1.5, 3.0)),
    "unnormalised graph": problem(Matern(Spectrum.of(H.clique_expansion(), laplacian="unnormalised"), 1.5, 0.5)),
    "two relations": problem(PLAIN + Matern(Spectrum.of(OTHER), 2.0, 3.0)),
    "two filters": problem(PLAIN + Diffusion(SPECTRUM, 10.0)),
    "covariates added": problem(PLAIN + Linear(COVARIATES, [0.5, 1.0, 2.0]), outputs=2),
    "covariates multiplied": problem(PLAIN * Linear(COVARIATES[:, :2], [0.5, 1.0])),
    "multiplied the other way round, and added": problem(Linear(COVARIATES) * PLAIN + Diffusion(SPECTRUM, 3.0)),
    "steep": problem(Matern(SPECTRUM, 20, 6.0)),
    "ill-conditioned": problem(Matern(SPECTRUM, 20, 12.0), noise=1e-4),
}
