"""Spectrum: the eigenvalues and eigenvectors that every spectral kernel on a hypergraph is made of."""

from __future__ import annotations

from typing import Any, Protocol, Self

import equinox as eqx
import numpy as np
from sklearn.utils import check_random_state

from hypergauss import _checks
from hypergauss.hypergraph.frozen import freeze
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.operators import LaplacianOperator
from hypergauss.spectrum import decomposition
from hypergauss.spectrum.density import SpectralDensity
from hypergauss.spectrum.laplacians import (
    GraphLaplacian,
    Laplacian,
    MatrixFreeLaplacian,
    SparseMatrix,
    ZhouLaplacian,
    graph_laplacian,
    zhou_laplacian,
)

#: Probes of a matrix-free spectrum; all unit vectors where there are no more vertices than this.
_PROBES, _FEW_VERTICES = 8, 1_000
#: Leading eigenvectors that probes are relieved of, where they are found within seconds.
_LEADING, _WITHIN_SECONDS = 64, 200_000


class _Bounded(Protocol):
    """What `Spectrum.error_bound` asks of a kernel."""

    def error_bound(self) -> float: ...


class Spectrum(eqx.Module):
    r"""A Laplacian as a known part and a rest: Delta = U diag(l) U' + (rest on the complement of U).

    For Zhou's Laplacian, Delta = I - A A' with the normalised incidence A = U diag(s) V', so l = 1 - s^2 and the rest
    is the eigenvalue 1: the decomposition of rank r <= min(N, M) is exact, not an approximation. The right singular
    vectors V are the eigenvectors of the dual's Laplacian I - A'A: one decomposition serves vertices and hyperedges.

    A truncated spectrum keeps the r smallest eigenvalues and knows only that the rest lie in an interval; kernels then
    report the error that this leaves (`error_bound`). A matrix-free one has no eigenvectors: the Laplacian is known by
    its products, and its eigenvalues by their density.

    Make one with `Spectrum.of` or `Spectrum.matrix_free`.

    Attributes
    ----------
    eigenvalues : array, shape (r,)
        l, ascending.
    singular_values : array, shape (r,), or None for a graph
        s, descending.
    vertex_vectors : array, shape (N, r)
        U, orthonormal columns.
    edge_vectors : array, shape (M, r), or None for a graph
        V, orthonormal columns.
    rest : array, shape (2,)
        The interval that holds the remaining N - r eigenvalues.
    size_exponent : float
        The a of the hyperedge weights ``w(e) |e|^a``.

    Examples
    --------
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> Spectrum.of(H).eigenvalues.round(3)
    array([0. , 0.5])
    """

    eigenvalues: np.ndarray
    singular_values: np.ndarray | None
    vertex_vectors: np.ndarray
    edge_vectors: np.ndarray | None
    rest: np.ndarray
    source: Laplacian
    # A leaf of the pytree, not static: another exponent must not compile anything again.
    size_exponent: np.float64 = eqx.field(converter=np.float64)
    #: Without eigenvectors: how the eigenvalues are spread.
    density: SpectralDensity | None = None

    @classmethod
    def matrix_free(
        cls,
        H: Hypergraph | Graph | LaplacianOperator,
        size_exponent: float | None = None,
        *,
        n_probes: int | None = None,
        n_steps: int = 40,
        random_state: Any = None,
    ) -> Self:
        """Return the spectrum of a hypergraph too large for eigenvectors: products, and the density of eigenvalues.

        Kernels on it are for the iterative solver, which needs nothing else. The density serves the normalisation
        (the mean prior variance). With n_probes random vectors alone it would have a relative error of some
        (2 / (n_probes r))^1/2, where r = (tr phi)^2 / tr phi^2 tells how many eigenvalues a filter phi lets through: N
        for a flat one, a few for a steep one. Up to 200,000 vertices leading eigenvectors take the largest part of
        that, and up to 1,000 nothing is random. `density.standard_error` estimates what is left: a factor of the
        kernel's variance.

        Parameters
        ----------
        H : Hypergraph, Graph, or LaplacianOperator
            What relates the vertices, or its Laplacian as products.
        size_exponent : float, default 0.0
            As for `of`.
        n_probes, n_steps : int
            Random vectors, and Lanczos steps from each. If a number is given it is that of random vectors, without
            eigenvectors.
        random_state : int, RandomState or None
            For the probes; fixed unless given, so that two spectra of one hypergraph are the same.
        """
        if n_probes is not None:
            _checks.count("n_probes", n_probes)
        _checks.count("n_steps", n_steps)
        a = _size_exponent(H, size_exponent)
        if isinstance(H, Graph):
            products = graph_laplacian(H).multiplier()
        elif isinstance(H, Hypergraph):
            products = zhou_laplacian(H, a).multiplier()
        elif isinstance(H, LaplacianOperator):
            products = H
        else:
            raise TypeError(f"`H` must be a Hypergraph, a Graph or a LaplacianOperator. Got {type(H).__name__}.")
        rng = np.random.default_rng(0 if random_state is None else check_random_state(random_state).randint(2**31))
        N = products.size
        chosen = (N if N <= _FEW_VERTICES else _PROBES) if n_probes is None else n_probes
        leading = _LEADING if n_probes is None and N <= _WITHIN_SECONDS else 0
        nothing = np.zeros((N, 0))
        return cls(
            eigenvalues=freeze(np.zeros(0)),
            singular_values=None,
            vertex_vectors=freeze(nothing),
            edge_vectors=None,
            rest=freeze(np.array([0.0, products.upper])),
            source=MatrixFreeLaplacian(products),
            size_exponent=np.float64(a),
            density=SpectralDensity.of(products, chosen, n_steps, rng, leading),
        )

    @classmethod
    def of(
        cls,
        H: Hypergraph | Graph,
        rank: int | None = None,
        size_exponent: float | None = None,
        *,
        laplacian: str | None = None,
    ) -> Self:
        """Decompose a hypergraph or a graph.

        Parameters
        ----------
        H : Hypergraph or Graph
            What to decompose.
        rank : int, optional
            Keep only this many leading singular values; all of them if not given.
        size_exponent : float, default 0.0
            a: each hyperedge weight w(e) is multiplied by ``|e|^a``. 0 is Zhou's Laplacian, 1 the weighted clique graph
            with self-loops. Hypergraphs only.
        laplacian : {"zhou", "normalised", "unnormalised"}, optional
            "zhou" for a hypergraph; for a graph "normalised" unless "unnormalised" is asked for.
        """
        a = _size_exponent(H, size_exponent)
        if isinstance(H, Graph):
            kind = _checks.one_of("laplacian", laplacian or "normalised", ("normalised", "unnormalised"))
            return cls._of_graph(graph_laplacian(H, normalised=kind == "normalised"), rank)
        if not isinstance(H, Hypergraph):
            raise TypeError(f"`H` must be a Hypergraph or a Graph. Got {type(H).__name__}.")
        if laplacian not in (None, "zhou"):
            raise ValueError(
                f"`laplacian` of a hypergraph must be 'zhou'. Got {laplacian!r}. For a graph's Laplacian pass "
                "`H.clique_expansion()`."
            )
        return cls._of_incidence(zhou_laplacian(H, a), rank, a)

    @classmethod
    def _of_incidence(cls, laplacian: ZhouLaplacian, rank: int | None, size_exponent: float) -> Self:
        A = laplacian.incidence.scipy()
        thin = min(A.shape)
        if rank is not None:
            _checks.count("rank", rank, most=max(thin, 1), why=f"the incidence matrix is {A.shape[0]} x {A.shape[1]}")
        # Lanczos pays only well below full rank; there it cannot find the last vectors at all.
        if rank is None or rank > thin // 2:
            factors = decomposition.exact(A)
            if rank is not None and rank < len(factors.singular_values):
                left, s, right, _ = factors
                factors = decomposition.Factors(left[:, :rank], s[:rank], right[:, :rank], float(s[rank]))
        else:
            factors = decomposition.truncated(A, rank)
        return cls(
            eigenvalues=freeze(1.0 - factors.singular_values**2),
            singular_values=freeze(factors.singular_values),
            vertex_vectors=freeze(factors.left),
            edge_vectors=freeze(factors.right),
            rest=freeze(np.array([1.0 - factors.rest**2, 1.0])),
            source=laplacian,
            size_exponent=np.float64(size_exponent),
        )

    @classmethod
    def _of_graph(cls, laplacian: GraphLaplacian, rank: int | None) -> Self:
        if rank is not None:
            _checks.count("rank", rank, most=laplacian.size, why=f"the graph has {laplacian.size} vertices")
        if rank is None or rank > laplacian.size // 2:
            values, vectors = decomposition.eigen(laplacian.dense())
            keep = len(values) if rank is None else rank
            rest = np.array([values[keep], values[-1]] if keep < len(values) else [values[-1]] * 2)
            values, vectors = values[:keep], vectors[:, :keep]
        else:
            values, vectors, least = decomposition.smallest_eigen(laplacian.operator(), laplacian.upper, rank)
            rest = np.array([least, laplacian.upper])
        return cls(freeze(values), None, freeze(vectors), None, freeze(rest), laplacian, np.float64(0.0))

    @property
    def num_vertices(self) -> int:
        """N, the number of vertices."""
        return int(self.vertex_vectors.shape[0])

    @property
    def rank(self) -> int:
        """The number r of known eigenvalues."""
        return int(self.vertex_vectors.shape[1])

    @property
    def upper(self) -> float:
        """A number that no eigenvalue exceeds: 1 for Zhou's Laplacian."""
        return self.source.upper

    @property
    def is_matrix_free(self) -> bool:
        """Whether there are no eigenvectors, only products and a density."""
        return self.density is not None

    @property
    def is_exact(self) -> bool:
        """Whether no eigenvalue is left to a bound: none is by a matrix-free spectrum, which leaves out nothing."""
        return self.is_matrix_free or self.rank == self.num_vertices or bool(self.rest[0] == self.rest[1])

    def dual(self) -> Spectrum:
        """Return the spectrum of the dual hypergraph, I - A'A, from the same decomposition."""
        if self.is_matrix_free:
            raise ValueError(
                "The dual of a matrix-free spectrum is not known from its products. Make it with "
                "`Spectrum.matrix_free(H.dual())`."
            )
        if self.edge_vectors is None or not isinstance(self.source, ZhouLaplacian):
            raise ValueError("Only a hypergraph has a dual, and this is a graph's spectrum. Pass a Hypergraph.")
        transposed = SparseMatrix.of(self.source.incidence.scipy().T.tocsr())
        return Spectrum(
            self.eigenvalues,
            self.singular_values,
            self.edge_vectors,
            self.vertex_vectors,
            self.rest,
            ZhouLaplacian(transposed),
            self.size_exponent,
        )

    def laplacian(self) -> np.ndarray:
        """Return the Laplacian itself in full, shape (N, N); `source.operator()` is its sparse form."""
        return self.source.dense()

    def error_bound(self, kernel: _Bounded) -> float:
        """Return a bound on the operator-norm error that truncation leaves in a kernel on this spectrum."""
        return kernel.error_bound()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # frozen: cloning an estimator must not copy it

    def __repr__(self) -> str:
        if self.is_matrix_free:
            return f"Spectrum({self.num_vertices:,} vertices, matrix-free, size_exponent={self.size_exponent:g})"
        kind = "exact" if self.is_exact else f"truncated, rest in [{self.rest[0]:.4g}, {self.rest[1]:.4g}]"
        sizes = f"{self.num_vertices:,} vertices, rank {self.rank:,}"
        return f"Spectrum({sizes}, {kind}, size_exponent={self.size_exponent:g})"


def _size_exponent(H: Any, size_exponent: float | None) -> float:
    """Return a, 0 unless given; only the hyperedges of a hypergraph have sizes."""
    if size_exponent is None:
        return 0.0
    if isinstance(H, Graph | LaplacianOperator):
        kind = "a graph has none" if isinstance(H, Graph) else f"{type(H).__name__} does not tell them"
        raise ValueError(
            f"`size_exponent` weighs hyperedges by their size, and {kind}. Got {size_exponent}. Leave it out, or pass "
            "the hypergraph."
        )
    return _checks.real("size_exponent", size_exponent)
