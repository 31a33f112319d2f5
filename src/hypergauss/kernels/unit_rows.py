r"""A kernel on many features of a vertex by the angles between them, such as those between the words of two papers.

Let z be a vertex's features divided by their length, so that long and short descriptions compare. Then

    k(z, z') = variance * exp( -|z - z'|^2 / (2 angle^2) ),    |z - z'|^2 = 2 - 2 cos(z, z'),

is the squared exponential kernel of rows of unit length. Of a small angle t between two rows |z - z'| is t itself, so
that ``angle`` is a lengthscale in radians, whatever the features are and however many: rows that share nothing are a
right angle apart. A vertex without features is at the origin, at distance 1 from all that have some.

Sparse features stay sparse, and distances between the same vertices are found once for all hyperparameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergauss import _checks
from hypergauss.hypergraph.frozen import freeze
from hypergauss.kernels.base import Kernel
from hypergauss.kernels.components import unit_rows
from hypergauss.parameters import gather, positive


class Rows:
    """Some rows, sparse or not, and their distances from those they were last compared with."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        own = rows.multiply(rows) if sp.issparse(rows) else rows**2
        self.squares = np.asarray(own.sum(axis=1)).ravel()
        self._latest: tuple[Rows | None, np.ndarray] = (None, np.zeros((0, 0)))

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def half_squares(self, other: Rows) -> np.ndarray:
        """Return ``|z - z'|^2 / 2`` between all pairs; rounding may take it a hair below zero."""
        if self._latest[0] is not other:
            inner = self.rows @ other.rows.T
            inner = inner.toarray() if sp.issparse(inner) else inner
            found = np.maximum((self.squares[:, None] + other.squares) / 2 - inner, 0.0)
            if self is other:
                np.fill_diagonal(found, 0.0)
            self._latest = (other, found)
        return self._latest[1]


class UnitRows(Kernel):
    r"""``k = variance * exp(-|z - z'|^2 / (2 angle^2))`` of rows z of unit length.

    Parameters
    ----------
    features : array or sparse matrix, shape (N, p)
        One row a vertex, of any length; a row of zeros stays one.
    angle : float, default 1.0
        The lengthscale, in radians.
    variance : float, default 1.0
        Prior variance.
    fixed : sequence of str
        Hyperparameters that learning leaves alone, from "angle", "variance".

    Examples
    --------
    >>> words = [[1.0, 1.0, 0.0], [3.0, 3.0, 0.0], [0.0, 0.0, 1.0]]
    >>> print(UnitRows(words).gram().round(2))
    [[1.   1.   0.37]
     [1.   1.   0.37]
     [0.37 0.37 1.  ]]
    """

    angle: np.ndarray = positive(1e-2, 1e3)
    variance: np.ndarray = positive()

    def __init__(
        self, features: Any, angle: float = 1.0, *, variance: float = 1.0, fixed: str | Sequence[str] = ()
    ) -> None:
        values = features.data if sp.issparse(features) else features
        _checks.finite_array("features", values, missing="Fill in missing features first.")
        if len(np.shape(features)) != 2 or np.shape(features)[1] == 0:
            raise ValueError(
                f"`features` must have one row a vertex and at least one column. Got shape {np.shape(features)}."
            )
        rows = unit_rows(features)
        if not sp.issparse(rows):
            rows = freeze(rows)
        self.rows = rows
        self.angle = np.asarray(_checks.positive("angle", angle))
        self.variance = np.asarray(_checks.positive("variance", variance))
        self.fixed = self.check_fixed(fixed)

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return int(self.rows.shape[0])

    def inputs(self, rows: np.ndarray) -> Rows:  # noqa: D102
        return Rows(self.rows[rows])

    def cross(self, left: Rows, right: Rows) -> np.ndarray:  # noqa: D102
        return self.variance * np.exp(left.half_squares(right) * (-1.0 / self.angle**2))

    def variances(self, inputs: Rows) -> np.ndarray:  # noqa: D102
        return np.full(len(inputs), self.variance)

    def mean_variance(self) -> float:
        """Return ``variance``: that of every vertex."""
        return float(self.variance)

    def pull_back(self, left: Rows, right: Rows, adjoint: np.ndarray) -> np.ndarray:
        """Return the gradient by hand: with S = adjoint o K, in angle it is the sum of ``S o |z - z'|^2 / angle^3``."""
        slopes = adjoint * self.cross(left, right)
        in_angle = 2 * np.einsum("ij,ij->", slopes, left.half_squares(right)) / self.angle**3
        return gather(self, {"angle": in_angle, "variance": slopes.sum() / self.variance})
