r"""Other Laplacians of a hypergraph, by name: a diagonal less a sum over hyperedges.

With R the incidence (memberships r(v, e)), weights w(e) |e|^a, |e| = D_e(e) = sum over v of r(v, e), and m(e) the
number of members, whatever their memberships weigh:

=============  ====================================================================  ==================================
name           matrix                                                                source
=============  ====================================================================  ==================================
``bolla``      D_v - R W D_e^-1 R'                                                   Bolla (1993)
``rodriguez``  D - C, C(u, v) = sum of w r(u, e) r(v, e) for u != v                  Rodriguez (2002): the clique graph
``carletti``   I - D^-1/2 K D^-1/2, K as C with (m(e) - 1) w(e) in place of w(e)     Carletti et al. (2020)
``chung``      I - (Pi^1/2 P Pi^-1/2 + Pi^-1/2 P' Pi^1/2) / 2, P the walk of         Chung (2005), for the walk of
               edge-dependent vertex weights, Pi its stationary measure              Chitra and Raphael (2019)
=============  ====================================================================  ==================================

Every one is diag(d) - B diag(s) B' with a sparse B of one or two columns a hyperedge and signs s, so that products cost
one pass over the incidences, and no clique expansion is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.frozen import freeze
from hypergauss.operators import LaplacianOperator, LocalLaplacian
from hypergauss.spectrum.laplacians import Laplacian, SparseMatrix, inverse_root, relative_weights
from hypergauss.spectrum.stationary import stationary_measures


@dataclass(frozen=True, eq=False)
class FactoredLaplacian(Laplacian):
    """diag(d) - B diag(s) B'.

    Attributes
    ----------
    diagonal : array, shape (N,)
        d.
    factor : SparseMatrix, shape (N, K)
        B.
    signs : array, shape (K,)
        s, each 1 or -1.
    bound : float
        A number that no eigenvalue exceeds.
    counts : array, shape (N,)
        How many hyperedges each vertex is in.
    """

    name: ClassVar[str] = "factored"
    diagonal: np.ndarray
    factor: SparseMatrix
    signs: np.ndarray
    bound: float
    counts: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.diagonal, self.signs, self.counts):
            freeze(array)

    @property
    def size(self) -> int:  # noqa: D102
        return self.factor.shape[0]

    @property
    def upper(self) -> float:  # noqa: D102
        return self.bound

    def operator(self) -> LinearOperator:  # noqa: D102
        B = self.factor.scipy()
        signed = sp.csr_array((B * self.signs).T)

        def product(x: np.ndarray) -> np.ndarray:
            return (self.diagonal * x.T).T - B @ (signed @ x)

        return LinearOperator((self.size, self.size), matvec=product, rmatvec=product, matmat=product, dtype=float)

    def matrix(self) -> sp.csr_array:
        """Return the matrix itself, an entry for every two vertices that share a hyperedge."""
        B = self.factor.scipy()
        return sp.csr_array(sp.diags_array(self.diagonal) - (B * self.signs) @ B.T)

    def dense(self) -> np.ndarray:  # noqa: D102
        return self.matrix().toarray()

    def multiplier(self) -> LaplacianOperator:
        """Return products with the matrix itself, which has an entry for every two vertices that share a hyperedge."""
        return LocalLaplacian.of_matrix(self.matrix(), self.bound)

    def memberships(self) -> np.ndarray:  # noqa: D102
        return self.counts


def bolla(H: Hypergraph, size_exponent: float = 0.0) -> FactoredLaplacian:
    """Return D_v - R W D_e^-1 R'. It is D_v^1/2 Delta D_v^1/2 for Zhou's Delta, hence at most max D_v."""
    R, w = H.incidence, _weights(H, size_exponent)
    degrees = R @ w
    return _factored(H, degrees, R * (np.sqrt(w) * inverse_root(H.edge_degrees)), float(degrees.max(initial=0.0)))


def rodriguez(H: Hypergraph, size_exponent: float = 0.0) -> FactoredLaplacian:
    """Return D - C of the weighted clique graph. By Gershgorin no eigenvalue exceeds twice the largest degree."""
    w = _weights(H, size_exponent)
    degrees, own = _clique_degrees(H, w)
    return _factored(H, degrees + own, H.incidence * np.sqrt(w), 2.0 * float(degrees.max(initial=0.0)))


def carletti(H: Hypergraph, size_exponent: float = 0.0) -> FactoredLaplacian:
    """Return I - D^-1/2 K D^-1/2, of a walk that goes to another member, through hyperedges by size less one.

    A vertex that the walk cannot leave, isolated or alone in its hyperedges, has a row of the identity.
    """
    others = np.maximum(np.diff(H.incidence.tocsc().indptr) - 1.0, 0.0)
    w = relative_weights(H, size_exponent) * others
    degrees, own = _clique_degrees(H, w)
    root = inverse_root(degrees)
    factor = sp.csr_array(sp.diags_array(root) @ (H.incidence * np.sqrt(w)))
    return _factored(H, 1.0 + root**2 * own, factor, 2.0)


def chung(H: Hypergraph, size_exponent: float = 0.0) -> FactoredLaplacian:
    r"""Return Chung's symmetrisation of the walk that leaves v by a hyperedge, and enters it by memberships.

    With F(v, e) the probability of leaving by e, G(v, e) that of entering v from e, and stationary measures pi on
    vertices and eta on hyperedges, P = F G', and with X = Pi^1/2 F eta^-1/2 and Y = Pi^-1/2 G eta^1/2

        I - (X Y' + Y X') / 2 = I - Z Z' + T T',    Z = (X + Y) / 2,  T = (X - Y) / 2.

    No eigenvalue exceeds 1 plus the square of T's norm. Without edge-dependent weights the walk is reversible, T = 0,
    and this is Zhou's Laplacian.
    """
    R = H.incidence
    members = sp.csr_array(((R.data > 0).astype(float), R.indices, R.indptr), shape=R.shape)
    w = relative_weights(H, size_exponent)
    leaving = sp.csr_array(sp.diags_array(inverse_root(members @ w) ** 2) @ (members * w))
    entering = sp.csr_array(R * inverse_root(H.edge_degrees) ** 2)
    pi, eta = stationary_measures(leaving, entering)
    X = sp.diags_array(np.sqrt(pi)) @ (leaving * inverse_root(eta))
    Y = sp.diags_array(inverse_root(pi)) @ (entering * np.sqrt(eta))
    Z, T = (X + Y) / 2, (X - Y) / 2
    # |T|^2 is at most the product of the largest sums of a row and of a column.
    sums = [np.abs(T).sum(axis=axis).max(initial=0.0) for axis in (0, 1)]
    signs = np.repeat([1.0, -1.0], R.shape[1])
    return _factored(
        H, np.ones(R.shape[0]), sp.csr_array(sp.hstack([Z, T])), min(2.0, 1.0 + float(sums[0] * sums[1])), signs
    )


#: By the name that `Spectrum.of` knows them by.
NAMED: dict[str, Callable[[Hypergraph, float], FactoredLaplacian]] = {
    "bolla": bolla,
    "rodriguez": rodriguez,
    "carletti": carletti,
    "chung": chung,
}


def _factored(
    H: Hypergraph, diagonal: np.ndarray, factor: sp.csr_array, bound: float, signs: np.ndarray | None = None
) -> FactoredLaplacian:
    counts = np.diff(H.incidence.indptr).astype(np.float64)
    signs = np.ones(factor.shape[1]) if signs is None else signs
    return FactoredLaplacian(diagonal, SparseMatrix.of(sp.csr_array(factor)), signs, bound, counts)


def _weights(H: Hypergraph, size_exponent: float) -> np.ndarray:
    """Return w(e) |e|^a as they are: matrices that are not normalised have their scale."""
    sizes = H.edge_degrees
    with np.errstate(over="ignore", divide="ignore"):
        weights = H.weights * np.where(sizes > 0, sizes, 1.0) ** size_exponent
    if not np.isfinite(weights).all():
        raise ValueError(
            "`size_exponent` must leave weights w(e) |e|^a within what floats can carry. Got "
            f"{size_exponent:g} with hyperedges of up to {sizes.max():g}. Choose one nearer to 0."
        )
    return weights


def _clique_degrees(H: Hypergraph, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sum over e of w r(v, e) (|e| - r(v, e)), and sum over e of w r(v, e)^2."""
    R = H.incidence
    sizes = np.maximum(H.edge_degrees[R.indices] - R.data, 0.0)
    degrees = sp.csr_array((w[R.indices] * R.data * sizes, R.indices, R.indptr), shape=R.shape).sum(axis=1)
    own = sp.csr_array((w[R.indices] * R.data**2, R.indices, R.indptr), shape=R.shape).sum(axis=1)
    return np.asarray(degrees), np.asarray(own)
