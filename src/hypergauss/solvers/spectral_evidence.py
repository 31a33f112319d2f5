r"""The log evidence when every vertex is measured, or any of them may be: two quadratures, and then no more products.

With all N vertices observed once under one noise variance s, C = phi(Delta) + s I has Delta's eigenvectors, so

    log det C  = N sum over j of weights_j log(phi(nodes_j) + s)           (the density of eigenvalues),
    a' C^-1 b  = sum over j of measure_j / (phi(node_j) + s)               (the spectral measure of a and b),

by Lanczos once. Every value of every hyperparameter after that costs some 1,500 additions.

Where a share p of the vertices is measured, chosen at random, pad y with zeros. Over the choice, an eigenvector u has

    E (u'y)^2 = p^2 (phi(l) + s) + p (1 - p) m,    m the mean square of y where it is measured,

since E (u'My)^2 = p^2 (u'y)^2 + p (1 - p) sum of u_i^2 y_i^2. Taken for independent, as Whittle does in time series,
these have a likelihood in closed form: no evidence, but a place from which to climb it.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from hypergauss import parameters
from hypergauss.kernels import Kernel, SpectralKernel
from hypergauss.learning.objective import Objective
from hypergauss.operators import LaplacianOperator, scattered
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.sites import Observations
from hypergauss.spectrum import SpectralDensity
from hypergauss.spectrum.lanczos import Rule, measure

#: Lanczos steps: the rules are then exact for polynomials of twice that degree. Fewer where a start is wanted.
_STEPS, _FEW_STEPS = 80, 40
#: Probes of the density of eigenvalues.
_PROBES = 16


class SpectralEvidence(Objective[GaussianModel]):
    """The log evidence as a function of a Gaussian model, from spectral measures found once.

    Parameters
    ----------
    density : SpectralDensity
        Of the Laplacian's eigenvalues.
    measures : Rule
        Of y + 1, y - 1 and the constant 1, arrays of shape (3, L, k).
    size : int
        N, the number of vertices.
    share, floor : float
        p, and p (1 - p) m, of vertices measured at random; 1 and 0 where all are.
    """

    def __init__(
        self, density: SpectralDensity, measures: Rule, size: int, *, share: float = 1.0, floor: float = 0.0
    ) -> None:
        self.density, self.measures, self.size = density, measures, size
        self.share, self.floor = share, floor
        self._nodes = np.concatenate([measures.nodes.ravel(), density.nodes.ravel()])

    @staticmethod
    def applies(kernel: Kernel, observations: Observations) -> bool:
        """Return whether one plain filter is all of the kernel, and every vertex was measured once."""
        return (
            isinstance(kernel, SpectralKernel)
            and observations.is_uniform
            and len(observations.rows) == kernel.num_vertices
        )

    @classmethod
    def of(cls, operator: LaplacianOperator, observations: Observations, rng: np.random.Generator) -> Self:
        """Run Lanczos from measurements of every vertex, and from probes."""
        density = SpectralDensity.of(operator, _PROBES, min(_STEPS, operator.size), rng)
        return cls(density, _measures(operator, observations, _STEPS), operator.size)

    @classmethod
    def of_some(cls, operator: LaplacianOperator, observations: Observations, density: SpectralDensity) -> Self:
        """Run Lanczos from measurements of some vertices, the density of eigenvalues being known."""
        share, y = len(observations.rows) / operator.size, observations.mean
        floor = share * (1 - share) * float(y.var(axis=0).mean())
        measures = _measures(operator.in_single(), observations, _FEW_STEPS)  # enough for a place to climb from
        return cls(density, measures, operator.size, share=share, floor=floor)

    @property
    def num_observations(self) -> int:  # noqa: D102
        return self.size * self.measures.nodes.shape[1]

    def value_and_gradient(self, model: GaussianModel) -> tuple[float, np.ndarray]:
        """Return log N(y | mean, K + noise), and its gradient by that in the eigenvalues of K + noise at all nodes."""
        thinned = self.share**2
        at_nodes = thinned * (self._filtered(model.kernel) + model.noise_variance) + self.floor
        cut = self.measures.nodes.size
        of_measures = at_nodes[:cut].reshape(self.measures.nodes.shape)
        of_density = at_nodes[cut:].reshape(self.density.nodes.shape)
        outputs, mean = self.measures.nodes.shape[1], model.mean
        plus, minus, level = (self.measures.weights / of_measures).sum(axis=-1)
        # y'C^-1 y and 1'C^-1 y from their sums and differences, by the parallelogram's law.
        targets, cross = (plus + minus) / 2 - level, (plus - minus) / 4
        quadratic = (targets - 2 * mean * cross + mean**2 * level).sum()
        log_det = self.size * (self.density.weights * np.log(of_density)).sum()
        value = -0.5 * (quadratic + outputs * (log_det + self.size * np.log(2 * np.pi)))

        # The quadratic form's slopes in plus, minus and level, each of which falls as weights / values^2.
        by_measure = np.stack([(1 - mean) / 2, (1 + mean) / 2, mean**2 - 1])[:, :, None]
        in_measures = 0.5 * by_measure * self.measures.weights / of_measures**2
        in_density = -0.5 * outputs * self.size * self.density.weights / of_density
        slopes = thinned * np.concatenate([in_measures.ravel(), in_density.ravel()])
        gradients = {
            "kernel": parameters.pull_back(model.kernel, self._filtered, slopes),
            "noise_variance": slopes.sum(),
            "mean": cross - mean * level,
        }
        return float(value), parameters.gather(model, gradients)

    def _filtered(self, kernel: Kernel) -> np.ndarray:
        """Return the kernel's eigenvalues at all nodes, one after another."""
        return kernel.density().scale * kernel.filter(self._nodes)  # type: ignore[attr-defined]


def _measures(operator: LaplacianOperator, observations: Observations, steps: int) -> Rule:
    """Return the spectral measures of y + 1, y - 1 and 1, all of them zero where nothing is measured."""
    rows, y = observations.rows, observations.mean
    ones, outputs = np.ones((len(rows), 1)), y.shape[1]
    block = scattered(operator, rows, np.hstack([y + ones, y - ones, ones]))
    rule = measure(operator, block, min(steps, operator.size))
    pick = np.stack([np.arange(outputs), outputs + np.arange(outputs), np.full(outputs, 2 * outputs)])
    return Rule(rule.nodes[pick], rule.weights[pick])
