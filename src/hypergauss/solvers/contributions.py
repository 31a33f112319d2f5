r"""What a posterior mean is made of, to the last term.

The mean at a vertex is linear in the sites, m(v) = mean + sum over i of b_i (z_i - mean), with weights b of the solver.
It is also a sum over the hyperedges that the vertex is in. With a = (K + Sigma)^-1 (z - mean), m(v) = mean + K_vt a,
and for a filter of the spectrum K = rest I + U diag(w) U', where A = U diag(s) V' gives U = A V diag(1/s):

    K_vt a = rest a_v + sum over e of A_ve g_e,    g = V diag(w / s) U_t' a.

Each hyperedge has one value g_e, which it tells all its members, as loudly as they take part (A_ve). Where a posterior
is found by products, K is a polynomial p of Delta = I - A A', and division by 1 - l leaves p(l) = p(1) + (1 - l) q(l):

    K_vt a = p(1) a_v + sum over e of A_ve g_e,       g = A' q(Delta) a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.polynomial.chebyshev import chebdiv

from hypergauss.kernels import Kernel, Product, SpectralKernel, Standardised, Sum
from hypergauss.kernels.base import Inputs
from hypergauss.kernels.polynomial import filter_expansion
from hypergauss.operators import LocalLaplacian, scattered
from hypergauss.solvers.base import Posterior
from hypergauss.spectrum import EigenSpectrum, Spectrum, chebyshev
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
    spectrum : Spectrum or None
        Whose hyperedges they are, where the part speaks through hyperedges.
    """

    label: str
    edges: np.ndarray
    values: np.ndarray
    rest: float
    spectrum: Spectrum | None = None


def edge_parts(posterior: Posterior, row: int, label: str = "hypergraph") -> list[Part]:
    """Return the parts whose values and rests add up, for each output, to the posterior mean less the prior's.

    Arrays have one column an output.
    """
    kernel, rows = posterior.prior.kernel, posterior.sites.rows
    return [
        part
        for column in posterior.dual_weights().T
        for part in _parts(kernel, row, rows, column, label, by_products=posterior.is_by_products)
    ]


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
        weighed = second.gram([row], rows)[0] * alpha
        own = kernel.labels[0] if first is kernel.factors[0] else kernel.labels[1]
        return _parts(first, row, rows, weighed, own, by_products=by_products)
    none = np.zeros(0)
    if isinstance(kernel, SpectralKernel | Standardised) and _has_edges(kernel):
        incidence = heard(kernel, np.array([row]))
        voices = _voices(kernel, rows, alpha, by_products=by_products)
        told = incidence.data * voices.values[incidence.indices]
        found = [Part(label, incidence.indices, told, float(voices.rest[row]), kernel.spectrum)]
        if isinstance(kernel, Standardised) and kernel.has_level:
            found.append(Part("level", none.astype(int), none, float(kernel.level_variance * alpha.sum())))
        if isinstance(kernel, Standardised) and kernel.has_activity:
            h = kernel.spectrum.relative_activities
            told_by_itself = float(kernel.variance * kernel.activity * h[row] * (h[rows] @ alpha))
            found.append(Part("activity", none.astype(int), none, told_by_itself))
        return found
    if by_products and isinstance(kernel, SpectralKernel):
        whole = float(_filtered(kernel, rows, alpha, filter_expansion(kernel, _TOLERANCE).coefficients)[row])
    else:
        whole = float(kernel.gram([row], rows)[0] @ alpha)
    return [Part(label, none.astype(int), none, whole)]


