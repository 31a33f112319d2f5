"""Several relations on one set of vertices, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypergauss.kernels.composition import Sum
from hypergauss.kernels.filters import Matern
from hypergauss.kernels.spectral import SpectralKernel
from hypergauss.spectrum import Spectrum


def relations(spectra: Mapping[str, Spectrum], kernel: type[SpectralKernel] = Matern, **parameters: Any) -> Sum:
    """Return the sum of one kernel a relation, each with a variance of its own that tells how much it matters.

    Parameters
    ----------
    spectra : dict of name to Spectrum
        One for each relation, all on the same vertices in the same order.
    kernel : class
        Which spectral kernel.
    **parameters
        Its starting values; the variances are divided by the number of relations.
    """
    if not spectra:
        raise ValueError("`spectra` must hold at least one relation. Got none.")
    return Sum.of_equal_shares({str(name): kernel(spectrum, **parameters) for name, spectrum in spectra.items()})
