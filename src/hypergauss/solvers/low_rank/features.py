"""Features of a structured kernel at vertices, and a shelf for those that are asked for again."""

from __future__ import annotations

import numpy as np

from hypergauss.kernels import Kernel

#: Entries of features that are kept for the next to ask.
_SHELVED = 500_000


def check_rank(kernel: Kernel) -> int:
    """Return the number of features, or say which solver serves a kernel without."""
    if kernel.rank is None:
        raise ValueError(
            f"The low-rank solver needs a kernel with features. Got {type(kernel).__name__}, which has none. "
            "Use `solver='dense'`."
        )
    return kernel.rank


def features_at(kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F and the remainder of each vertex, shapes (n, r) and (n,)."""
    F, (_, remainder) = kernel.features_and_structure(kernel.inputs(rows))
    return F, np.broadcast_to(remainder, len(rows))


class Shelf:
    """Features lately asked for: those at the sites, and at the vertices that every latent is predicted at.

    Latents share a kernel, and each asks for the features of the same vertices several times.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Kernel, np.ndarray, tuple[np.ndarray, np.ndarray]]] = []

    def features(self, kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `features_at` of a kernel, which never changes, and rows, which a caller may change."""
        for of, at, found in self._held:
            if of is kernel and len(at) == len(rows) and (at == rows).all():
                return found
        found = features_at(kernel, rows)
        if found[0].size > _SHELVED:
            return found
        self._held = [*self._held[-1:], (kernel, rows.copy(), found)]
        return found
