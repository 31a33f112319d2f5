"""Small latent models to test with: a hypergraph, its memberships, and coordinates anywhere."""

from typing import NamedTuple

import equinox as eqx
import numpy as np

from hypergauss import Hypergraph, Spectrum, parameters
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.model import LatentModel, Vertices
from hypergauss.embedding.objectives import LogPosterior, tabulate
from hypergauss.kernels import Linear, Matern, SquaredExponential
from hypergauss.parameters import as_array
from tests.hypergraphs import random_hypergraph


class Case(NamedTuple):
    H: Hypergraph
    data: Memberships
    vertices: Vertices
    model: LatentModel

    def objective(self, inducing=None):
        return LogPosterior(self.model, self.data, self.vertices, inducing)

    def table(self, anchors=None):
        return tabulate(self.model, self.vertices, np.arange(self.H.num_vertices) if anchors is None else anchors)

    def where_coordinates_are(self):
        """Positions of the coordinates among all that is learned: only they change when they do."""
        moved = self.model.coordinates + 1.0
        there = eqx.tree_at(lambda model: model.coordinates, self.model, moved)
        return np.flatnonzero(parameters.pack(there) != parameters.pack(self.model))

    def gram(self):
        """K_VV in full, made by the kernels' own `gram`."""
        K = np.asarray(self.model.hypergraph.gram())
        return K if self.model.covariates is None else K * np.asarray(self.model.covariates.gram())

    def covariance(self, *, noise=True):
        """C entry by entry, for the squared exponential or the linear kernel."""
        U = np.asarray(self.model.coordinates)
        if isinstance(self.model.latent, Linear):
            latent = U @ U.T
        else:
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
    model = LatentModel(
        latent=Linear(U, fixed="variance")
        if latent == "linear"
        else SquaredExponential(U, fixed=("lengthscale", "variance")),
        hypergraph=Matern(spectrum, 1.3, 2.0, fixed=fixed),
        covariates=SquaredExponential(table, 1.4, fixed="variance") if covariates else None,
        coordinates=as_array(U),
        latent_lengthscale=as_array(0.7),
        variance=as_array(1.3),
        noise_variance=as_array(0.2),
    )
    return Case(H, Memberships.of(H, hidden), Vertices(spectrum.vertex_vectors, table), model)


KINDS = {
    "plain": {},
    "more hyperedges than vertices": {"M": 14},
    "missing": {"missing": 0.3},
    "covariates": {"covariates": True},
    "kernel learned": {"learned": ("nu", "lengthscale")},
    "linear": {"latent": "linear"},
    "three components, all at once": {"Q": 3, "missing": 0.2, "covariates": True, "learned": ("lengthscale",)},
}
