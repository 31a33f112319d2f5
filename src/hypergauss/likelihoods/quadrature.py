"""Expectations under one Gaussian, by quadrature with fixed nodes: deterministic, smooth, differentiable."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

#: Gauss-Hermite nodes. Twenty integrate the smooth likelihoods here to about 1e-6; GPflow uses as many.
NUM_NODES = 20


@lru_cache
def hermite(num_nodes: int = NUM_NODES) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes z and weights w such that sum of w g(z) approximates E g(Z), Z standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(num_nodes)
    return nodes, weights / np.sqrt(2 * np.pi)


def gaussian_nodes(mean: Array, variance: Array, num_nodes: int = NUM_NODES) -> Float[Array, "... q"]:
    """Return mean + std * z for each Gaussian, a new last axis for the nodes."""
    z, _ = hermite(num_nodes)
    return mean[..., None] + jnp.sqrt(variance)[..., None] * z


def expectation(g: Callable[[Array], Array], mean: Array, variance: Array, num_nodes: int = NUM_NODES) -> Array:
    """Return E g(f) for f ~ N(mean, variance), elementwise; g acts on arrays with a last axis of nodes."""
    _, weights = hermite(num_nodes)
    return g(gaussian_nodes(mean, variance, num_nodes)) @ weights
