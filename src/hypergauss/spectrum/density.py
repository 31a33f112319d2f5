"""How a Laplacian's eigenvalues are spread: one estimate that serves the trace of every filter."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.linalg

from hypergauss.hypergraph.frozen import freeze
from hypergauss.operators import Block, LaplacianOperator, column_slices
from hypergauss.spectrum.chebyshev import Filter
from hypergauss.spectrum.lanczos import Rule, measure
from hypergauss.spectrum.leading import leading_subspace

#: Lanczos steps from a leading eigenvector, which is nearly one already.
_FEW_STEPS = 10


class SpectralDensity(NamedTuple):
    r"""Nodes and weights with tr phi(Delta) ~ N sum over j of weights_j phi(nodes_j), by stochastic Lanczos quadrature.

    Each of s random vectors of N independent signs gives a Gauss rule of its spectral measure (Ubaru, Chen and Saad,
    2017); the density is their mean. With an orthonormal Q of leading eigenvectors, however rough,

        tr phi(Delta) = tr Q' phi(Delta) Q + tr (I - QQ') phi(Delta) (I - QQ'),

    where the first trace has a rule for each column, and probes are left to estimate the second, in which little is
    left of a filter that falls (Meyer, Musco, Musco and Woodruff, 2021).

    Attributes
    ----------
    nodes, weights : arrays, shape (k + s, steps)
        Of each column of Q and each probe; all weights add up to 1.
    n_random : int
        The number s of probes, the last rows of the two; none of few vertices, where nothing is left to chance.
    """

    nodes: np.ndarray
    weights: np.ndarray
    n_random: int

    @classmethod
    def of(
        cls, operator: LaplacianOperator, n_probes: int, n_steps: int, rng: np.random.Generator, n_leading: int = 0
    ) -> Self:
        """Estimate the density of an operator's eigenvalues; with N probes these are all unit vectors."""
        N = operator.size
        steps = min(n_steps, N)
        if n_probes >= N:
            return cls._joined([_rules(operator, operator.vector(np.eye(N)), steps)], 0)
        probes = operator.signs(n_probes, rng)
        if n_leading == 0:
            return cls._joined([_rules(operator, probes, steps)], n_probes)
        found = leading_subspace(operator.in_single(), n_leading, rng).vectors.astype(np.float64)
        factor = scipy.linalg.cholesky(operator.fetch(found.T @ found))
        Q = operator.settle(found @ scipy.linalg.inv(factor))
        known = _rules(operator, Q, min(_FEW_STEPS, steps))
        rest = _rules(operator, operator.settle(probes - Q @ operator.fetch(Q.T @ probes)), steps)
        # All weights together are N, and those of the columns of Q are their number.
        share = (N - Q.shape[1]) / rest.weights.sum()
        padded = Rule(*(np.pad(array, ((0, 0), (0, steps - array.shape[1]))) for array in known))
        return cls._joined([padded, rest._replace(weights=share * rest.weights)], n_probes)

    @classmethod
    def _joined(cls, rules: list[Rule], n_random: int) -> Self:
        nodes, weights = (np.vstack(arrays) for arrays in zip(*rules, strict=True))
        return cls(freeze(nodes), freeze(weights / weights.sum()), n_random)

    def mean(self, phi: Filter) -> float:
        """Return the mean of a filter over all eigenvalues; complex where the filter is, as in a complex step."""
        return self._by_rule(phi).sum()

    def standard_error(self, phi: Filter) -> float:
        """Return how much the mean of a filter varies between sets of probes; NaN with one probe."""
        if self.n_random == 0:
            return 0.0
        by_probe = self.n_random * self._by_rule(phi)[-self.n_random :]
        return float(np.std(by_probe, ddof=1) / np.sqrt(self.n_random)) if self.n_random > 1 else float("nan")

    def _by_rule(self, phi: Filter) -> np.ndarray:
        return (self.weights * phi(self.nodes.ravel()).reshape(self.nodes.shape)).sum(axis=1)


def _rules(operator: LaplacianOperator, X: Block, steps: int) -> Rule:
    """Return the measure of each column, of some columns after others."""
    parts = [measure(operator, X[:, some], steps) for some in column_slices(X.shape[1])]
    return Rule(*(np.vstack(arrays) for arrays in zip(*parts, strict=True)))
