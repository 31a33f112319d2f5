import numpy as np

from hypergauss import Spectrum, kernels
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.latent_model import LatentModel
from hypergauss.likelihoods import MultinomialProbit
from hypergauss.solvers import solver_for
from tests.hypergraphs import random_hypergraph


def test_sites_of_factors_are_found_again_from_those_of_latents_alone():
    H = random_hypergraph(12, 9, seed=0)
    y = np.array([0, 1, 2, 2, 1, 0, 1])
    model = LatentModel(kernels.Matern(Spectrum.of(H), variance=3.0), MultinomialProbit(3), np.array([0.2, -0.1, 0.4]))
    objective = CoupledPropagation(solver_for(model.kernel, np.arange(7), "dense"), y, 3)
    settled = objective.settle(model).sites
    found = CoupledPropagation.joined(objective.separate(model, settled)[0], model.mean, y)
    np.testing.assert_allclose(found.shift, settled.shift, atol=1e-12)
    np.testing.assert_allclose(found.precision, settled.precision, atol=1e-12)
