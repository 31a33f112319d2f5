"""Names of the hyperedges that a kernel speaks through: those of the relation that it was made from, if it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.hypergraph.names import Name, plain
from hypergauss.solvers.contributions import incidence_of
from hypergauss.spectrum import Spectrum
from hypergauss.spectrum.laplacians import normalised_incidence

#: Entries of a normalised incidence, which are at most one, may differ by so much: single precision keeps that.
_SAME = 1e-6


def edge_names(label: str, spectrum: Spectrum, relations: Mapping[str, Hypergraph | Graph]) -> Sequence[Name]:
    """Return a name for each hyperedge of a kernel's spectrum.

    A kernel may bring a spectrum of its own, of another hypergraph on the same vertices. Labels and counts do not tell
    whose hyperedges it has; the incidence does. Where it is that of no relation, hyperedges have numbers and say so.

    Parameters
    ----------
    label : str
        Of the kernel: where several relations have its incidence, the one so named is meant.
    spectrum : Spectrum
        What the kernel filters, made from an incidence.
    relations : dict of name to Hypergraph or Graph
        Those that may have made it.
    """
    incidence = incidence_of(spectrum)
    hypergraphs = {name: relation for name, relation in relations.items() if isinstance(relation, Hypergraph)}
    for name in sorted(hypergraphs, key=lambda name: name != label):
        if _is_of(hypergraphs[name], incidence, spectrum.size_exponent):
            return [plain(edge) for edge in hypergraphs[name].edges]
    return [f"hyperedge {number} of the kernel" for number in range(incidence.shape[1])]


def _is_of(H: Hypergraph, incidence: sp.csr_array, size_exponent: float) -> bool:
    """Return whether a normalised incidence is that of a hypergraph, hyperedges in its order."""
    if H.incidence.shape != incidence.shape:
        return False
    difference = normalised_incidence(H, size_exponent) - incidence
    return bool(np.abs(difference.data).max(initial=0.0) <= _SAME)
