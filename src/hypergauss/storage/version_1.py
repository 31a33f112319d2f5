"""Files of layout 1, which versions before the rebuild wrote: their objects and state, translated.

They hold objects field by field under the names that classes and fields had then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latent_model import LatentModel
from hypergauss.kernels import SpectralKernel
from hypergauss.spectrum import EigenSpectrum, MatrixFreeSpectrum
from hypergauss.storage.classes import STORED
from hypergauss.storage.reading import Reader, name_array, text_array
from hypergauss.storage.writing import Json

#: What estimators had learned under other names.
_RENAMED = {"_posterior": "posterior_", "_latents": "posterior_", "_vertices": "vertices_"}
#: Declared widths of text are believed while all of it takes no more bytes than this.
_LITTLE = 1 << 20


class Version1Reader(Reader):
    """Makes today's objects of the nodes of layout 1."""

    def make(self, kind: str, parts: list[Json]) -> Any:
        """Return the object of one node: arrays of JAX are arrays, and names have a type of NumPy's."""
        if kind == "jax":
            return super().make("array", parts)
        if kind == "names":
            items, dtype, dimensions = (self.decode(part) for part in parts)
            return _names(items, np.dtype(dtype), dimensions)
        return super().make(kind, parts)

    def make_object(self, kind: str, name: str, state: dict[str, Any]) -> Any:
        """Return an object of a class of then."""
        if kind != "object":
            raise ValueError(f"{kind!r} is unknown")
        if name == "SparseMatrix":
            return self.frozen(**state)
        return _TRANSLATED[name](**state) if name in _TRANSLATED else STORED[name].make(state)


def renamed(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimator's state under today's names."""
    return {_RENAMED.get(name, name): value for name, value in state.items()}


def _names(items: list[Any], dtype: np.dtype, dimensions: int) -> np.ndarray:
    if dtype.kind != "U":
        return name_array(items, dimensions)
    longest = max((len(item) for item in items), default=0)
    if dtype.itemsize > 4 * max(longest, 1) and dtype.itemsize * len(items) > _LITTLE:
        raise ValueError(f"text of type {dtype} is declared, and the longest has {longest} characters")
    return text_array(items, dimensions)


def _spectrum(
    eigenvalues: np.ndarray,
    singular_values: np.ndarray | None,
    vertex_vectors: np.ndarray,
    edge_vectors: np.ndarray | None,
    rest: np.ndarray,
    source: Any,
    size_exponent: float,
    density: Any,
) -> EigenSpectrum | MatrixFreeSpectrum:
    """Return one of the two kinds; edge vectors are found again when asked for."""
    del edge_vectors
    if density is not None:
        return MatrixFreeSpectrum(density, source, float(size_exponent), rest)
    return EigenSpectrum(eigenvalues, singular_values, vertex_vectors, rest, source, float(size_exponent))


def _hyperprior(template: LatentModel, **numbers: np.ndarray) -> Any:
    """Return priors of hyperparameters in their order of then: a filter's variance stood before its others."""
    free = parameters.slots(template)
    first = {slot.path[:-1]: number for number, slot in reversed(list(enumerate(free)))}

    def place(slot: parameters.Slot) -> tuple[int, bool]:
        is_variance = slot.path[-1] == "variance" and isinstance(_at(template, slot.path[:-1]), SpectralKernel)
        return first[slot.path[:-1]], not is_variance

    names = [slot.name for slot in sorted(free, key=place)]
    return STORED["Hyperprior"].make({"template": template, "names": names, **numbers})


def _at(node: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)
    return node


def _without(name: str, *dropped: str) -> Callable[..., Any]:
    """Return what makes an object that has fewer fields today."""
    return lambda **state: STORED[name].make({key: held for key, held in state.items() if key not in dropped})


def _nothing(**_: Any) -> None:
    """Stand for what was learned on the way to a size exponent, of which nothing is kept."""


_TRANSLATED: dict[str, Callable[..., Any]] = {
    "GaussianModel": _nothing,
    "Hyperprior": _hyperprior,
    "Learned": _nothing,
    "NaturalSites": _nothing,
    "Profile": _without("Profile", "best"),
    "Spectrum": _spectrum,
    "Sum": _without("Sum", "blocks"),
}
