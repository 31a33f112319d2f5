r"""A preconditioner for B = I + W^1/2 K W^1/2 from a few leading eigenvectors.

On the subspace Q the filter is known; elsewhere it is taken for a constant b, its mean over all larger eigenvalues:

    P = diag(d) + G diag(D) G',    d = 1 + b w,    G = W^1/2 Q,    D_j = K's filter at l_j, less b.

P^-1, log det P and draws with covariance P cost O(N k) each. Without Q it is the diagonal alone.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from hypergauss.operators import Block, LaplacianOperator
from hypergauss.spectrum.leading import Subspace


class Preconditioner:
    """P for sites' precisions w, a background b, and gains D on a subspace.

    Parameters
    ----------
    operator : LaplacianOperator
        Whose vectors it works on.
    precision : block, shape (N, 1)
        w, zero where nothing is observed.
    background : float
        b, for d = 1 + b w.
    subspace : Subspace, optional
        Q.
    gains : array, shape (k,)
        D, not negative.
    """

    def __init__(
        self,
        operator: LaplacianOperator,
        precision: Block,
        background: float,
        subspace: Subspace | None = None,
        gains: np.ndarray | None = None,
    ) -> None:
        self.operator = operator
        self.diagonal = 1.0 + background * precision
        self._root_precision = np.sqrt(precision)
        self._vectors = None
        if subspace is not None and gains is not None and len(gains):
            self._vectors = operator.settle(self._root_precision * subspace.vectors)
            self._root_gains = np.sqrt(np.maximum(gains, 0.0))
            # I + D^1/2 G' d^-1 G D^1/2, whose factor serves solving and the determinant.
            core = operator.fetch(self._vectors.T @ (self._vectors / self.diagonal))
            self._core = core
            inner = np.eye(len(core)) + self._root_gains[:, None] * core * self._root_gains
            self._factor = scipy.linalg.cho_factor(inner, lower=True)

    @property
    def rank(self) -> int:
        """The number k of eigenvectors."""
        return 0 if self._vectors is None else len(self._root_gains)

    def solve(self, X: Block) -> Block:
        """Return P^-1 X."""
        scaled = X / self.diagonal
        if self._vectors is None:
            return scaled
        inside = self._root_gains[:, None] * self.operator.fetch(self._vectors.T @ scaled)
        middle = self._root_gains[:, None] * scipy.linalg.cho_solve(self._factor, inside)
        return scaled - (self._vectors @ middle) / self.diagonal

    def log_det(self) -> float:
        """Return log det P."""
        logs = float(self.operator.fetch(np.log(self.diagonal).sum()))
        if self._vectors is None:
            return logs
        return logs + 2 * float(np.log(np.diagonal(self._factor[0])).sum())

    def colour(self, white: Block, inner: np.ndarray) -> Block:
        """Return d^1/2 white + G D^1/2 inner, which has covariance P if both are white noise."""
        coloured = np.sqrt(self.diagonal) * white
        if self._vectors is None:
            return coloured
        return coloured + self._vectors @ (self._root_gains[:, None] * inner)

    def trace_parts(self) -> tuple[Block, np.ndarray]:
        """Return the diagonal of P^-1, shape (N, 1), and that of G' P^-1 G: what derivatives of log det P need."""
        if self._vectors is None:
            return 1.0 / self.diagonal, np.zeros(0)
        # P^-1 = d^-1 - H H' with H = d^-1 G D^1/2 L'^-1.
        half = scipy.linalg.solve_triangular(self._factor[0], np.diag(self._root_gains), lower=True)
        H = (self._vectors @ half.T) / self.diagonal
        diagonal = 1.0 / self.diagonal - (H**2).sum(axis=1)[:, None]
        turned = self._core @ half.T
        return diagonal, np.diagonal(self._core) - (turned**2).sum(axis=1)
