"""Kernels as functions of vertex numbers and of a vector of coordinates, for programs that trace either."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.kernels import Kernel


class GatheredKernel:
    """A kernel whose inputs are at hand for all vertices. Compared by identity, so that it can be a static field."""

    def __init__(self, kernel: Kernel) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"`kernel` must be a kernel of hypergauss. Got {type(kernel).__name__}. "
                "A fitted estimator's is `model.kernel_`."
            )
        self.kernel = kernel
        self.limits = parameters.bounds(kernel)
        self._inputs = kernel.inputs(np.arange(kernel.num_vertices))

    def at(self, theta: Any) -> Kernel:
        """Return the kernel at coordinates theta, brought within their range."""
        return parameters.unpack(self.kernel, jnp.clip(theta, self.limits[:, 0], self.limits[:, 1]))

    def inputs(self, vertices: Any) -> Any:
        """Gather the inputs of vertices given by number, traced or not; one that does not exist gives NaN."""
        rows = jnp.asarray(vertices).astype(int)
        return jax.tree.map(lambda leaf: jnp.take(jnp.asarray(leaf), rows, axis=0, mode="fill"), self._inputs)

    def cross(self, theta: Any, left: Any, right: Any) -> Float[Array, "n m"]:
        """Return the covariances between two lists of vertices at coordinates theta."""
        return self.at(theta).cross(self.inputs(left), self.inputs(right))

    def variances(self, theta: Any, vertices: Any) -> Float[Array, " n"]:
        """Return the prior variances of vertices at coordinates theta."""
        return self.at(theta).variances(self.inputs(vertices))


def as_vertices(X: Any, num_vertices: int) -> np.ndarray:
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
