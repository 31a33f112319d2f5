"""EigenSpectrum: a Laplacian's eigenvalues and eigenvectors, all that matter or the leading ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from hypergauss import _checks
from hypergauss._views import html_table
from hypergauss.hypergraph.frozen import freeze
from hypergauss.spectrum import decomposition
from hypergauss.spectrum.laplacians import Laplacian, SparseMatrix, ZhouLaplacian
from hypergauss.spectrum.spectrum import ZERO, Spectrum

#: How far below zero, relative to the largest, rounding may put an eigenvalue.
_NEGATIVE = 1e-8
#: How far from the upper end, relative to it, rounding may put an eigenvalue that is there.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class EigenSpectrum(Spectrum):
    r"""A Laplacian as a known part and a rest: Delta = U diag(l) U' + (rest on the complement of U).

    For Zhou's Laplacian, Delta = I - A A' with the normalised incidence A = U diag(s) V', so l = 1 - s^2 and the rest
    is the eigenvalue 1: the decomposition of rank r <= min(N, M) is exact, not an approximation. The right singular
    vectors V are the eigenvectors of the dual's Laplacian I - A'A: one decomposition serves vertices and hyperedges.

    A truncated spectrum keeps the r smallest eigenvalues and knows only that the rest lie in an interval; kernels then
    report the error that this leaves (`error_bound`).

    Make one with `Spectrum.of`.

    Attributes
    ----------
    eigenvalues : array, shape (r,)
        l, ascending.
    singular_values : array, shape (r,), or None unless the Laplacian is Zhou's
        s, descending.
    vertex_vectors : array, shape (N, r)
        U, orthonormal columns.
    rest : array, shape (2,)
        The interval that holds the remaining N - r eigenvalues.
    source : Laplacian
        The matrix: a ZhouLaplacian, GraphLaplacian or FactoredLaplacian.
    size_exponent : float
        The a of the hyperedge weights ``w(e) |e|^a``.

    Examples
    --------
    >>> from hypergauss import Hypergraph
    >>> spectrum = Spectrum.of(Hypergraph.from_edges([["a", "b"], ["b", "c"]]))
    >>> spectrum.singular_values.round(3)
    array([1.   , 0.707])
    >>> spectrum.vertex_vectors.shape, spectrum.edge_vectors.shape
    ((3, 2), (2, 2))
    """

    eigenvalues: np.ndarray
    singular_values: np.ndarray | None
    vertex_vectors: np.ndarray
    rest: np.ndarray
    source: Laplacian
    size_exponent: float = 0.0

    def __post_init__(self) -> None:
        for array in (self.eigenvalues, self.singular_values, self.vertex_vectors, self.rest):
            if array is not None:
                freeze(array)

    @classmethod
    def of_incidence(cls, laplacian: ZhouLaplacian, rank: int | None, size_exponent: float) -> Self:
        """Decompose a hypergraph's Laplacian: that of the smaller of A A' and A'A, or ``rank`` steps into it."""
        A = laplacian.incidence.scipy()
        thin = min(A.shape)
        if rank is not None:
            _checks.count("rank", rank, most=max(thin, 1), why=f"the incidence matrix is {A.shape[0]} x {A.shape[1]}")
        # Lanczos pays only well below full rank; there it cannot find the last vectors at all.
        if rank is None or rank > thin // 2:
            left, s, rest = decomposition.exact(A)
            if rank is not None and rank < len(s):
                left, s, rest = np.ascontiguousarray(left[:, :rank]), s[:rank].copy(), float(s[rank])
        else:
            left, s, rest = decomposition.truncated(A, rank)
        return cls(1.0 - s**2, s, left, np.array([1.0 - rest**2, 1.0]), laplacian, size_exponent)

    @classmethod
    def of_laplacian(cls, laplacian: Laplacian, rank: int | None, size_exponent: float = 0.0) -> Self:
        """Decompose any other Laplacian, of a graph or a hypergraph, and refuse one with negative eigenvalues."""
        if rank is not None:
            _checks.count("rank", rank, most=laplacian.size, why=f"there are {laplacian.size} vertices")
        if rank is None or rank > laplacian.size // 2:
            values, vectors = decomposition.eigen(laplacian.dense())
            keep = len(values) if rank is None else rank
            rest = np.array([values[keep], values[-1]] if keep < len(values) else [values[-1]] * 2)
            values, vectors = values[:keep].copy(), np.ascontiguousarray(vectors[:, :keep])
        else:
            values, vectors, least = decomposition.smallest_eigen(laplacian.operator(), laplacian.upper, rank)
            rest = np.array([least, laplacian.upper])
        if len(values) and values[0] < -_NEGATIVE * max(laplacian.upper, -values[0]):
            raise ValueError(
                f"`laplacian` must be positive semidefinite. Got the eigenvalue {values[0]:.4g} (none is above "
                f"{laplacian.upper:.4g}). Pass degrees less adjacency, or add {-values[0]:.4g} to the diagonal."
            )
        # What is at an end but for rounding is there: filters that vanish at the upper end would make much of it.
        values, rest = (_at_its_end(found, laplacian.upper) for found in (values, rest))
        return cls(values, None, vectors, rest, laplacian, size_exponent)

    @cached_property
    def edge_vectors(self) -> np.ndarray | None:
        """V, shape (M, r), orthonormal columns; None unless the Laplacian is Zhou's. Found when asked for."""
        if self.singular_values is None or not isinstance(self.source, ZhouLaplacian):
            return None
        A = self.source.incidence.scipy()
        return freeze(decomposition.other_side(A, self.vertex_vectors, self.singular_values))

    @cached_property
    def _trivial(self) -> np.ndarray:
        """The direction nearest to a constant among the k eigenvectors of eigenvalue 0, shape (k,); zero if none is."""
        null = self.vertex_vectors[:, : int((self.eigenvalues <= ZERO * (self.upper or 1.0)).sum())]
        along = null.sum(axis=0)  # U_0' 1
        length = np.linalg.norm(along)
        return along / length if length > 0 else along

    def centred(self, coefficients: np.ndarray) -> np.ndarray:
        """Return coefficients of eigenvectors, shape (..., r), without the trivial direction.

        That is the direction of the null space nearest to a constant. On a connected hypergraph it is the one
        eigenvector of eigenvalue 0: sqrt(degree) of Zhou's Laplacian and of normalised ones (of Chung's, the root of
        the stationary measure), the constant itself of those that are not normalised. With several components their
        levels stay, relative to one another. A matrix without eigenvalue 0 has nothing to take out.
        """
        return self._centre(np.array(coefficients))

    def _centre(self, coefficients: np.ndarray) -> np.ndarray:
        """Take the trivial direction out of an array, in place."""
        trivial = self._trivial
        null = coefficients[..., : len(trivial)]
        null -= (null @ trivial)[..., None] * trivial
        return coefficients

    def centred_vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of U, given by index, without the trivial direction, shape (n, r)."""
        return self._centre(self.vertex_vectors[rows])  # a copy

    @cached_property
    def trivial(self) -> np.ndarray:  # noqa: D102
        return freeze(self.vertex_vectors[:, : len(self._trivial)] @ self._trivial)

    def trivial_shares(self, rows: np.ndarray) -> np.ndarray:
        """Return the squares of the trivial direction at some vertices, shape (n,): over all of them they add up to 1.

        Of Zhou's Laplacian on a connected hypergraph, a vertex's share of all degrees.
        """
        return self.trivial[rows] ** 2

    @cached_property
    def typical_squares(self) -> tuple[np.ndarray, np.ndarray]:
        """The squares of the centred U at typical vertices, shape (m, r), and those of the trivial direction, (m,)."""
        rows = self.typical_vertices
        return freeze(self.centred_vectors(rows) ** 2), freeze(self.trivial_shares(rows))

    @property
    def is_silent(self) -> bool:
        """Whether the Laplacian is a multiple of the identity on all but the trivial direction.

        No filter of it relates any two vertices then: there is one vertex, one hyperedge of all, or none.
        """
        null = len(self._trivial)
        left = np.append(self.eigenvalues[null:], self.rest if self.rank < self.num_vertices else [])
        if null > int(self._trivial.any()):
            left = np.append(left, 0.0)
        return bool(np.ptp(left) <= ZERO * (self.upper or 1.0)) if len(left) else True

    @property
    def num_vertices(self) -> int:  # noqa: D102
        return len(self.vertex_vectors)

    @property
    def rank(self) -> int:
        """The number r of known eigenvalues."""
        return len(self.eigenvalues)

    @property
    def is_matrix_free(self) -> bool:  # noqa: D102
        return False

    @property
    def is_exact(self) -> bool:  # noqa: D102
        return self.rank == self.num_vertices or bool(self.rest[0] == self.rest[1])

    @property
    def nodes(self) -> np.ndarray:  # noqa: D102
        return self.eigenvalues

    @cached_property
    def node_weights(self) -> np.ndarray:  # noqa: D102
        return freeze(np.full(self.rank, 1.0 / max(self.num_vertices, 1)))

    @property
    def rest_share(self) -> float:  # noqa: D102
        return (self.num_vertices - self.rank) / max(self.num_vertices, 1)

    def dual(self) -> EigenSpectrum:
        """Return the spectrum of the dual hypergraph, I - A'A, from the same decomposition."""
        if self.edge_vectors is None or not isinstance(self.source, ZhouLaplacian):
            raise ValueError(
                "Only Zhou's Laplacian of a hypergraph has a dual. Got the spectrum of another matrix "
                f"({type(self.source).__name__}). Use `Spectrum.of(H)` with a Hypergraph, or `Spectrum.of(H.dual())`."
            )
        transposed = ZhouLaplacian(SparseMatrix.of(self.source.incidence.scipy().T.tocsr()))
        dual = EigenSpectrum(
            self.eigenvalues, self.singular_values, self.edge_vectors, self.rest, transposed, self.size_exponent
        )
        vars(dual)["edge_vectors"] = self.vertex_vectors  # known already
        return dual

    def _repr_html_(self) -> str:
        smallest = ", ".join(f"{max(value, 0.0):.4f}" for value in self.eigenvalues[:8])
        kind = "exact" if self.is_exact else f"the others lie in [{self.rest[0]:.4g}, {self.rest[1]:.4g}]"
        rows = {
            "vertices": f"{self.num_vertices:,}",
            "rank": f"{self.rank:,}, {kind}",
            "smallest eigenvalues": smallest,
            "size exponent": f"{self.size_exponent:g}",
        }
        return html_table("Spectrum", rows)

    def __repr__(self) -> str:
        kind = "exact" if self.is_exact else f"truncated, rest in [{self.rest[0]:.4g}, {self.rest[1]:.4g}]"
        sizes = f"{self.num_vertices:,} vertices, rank {self.rank:,}"
        return f"Spectrum({sizes}, {kind}, size_exponent={self.size_exponent:g})"


def _at_its_end(eigenvalues: np.ndarray, upper: float) -> np.ndarray:
    """Return eigenvalues within [0, upper], those next to the upper end at it."""
    clipped = np.clip(eigenvalues, 0.0, upper)
    return np.where(upper - clipped <= _ROUNDING * upper, upper, clipped)
