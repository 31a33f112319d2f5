"""Laplace's approximation, against scikit-learn's for two classes and finite differences for its gradient."""

import jax
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import PairwiseKernel

from hypergauss import parameters
from hypergauss.inference.laplace import LaplaceObjective, log_joint, mode_sites
from hypergauss.inference.latent import TIGHT, GaussianLatents, LatentData, empty_sites
from hypergauss.likelihoods import Bernoulli, Softmax
from tests.inference.problems import classification


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_two_classes_agree_with_scikit_learn(solver):
    model, rows, y = classification(Bernoulli("logit"), n=30)
    K = np.asarray(model.kernel.gram())
    data = LatentData.of(model.kernel, rows, y, solver=solver)
    objective = LaplaceObjective(model, data)
    objective.tolerance = TIGHT
    value, _ = objective.value_and_gradient(parameters.pack(model), ())
    assert objective.value(parameters.pack(model), ()) == pytest.approx(value, abs=1e-9)
    vertices = np.arange(40.0)[:, None]
    of_gram = PairwiseKernel(metric=lambda a, b, gamma: K[int(a[0]), int(b[0])])
    peer = GaussianProcessClassifier(of_gram, optimizer=None, max_iter_predict=500).fit(vertices[rows], y)
    assert value == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    mean, _ = GaussianLatents.of(model, data.rows, objective.sites).conditionals(np.arange(40))
    f = peer.base_estimator_
    assert np.allclose(mean[:, 0], K[:, rows] @ (y - f.pi_), atol=1e-5)


@pytest.mark.parametrize("likelihood", [Bernoulli("probit"), Softmax(3)], ids=repr)
def test_the_sites_lead_to_the_mode(likelihood):
    model, rows, y = classification(likelihood, seed=1)
    data = LatentData.of(model.kernel, rows, y)
    state = mode_sites(model, data, empty_sites(model, data))
    K = np.asarray(model.kernel.gram(rows, rows))
    slope = jax.grad(lambda f: model.likelihood.log_density(f, data.y).sum())(state.marginals.mean)
    assert np.allclose(np.linalg.solve(K, np.asarray(state.marginals.mean)), slope, atol=1e-3)
    assert float(state.value) >= float(log_joint(model, data, empty_sites(model, data))[0])


@pytest.mark.parametrize("likelihood", [Bernoulli(), Softmax(3)], ids=repr)
@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_the_gradient_counts_how_the_mode_moves(likelihood, solver):
    model, rows, y = classification(likelihood, seed=2)
    data = LatentData.of(model.kernel, rows, y, solver=solver)
    theta = parameters.pack(model)

    def at(theta):
        objective = LaplaceObjective(model, data)
        objective.tolerance = TIGHT
        return objective.value_and_gradient(theta, ())

    _, gradient = at(theta)
    for i in range(len(theta)):
        step = 1e-3 * np.eye(len(theta))[i]
        assert gradient[i] == pytest.approx((at(theta + step)[0] - at(theta - step)[0]) / 2e-3, abs=2e-3)
