"""A kernel inside GPJax 1.x (extra ``gpjax``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergauss import _checks, parameters
from hypergauss.interop.gathering import Arrays, GatheredKernel
from hypergauss.kernels import Kernel

if TYPE_CHECKING:
    from gpjax.kernels import AbstractKernel
    from jax import Array


def to_gpjax(kernel: Kernel) -> AbstractKernel:
    """Return the kernel as a `gpjax.kernels.AbstractKernel`, for exact and variational models of GPJax.

    Inputs are one column of vertex numbers, whole or float. Its one parameter is the vector of the free hyperparameters
    in the coordinates in which hypergauss learns them (logarithms, and 1/nu); eigenvectors are no parameters. Sums and
    products with other kernels of GPJax work as usual. ``k.hypergauss()`` gives our kernel back, with what was learned.

    Our formulas are called from JAX's programs with their exact first derivatives; they have no second ones there.
    Precision is JAX's: set ``jax_enable_x64`` for double, as GPJax recommends.

    Parameters
    ----------
    kernel : Kernel
        On the vertices of a hypergraph.
    """
    template = GatheredKernel(kernel)
    return _kernel_class()(TracedKernel(template), parameters.pack(kernel))


class TracedKernel:
    """Covariances of a gathered kernel as a function that JAX traces. Compared by identity."""

    def __init__(self, gathered: GatheredKernel) -> None:
        self._jax: Any = _checks.optional("jax", "gpjax")
        self.gathered = gathered
        self._features = gathered.features() if gathered.is_low_rank else None
        self._arrays = self._differentiable()

    def cross(self, theta: Array, left: Array, right: Array) -> Array:
        """Return the covariances between lists of n and m vertices, shape (n, m); one that does not exist gives NaN."""
        jnp = self._jax.numpy
        left, right = jnp.asarray(left).astype(int), jnp.asarray(right).astype(int)
        arrays = self._arrays(theta)
        if self._features is None:
            return jnp.take(jnp.take(arrays[0], left, axis=0, mode="fill"), right, axis=1, mode="fill")
        weights, remainder = arrays
        features = jnp.asarray(self._features, theta.dtype)
        F, G = (jnp.take(features, rows, axis=0, mode="fill") for rows in (left, right))
        own = jnp.take(remainder, left, mode="fill")[:, None]
        return (F * weights) @ G.T + jnp.where(left[:, None] == right[None, :], own, 0.0)

    def _differentiable(self) -> Callable[[Array], tuple[Array, ...]]:
        """Return `GatheredKernel.arrays` for JAX, which calls NumPy for values and derivatives."""
        jax, gathered = self._jax, self.gathered
        shapes = [array.shape for array in gathered.arrays(gathered.kernel)]

        def call(function: Callable[[np.ndarray], Arrays], theta: Array, lead: tuple[int, ...]) -> tuple[Array, ...]:
            outcome = tuple(jax.ShapeDtypeStruct(lead + shape, theta.dtype) for shape in shapes)

            def on_host(theta: Array) -> tuple[np.ndarray, ...]:
                return tuple(np.asarray(array, theta.dtype) for array in function(np.asarray(theta)))

            return jax.pure_callback(on_host, outcome, theta, vmap_method="sequential")

        @jax.custom_jvp
        def arrays(theta: Array) -> tuple[Array, ...]:
            return call(lambda theta: gathered.arrays(gathered.at(theta)), theta, ())

        @arrays.defjvp
        def _(at: tuple[Array], moved: tuple[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            tangents = call(lambda theta: gathered.tangents(theta, gathered.arrays), at[0], at[0].shape)
            return arrays(at[0]), tuple(jax.numpy.tensordot(moved[0], tangent, axes=1) for tangent in tangents)

        return arrays


@cache
def _kernel_class() -> Any:
    gpjax: Any = _checks.optional("gpjax", "gpjax")
    computations: Any = _checks.optional("gpjax.kernels.computations", "gpjax")
    val = _checks.optional("gpjax.parameters", "gpjax").val
    equinox: Any = _checks.optional("equinox", "gpjax")
    jnp: Any = _checks.optional("jax.numpy", "gpjax")

    class HypergraphComputation(computations.AbstractKernelComputation):
        """Whole matrices at once, not entry by entry."""

        def _cross_covariance(self, kernel: HypergraphKernel, x: Array, y: Array) -> Array:
            return kernel.template.cross(val(kernel.coordinates), x[:, 0], y[:, 0])

    class HypergraphKernel(gpjax.kernels.AbstractKernel):
        """A kernel of hypergauss, seen from GPJax."""

        coordinates: Any
        template: TracedKernel = equinox.field(static=True)
        name: str = equinox.field(static=True, default="Hypergraph")

        def __init__(self, template: TracedKernel, coordinates: Array | np.ndarray) -> None:
            self.template = template
            self.coordinates = gpjax.parameters.Real(jnp.asarray(coordinates))
            self.name = "Hypergraph"
            super().__init__(n_dims=1, compute_engine=HypergraphComputation())

        def __call__(self, x: Array, y: Array) -> Array:
            return self.template.cross(val(self.coordinates), jnp.ravel(x)[:1], jnp.ravel(y)[:1])[0, 0]

        def hypergauss(self) -> Kernel:
            """Return the kernel at the current hyperparameters."""
            return self.template.gathered.at(val(self.coordinates))

    return HypergraphKernel
