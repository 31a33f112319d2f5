"""Laplace's approximation, against scikit-learn's for two classes and finite differences for its gradient."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import PairwiseKernel

from hypergauss import parameters
from hypergauss.inference.laplace import LaplaceObjective, check_mode, mode_sites
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.site_objective import TIGHT
from hypergauss.likelihoods import Bernoulli, OrderedProbit, RobustMax, Softmax, StudentT
from hypergauss.solvers import NaturalSites, solver_for
from tests import oracles
from tests.inference.problems import classification


def tight(model, rows, y, solver):
    objective = LaplaceObjective(solver_for(model.kernel, rows, solver), y, len(model.mean))
    objective.tolerance = TIGHT
    return objective


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_two_classes_agree_with_scikit_learn(solver):
    model, rows, y = classification(Bernoulli("logit"), n=30)
    K = model.kernel.gram()
    objective = tight(model, rows, y, solver)
    value, _ = objective.value_and_gradient(model)
    assert objective.value(model) == pytest.approx(value, abs=1e-9)
    vertices = np.arange(40.0)[:, None]
    of_gram = PairwiseKernel(metric=lambda a, b, gamma: K[int(a[0]), int(b[0])])
    peer = GaussianProcessClassifier(of_gram, optimizer=None, max_iter_predict=500).fit(vertices[rows], y)
    assert value == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    mean, _ = GaussianLatents.of(model, objective.sites, objective.solver).conditionals(np.arange(40))
    f = peer.base_estimator_
    assert np.allclose(mean[:, 0], K[:, rows] @ (y - f.pi_), atol=1e-5)


@pytest.mark.parametrize("likelihood", [Bernoulli("probit"), Softmax(3)], ids=repr)
def test_the_sites_lead_to_the_mode(likelihood):
    model, rows, y = classification(likelihood, seed=1)
    nothing, solver = NaturalSites.empty(len(y), likelihood.num_latents), solver_for(model.kernel, rows)
    state = mode_sites(model, solver, y, nothing)
    mode, K = state.marginals.mean, model.kernel.gram(rows, rows)
    slope = oracles.central_differences(
        lambda f: likelihood.log_density(f.reshape(mode.shape), y).sum(), mode.ravel()
    ).reshape(mode.shape)
    assert np.allclose(np.linalg.solve(K, mode), slope, atol=1e-3)
    assert state.value >= likelihood.log_density(np.zeros_like(mode), y).sum()  # at the prior mean


CASES = {
    "logit": Bernoulli(),
    "softmax": Softmax(3),
    "ordered probit": OrderedProbit(3, [-0.5, 0.5]),  # with hyperparameters of its own
}


@pytest.mark.parametrize("likelihood", CASES.values(), ids=CASES)
@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_the_gradient_counts_how_the_mode_moves(likelihood, solver):
    model, rows, y = classification(likelihood, seed=2)
    assert_gradient(model, rows, y, solver)


def test_a_likelihood_that_is_not_log_concave_has_its_gradient_too():
    of_classes, rows, _ = classification(Bernoulli(), seed=2)
    model = LatentModel(of_classes.kernel, StudentT(0.3, 4.0), np.zeros(1))
    rng = np.random.default_rng(0)
    y = model.kernel.prior_draws(rows, 1, rng)[:, 0] + 0.3 * rng.standard_t(4.0, len(rows))
    assert_gradient(model, rows, y, "dense")


def assert_gradient(model, rows, y, solver):
    theta = parameters.pack(model)

    def value(theta):
        return tight(model, rows, y, solver).value(parameters.unpack(model, theta))

    _, gradient = tight(model, rows, y, solver).value_and_gradient(model)
    np.testing.assert_allclose(gradient, oracles.central_differences(value, theta, step=1e-3), rtol=0, atol=2e-3)


def test_a_likelihood_without_slopes_is_refused():
    with pytest.raises(ValueError, match=r"needs a likelihood with slopes\. Got RobustMax"):
        check_mode(RobustMax(3))
