"""Small latent models to test with: a hypergraph, its memberships, and coordinates anywhere."""

from typing import NamedTuple

import numpy as np

from hypergauss import Hypergraph, Spectrum, parameters
from hypergauss.embedding.covariances import Covariances
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.model import MapModel, Vertices
from hypergauss.embedding.objectives import LogPosterior
from hypergauss.kernels import Kernel, Linear, Matern, SquaredExponential
from hypergauss.parameters import positive
from tests.hypergraphs import random_hypergraph


class RationalQuadratic(Kernel):
    """A latent kernel of one's own: (1 + |u - u'|^2 / 2 a)^-a, times a variance that falls with |u|."""

    alpha = positive()

    def __init__(self, coordinates, alpha=1.5):
        self.num = len(coordinates)
        self.alpha = alpha

    @property
    def num_vertices(self):
        return self.num

    def inputs(self, rows):
        raise NotImplementedError

    def cross(self, left, right):
        squares = ((left[:, None] - right[None]) ** 2).sum(axis=2)
        scale = np.sqrt(self.variances(left))[:, None] * np.sqrt(self.variances(right))
        return scale * (1 + squares / (2 * self.alpha)) ** -self.alpha

    def variances(self, inputs):
        return np.exp(-0.1 * (inputs**2).sum(axis=1))


LATENT = {
    "squared-exponential": lambda U: SquaredExponential(U, fixed=("lengthscale", "variance")),
    "linear": lambda U: Linear(U, fixed="variance"),
    "own": RationalQuadratic,
}


class Case(NamedTuple):
    H: Hypergraph
    data: Memberships
    vertices: Vertices
    model: MapModel

    def objective(self, inducing=None):
        return LogPosterior(self.model, self.data, self.vertices, inducing)

    def covariances(self, anchors=None):
        anchors = np.arange(self.H.num_vertices) if anchors is None else anchors
        return Covariances(self.model, self.model.tabulate(self.vertices, anchors), anchors)

    def where_coordinates_are(self):
        """Positions of the coordinates among all that is learned: only they change when they do."""
        there = self.model.with_coordinates(self.model.coordinates + 1.0)
        return np.flatnonzero(parameters.pack(there) != parameters.pack(self.model))

    def gram(self):
        """K_VV in full, made by the kernels' own `gram`."""
        K = self.model.hypergraph.gram()
        return K if self.model.covariates is None else K * self.model.covariates.gram()

    def covariance(self, *, noise=True):
        """C entry by entry."""
        U = self.model.coordinates
        latent = self.model.latent.cross(U, U)
        if isinstance(self.model.latent, Linear):
            latent = U @ U.T
        elif isinstance(self.model.latent, SquaredExponential):
            latent = np.exp(-((U[:, None] - U[None]) ** 2).sum(axis=2) / 2)
        return float(self.model.variance) * latent * self.gram() + noise * float(self.model.noise_variance) * np.eye(
            len(U)
        )


def case(*, N=9, M=7, Q=2, missing=0.0, covariates=False, learned=(), latent="squared-exponential", seed=0):
    rng = np.random.default_rng(seed)
    H = random_hypergraph(N, M, seed=seed + 1, density=0.5)
    hidden = rng.random((N, M)) < missing if missing else None
    spectrum = Spectrum.of(H)
    fixed = tuple({"nu", "lengthscale", "variance"} - set(learned))
    table = rng.standard_normal((N, 2)) if covariates else None
    U = rng.standard_normal((N, Q))
    U[N - 1] = U[N - 2]  # two vertices may stand on one place
    model = MapModel(
        LATENT[latent](U),
        Matern(spectrum, 1.3, 2.0, fixed=fixed),
        SquaredExponential(table, 1.4, fixed="variance") if covariates else None,
        coordinates=U,
        latent_lengthscale=0.7,
        variance=1.3,
        noise_variance=0.2,
    )
    return Case(H, Memberships.of(H, hidden), Vertices(spectrum.vertex_vectors, table), model)


KINDS = {
    "plain": {},
    "more hyperedges than vertices": {"M": 14},
    "missing": {"missing": 0.3},
    "covariates": {"covariates": True},
    "kernel learned": {"learned": ("nu", "lengthscale")},
    "linear": {"latent": "linear"},
    "a kernel of one's own": {"latent": "own"},
    "a kernel of one's own, and all at once": {"latent": "own", "covariates": True, "learned": ("nu",), "missing": 0.2},
    "three components, all at once": {"Q": 3, "missing": 0.2, "covariates": True, "learned": ("lengthscale",)},
}
