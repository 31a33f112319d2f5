r"""Noise whose covariance is the Laplacian, or the field's precision: what draws are made of.

Each hyperedge e with membership weights r, of sum d, and weight w gives

    sqrt(w) (sqrt(r) z - r (sqrt(r)' z) / d),    z white: covariance w (diag(r) - r r' / d);

added up over hyperedges and divided by sqrt(degree) it has covariance exactly Delta, and a vertex without hyperedges
has a z of its own. In terms of A and the null function t = sqrt(degree), with h = A't,

    w r / degree = A h / t,    r / d = A t / h.

So sqrt(c) z plus that has covariance c + Delta, and a power of (c + Delta) takes it to any whole nu.
"""

from __future__ import annotations

import numpy as np

from hypergauss.operators import Block, LaplacianOperator, LocalLaplacian
from hypergauss.solvers.markov.field import Field
from hypergauss.spectrum import chebyshev

#: Error of the square root's polynomial where there are no incidences to be had, relative to its largest value.
_TOLERANCE = 1e-9


class FieldNoise:
    """Draws with covariance Q, at any hyperparameters of one Laplacian.

    Parameters
    ----------
    operator : LaplacianOperator
        In double precision.
    """

    def __init__(self, operator: LaplacianOperator) -> None:
        self.operator = operator
        self._roots: tuple[np.ndarray, np.ndarray] | None = None

    def draw(self, field: Field, size: int, rng: np.random.Generator) -> Block:
        """Return draws with covariance Q as an outside block, shape (N, size).

        Q = M^nu c^-nu / s with M = c + Delta: M^(nu / 2) of white noise, or M^((nu - 1) / 2) of noise of covariance M.
        """
        operator, c = self.operator, field.c
        if field.nu % 2:
            noise, powers = self._shifted(c, size, rng), field.nu // 2
        else:
            noise, powers = operator.white_noise(size, rng), field.nu // 2
        inside = operator.enter(noise * (c ** (-(field.nu % 2) / 2) / np.sqrt(field.s)))
        for _ in range(powers):
            inside = operator.affine(inside, 1.0 / c, 1.0)
        return operator.settle(operator.leave(inside))

    def _shifted(self, c: float, size: int, rng: np.random.Generator) -> Block:
        """Return noise of covariance c + Delta: exact with incidences, and otherwise to nine digits."""
        operator = self.operator
        if isinstance(operator, LocalLaplacian) and operator.has_incidence and operator.null is not None:
            white = np.sqrt(c) * operator.white_noise(size, rng)
            return white + self._of_incidences(operator, operator.null, size, rng)

        def bound(left: np.ndarray) -> np.ndarray:
            # On an ellipse that reaches down to left > -c the modulus is largest at its other end.
            return np.where(left > -c, np.sqrt(np.abs(c + (operator.upper or 1.0) - left)), np.inf)

        root = chebyshev.expand(lambda nodes: np.sqrt(c + nodes), operator.upper, _TOLERANCE, bound)
        return chebyshev.apply(operator, root, operator.white_noise(size, rng))

    def _of_incidences(
        self, operator: LocalLaplacian, null: np.ndarray, size: int, rng: np.random.Generator
    ) -> np.ndarray:
        A = operator.incidence
        counts = np.diff(A.indptr)
        if self._roots is None:
            t, h = np.repeat(null, counts), (A.T @ null)[A.indices]
            self._roots = np.sqrt(A.data * h / t), np.sqrt(A.data * t / h)
        of_vertices, of_edges = self._roots
        owners = np.repeat(np.arange(A.shape[0]), counts)
        noise = np.empty((A.shape[0], size))
        for column in noise.T:
            z = rng.standard_normal(len(A.data))
            column[:] = np.bincount(owners, of_vertices * z, A.shape[0])
            column -= A @ np.bincount(A.indices, of_edges * z, A.shape[1])
        alone = counts == 0
        noise[alone] = rng.standard_normal((int(alone.sum()), size))
        return noise
