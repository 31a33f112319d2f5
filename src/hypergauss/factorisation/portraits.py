r"""A side's columns as their prior sees them, and as moves turn them.

Moves along directions that no prediction sees mix columns with one another and with the constant: (X, 1) becomes
(X, 1) T with a small matrix T. Of the N vertices the prior sees coefficients in the known modes, products of what
these leave, levels and effects; all of them go along with T. So moves are made on these few numbers, and the columns
follow once, in the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Portrait(NamedTuple):
    """K columns and, last, the function that is 1 everywhere.

    Attributes
    ----------
    coefficients : array, shape (r, K + 1)
        In the known modes.
    rest : array, shape (K + 1, K + 1)
        Products of what the modes leave.
    levels, effects : array, shape (L, K + 1) and (Q, K + 1)
        Of components, and of relations' hyperedges.
    turn : array, shape (K + 1, K + 1)
        T: how the columns, and the constant, have moved since the portrait was made.
    """

    coefficients: np.ndarray
    rest: np.ndarray
    levels: np.ndarray
    effects: np.ndarray
    turn: np.ndarray

    @classmethod
    def of(cls, coefficients: np.ndarray, rest: np.ndarray, levels: np.ndarray, effects: np.ndarray) -> Portrait:
        """Return the portrait of columns that have not moved, given what modes leave of them, shape (N, K + 1)."""
        return cls(coefficients, rest.T @ rest, levels, effects, np.eye(rest.shape[1]))

    def turned(self, T: np.ndarray) -> Portrait:
        """Return the portrait of (X, 1) T."""
        return Portrait(self.coefficients @ T, T.T @ self.rest @ T, self.levels @ T, self.effects @ T, self.turn @ T)

    def columns(self, chosen: np.ndarray) -> Portrait:
        """Return the portrait of some of the columns, and of the constant."""
        kept = np.append(chosen, len(self.turn) - 1)
        return Portrait(
            self.coefficients[:, kept],
            self.rest[np.ix_(kept, kept)],
            self.levels[:, kept],
            self.effects[:, kept],
            self.turn[np.ix_(kept, kept)],
        )
