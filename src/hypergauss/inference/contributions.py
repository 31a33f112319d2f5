r"""What a posterior mean is made of, to the last term.

The mean at a vertex is linear in the sites, m(v) = mean + sum over i of b_i (z_i - mean), with weights b of the solver.
It is also a sum over the hyperedges that the vertex is in. With a = (K + Sigma)^-1 (z - mean), m(v) = mean + K_vt a,
and for a filter of the spectrum K = rest I + U diag(w) U', where A = U diag(s) V' gives U = A V diag(1/s):

    K_vt a = rest a_v + sum over e of A_ve g_e,    g = V diag(w / s) U_t' a.

Each hyperedge has one value g_e, which it tells all its members, as loudly as they take part (A_ve).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hypergauss.inference.posterior import Posterior
from hypergauss.kernels import Kernel, Product, SpectralKernel, Sum
from hypergauss.kernels.base import feature_weights, remainder
from hypergauss.spectrum.laplacians import ZhouLaplacian

#: Singular values, relative to one, below which a left vector is no longer told by the right one.
_SMALL = 1e-8


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
    alpha = posterior.dual_weights()
    return [part for column in alpha.T for part in _parts(posterior.prior.kernel, row, rows, column, label)]


def _parts(kernel: Kernel, row: int, rows: np.ndarray, alpha: np.ndarray, label: str) -> list[Part]:
    if isinstance(kernel, Sum):
        named = zip(kernel.terms, kernel.labels, strict=True)
        return [part for term, own in named for part in _parts(term, row, rows, alpha, own)]
    if isinstance(kernel, Product):
        first, second = kernel.factors
        # What speaks through hyperedges goes on doing so, each observation weighed by the other factor.
        if not _has_edges(first) and _has_edges(second):
            first, second = second, first
        weighed = np.asarray(second.gram([row], rows))[0] * alpha
        return _parts(first, row, rows, weighed, kernel.labels[0] if first is kernel.factors[0] else kernel.labels[1])
    if isinstance(kernel, SpectralKernel) and _has_edges(kernel):
        return [_spectral_part(kernel, row, rows, alpha, label)]
    none = np.zeros(0)
    return [Part(label, none.astype(int), none, float(np.asarray(kernel.gram([row], rows))[0] @ alpha))]


def _has_edges(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return any(_has_edges(part) for part in (kernel.terms if isinstance(kernel, Sum) else kernel.factors))
    return isinstance(kernel, SpectralKernel) and isinstance(kernel.spectrum.source, ZhouLaplacian)


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
            spectrum: Any = part.spectrum
            values = spectrum.edge_vectors @ _told(part, rows, alpha)[0]
            found.append(EdgeValues(own, spectrum.source.incidence.scipy(), values))
    return found


def _told(kernel: SpectralKernel, rows: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return diag(w / s) U_t' a, and w U_t' a where s is too small for that."""
    spectrum: Any = kernel.spectrum  # a hypergraph's, which has singular values and vectors of both sides
    s = spectrum.singular_values
    coefficients = np.asarray(feature_weights(kernel)) * (spectrum.vertex_vectors[rows].T @ alpha)
    clear = s > _SMALL
    return np.where(clear, coefficients / np.where(clear, s, 1.0), 0.0), np.where(clear, 0.0, coefficients)


def _spectral_part(kernel: SpectralKernel, row: int, rows: np.ndarray, alpha: np.ndarray, label: str) -> Part:
    spectrum: Any = kernel.spectrum
    incidence = spectrum.source.incidence.scipy()[[row]]
    through, untold = _told(kernel, rows, alpha)
    values = incidence.data * (spectrum.edge_vectors[incidence.indices] @ through)
    rest = float(spectrum.vertex_vectors[row] @ untold)
    rest += float(remainder(kernel, None)) * float(alpha[rows == row].sum())
    return Part(label, incidence.indices, values, rest)
