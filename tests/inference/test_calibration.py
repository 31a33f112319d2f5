"""Data drawn from the model itself: its probabilities must be as often right as they say."""

import numpy as np
import pytest

from hypergauss import Spectrum
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax
from hypergauss.metrics import expected_calibration_error
from hypergauss.solvers import NaturalSites, solver_for
from tests.hypergraphs import hypergraph_of_sizes

DRAWS, OBSERVED = 80, 40
#: Robust-max bends the posterior most, and the Gaussian that takes latents one by one is overconfident by some 0.04.
LARGEST_ERRORS = [(Bernoulli("probit"), 0.03), (Softmax(3), 0.03), (RobustMax(3), 0.05)]


@pytest.mark.parametrize(("likelihood", "largest"), LARGEST_ERRORS, ids=str)
def test_probabilities_are_calibrated_over_draws_of_the_model(likelihood, largest):
    kernel = Matern(Spectrum.of(hypergraph_of_sizes(80, [3, 5, 8, 12] * 8, seed=0)), 1.5, 5.0, variance=4.0)
    model = LatentModel(kernel, likelihood, np.zeros(likelihood.num_latents))
    everyone = np.arange(80)
    said, happened = [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        f = kernel.prior_draws(everyone, likelihood.num_latents, rng)
        p = likelihood.probabilities(f, np.full(f.shape, 1e-12))
        y = (p.cumsum(axis=1) < rng.random((80, 1))).sum(axis=1).clip(max=likelihood.num_classes - 1)
        order = rng.permutation(80)
        train, test = order[:OBSERVED], order[OBSERVED:]
        solver = solver_for(kernel, train, "dense")
        nothing = NaturalSites.empty(OBSERVED, likelihood.num_latents)
        sites = best_sites(model, solver, y[train], nothing, 1e-7).sites
        said.append(GaussianLatents.of(model, sites, solver).probabilities(test))
        happened.append(y[test])
    classes = np.arange(likelihood.num_classes)
    assert expected_calibration_error(np.concatenate(happened), np.vstack(said), classes) <= largest
