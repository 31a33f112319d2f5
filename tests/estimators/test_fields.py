"""Where fields begin, and which nu they take: of measurements, and of classes by their indicators."""

import numpy as np
import pytest

from hypergauss import HypergraphGPClassifier, Markov, Spectrum
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators.defaults import default_priors
from hypergauss.estimators.fields import indicators, learn_field
from hypergauss.estimators.latent_task import LatentTask
from hypergauss.estimators.tasks import GaussianTask, How
from hypergauss.kernels import Matern
from hypergauss.likelihoods import Bernoulli, Poisson, Softmax
from hypergauss.solvers.sites import Observations

PLANTED = make_planted_hypergraph(600, 500, 3, random_state=2)
ROWS = np.arange(0, 600, 4)
HOW = How(Markov(n_probes=16), None, {}, {}, False, 1, 50, 0, None)


def kernels(H=PLANTED.hypergraph):
    spectrum = Spectrum.matrix_free(H, random_state=0)
    return [Matern(spectrum, nu, fixed=("nu",)) for nu in (2, 1, 3)]


def labels(likelihood, y):
    return LatentTask(likelihood, ROWS, y, inference="variational", batch_size=None, how=HOW)


def test_indicators_of_classes_have_one_scale_and_no_mean():
    y = PLANTED.communities[ROWS]
    found = indicators(labels(Softmax(3), y))
    assert found.scaled.mean.shape == (len(ROWS), 3)
    assert np.allclose(found.scaled.mean.mean(axis=0), 0)
    assert (found.scaled.mean**2).mean() == pytest.approx(1.0)
    assert np.array_equal(found.scaled.mean.argmax(axis=1), y)


def test_of_two_classes_the_labels_are_measurements_and_counts_have_no_indicators():
    y = PLANTED.communities[ROWS] % 2
    found = indicators(labels(Bernoulli("probit"), y))
    assert found.scaled.mean.shape == (len(ROWS), 1)
    assert indicators(labels(Poisson(), y)) is None


def test_a_field_reaches_the_evidence_of_each_nu_learned_by_itself():
    small = make_planted_hypergraph(80, 64, 3, random_state=2)
    rows = np.arange(0, 80, 2)
    y = small.signal[rows] + 0.3 * np.random.default_rng(0).standard_normal(len(rows))
    task = GaussianTask(Observations.of(rows, y[:, None]), np.zeros(1), 1.0, noise_variance=0.1, how=HOW)
    # A probe for each vertex, so that nothing is random, and the broad priors of estimators.
    task.how = HOW._replace(solver=Markov(n_probes=80), default_priors=default_priors(1.0))
    found = learn_field(kernels(small.hypergraph), task)
    alone = [task.learn(kernel) for kernel in kernels(small.hypergraph)]
    best = max(alone, key=lambda each: each.objective)
    assert found.learned.model.kernel.nu == best.learned.model.kernel.nu
    assert found.objective > best.objective - 0.02  # its start may lead higher


def test_classes_without_eigenvectors_are_told_apart():
    model = HypergraphGPClassifier(PLANTED.hypergraph, solver=Markov(n_probes=16)).fit(ROWS, PLANTED.communities[ROWS])
    rest = np.setdiff1d(np.arange(600), ROWS)
    proba = model.predict_proba(rest)
    assert model.solver_ == "markov"
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert (proba.argmax(axis=1) == PLANTED.communities[rest]).mean() > 0.75
