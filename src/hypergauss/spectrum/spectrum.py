"""Spectrum: the eigenvalues, known or spread, that every spectral kernel on a hypergraph filters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from hypergauss import _checks
from hypergauss._checks import Seed
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.frozen import freeze
from hypergauss.operators import LaplacianOperator
from hypergauss.spectrum.factored import NAMED
from hypergauss.spectrum.given import LaplacianMatrix, given_laplacian
from hypergauss.spectrum.laplacians import Laplacian, ZhouLaplacian, graph_laplacian, zhou_laplacian

#: The names of Laplacians of a hypergraph, and of a graph.
LAPLACIANS = ("zhou", *NAMED)
_OF_GRAPHS = ("normalised", "unnormalised")
#: Eigenvalues up to this are 0 but for rounding.
ZERO = 1e-9
#: The most typical vertices that variances are averaged over.
_MOST_TYPICAL = 1000

if TYPE_CHECKING:
    from hypergauss.spectrum.eigen import EigenSpectrum
    from hypergauss.spectrum.matrix_free import MatrixFreeSpectrum


class _Bounded(Protocol):
    """What `Spectrum.error_bound` asks of a kernel."""

    def error_bound(self) -> float: ...


class Spectrum(ABC):
    r"""The eigenvalues of a Laplacian: some known, the rest in an interval.

    The mean of a filter phi over all N eigenvalues, which is the mean prior variance of a kernel phi(Delta), is

        sum over j of node_weights_j phi(nodes_j) + rest_share b,

    where b stands for phi over the rest.

    There are two kinds. An `EigenSpectrum` has eigenvectors, all that matter or the leading ones. A
    `MatrixFreeSpectrum` has none: the Laplacian is known by its products, and its eigenvalues by their density.

    Make one with `Spectrum.of` or `Spectrum.matrix_free`. It never changes, and is not copied with what holds it.

    Attributes
    ----------
    source : Laplacian
        The matrix.
    size_exponent : float
        The a of the hyperedge weights ``w(e) |e|^a``.
    rest : array, shape (2,)
        The interval that holds eigenvalues that are not known.

    Examples
    --------
    >>> H = Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    >>> spectrum = Spectrum.of(H)
    >>> spectrum.eigenvalues.round(3)
    array([0. , 0.5])
    >>> phi = lambda eigenvalues: np.exp(-eigenvalues)
    >>> mean = spectrum.node_weights @ phi(spectrum.nodes) + spectrum.rest_share * phi(1.0)
    >>> round(float(mean), 6)
    0.658137
    """

    source: Laplacian
    size_exponent: float
    rest: np.ndarray

    @staticmethod
    def of(
        H: Hypergraph | Graph,
        rank: int | None = None,
        size_exponent: float | None = None,
        *,
        laplacian: str | LaplacianMatrix | None = None,
    ) -> EigenSpectrum:
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
        laplacian : str, or matrix or operator of shape (N, N), optional
            Of a hypergraph "zhou", the default, "bolla", "rodriguez" (the clique graph's), "carletti" or "chung"
            (edge-dependent vertex weights): `spectrum.factored` has the formulas. Of a graph "normalised", the default,
            or "unnormalised". Or a symmetric positive semidefinite matrix of your own, dense or sparse, or an operator,
            rows in the order of ``H.vertices``. Only Zhou's has edge vectors and a dual.

        Examples
        --------
        >>> H = Hypergraph.from_edges([["a", "b", "c"], ["c", "d"]])
        >>> Spectrum.of(H, laplacian="rodriguez").eigenvalues.round(3)
        array([0., 1., 3., 4.])
        """
        from hypergauss.spectrum.eigen import EigenSpectrum  # a kind of this

        found, a = laplacian_of(H, size_exponent, laplacian)
        if isinstance(found, ZhouLaplacian):
            return _noted(EigenSpectrum.of_incidence(found, rank, a), H.vertices)
        return _noted(EigenSpectrum.of_laplacian(found, rank, a), H.vertices)

    @staticmethod
    def matrix_free(
        H: Hypergraph | Graph | LaplacianOperator,
        size_exponent: float | None = None,
        *,
        laplacian: str | LaplacianMatrix | None = None,
        n_probes: int | None = None,
        n_steps: int = 40,
        random_state: Seed = None,
    ) -> MatrixFreeSpectrum:
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
        size_exponent, laplacian
            As for `of`; another Laplacian than Zhou's is held as a matrix, with an entry for every two vertices that
            share a hyperedge.
        n_probes, n_steps : int
            Random vectors, and Lanczos steps from each. If a number is given it is that of random vectors, without
            eigenvectors.
        random_state : int, RandomState or None
            For the probes; fixed unless given, so that two spectra of one hypergraph are the same.
        """
        from hypergauss.spectrum.matrix_free import MatrixFreeSpectrum  # a kind of this

        if n_probes is not None:
            _checks.count("n_probes", n_probes)
        _checks.count("n_steps", n_steps)
        if isinstance(H, LaplacianOperator):
            if laplacian is not None:
                raise ValueError("`laplacian` is of a hypergraph or a graph. Got an operator besides. Leave one out.")
            products, a, counts = H, _size_exponent(H, size_exponent), None
        else:
            found, a = laplacian_of(H, size_exponent, laplacian, also=" or a LaplacianOperator")
            products = found.multiplier()
            counts = found.memberships() if products.memberships() is None else None
        spectrum = MatrixFreeSpectrum.of_products(products, a, n_probes, n_steps, _seed(random_state), counts)
        return spectrum if isinstance(H, LaplacianOperator) else _noted(spectrum, H.vertices)

    @property
    def num_vertices(self) -> int:
        """N, the number of vertices."""
        return self.source.size

    @property
    def upper(self) -> float:
        """A number that no eigenvalue exceeds: 1 for Zhou's Laplacian."""
        return self.source.upper

    @cached_property
    def _steps(self) -> tuple[float, float]:
        """The smallest and the largest sqrt(1 - l / upper) of the nodes, those of eigenvalue 0 aside."""
        upper = self.upper or 1.0
        inner = self.nodes[self.nodes > ZERO * upper]
        if not len(inner):
            return 0.0, 1.0
        low, high = np.sqrt(np.maximum(1.0 - np.array([inner.max(), inner.min()]) / upper, 0.0))
        return float(low), float(high)

    def position(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return where sqrt(1 - l / upper) stands between its extremes on the spectrum, from 0 to 1.

        A step of the random walk shrinks a direction by 1 - l / upper: at 0 is what it shrinks most, at 1 what it
        shrinks least, the trivial direction aside.
        """
        low, high = self._steps
        s = np.sqrt(np.maximum(1.0 - eigenvalues / (self.upper or 1.0), 0.0))
        return np.clip((s - low) / max(high - low, 1e-12), 0.0, 1.0)

    @cached_property
    def nodes_and_rest(self) -> np.ndarray:
        """The nodes, and the two ends of the range of all eigenvalues that are not among them, shape (r + 2,)."""
        return np.append(self.nodes, self.rest)

    @cached_property
    def _cosines(self) -> dict[int, np.ndarray]:
        return {}

    def cosines(self, count: int) -> np.ndarray:
        """Return cos(pi j x) / j for j = 1 to count at the `position` x of `nodes_and_rest`, shape (r + 2, count)."""
        if count not in self._cosines:
            self._cosines[count] = cosines(self.position(self.nodes_and_rest), count)
        return self._cosines[count]

    @property
    @abstractmethod
    def is_matrix_free(self) -> bool:
        """Whether there are no eigenvectors, only products and a density."""

    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether no eigenvalue is left to a bound: none is by a matrix-free spectrum, which leaves out nothing."""

    @property
    @abstractmethod
    def nodes(self) -> np.ndarray:
        """Eigenvalues that stand for those that are known, shape (k,)."""

    @property
    @abstractmethod
    def node_weights(self) -> np.ndarray:
        """The share that each node has of all N eigenvalues, shape (k,)."""

    @property
    @abstractmethod
    def rest_share(self) -> float:
        """The share of eigenvalues that are known only to lie in `rest`: together with those of the nodes it is 1."""

    @cached_property
    def relative_memberships(self) -> np.ndarray:
        """How many memberships each vertex has, relative to the median of those that have any, shape (N,)."""
        counts = self.source.memberships()
        return freeze(counts / np.median(counts[counts > 0])) if counts.any() else freeze(counts)

    @cached_property
    def relative_activities(self) -> np.ndarray:
        """The root of each vertex's memberships, relative to that of their mean, less the mean of it, shape (N,).

        Zero where all vertices have as many.
        """
        counts = self.source.memberships()
        roots = np.sqrt(counts / counts.mean()) if counts.any() else counts
        return freeze(roots - roots.mean() if len(roots) else roots)

    @cached_property
    def typical_vertices(self) -> np.ndarray:
        """The vertices that have as many memberships as is typical, or more; of very many, some, evenly spread.

        In the order of their memberships and degrees, so that it hardly matters how vertices are numbered.
        """
        rows = np.flatnonzero(self.relative_memberships >= 1)
        if not len(rows):
            return freeze(np.arange(self.num_vertices))
        order = np.lexsort((self.trivial[rows] ** 2, self.relative_memberships[rows]))
        return freeze(rows[order[:: -(-len(rows) // _MOST_TYPICAL)]])

    @property
    @abstractmethod
    def trivial(self) -> np.ndarray:
        """The unit eigenvector of eigenvalue 0 nearest to a constant, shape (N,); zeros if there is none."""

    @abstractmethod
    def dual(self) -> Spectrum:
        """Return the spectrum of the dual hypergraph, I - A'A."""

    def laplacian(self) -> np.ndarray:
        """Return the Laplacian itself in full, shape (N, N); `source.operator()` is its sparse form."""
        return self.source.dense()

    def error_bound(self, kernel: _Bounded) -> float:
        """Return a bound on the operator-norm error that truncation leaves in a kernel on this spectrum."""
        return kernel.error_bound()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self  # frozen: cloning an estimator must not copy it

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # Made anew from its fields, so that arrays are frozen again and what can be derived does not travel.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


_Made = TypeVar("_Made", bound=Spectrum)
#: Whose vertices a spectrum is of: known where it was made here, and no part of it, so that no file holds names twice.
_made_for: WeakKeyDictionary[Spectrum, pd.Index] = WeakKeyDictionary()


def _noted(spectrum: _Made, vertices: pd.Index) -> _Made:
    """Return the spectrum, whose rows are now known to be of these vertices."""
    _made_for[spectrum] = vertices
    return spectrum


def vertices_of(spectrum: Spectrum) -> pd.Index | None:
    """Return the vertices that a spectrum's rows are of, or None where that is not known, as after loading."""
    return _made_for.get(spectrum)


def laplacian_of(
    H: Hypergraph | Graph, size_exponent: float | None, laplacian: str | LaplacianMatrix | None, *, also: str = ""
) -> tuple[Laplacian, float]:
    """Return the Laplacian of a name, or one that was given, and the size exponent in it.

    Parameters
    ----------
    H, size_exponent, laplacian
        As for `Spectrum.of`.
    also : str
        What else ``H`` may be, for the sentence that refuses it.
    """
    if not isinstance(H, Hypergraph | Graph):
        raise TypeError(f"`H` must be a Hypergraph{',' if also else ' or'} a Graph{also}. Got {type(H).__name__}.")
    if laplacian is not None and not isinstance(laplacian, str):
        if size_exponent is not None:
            raise ValueError(
                "`size_exponent` weighs hyperedges, and a matrix given as `laplacian` has its weights. Got "
                f"{size_exponent}. Leave it out, or name the Laplacian."
            )
        return given_laplacian(laplacian, H.num_vertices), 0.0
    a = _size_exponent(H, size_exponent)
    if isinstance(H, Graph):
        kind = _checks.one_of("laplacian", laplacian or "normalised", _OF_GRAPHS)
        return graph_laplacian(H, normalised=kind == "normalised"), a
    if laplacian in _OF_GRAPHS:
        raise ValueError(
            f"`laplacian` of a hypergraph must be one of {', '.join(map(repr, LAPLACIANS))}. Got {laplacian!r}. For a "
            "graph's Laplacian pass `H.clique_expansion()`."
        )
    name = _checks.one_of("laplacian", laplacian or "zhou", LAPLACIANS)
    return zhou_laplacian(H, a) if name == "zhou" else NAMED[name](H, a), a


def _size_exponent(H: object, size_exponent: float | None) -> float:
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


def _seed(random_state: Seed) -> int:
    """Return a number that seeds probes: 0 unless something is given."""
    if random_state is None:
        return 0
    if not isinstance(random_state, np.random.RandomState):
        random_state = np.random.RandomState(_checks.count("random_state", random_state, least=0, most=2**32 - 1))
    return int(random_state.randint(2**31))


def cosines(x: np.ndarray, count: int) -> np.ndarray:
    """Return cos(pi j x) / j for j = 1 to count, shape (..., count)."""
    j = np.arange(1, count + 1)
    return np.cos(np.pi * x[..., None] * j) / j
