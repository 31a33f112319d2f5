"""Expectations and bounds against GPflow's, stored by tests/references/gpflow/make_references.py."""

import json
from pathlib import Path

import numpy as np
import pytest

from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import elbo
from hypergauss.kernels import Kernel
from hypergauss.likelihoods import Bernoulli, Gaussian, Poisson, RobustMax, Softmax, StudentT
from hypergauss.solvers import InducingVertices, NaturalSites, solver_for
from tests.inference.problems import settled

VALUES = json.loads((Path(__file__).parents[1] / "references" / "gpflow" / "values.json").read_text())
PARAMETERS = VALUES["parameters"]
LIKELIHOODS = {
    "robust-max": RobustMax(3, PARAMETERS["epsilon"]),
    "softmax": Softmax(3),
    "probit": Bernoulli("probit"),
    "logit": Bernoulli("logit"),
    "poisson": Poisson(),
    "gaussian": Gaussian(PARAMETERS["noise_variance"]),
    "student-t": StudentT(PARAMETERS["scale"], PARAMETERS["df"]),
}


class StoredGram(Kernel):
    """The covariance of vertices i and j is the entry (i, j) of a matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    @property
    def num_vertices(self):
        return len(self.matrix)

    def inputs(self, rows):
        return rows

    def cross(self, left, right):
        return self.matrix[left[:, None], right]

    def variances(self, inputs):
        return self.matrix[inputs, inputs]

    def scaled(self, factor):
        return StoredGram(factor * self.matrix)


def problem(name, kind="dense"):
    """Return our model and data of a stored problem, inducing vertices, and what GPflow says of it."""
    stored = VALUES[kind][name]
    kernel = StoredGram(np.array(VALUES["gram"]))
    inducing = InducingVertices.of(kernel, np.array(VALUES["inducing"])) if kind == "sparse" else None
    rows, y = np.arange(kernel.num_vertices), np.array(stored["y"], dtype=float)
    model = LatentModel(kernel, LIKELIHOODS[name], stored["mean"])
    return (model, rows, y), inducing, stored


def test_robust_max_expects_what_gpflow_does():
    """Moments ordinary, tied, near-certain, narrow and wide; every label."""
    stored = VALUES["robust_max"]
    mean, variance = np.array(stored["mean"]), np.array(stored["variance"])
    for label, expected in enumerate(np.array(stored["expectations"]).T):
        found = LIKELIHOODS["robust-max"].expected_log_density(mean, variance, np.full(len(mean), float(label)))
        assert np.allclose(found, expected, rtol=0, atol=1e-10)


def test_robust_max_has_gpflows_probabilities_made_to_sum_to_one():
    """GPflow's do not: each class is integrated by itself. Ours share out the same numbers."""
    stored, epsilon = VALUES["robust_max"], PARAMETERS["epsilon"]
    largest = (np.array(stored["probabilities"]) - epsilon / 2) / (1 - 1.5 * epsilon)
    largest /= largest.sum(axis=1, keepdims=True)
    found = LIKELIHOODS["robust-max"].probabilities(np.array(stored["mean"]), np.array(stored["variance"]))
    assert np.allclose(found, largest * (1 - 1.5 * epsilon) + epsilon / 2, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_bound_at_given_sites_is_gpflows_at_the_same_gaussian(name):
    (model, rows, y), _, stored = problem(name)
    sites = NaturalSites(np.array(stored["shift"]), np.array(stored["precision"]))
    marginals = solver_for(model.kernel, rows).marginals(model.kernel, model.mean, sites)
    value = elbo(marginals, sites, model.likelihood.expectation(marginals.mean, marginals.variance, y))
    # Against adaptive integration ours is right to 1e-11: GPflow's 20 nodes leave 1e-5 of Student's logarithm.
    assert value == pytest.approx(stored["elbo"], abs=2e-5 if name == "student-t" else 1e-6)
    assert np.allclose(marginals.mean, np.array(stored["q_mu"]) + stored["mean"], atol=1e-10)
    assert np.allclose(marginals.variance, np.square(stored["q_sqrt"]).sum(axis=2).T, atol=1e-10)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("dense", "sparse") for name in LIKELIHOODS if name in VALUES[kind]]
)
def test_the_best_bound_is_gpflows(kind, name):
    data, inducing, stored = problem(name, kind)
    assert settled(*data, inducing=inducing).value == pytest.approx(stored["best_elbo"], abs=1e-6)


def test_the_gaussian_bound_is_gpflows_collapsed_one_and_its_evidence():
    """With Gaussian sites nothing is approximated but by the inducing vertices."""
    stored = VALUES["sparse"]["gaussian"]
    for kind, expected in (("sparse", stored["collapsed_bound"]), ("dense", stored["log_evidence"])):
        data, inducing, _ = problem("gaussian", kind)
        assert settled(*data, inducing=inducing).value == pytest.approx(expected, abs=1e-6)
