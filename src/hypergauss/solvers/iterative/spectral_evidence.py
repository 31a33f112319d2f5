r"""The log evidence when every vertex is measured: two quadratures, and then no more products.

With all N vertices observed once under one noise variance s, C = phi(Delta) + s I has Delta's eigenvectors, so

    log det C  = N sum over j of weights_j log(phi(nodes_j) + s)           (the density of eigenvalues),
    a' C^-1 b  = sum over j of measure_j / (phi(node_j) + s)               (the spectral measure of a and b),

by Lanczos once. Every value of every hyperparameter after that costs some 1,500 additions.
"""

from __future__ import annotations

from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss.solvers.iterative.options import Iterative
from hypergauss.solvers.sites import Observations
from hypergauss.kernels import Kernel, SpectralKernel
from hypergauss.spectrum import SpectralDensity
from hypergauss.spectrum.lanczos import measure

#: Lanczos steps: the rules are then exact for polynomials of twice that degree.
_STEPS = 80
#: Probes of the density of eigenvalues.
_PROBES = 16


class SpectralEvidence(eqx.Module):
    """The log evidence as a function of the kernel, the noise and the mean, from spectral measures found once."""

    density: SpectralDensity
    nodes: np.ndarray  # (3, L, k): of y + 1, y - 1 and the constant 1
    measures: np.ndarray
    size: int = eqx.field(static=True)

    @staticmethod
    def applies(kernel: Kernel, observations: Observations) -> bool:
        """Return whether one plain filter is all of the kernel, and every vertex was measured once."""
        return (
            isinstance(kernel, SpectralKernel)
            and observations.is_uniform
            and len(observations.rows) == kernel.num_vertices
        )

    @classmethod
    def of(cls, kernel: SpectralKernel, observations: Observations, options: Iterative) -> Self:
        """Run Lanczos from the targets and from probes."""
        if not cls.applies(kernel, observations):
            raise ValueError(
                "The log evidence is a function of spectral measures only where one filter of one Laplacian is all of "
                f"the kernel and every vertex is measured once. Got {kernel!r} and {len(observations.rows)} of "
                f"{kernel.num_vertices} vertices. Use `learn`, or `condition` for one value of the hyperparameters."
            )
        operator = kernel.spectrum.source.multiplier()
        y = observations.mean
        ones = np.ones((operator.size, 1))
        steps = min(_STEPS, operator.size)
        rule = measure(operator, operator.vector(np.hstack([y + ones, y - ones, ones])), steps)
        outputs = y.shape[1]
        pick = np.stack([np.arange(outputs), outputs + np.arange(outputs), np.full(outputs, 2 * outputs)])
        density = SpectralDensity.of(operator, _PROBES, steps, options.generator(3))
        return cls(density, rule.nodes[pick], rule.weights[pick], operator.size)

    def __call__(self, kernel: Any, noise_variance: Array, mean: Array) -> Float[Array, ""]:
        """Return log N(y | mean, K + noise)."""
        scale = kernel.density().scale

        def spectrum_of_covariance(eigenvalues: Any) -> Array:
            return scale * kernel.filter(jnp.asarray(eigenvalues)) + noise_variance

        shape = self.nodes.shape
        values = spectrum_of_covariance(self.nodes.reshape(-1)).reshape(shape)
        plus, minus, level = (jnp.asarray(self.measures) / values).sum(axis=-1)
        # y'C^-1 y and 1'C^-1 y from their sums and differences, by the parallelogram's law.
        targets, cross = (plus + minus) / 2 - level, (plus - minus) / 4
        quadratic = (targets - 2 * mean * cross + mean**2 * level).sum()
        log_det = self.size * self.density.mean(lambda nodes: jnp.log(spectrum_of_covariance(nodes)))
        return -0.5 * (quadratic + shape[1] * (log_det + self.size * jnp.log(2 * jnp.pi)))
