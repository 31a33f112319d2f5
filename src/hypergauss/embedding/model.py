r"""The latent variable model of a hypergraph (paper, section 3.2).

Each column of the incidence matrix is a draw h_j ~ N(0, C), independent given the coordinates x_i of the vertices:

    C = v K_XX * K_VV + sigma^2 I,     x_i ~ N(0, I),

with elementwise product *, a Euclidean kernel K_XX of unit variance on the coordinates, and the hypergraph kernel K_VV
on the vertices (times a covariate kernel, if there is one). K_VV is b I plus low rank; its b makes a *nugget* of C.

**Units.** K_XX sees the coordinates only through u = x / l, l its lengthscale. Learning moves u and l: the likelihood
then holds u alone and the prior -l^2 |u|^2 / 2 ties them, so that the search has no narrow ridge to follow. The density
in (x, l) has no maximum without a prior on l, since x and l can shrink together for ever: log l ~ N(0, 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from hypergauss import parameters
from hypergauss.learning.priors import LogNormal
from hypergauss.kernels import Kernel

#: The prior on the lengthscale of the latent kernel.
LENGTHSCALE_PRIOR = LogNormal(1.0, 1.0)


class Vertices(NamedTuple):
    """What is known of some vertices besides their coordinates: rows of the eigenvectors, and covariates if any."""

    vectors: Any  # (n, r)
    covariates: Any  # (n, p), or None


class LatentModel(eqx.Module):
    """Coordinates in units of the latent lengthscale, the kernels, and the variances.

    ``hypergraph`` is None in a template whose vertex covariances are given as a table.
    """

    latent: Kernel
    hypergraph: Any  # SpectralKernel, or None
    covariates: Kernel | None
    coordinates: Array = parameters.bounded(-1e3, 1e3)  # u, (N, Q)
    latent_lengthscale: Array = parameters.positive(1e-3, 1e3)
    variance: Array = parameters.positive(1e-8, 1e8)
    noise_variance: Array = parameters.positive(1e-8, 1e8)
    fixed: tuple[str, ...] = eqx.field(static=True, default=())

    def log_prior(self) -> Float[Array, ""]:
        """Return log p(X) + log p(l), X = l u standard normal."""
        squares = (self.latent_lengthscale**2 * self.coordinates**2).sum()
        normal = -0.5 * (squares + self.coordinates.size * jnp.log(2 * jnp.pi))
        return normal + LENGTHSCALE_PRIOR.log_density(self.latent_lengthscale)

    # ------------------------------------------------ K_VV without its nugget, and the nugget

    def smooth(self, left: Vertices, right: Vertices) -> Float[Array, "n m"]:
        """Return the low-rank part of K_VV, times the covariate kernel."""
        part = (left.vectors * self.hypergraph.weights()) @ right.vectors.T
        return part if self.covariates is None else part * self.covariates.cross(left.covariates, right.covariates)

    def smooth_variances(self, vertices: Vertices) -> Float[Array, " n"]:
        """Return the diagonal of `smooth`."""
        part = jnp.asarray(vertices.vectors) ** 2 @ self.hypergraph.weights()
        return part if self.covariates is None else part * self.covariates.variances(vertices.covariates)

    def nugget(self, vertices: Vertices) -> Float[Array, " n"]:
        """Return what K_VV has on its diagonal besides `smooth`: the variance each vertex has to itself."""
        part = jnp.full(len(vertices.vectors), self.hypergraph.remainder(None))
        return part if self.covariates is None else part * self.covariates.variances(vertices.covariates)
