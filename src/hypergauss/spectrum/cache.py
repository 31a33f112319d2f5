"""Spectra computed before, kept for as long as their hypergraph lives.

Cross-validation fits one hypergraph again and again, and the search over size exponents visits the same values each
time. Hypergraphs never change, so a spectrum found once stays true.
"""

from __future__ import annotations

from collections import OrderedDict
from weakref import WeakKeyDictionary

import numpy as np

from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.spectrum.eigen import EigenSpectrum
from hypergauss.spectrum.given import LaplacianMatrix
from hypergauss.spectrum.laplacians import SparseMatrix
from hypergauss.spectrum.spectrum import Spectrum

#: Spectra kept for one hypergraph, and the largest that is kept at all, in bytes.
_MOST_KEPT, _LARGEST_KEPT = 16, 8 * 2**20

_Key = tuple[int | None, float | None, str | None]
_kept: WeakKeyDictionary[Hypergraph | Graph, OrderedDict[_Key, EigenSpectrum]] = WeakKeyDictionary()


def cached_spectrum(
    H: Hypergraph | Graph,
    rank: int | None,
    size_exponent: float | None,
    laplacian: str | LaplacianMatrix | None = None,
) -> EigenSpectrum:
    """Return `Spectrum.of` with these arguments, computed at most once where it is small enough to keep.

    A matrix, unlike a name, may change: its spectrum is not kept.
    """
    if not (laplacian is None or isinstance(laplacian, str)):
        return Spectrum.of(H, rank, size_exponent, laplacian=laplacian)
    own = _kept.setdefault(H, OrderedDict())
    key = (rank, size_exponent, laplacian)
    spectrum = own.pop(key) if key in own else Spectrum.of(H, rank, size_exponent, laplacian=laplacian)
    # One whose edge vectors were asked for meanwhile may have outgrown its place.
    if num_bytes(spectrum) <= _LARGEST_KEPT:
        own[key] = spectrum
        if len(own) > _MOST_KEPT:
            own.popitem(last=False)
    return spectrum


def is_kept(H: Hypergraph | Graph, spectrum: Spectrum) -> bool:
    """Return whether a spectrum is one that was computed for a hypergraph, by the usual Laplacian, and is kept."""
    kept: OrderedDict[_Key, EigenSpectrum] = _kept.get(H, OrderedDict())
    return any(each is spectrum for (*_, laplacian), each in kept.items() if laplacian is None)


def num_bytes(spectrum: EigenSpectrum) -> int:
    """Return the bytes of the arrays that a spectrum holds now: edge vectors count once they were asked for."""
    matrices = (part for part in vars(spectrum.source).values() if isinstance(part, SparseMatrix))
    held = [*vars(spectrum).values(), *(array for matrix in matrices for array in matrix)]
    return sum(array.nbytes for array in held if isinstance(array, np.ndarray))
