"""Expectations and bounds against GPflow's, stored by tests/references/gpflow/make_references.py."""

import json
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from hypergauss.inference.marginals import NaturalSites
from hypergauss.inference.variational import LatentData, LatentModel, best_sites, elbo, empty_sites
from hypergauss.kernels import Kernel
from hypergauss.likelihoods import Bernoulli, RobustMax, Softmax

VALUES = json.loads((Path(__file__).parents[1] / "references" / "gpflow" / "values.json").read_text())
LIKELIHOODS = {
    "robust-max": RobustMax(3, VALUES["parameters"]["epsilon"]),
    "softmax": Softmax(3),
    "probit": Bernoulli("probit"),
    "logit": Bernoulli("logit"),
}


class StoredGram(Kernel):
    """The covariance of vertices i and j is the entry (i, j) of a matrix."""

    matrix: np.ndarray

    @property
    def num_vertices(self):
        return len(self.matrix)

    def inputs(self, rows):
        return jnp.asarray(rows)

    def cross(self, left, right):
        return jnp.asarray(self.matrix)[left[:, None], right]

    def variances(self, inputs):
        return jnp.asarray(self.matrix)[inputs, inputs]

    def scaled(self, factor):
        return StoredGram(factor * self.matrix)


def problem(name):
    """Return our model and data of a stored problem, and what GPflow says of it."""
    stored = VALUES["dense"][name]
    kernel = StoredGram(np.array(VALUES["gram"]))
    data = LatentData.of(kernel, np.arange(kernel.num_vertices), np.array(stored["y"], dtype=float))
    return LatentModel(kernel, LIKELIHOODS[name], jnp.asarray(stored["mean"])), data, stored


def test_robust_max_expects_what_gpflow_does():
    """Moments ordinary, tied, near-certain, narrow and wide; every label."""
    stored = VALUES["robust_max"]
    mean, variance = jnp.asarray(stored["mean"]), jnp.asarray(stored["variance"])
    for label, expected in enumerate(np.array(stored["expectations"]).T):
        found = LIKELIHOODS["robust-max"].expected_log_density(mean, variance, jnp.full(len(mean), float(label)))
        assert np.allclose(found, expected, rtol=0, atol=1e-10)


def test_robust_max_has_gpflows_probabilities_made_to_sum_to_one():
    """GPflow's do not: each class is integrated by itself. Ours share out the same numbers."""
    stored, epsilon = VALUES["robust_max"], VALUES["parameters"]["epsilon"]
    largest = (np.array(stored["probabilities"]) - epsilon / 2) / (1 - 1.5 * epsilon)
    largest /= largest.sum(axis=1, keepdims=True)
    found = LIKELIHOODS["robust-max"].probabilities(jnp.asarray(stored["mean"]), jnp.asarray(stored["variance"]))
    assert np.allclose(found, largest * (1 - 1.5 * epsilon) + epsilon / 2, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_bound_at_given_sites_is_gpflows_at_the_same_gaussian(name):
    model, data, stored = problem(name)
    sites = NaturalSites(jnp.asarray(stored["shift"]), jnp.asarray(stored["precision"]))
    value, marginals = elbo(model, data, sites)
    assert value == pytest.approx(stored["elbo"], abs=1e-6)
    assert np.allclose(marginals.mean, np.array(stored["q_mu"]) + stored["mean"], atol=1e-10)
    assert np.allclose(marginals.variance, np.square(stored["q_sqrt"]).sum(axis=2).T, atol=1e-10)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_best_bound_is_gpflows(name):
    model, data, stored = problem(name)
    state = eqx.filter_jit(best_sites)(model, data, empty_sites(model, data))
    assert state.elbo == pytest.approx(stored["best_elbo"], abs=1e-6)
