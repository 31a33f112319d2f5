"""Small problems drawn from their own model, and sites found for them."""

import numpy as np

from hypergauss import HypergraphGPClassifier, Spectrum
from hypergauss.datasets import load_zoo
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Matern
from hypergauss.solvers import NaturalSites, solver_for
from tests.hypergraphs import hypergraph_of_sizes

ZOO = load_zoo()
NAMES, LABELS = ZOO.hypergraph.vertices, ZOO.target.to_numpy()


def zoo(inference, **settings):
    """Return a classifier of animals with a kernel that is given."""
    kernel = Matern(Spectrum.of(ZOO.hypergraph), 1.5, 2.0, variance=4.0)
    return HypergraphGPClassifier(ZOO.hypergraph, kernel, inference=inference, **settings)


def classification(likelihood, seed=0, n=25):
    """Return a model, observed rows and labels drawn from it."""
    rng = np.random.default_rng(seed)
    H = hypergraph_of_sizes(40, [3, 5, 8, 12] * 3, seed=seed)
    kernel = Matern(Spectrum.of(H), 2.0, 8.0, variance=2.0)
    f = kernel.prior_draws(np.arange(40), likelihood.num_latents, rng)
    p = likelihood.probabilities(f, np.full(f.shape, 1e-12))
    y = np.array([rng.choice(likelihood.num_classes, p=row / row.sum()) for row in p])
    rows = rng.permutation(40)[:n]
    return LatentModel(kernel, likelihood, np.zeros(likelihood.num_latents)), rows, y[rows]


def settled(model, rows, y, solver="auto", inducing=None):
    """Return the best sites found from none, their marginals and bound."""
    return best_sites(
        model, solver_for(model.kernel, rows, solver, inducing), y, NaturalSites.empty(len(y), len(model.mean))
    )
