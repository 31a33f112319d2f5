"""Whose vertices a spectrum is of: known where it was made here, and no part of it: no file holds names twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import pandas as pd

if TYPE_CHECKING:
    from hypergauss.spectrum.spectrum import Spectrum

Made = TypeVar("Made", bound="Spectrum")
_names: WeakKeyDictionary[Spectrum, pd.Index] = WeakKeyDictionary()


def noted(spectrum: Made, vertices: pd.Index) -> Made:
    """Return the spectrum, whose rows are now known to be of these vertices."""
    _names[spectrum] = vertices
    return spectrum


def vertices_of(spectrum: Spectrum) -> pd.Index | None:
    """Return the vertices that a spectrum's rows are of, or None where that is not known, as after loading."""
    return _names.get(spectrum)
