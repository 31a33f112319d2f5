"""MatrixFreeSpectrum: a Laplacian known by its products, and its eigenvalues by how they are spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn, Self

import numpy as np

from hypergauss._views import html_table
from hypergauss.hypergraph.frozen import freeze
from hypergauss.operators import LaplacianOperator, LocalLaplacian
from hypergauss.spectrum.density import SpectralDensity
from hypergauss.spectrum.laplacians import Laplacian, MatrixFreeLaplacian, ZhouLaplacian
from hypergauss.spectrum.local_density import LocalDensity, trivial_direction
from hypergauss.spectrum.spectrum import Spectrum

#: Probes of a matrix-free spectrum; all unit vectors where there are no more vertices than this.
_PROBES, _FEW_VERTICES = 8, 1_000
#: Vertices and incidences that may come, as a share of those there are, before a density of probes is found anew.
_GROWTH = 0.02
#: Leading eigenvectors that probes are relieved of, where they are found within seconds.
_LEADING, _WITHIN_SECONDS = 64, 200_000


@dataclass(frozen=True, eq=False, repr=False)
class MatrixFreeSpectrum(Spectrum):
    r"""Products with Delta, and nodes with tr phi(Delta) ~ N sum over j of node_weights_j phi(nodes_j).

    There are no eigenvectors, so there is no rank. Nothing is left out either: no eigenvalue belongs to a rest.

    Make one with `Spectrum.matrix_free`.

    Attributes
    ----------
    density : SpectralDensity
        How the eigenvalues are spread.
    source : MatrixFreeLaplacian
        The products.
    size_exponent : float
        The a of the hyperedge weights ``w(e) |e|^a``.
    rest : array, shape (2,)
        The interval from 0 to `upper` that holds all eigenvalues.
    estimated_at : int
        Vertices and incidences together when the density was found.

    Examples
    --------
    >>> from hypergauss import Hypergraph
    >>> spectrum = Spectrum.matrix_free(Hypergraph.from_edges([["a", "b"], ["b", "c"]]))
    >>> round(float(spectrum.node_weights @ np.exp(-spectrum.nodes)), 6)
    0.658137
    """

    density: SpectralDensity
    source: Laplacian
    size_exponent: float
    rest: np.ndarray
    estimated_at: int = 0

    def __post_init__(self) -> None:
        for array in (self.density.nodes, self.density.weights, self.rest):
            freeze(array)

    @classmethod
    def of_products(
        cls,
        products: LaplacianOperator,
        size_exponent: float,
        n_probes: int | None,
        n_steps: int,
        seed: int,
        counts: np.ndarray | None = None,
    ) -> Self:
        """Estimate how an operator's eigenvalues are spread: by random vectors alone if their number is given.

        ``counts`` are memberships of the vertices, where products do not tell them.
        """
        N = products.size
        chosen = (N if N <= _FEW_VERTICES else _PROBES) if n_probes is None else n_probes
        leading = _LEADING if n_probes is None and N <= _WITHIN_SECONDS else 0
        # Of many vertices rounding in single precision is far below what probes leave to chance.
        multiplied = products if N <= _WITHIN_SECONDS else products.in_single()
        density = SpectralDensity.of(multiplied, chosen, n_steps, np.random.default_rng(seed), leading)
        rest = np.array([0.0, products.upper])
        return cls(density, MatrixFreeLaplacian(products, counts), size_exponent, rest, _size(products))

    def keeps_density(self, more: int) -> bool:
        """Return whether the density stays an estimate of the same worth after so many more vertices and incidences.

        A density by probes does as long as these have changed by no more than a fiftieth since it was made, and with it
        the largest eigenvalue of every kernel.
        """
        now = _size(self.source.multiplier()) + more
        return bool(self.density.n_random) and abs(now - self.estimated_at) <= _GROWTH * self.estimated_at

    def grown(self, source: ZhouLaplacian, moved: np.ndarray) -> Self | None:
        """Return the spectrum of a hypergraph that has grown by little, or None where it is to be found anew.

        See `keeps_density`.

        Parameters
        ----------
        source : ZhouLaplacian
            Of the grown hypergraph.
        moved : array of int, shape (N,)
            Where each vertex stands now.
        """
        products = self.source.multiplier()
        is_local = isinstance(products, LocalLaplacian) and products.has_incidence
        A = source.incidence.scipy()
        if not is_local or source.null is None or not self.keeps_density(A.shape[0] + A.nnz - _size(products)):
            return None
        grown = products.grown(A, moved, null=source.null)  # type: ignore[attr-defined]
        return replace(self, source=MatrixFreeLaplacian(grown))

    @property
    def is_matrix_free(self) -> bool:  # noqa: D102
        return True

    @property
    def is_exact(self) -> bool:  # noqa: D102
        return True

    @property
    def nodes(self) -> np.ndarray:  # noqa: D102
        return self.density.nodes.ravel()

    @property
    def node_weights(self) -> np.ndarray:  # noqa: D102
        return self.density.weights.ravel()

    @property
    def rest_share(self) -> float:  # noqa: D102
        return 0.0

    @cached_property
    def trivial(self) -> np.ndarray:  # noqa: D102
        return freeze(trivial_direction(self.source.multiplier()))

    @cached_property
    def local_density(self) -> LocalDensity:
        """How the eigenvalues are spread as each vertex sees them: some 10,000 products, when it is first asked for."""
        return LocalDensity.of(self.source.multiplier(), self.trivial)

    def dual(self) -> NoReturn:
        """Refuse: products with A A' do not tell those with A'A."""
        raise ValueError(
            "The dual of a matrix-free spectrum is not known from its products. Make it with "
            "`Spectrum.matrix_free(H.dual())`."
        )

    def _repr_html_(self) -> str:
        rows = {"vertices": f"{self.num_vertices:,}", "size exponent": f"{self.size_exponent:g}"}
        return html_table("Spectrum, known by products alone", rows)

    def __repr__(self) -> str:
        return f"Spectrum({self.num_vertices:,} vertices, matrix-free, size_exponent={self.size_exponent:g})"


def _size(products: LaplacianOperator) -> int:
    """Return the number of vertices and, where they are here, incidences."""
    return products.size + (products.num_incidences if isinstance(products, LocalLaplacian) else 0)
