"""Kernels as formulas of a vector of coordinates, with derivatives, for packages that differentiate their own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hypergauss import parameters
from hypergauss._checks import Values
from hypergauss.kernels import Kernel

#: Some arrays that hyperparameters set.
Arrays = tuple[np.ndarray, ...]


class GatheredKernel:
    """A kernel whose inputs are at hand for all N vertices, and few arrays that its covariances follow from.

    Those are weights of its r features and the remainder of each vertex; or the covariances themselves if it has no
    features, as many as there are vertices, or features that hyperparameters move.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = check_kernel(kernel)
        is_thin = kernel.rank is not None and kernel.rank < kernel.num_vertices
        self.is_low_rank = is_thin and not kernel.features_move
        self._limits = parameters.bounds(kernel).T
        self._inputs = kernel.inputs(np.arange(kernel.num_vertices))

    def at(self, theta: Values) -> Kernel:
        """Return the kernel at coordinates theta, brought within their range."""
        return parameters.unpack(self.kernel, np.clip(np.asarray(theta, dtype=np.float64), *self._limits))

    def features(self) -> np.ndarray:
        """Return F at all vertices, shape (N, r)."""
        return self.kernel.features(self._inputs)

    def structure(self, kernel: Kernel) -> Arrays:
        """Return the weights, shape (r,), and the remainder of each vertex, shape (N,)."""
        weights, remainder = kernel.structure(self._inputs)
        return weights, np.broadcast_to(remainder, kernel.num_vertices)

    def arrays(self, kernel: Kernel) -> Arrays:
        """Return weights and remainders, or covariances of shape (N, N)."""
        return self.structure(kernel) if self.is_low_rank else (kernel.cross(self._inputs, self._inputs),)

    def tangents(self, theta: np.ndarray, formula: Callable[[Kernel], Arrays]) -> Arrays:
        """Return derivatives of a formula's arrays, with a first axis of coordinates; zero for one out of its range."""
        here = self.at(theta)
        inside = (theta >= self._limits[0]) & (theta <= self._limits[1])
        jacobians = tuple(np.zeros((len(theta), *array.shape)) for array in formula(here))
        for j, parts in enumerate(parameters.tangents(here, formula)):
            for jacobian, part in zip(jacobians, parts, strict=True):
                jacobian[j] = inside[j] * part
        return jacobians


def check_kernel(kernel: object) -> Kernel:
    """Return the kernel if it is one of ours, else explain."""
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"`kernel` must be a kernel of hypergauss. Got {type(kernel).__name__}. "
            "A fitted estimator's is `model.kernel_`."
        )
    return kernel


def as_vertices(X: Values, num_vertices: int) -> np.ndarray:
    """Return a column of vertex numbers as a flat array of integers, checked to exist."""
    array = np.asarray(X)
    flat = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if (
        flat.ndim != 1
        or (flat != np.round(flat)).any()
        or (len(flat) and not 0 <= flat.min() <= flat.max() < num_vertices)
    ):
        raise ValueError(
            f"X must be one column of vertex numbers in 0..{num_vertices - 1}. Got shape {array.shape}"
            f"{f', from {flat.min()} to {flat.max()}' if flat.ndim == 1 and len(flat) else ''}. "
            "Names become numbers with `H.vertex_rows(names)[:, None]`."
        )
    return flat.astype(np.int64)
