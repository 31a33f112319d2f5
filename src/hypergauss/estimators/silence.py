"""Relations that say nothing of how vertices are related, and other reasons why only a level is predicted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

from hypergauss.exceptions import LearningWarning
from hypergauss.hypergraph import Graph, Hypergraph
from hypergauss.kernels import Kernel, Product, SpectralKernel, Standardised, Sum
from hypergauss.spectrum import EigenSpectrum


def warn_of_silence(
    kernel: Kernel, relations: Mapping[str, Hypergraph | Graph], little: Sequence[str], *, then: str
) -> None:
    """Say in one sentence if nothing is left to tell vertices apart by, and why; or which relation adds nothing.

    Parameters
    ----------
    kernel : Kernel
        What was learned.
    relations : dict of name to Hypergraph or Graph
        What it was made from.
    little : sequence of str
        What else leaves little to predict.
    then : str
        What predictions then are, such as "Predictions will be little more than the mean".
    """
    parts = list(_parts(kernel, next(iter(relations), "hypergraph")))
    silent = [label for label, spectrum in parts if spectrum is not None and spectrum.is_silent]
    why = {label: f"{label!r} {_reason(relations.get(label))}" for label in silent}
    found = list(little)
    if len(silent) == len(parts):
        found += why.values()
    elif not found:
        for label in silent:
            warnings.warn(
                f"Predictions are those of the other parts, since {why[label]}.", LearningWarning, stacklevel=4
            )
    if found:
        warnings.warn(f"{then}, since {'; and since '.join(found)}.", LearningWarning, stacklevel=4)


def _reason(relation: Hypergraph | Graph | None) -> str:
    if isinstance(relation, Hypergraph) and relation.num_incidences == 0:
        return "has no hyperedge with members: it says nothing about any vertex"
    return "relates all vertices alike, and once its level is taken out nothing is left to tell them apart by"


def _parts(kernel: Kernel, label: str) -> Iterator[tuple[str, EigenSpectrum | None]]:
    """Yield each part of a kernel by its label with its spectrum, None where that is not known or there is none."""
    if isinstance(kernel, Sum | Product):
        for part, own in zip(kernel.terms if isinstance(kernel, Sum) else kernel.factors, kernel.labels, strict=True):
            yield from _parts(part, own)
        return
    spectrum = kernel.spectrum if isinstance(kernel, SpectralKernel | Standardised) else None
    yield label, spectrum if isinstance(spectrum, EigenSpectrum) else None
