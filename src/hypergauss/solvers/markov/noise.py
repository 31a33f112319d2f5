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

    def draw(
        self,
        field: Field,
        size: int,
        rng: np.random.Generator,
        *,
        signs: bool = False,
        operator: LaplacianOperator | None = None,
    ) -> Block:
        """Return draws with covariance Q as an outside block, shape (N, size).

        Q = M^nu c^-nu / s with M = c + Delta: M^(nu / 2) of white noise, or M^((nu - 1) / 2) of noise of covariance M.

        Parameters
        ----------
        field : Field
            Whose precision Q is.
        size : int
            How many.
        rng : numpy.random.Generator
            What they are made from.
        signs : bool
            Of signs in place of normal numbers: the same covariance, squares that vary less, and half the time.
        operator : LaplacianOperator, optional
            The same in another precision, for products.
        """
        operator, c = self.operator if operator is None else operator, field.c
        scale = c ** (-(field.nu % 2) / 2) / np.sqrt(field.s)
        if field.nu % 2:
            inside = self._shifted(c, scale, size, rng, operator, signs=signs)
        else:
            inside = operator.enter(self._white(size, rng, signs) * scale)
        for _ in range(field.nu // 2):
            inside = operator.affine(inside, 1.0 / c, 1.0)
        return operator.settle(operator.leave(inside))

    def _white(self, size: int, rng: np.random.Generator, signs: bool) -> Block:
        return self.operator.signs(size, rng) if signs else self.operator.white_noise(size, rng)

    def _shifted(
        self, c: float, scale: float, size: int, rng: np.random.Generator, inner: LaplacianOperator, *, signs: bool
    ) -> Block:
        """Return noise of covariance scale^2 (c + Delta), inside: exact with incidences, otherwise to nine digits."""
        operator, white = self.operator, self._white(size, rng, signs)
        if isinstance(inner, LocalLaplacian) and inner.has_incidence and inner.null is not None:
            noise = self._of_incidences(inner, inner.null, size, rng, signs=signs)
            # White noise is as white in any order.
            return (np.sqrt(c) * scale * white + scale * noise).astype(inner.dtype, copy=False)

        def bound(left: np.ndarray) -> np.ndarray:
            # On an ellipse that reaches down to left > -c the modulus is largest at its other end.
            return np.where(left > -c, np.sqrt(np.abs(c + (operator.upper or 1.0) - left)), np.inf)

        root = chebyshev.expand(lambda nodes: np.sqrt(c + nodes), operator.upper, _TOLERANCE, bound)
        return inner.enter(scale * chebyshev.apply(operator, root, white))

    def _of_incidences(
        self, operator: LocalLaplacian, null: np.ndarray, size: int, rng: np.random.Generator, *, signs: bool = False
    ) -> np.ndarray:
        """Return noise of covariance Delta, inside, where neighbours are near one another in memory."""
        (A, _), _, order, *_ = operator.parts
        counts = np.diff(A.indptr)
        if self._roots is None:
            ordered = null if order is None else null[order]
            t, h = np.repeat(ordered, counts), (A.T @ ordered)[A.indices]
            self._roots = np.sqrt(A.data * h / t), np.sqrt(A.data * t / h)
        of_vertices, of_edges = self._roots
        alone = counts == 0
        starts = A.indptr[:-1][~alone]
        noise = np.empty((A.shape[0], size))
        for draw in range(size):
            z = _signs(len(A.data), rng) if signs else rng.standard_normal(len(A.data))
            own = np.add.reduceat(of_vertices * z, starts) if len(starts) else np.empty(0)
            if alone.any():
                theirs, own = own, np.empty(len(counts))
                own[~alone] = theirs
                own[alone] = _signs(int(alone.sum()), rng) if signs else rng.standard_normal(int(alone.sum()))
            z *= of_edges
            noise[:, draw] = own - A @ np.bincount(A.indices, z, A.shape[1])
        return noise


def _signs(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent signs, a bit each: eight from a byte."""
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), dtype=np.uint8), count=count)
    return bits * 2.0 - 1.0
