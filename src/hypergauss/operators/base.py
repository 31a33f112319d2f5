"""LaplacianOperator: Delta as nothing but its product with blocks of vectors.

Everything that is computed without eigenvectors, from Chebyshev expansions to conjugate gradients, is written once on
this interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from distributed import Future

#: Vectors side by side, shape (N, m): NumPy's array, or one that is computed with like it (Dask's, JAX's).
Block: TypeAlias = np.ndarray
#: A small array that is known, or will be once it is fetched.
Promise: TypeAlias = "np.ndarray | Future"


class LaplacianOperator(ABC):
    """A symmetric positive semidefinite N x N matrix Delta, eigenvalues in [0, upper].

    Blocks outside are in the order of the vertices and in double precision. Inside, an operator may order and store
    them as it likes: `enter` and `leave` are the doors.

    Attributes
    ----------
    num_products : int
        How many vectors Delta has multiplied so far.
    """

    num_products: int = 0

    @property
    @abstractmethod
    def size(self) -> int:
        """N, the number of vertices."""

    @property
    @abstractmethod
    def upper(self) -> float:
        """A number that no eigenvalue exceeds."""

    @property
    @abstractmethod
    def num_incidences(self) -> int:
        """How many numbers one product reads: the incidences, or the entries of a graph's Laplacian."""

    @property
    @abstractmethod
    def precision(self) -> float:
        """The relative rounding error of one product."""

    @abstractmethod
    def affine(self, X: Block, a: float, b: float, *addends: tuple[float, Block], out: Block | None = None) -> Block:
        """Return a Delta X + b X + c Y + ... for inside blocks, addends (c, Y): one step of any recurrence.

        ``out`` is a block, perhaps an addend, that nobody needs any more: the result may be put in its place.
        """

    @abstractmethod
    def in_single(self) -> Self:
        """Return the operator in single precision, which moves half the bytes."""

    def memberships(self) -> np.ndarray | None:
        """Return how many hyperedges each vertex is in, shape (N,), in the order of the vertices; None if not known."""
        return None

    def clenshaw(self, X: Block, c: np.ndarray, slope: float) -> Block:
        """Return sum over k of c_k T_k(slope Delta - 1) X for an inside block, by Clenshaw's recurrence.

        b_k = c_k X + 2 (slope Delta - 1) b_(k+1) - b_(k+2), and the sum is c_0 X + (slope Delta - 1) b_1 - b_2.
        """
        number = X.dtype.type
        here, after = number(c[-1]) * X, None
        for k in range(len(c) - 2, -1, -1):
            double = 2.0 if k else 1.0
            addends = [(float(c[k]), X)] if after is None else [(float(c[k]), X), (-1.0, after)]
            here, after = self.affine(here, double * slope, -double, *addends, out=after), here
        return here

    def enter(self, X: Block) -> Block:
        """Return a block as the inside has it."""
        return X

    def leave(self, X: Block) -> Block:
        """Return an inside block as the outside has it."""
        return X

    # ------------------------------------------------ vectors; these are of the same kind as what the operator takes

    def vector(self, array: np.ndarray) -> Block:
        """Return numbers, one row a vertex, as an outside block."""
        return np.ascontiguousarray(array, dtype=np.float64)

    def white_noise(self, size: int, rng: np.random.Generator) -> Block:
        """Return independent standard normal numbers as an outside block, shape (N, size)."""
        return rng.standard_normal((self.size, size))

    def signs(self, size: int, rng: np.random.Generator) -> Block:
        """Return independent signs as an outside block, shape (N, size)."""
        return random_signs((self.size, size), rng)

    def array(self, X: Block, rows: np.ndarray | None = None) -> np.ndarray:
        """Return an outside block, or some of its rows, as a NumPy array."""
        return np.asarray(X if rows is None else X[rows])

    def settle(self, X: Block) -> Block:
        """Return a block as values, where it may have been a promise of values."""
        return X

    def keep(self, X: Block) -> Block:
        """Return a block that does not depend on how it came about: what is lost of it need not be computed again."""
        return X

    def concatenate(self, parts: Sequence[Block]) -> Block:
        """Return blocks side by side."""
        return np.hstack(parts)

    def dot(self, X: Block, Y: Block) -> Promise:
        """Return the inner product of each column of one block with that of another, shape (m,), or its promise."""
        return np.einsum("ij,ij->j", X, Y, dtype=np.float64)

    def fetch(self, numbers: Promise | list[Promise]) -> np.ndarray:
        """Return small arrays, or a list of them, that may have been promised."""
        return np.asarray(numbers, dtype=np.float64)

    def __matmul__(self, X: Block) -> Block:
        """Return Delta X for an outside block."""
        return self.leave(self.affine(self.enter(X), 1.0, 0.0))


def random_signs(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return independent numbers +1 and -1: white noise whose squares do not vary."""
    return rng.integers(0, 2, size=shape) * 2.0 - 1.0
