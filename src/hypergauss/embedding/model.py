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

from typing import NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.kernels import Kernel, SpectralKernel
from hypergauss.kernels.base import Structure
from hypergauss.learning.priors import LogNormal
from hypergauss.parameters import Parametrised, bounded, positive

#: The prior on the lengthscale of the latent kernel: log l is standard normal.
LENGTHSCALE_PRIOR = LogNormal(1.0, 1.0)


class Vertices(NamedTuple):
    """What is known of some vertices besides their coordinates: rows of the eigenvectors, and covariates if any."""

    vectors: np.ndarray  # (n, r)
    covariates: np.ndarray | None  # (n, p)

    def at(self, rows: np.ndarray) -> Vertices:
        """Return some of them."""
        return Vertices(self.vectors[rows], None if self.covariates is None else self.covariates[rows])


class Table(NamedTuple):
    """K_VV between N vertices and A anchors (all vertices, or the inducing ones), its nugget kept apart."""

    smooth: np.ndarray  # (N, A)
    smooth_variances: np.ndarray  # (N,)
    nugget: np.ndarray  # (N,)


class MapModel(Parametrised):
    """Coordinates in units of the latent lengthscale, the kernels, and the variances.

    Parameters
    ----------
    latent : Kernel
        K_XX, on the coordinates u.
    hypergraph : SpectralKernel
        K_VV.
    covariates : Kernel or None
        A further factor of K_VV.
    coordinates : array, shape (N, Q)
        u.
    latent_lengthscale, variance, noise_variance : float
        l, v and sigma^2.
    """

    coordinates: np.ndarray = bounded(-1e3, 1e3)
    latent_lengthscale: np.ndarray = positive(1e-3, 1e3)
    variance: np.ndarray = positive(1e-8, 1e8)
    noise_variance: np.ndarray = positive(1e-8, 1e8)

    def __init__(
        self,
        latent: Kernel,
        hypergraph: SpectralKernel,
        covariates: Kernel | None,
        *,
        coordinates: np.ndarray,
        latent_lengthscale: float,
        variance: float,
        noise_variance: float,
    ) -> None:
        self.latent = latent
        self.hypergraph = hypergraph
        self.covariates = covariates
        self.coordinates = coordinates
        self.latent_lengthscale = np.asarray(latent_lengthscale)
        self.variance = np.asarray(variance)
        self.noise_variance = np.asarray(noise_variance)

    def with_coordinates(self, coordinates: np.ndarray) -> MapModel:
        """Return the model with its vertices elsewhere."""
        return parameters.with_value(self, ("coordinates",), coordinates)

    def log_prior(self) -> float:
        """Return log p(X) + log p(l), X = l u standard normal."""
        squares = self.latent_lengthscale**2 * (self.coordinates**2).sum()
        normal = -0.5 * (squares + self.coordinates.size * np.log(2 * np.pi))
        return float(normal + LENGTHSCALE_PRIOR.log_density(self.latent_lengthscale))

    def log_prior_slopes(self) -> dict[str, np.ndarray]:
        """Return the slopes of `log_prior` in u and l."""
        u, scale = self.coordinates, self.latent_lengthscale
        return {
            "coordinates": -(scale**2) * u,
            "latent_lengthscale": -scale * (u**2).sum() - np.log(scale) / scale,
        }

    # ------------------------------------------------ K_VV without its nugget, and the nugget

    def smooth(self, left: Vertices, right: Vertices) -> np.ndarray:
        """Return the low-rank part of K_VV, times the covariate kernel, shape (n, m)."""
        part = (left.vectors * self.hypergraph.weights()) @ right.vectors.T
        return part if self.covariates is None else part * self.covariates.cross(left.covariates, right.covariates)

    def smooth_variances(self, vertices: Vertices) -> np.ndarray:
        """Return the diagonal of `smooth`, shape (n,)."""
        part = vertices.vectors**2 @ self.hypergraph.weights()
        return part if self.covariates is None else part * self.covariates.variances(vertices.covariates)

    def nugget(self, vertices: Vertices) -> np.ndarray:
        """Return what K_VV has on its diagonal besides `smooth`: the variance each vertex has to itself, (n,)."""
        part = np.full(len(vertices.vectors), self.hypergraph.remainder(None))
        return part if self.covariates is None else part * self.covariates.variances(vertices.covariates)

    def tabulate(self, vertices: Vertices, anchors: np.ndarray) -> Table:
        """Evaluate the vertex covariances."""
        chosen = vertices.at(anchors)
        return Table(self.smooth(vertices, chosen), self.smooth_variances(vertices), self.nugget(vertices))

    def pull_back_table(self, vertices: Vertices, anchors: np.ndarray, slopes: Table) -> dict[str, np.ndarray]:
        """Return the gradient, in the coordinates of each kernel, of a number with slopes in `tabulate`."""
        F, chosen = vertices.vectors, vertices.at(anchors)
        covariates, of_covariates = self.covariates, {}
        if covariates is not None:
            weights, remainder = self.hypergraph.structure(None)
            plain = Table((F * weights) @ chosen.vectors.T, F**2 @ weights, np.full(len(F), remainder))
            in_variances = slopes.smooth_variances * plain.smooth_variances + slopes.nugget * plain.nugget
            gradient = covariates.pull_back(vertices.covariates, chosen.covariates, slopes.smooth * plain.smooth)
            of_covariates = {"covariates": gradient + covariates.pull_back_variances(vertices.covariates, in_variances)}
            variances = covariates.variances(vertices.covariates)
            slopes = Table(
                slopes.smooth * covariates.cross(vertices.covariates, chosen.covariates),
                slopes.smooth_variances * variances,
                slopes.nugget * variances,
            )
        in_weights = (F * (slopes.smooth @ chosen.vectors)).sum(axis=0) + slopes.smooth_variances @ F**2
        in_structure = Structure(in_weights, np.asarray(slopes.nugget.sum()))
        return {"hypergraph": self.hypergraph.pull_back_structure(in_structure, None), **of_covariates}
