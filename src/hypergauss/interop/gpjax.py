"""A kernel inside GPJax 1.x (extra ``gpjax``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from hypergauss import _checks, parameters
from hypergauss.kernels import Kernel
from hypergauss.interop.gathering import GatheredKernel


def to_gpjax(kernel: Kernel) -> Any:
    """Return the kernel as a `gpjax.kernels.AbstractKernel`, for exact and variational models of GPJax.

    Inputs are one column of vertex numbers, whole or float. Its one parameter is the vector of the free hyperparameters
    in the coordinates in which hypergauss learns them (logarithms, and 1/nu); eigenvectors are no parameters. Sums and
    products with other kernels of GPJax work as usual. ``k.hypergauss()`` gives our kernel back, with what was learned.

    Parameters
    ----------
    kernel : Kernel
        On the vertices of a hypergraph.
    """
    template = GatheredKernel(kernel)
    return _kernel_class()(template, parameters.pack(kernel))


@cache
def _kernel_class() -> Any:
    gpjax: Any = _checks.optional("gpjax", "gpjax")
    computations: Any = _checks.optional("gpjax.kernels.computations", "gpjax")
    val = _checks.optional("gpjax.parameters", "gpjax").val

    class HypergraphComputation(computations.AbstractKernelComputation):
        """Whole matrices at once, not entry by entry."""

        def _cross_covariance(self, kernel: Any, x: Any, y: Any) -> Any:
            return kernel.template.cross(val(kernel.coordinates), x[:, 0], y[:, 0])

    class HypergraphKernel(gpjax.kernels.AbstractKernel):
        """A kernel of hypergauss, seen from GPJax."""

        coordinates: Any
        template: GatheredKernel = eqx.field(static=True)
        name: str = eqx.field(static=True, default="Hypergraph")

        def __init__(self, template: GatheredKernel, coordinates: Any) -> None:
            self.template = template
            self.coordinates = gpjax.parameters.Real(jnp.asarray(coordinates))
            self.name = "Hypergraph"
            super().__init__(n_dims=1, compute_engine=HypergraphComputation())

        def __call__(self, x: Any, y: Any) -> Any:
            return self.template.cross(val(self.coordinates), jnp.ravel(x)[:1], jnp.ravel(y)[:1])[0, 0]

        def hypergauss(self) -> Kernel:
            """Return the kernel at the current hyperparameters."""
            return self.template.at(val(self.coordinates))

    return HypergraphKernel
