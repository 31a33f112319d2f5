r"""What a posterior mean is made of, to the last term.

The mean at a vertex is linear in the sites, m(v) = mean + sum over i of b_i (z_i - mean), with weights b of the solver.
It is also a sum over the hyperedges that the vertex is in. With a = (K + Sigma)^-1 (z - mean), m(v) = mean + K_vt a,
and for a filter of the spectrum K = rest I + U diag(w) U', where A = U diag(s) V' gives U = A V diag(1/s):

    K_vt a = rest a_v + sum over e of A_ve g_e,    g = V diag(w / s) U_t' a.

Each hyperedge has one value g_e, which it tells all its members, as loudly as they take part (A_ve). Where the solver
is the iterative one, K is a polynomial p of Delta = I - A A', and division by 1 - l leaves p(l) = p(1) + (1 - l) q(l):

    K_vt a = p(1) a_v + sum over e of A_ve g_e,       g = A' q(Delta) a.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.polynomial.chebyshev import chebdiv

from hypergauss.solvers.base import Posterior
from hypergauss.kernels import Kernel, Product, SpectralKernel, Sum
from hypergauss.kernels.base import feature_weights, remainder
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.operators import LocalLaplacian
from hypergauss.spectrum import chebyshev
from hypergauss.spectrum.laplacians import MatrixFreeLaplacian, ZhouLaplacian

#: Singular values, relative to one, below which a left vector is no longer told by the right one.
_SMALL = 1e-8
#: Error of the polynomial that stands for a filter, relative to the filter's largest value.
_TOLERANCE = 1e-12
#: 1 - l in Chebyshev polynomials on [0, 1], where all eigenvalues of Zhou's Laplacian are.
_COMPLEMENT = (0.5, -0.5)


class Part(NamedTuple):
    """What one part of a kernel adds to the mean at a vertex.

    Attributes
    ----------
    label : str
        Of the part, as in a sum of kernels.
    edges : array of int
        The vertex's hyperedges, where the part speaks through hyperedges.
    values : array
        What each of them adds.
    rest : float
        What is left: the vertex's own observation, or all of a part without hyperedges.
    """

    label: str
    edges: np.ndarray
    values: np.ndarray
    rest: float


def edge_parts(posterior: Posterior, row: int, label: str = "hypergraph") -> list[Part]:
    """Return the parts whose values and rests add up, for each output, to the posterior mean less the prior's.

    Arrays have one column an output.
    """
    rows = np.asarray(posterior.sites.rows)
    kernel, by_products = posterior.prior.kernel, _is_by_products(posterior)
    return [
        part
        for column in posterior.dual_weights().T
        for part in _parts(kernel, row, rows, column, label, by_products=by_products)
    ]


def _is_by_products(posterior: Posterior) -> bool:
    """Return whether means are products with the Laplacian itself, whatever eigenvectors a kernel may have too."""
    return posterior.solver == "iterative"


def _parts(
    kernel: Kernel, row: int, rows: np.ndarray, alpha: np.ndarray, label: str, *, by_products: bool
) -> list[Part]:
    if isinstance(kernel, Sum):
        named = zip(kernel.terms, kernel.labels, strict=True)
        return [part for term, own in named for part in _parts(term, row, rows, alpha, own, by_products=by_products)]
    if isinstance(kernel, Product):
        first, second = kernel.factors
        # What speaks through hyperedges goes on doing so, each observation weighed by the other factor; and so does
        # a filter of which there are only products.
        is_filter = by_products and isinstance(second, SpectralKernel)
        if is_filter or (_has_edges(second) and not _has_edges(first)):
            first, second = second, first
        weighed = np.asarray(second.gram([row], rows))[0] * alpha
        own = kernel.labels[0] if first is kernel.factors[0] else kernel.labels[1]
        return _parts(first, row, rows, weighed, own, by_products=by_products)
    if isinstance(kernel, SpectralKernel) and _has_edges(kernel):
        return [_spectral_part(kernel, row, rows, alpha, label, by_products=by_products)]
    none = np.zeros(0)
    if by_products and isinstance(kernel, SpectralKernel):
        whole = float(_filtered(kernel, rows, alpha, filter_expansion(kernel, _TOLERANCE).coefficients)[row])
    else:
        whole = float(np.asarray(kernel.gram([row], rows))[0] @ alpha)
    return [Part(label, none.astype(int), none, whole)]


def _has_edges(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return any(_has_edges(part) for part in (kernel.terms if isinstance(kernel, Sum) else kernel.factors))
    if not isinstance(kernel, SpectralKernel):
        return False
    source = kernel.spectrum.source
    if isinstance(source, MatrixFreeLaplacian):
        return isinstance(source.products, LocalLaplacian) and source.products.has_incidence
    return isinstance(source, ZhouLaplacian)


def _incidence(kernel: Any) -> sp.csr_array:
    """Return the normalised incidence of a kernel that speaks through hyperedges."""
    source = kernel.spectrum.source
    held: Any = source.products if isinstance(source, MatrixFreeLaplacian) else source.incidence
    return held.incidence if isinstance(held, LocalLaplacian) else held.scipy()


class EdgeValues(NamedTuple):
    """What every hyperedge of one relation tells its members: v hears incidence[v, e] times values[e]."""

    label: str
    incidence: sp.csr_array
    values: np.ndarray


def edge_values(posterior: Posterior, output: int = 0, label: str = "hypergraph") -> list[EdgeValues]:
    """Return the g of each part that speaks through hyperedges; none of a product, where g differs between vertices."""
    rows, alpha = np.asarray(posterior.sites.rows), posterior.dual_weights()[:, output]
    kernel = posterior.prior.kernel
    parts = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    labels = kernel.labels if isinstance(kernel, Sum) else (label,)
    found = []
    for part, own in zip(parts, labels, strict=True):
        if isinstance(part, SpectralKernel) and _has_edges(part):
            A = _incidence(part)
            voices = _voices(part, rows, alpha, by_products=_is_by_products(posterior))
            found.append(EdgeValues(own, A, voices.of(np.arange(A.shape[1]))))
    return found


class _Voices(NamedTuple):
    """g = V c, and what stays with the vertices themselves: U d + rest a."""

    edge_vectors: np.ndarray
    through: np.ndarray  # c
    untold: np.ndarray  # d, along singular vectors of so small a value that no hyperedge tells them
    rest: float

    def of(self, edges: np.ndarray) -> np.ndarray:
        """Return g at some hyperedges."""
        return self.edge_vectors[edges] @ self.through


def _voices(kernel: Any, rows: np.ndarray, alpha: np.ndarray, *, by_products: bool) -> _Voices:
    """Return what hyperedges tell, from eigenvectors; by products g itself, as the only vector."""
    spectrum = kernel.spectrum  # a hypergraph's, which has singular values and vectors of both sides
    if not by_products:
        s = spectrum.singular_values
        coefficients = np.asarray(feature_weights(kernel)) * (spectrum.vertex_vectors[rows].T @ alpha)
        clear = s > _SMALL
        through = np.where(clear, coefficients / np.where(clear, s, 1.0), 0.0)
        return _Voices(
            spectrum.edge_vectors, through, np.where(clear, 0.0, coefficients), float(remainder(kernel, None))
        )
    quotient, rest = chebdiv(filter_expansion(kernel, _TOLERANCE).coefficients, _COMPLEMENT)
    g = _incidence(kernel).T @ _filtered(kernel, rows, alpha, quotient)
    nothing = np.zeros(spectrum.vertex_vectors.shape[1])
    return _Voices(g[:, None], np.ones(1), nothing, float(rest[0]) * float(kernel.density().scale))


def _filtered(kernel: Any, rows: np.ndarray, alpha: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return a polynomial of Delta, times the kernel's scale, of numbers at some vertices and zero elsewhere."""
    operator = kernel.spectrum.source.multiplier()
    whole = np.zeros((operator.size, 1))
    whole[rows, 0] = float(kernel.density().scale) * alpha
    expansion = chebyshev.Expansion(coefficients, operator.upper or 1.0, 0.0)
    return operator.array(chebyshev.apply(operator, expansion, operator.vector(whole)))[:, 0]


def _spectral_part(
    kernel: Any, row: int, rows: np.ndarray, alpha: np.ndarray, label: str, *, by_products: bool
) -> Part:
    incidence = _incidence(kernel)[[row]]
    voices = _voices(kernel, rows, alpha, by_products=by_products)
    rest = voices.rest * float(alpha[rows == row].sum())
    rest += float(kernel.spectrum.vertex_vectors[row] @ voices.untold)
    return Part(label, incidence.indices, incidence.data * voices.of(incidence.indices), rest)
