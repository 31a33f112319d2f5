"""How a Laplacian's eigenvalues are spread: one estimate that serves the trace of every filter."""

from __future__ import annotations

from typing import Any, Self

import equinox as eqx
import numpy as np

from hypergauss.frozen import freeze
from hypergauss.operators import LaplacianOperator
from hypergauss.spectrum.lanczos import measure


class SpectralDensity(eqx.Module):
    r"""Nodes and weights with tr phi(Delta) ~ N sum over j of weights_j phi(nodes_j), by stochastic Lanczos quadrature.

    Each of s random vectors of N independent signs gives a Gauss rule of its spectral measure (Ubaru, Chen and Saad,
    2017); the density is their mean.

    Attributes
    ----------
    nodes, weights : arrays, shape (s, k)
        Of each probe; all weights add up to 1.
    """

    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, operator: LaplacianOperator, n_probes: int, n_steps: int, rng: np.random.Generator) -> Self:
        """Estimate the density of an operator's eigenvalues; N probes are multiples of all unit vectors."""
        N = operator.size
        probes = operator.signs(n_probes, rng) if n_probes < N else operator.vector(np.sqrt(N) * np.eye(N))
        rule = measure(operator, probes, min(n_steps, N))
        return cls(freeze(rule.nodes), freeze(rule.weights / rule.weights.sum()))

    def mean(self, phi: Any) -> Any:
        """Return the mean of a filter over all eigenvalues, for an array of NumPy's or JAX's."""
        return (self.weights * phi(self.nodes.ravel()).reshape(self.nodes.shape)).sum()

    def standard_error(self, phi: Any) -> float:
        """Return how much the mean of a filter varies between sets of probes."""
        by_probe = len(self.nodes) * (self.weights * phi(self.nodes.ravel()).reshape(self.nodes.shape)).sum(axis=1)
        return float(np.std(by_probe, ddof=1) / np.sqrt(len(self.nodes))) if len(self.nodes) > 1 else float("nan")
