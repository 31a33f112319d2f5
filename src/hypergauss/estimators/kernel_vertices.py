"""A kernel that a user brings must be on the model's vertices, in their order: rows of its spectrum have no names."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hypergauss.hypergraph.names import plain
from hypergauss.kernels import Kernel, Product, SpectralKernel, Standardised, Sum
from hypergauss.spectrum import Spectrum
from hypergauss.spectrum.spectrum import vertices_of


def check_vertices(kernel: Kernel, vertices: pd.Index) -> None:
    """Refuse a kernel on other vertices than these, or in another order, where it is known what it was made for.

    Vertices that are only numbered, on either side, have no names to compare: then rows go by their order.
    """
    for spectrum in _spectra(kernel):
        made_for = vertices_of(spectrum)
        if made_for is None or len(made_for) != len(vertices) or made_for.equals(vertices):
            continue
        are_same = not len(vertices.difference(made_for, sort=False))
        if not are_same and (_is_numbering(made_for) or _is_numbering(vertices)):
            continue
        here, there = next((h, t) for h, t in zip(vertices, made_for, strict=True) if h != t)
        raise ValueError(
            f"`kernel` must be on the vertices of `H`{', in their order' if are_same else ''}. Got one with "
            f"{plain(there)!r} in the place of {plain(here)!r}. Make its spectrum of a hypergraph on the same "
            "vertices: `Spectrum.of(other.with_vertices(H.vertices))`."
        )


def _spectra(kernel: Kernel) -> Iterator[Spectrum]:
    if isinstance(kernel, Sum | Product):
        for part in kernel.terms if isinstance(kernel, Sum) else kernel.factors:
            yield from _spectra(part)
    elif isinstance(kernel, SpectralKernel | Standardised):
        yield kernel.spectrum


def _is_numbering(index: pd.Index) -> bool:
    return index.equals(pd.RangeIndex(len(index)))
