"""Spectra computed before, kept for as long as their hypergraph lives.

Cross-validation fits one hypergraph again and again, and the search over size exponents visits the same values each
time. Hypergraphs never change, so a spectrum found once stays true.
"""

from __future__ import annotations

from collections import OrderedDict
from weakref import WeakKeyDictionary

import jax

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.spectrum.spectrum import Spectrum

#: Spectra kept for one hypergraph, and the largest that is kept at all, in bytes.
_MOST_KEPT, _LARGEST_KEPT = 16, 8 * 2**20

_kept: WeakKeyDictionary[Hypergraph | Graph, OrderedDict[tuple[int | None, float | None], Spectrum]] = (
    WeakKeyDictionary()
)


def cached_spectrum(H: Hypergraph | Graph, rank: int | None, size_exponent: float | None) -> Spectrum:
    """Return `Spectrum.of(H, rank, size_exponent)`, computed at most once where it is small enough to keep."""
    own = _kept.setdefault(H, OrderedDict())
    key = (rank, size_exponent)
    if key in own:
        own.move_to_end(key)
        return own[key]
    spectrum = Spectrum.of(H, rank, size_exponent)
    if sum(leaf.nbytes for leaf in jax.tree.leaves(spectrum)) <= _LARGEST_KEPT:
        own[key] = spectrum
        if len(own) > _MOST_KEPT:
            own.popitem(last=False)
    return spectrum