def _has_edges(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return any(_has_edges(part) for part in (kernel.terms if isinstance(kernel, Sum) else kernel.factors))
    if not isinstance(kernel, SpectralKernel | Standardised):
        return False
    source = kernel.spectrum.source
    if isinstance(source, MatrixFreeLaplacian):
        return isinstance(source.products, LocalLaplacian) and source.products.has_incidence
    return isinstance(source, ZhouLaplacian)


def incidence_of(spectrum: Spectrum) -> sp.csr_array:
    """Return the normalised incidence of a spectrum whose kernels speak through hyperedges."""
    source = spectrum.source
    if isinstance(source, MatrixFreeLaplacian):
        return source.products.incidence  # type: ignore[attr-defined]
    return source.incidence.scipy()  # type: ignore[attr-defined]


def heard(kernel: SpectralKernel | Standardised, rows: np.ndarray) -> sp.csr_array:
    """Return how loudly vertices hear their hyperedges: rows of A, or of T A where vertices have a scale."""
    incidence = incidence_of(kernel.spectrum)[rows]
    if not isinstance(kernel, Standardised):
        return incidence
    return sp.csr_array(sp.diags_array(kernel.scale(rows)) @ incidence)


class EdgeValues(NamedTuple):
    """What every hyperedge of a spectrum tells its members: v hears incidence[v, e] times values[e]."""

    label: str
    spectrum: Spectrum
    incidence: sp.csr_array
    values: np.ndarray


def edge_values(posterior: Posterior, output: int = 0, label: str = "hypergraph") -> list[EdgeValues]:
    """Return the g of each part that speaks through hyperedges; none of a product, where g differs between vertices."""
    rows, alpha = posterior.sites.rows, posterior.dual_weights()[:, output]
    kernel = posterior.prior.kernel
    parts = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    labels = kernel.labels if isinstance(kernel, Sum) else (label,)
    found = []
    for part, own in zip(parts, labels, strict=True):
        if isinstance(part, SpectralKernel | Standardised) and _has_edges(part):
            voices = _voices(part, rows, alpha, by_products=posterior.is_by_products)
            found.append(EdgeValues(own, part.spectrum, heard(part, np.arange(part.num_vertices)), voices.values))
    return found


class _Voices(NamedTuple):
    """g, shape (M,), and what stays with each vertex itself, shape (N,)."""

    values: np.ndarray
    rest: np.ndarray


def _voices(
    kernel: SpectralKernel | Standardised, rows: np.ndarray, alpha: np.ndarray, *, by_products: bool
) -> _Voices:
    """Return what hyperedges tell: by products, or from eigenvectors."""
    own = np.zeros(kernel.num_vertices)
    if by_products and isinstance(kernel, SpectralKernel):
        quotient, rest = chebdiv(filter_expansion(kernel, _TOLERANCE).coefficients, _COMPLEMENT)
        own[rows] += float(rest[0]) * float(kernel.density().scale) * alpha
        return _Voices(incidence_of(kernel.spectrum).T @ _filtered(kernel, rows, alpha, quotient), own)
    if not kernel.has_eigenvectors:
        return _field_voices(kernel, rows, alpha)  # type: ignore[arg-type]
    spectrum = kernel.spectrum
    if not isinstance(spectrum, EigenSpectrum) or spectrum.singular_values is None or spectrum.edge_vectors is None:
        raise TypeError(f"Hyperedges tell what singular vectors say of both sides. Got {spectrum!r}.")
    inputs: Inputs = kernel.inputs(rows)
    remainder = kernel.remainder(inputs)
    # A level and activity, the last features if there are any, speak through no hyperedge.
    weights, F = kernel.weights()[: spectrum.rank], kernel.features(inputs)[:, : spectrum.rank]
    coefficients = weights * (F.T @ alpha)
    if isinstance(kernel, Standardised):
        coefficients = spectrum.centred(coefficients)
    clear = spectrum.singular_values > _SMALL
    through = np.divide(coefficients, spectrum.singular_values, out=np.zeros_like(coefficients), where=clear)
    if not clear.all():  # along singular vectors of so small a value, no hyperedge tells anything
        told = spectrum.vertex_vectors[:, ~clear] @ coefficients[~clear]
        own += kernel.scale(np.arange(len(own))) * told if isinstance(kernel, Standardised) else told
    own[rows] += remainder * alpha
    return _Voices(spectrum.edge_vectors @ through, own)


def _field_voices(kernel: Standardised, rows: np.ndarray, alpha: np.ndarray) -> _Voices:
    """Return what hyperedges tell of T g + e, g a filter's less what it has along u: u = A A'u is told by them too."""
    field, part, u = kernel.as_field(None), kernel.part, kernel.spectrum.trivial
    heard_by, (whole, along) = field.scale[rows] * alpha, kernel.variances_at_ends()
    quotient, rest = chebdiv(filter_expansion(part, _TOLERANCE).coefficients, _COMPLEMENT)
    unit = 1.0 / float(part.density().scale)  # a standardised kernel has a scale of its own
    incidence = incidence_of(kernel.spectrum)
    values = float(kernel.variance) * unit * (incidence.T @ _filtered(part, rows, heard_by, quotient))
    values -= float(whole - along) * (u[rows] @ heard_by) * (incidence.T @ u)
    own = np.zeros(kernel.num_vertices)
    own[rows] = (float(kernel.variance * rest[0]) * field.scale[rows] ** 2 + field.own[rows]) * alpha
    return _Voices(values, own)


def _filtered(kernel: SpectralKernel, rows: np.ndarray, alpha: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return a polynomial of Delta, times the kernel's scale, of numbers at some vertices and zero elsewhere."""
    operator = kernel.spectrum.source.multiplier()
    expansion = chebyshev.Expansion(coefficients, operator.upper or 1.0, 0.0)
    block = scattered(operator, rows, float(kernel.density().scale) * alpha)
    return operator.array(chebyshev.apply(operator, expansion, block))[:, 0]
