"""Likelihoods seen by a prior of several parts: the bound of exact variational inference, by products alone."""

import numpy as np
import pytest

from hypergauss import Markov, Spectrum, parameters
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.variational import VariationalObjective
from hypergauss.inference.variational_of_parts import JointVariational
from hypergauss.kernels import Linear, Matern, Standardised
from hypergauss.likelihoods import Bernoulli, Poisson, Softmax, StudentT
from hypergauss.operators import JaxLaplacian, LocalLaplacian
from hypergauss.solvers import solver_for
from hypergauss.solvers.sites import NaturalSites
from hypergauss.spectrum import normalised_incidence

PLANTED = make_planted_hypergraph(200, 150, 3, within=0.9, random_state=3)
OTHER = make_planted_hypergraph(200, 100, 3, within=0.9, random_state=4).hypergraph
ROWS = np.random.default_rng(1).permutation(200)[:60]
COVARIATES = np.random.default_rng(2).standard_normal((200, 2))
OPTIONS = Markov(tolerance=1e-8, learning_tolerance=1e-8, probe_tolerance=1e-6, n_probes=400)


def matern():
    return Matern(Spectrum.of(PLANTED.hypergraph), 2, 3.0, variance=2.0, fixed=("nu",))


KERNELS = {
    "standardised": lambda: Standardised(matern(), 0.5, level=1.0, activity=0.05),
    "features": lambda: matern() + Linear(COVARIATES, [0.5, 0.2]),
    "relations": lambda: matern() + Matern(Spectrum.of(OTHER), 1, 2.0, fixed=("nu",)),
}
SEEN = {
    "classes": (lambda: Softmax(3), lambda: PLANTED.communities[ROWS].astype(float)),
    "two classes": (Bernoulli, lambda: (PLANTED.signal[ROWS] > 0).astype(float)),
    "counts": (Poisson, lambda: np.round(np.exp(PLANTED.signal[ROWS]))),
    "heavy tails": (lambda: StudentT(4.0, 0.3), lambda: PLANTED.signal[ROWS]),
}
every = pytest.mark.parametrize(
    ("kernel", "seen"),
    [*(("standardised", seen) for seen in SEEN), ("features", "counts"), ("relations", "classes")],
)


def problem(kernel, seen):
    likelihood, y = (make() for make in SEEN[seen])
    return LatentModel(KERNELS[kernel](), likelihood, np.zeros(likelihood.num_latents)), y


@every
def test_bound_and_gradient_are_near_those_of_exact_variational_inference(kernel, seen):
    """Variances at the sites come from 64 draws, so the bound is that of slightly other sites: a little lower."""
    model, y = problem(kernel, seen)
    joint = JointVariational(solver_for(model.kernel, ROWS, OPTIONS), model, y)
    exact = VariationalObjective(solver_for(model.kernel, ROWS, "dense"), y, model.likelihood.num_latents, None)
    value, gradient = joint.value_and_gradient(model)
    expected, slopes = exact.value_and_gradient(model)
    assert value == pytest.approx(expected, abs=0.02 * len(ROWS))
    assert np.allclose(gradient, slopes, atol=0.1 * np.abs(slopes).max() + 0.3)
    assert len(gradient) == len(parameters.pack(model))


@every
def test_at_given_sites_log_z_and_its_slopes_are_the_dense_ones(kernel, seen):
    """With a probe for each number nothing is random: what is left out of the bound above is the sites alone."""
    model, y = problem(kernel, seen)
    joint = JointVariational(solver_for(model.kernel, ROWS, OPTIONS), model, y)
    sites, marginals = joint.settle(model)
    dense = solver_for(model.kernel, ROWS, "dense")
    found = [joint._terms(model, sites, latent) for latent in range(model.likelihood.num_latents)]
    numbers, slopes, losses = joint._surroundings(model, found)
    in_kernel, in_mean = dense.pull_back(model.kernel, model.mean, sites, np.zeros(len(ROWS)))
    expected = parameters.gather(model, {"kernel": in_kernel, "mean": in_mean})
    assert np.allclose(slopes, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))
    assert np.allclose(numbers.of(model), parameters.pack(model))
    assert len(losses) == model.likelihood.num_latents
    wanted = dense.marginals(model.kernel, model.mean, sites)
    assert np.allclose(marginals.mean, wanted.mean, atol=0.03 * np.abs(wanted.mean).max())
    # A mean of 64 squares has a relative standard error of 0.18.
    assert np.abs(np.log(marginals.variance / wanted.variance)).mean() < 0.2


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_a_site_that_says_nothing_is_none(kernel):
    """As those of labels that have just come, where an update begins."""
    model, y = problem(kernel, "two classes")
    joint = JointVariational(solver_for(model.kernel, ROWS, OPTIONS), model, y)
    sites = joint.settle(model)[0]
    silent = NaturalSites(*(np.vstack([part[:50], np.zeros((10, 1))]) for part in sites))
    joint._solved.clear()
    found = joint._marginals(model, silent, joint._noise(model))
    of_fewer = GaussianLatents.of(
        model, NaturalSites(*(part[:50] for part in sites)), solver_for(model.kernel, ROWS[:50], "dense")
    )
    expected = of_fewer.conditionals(ROWS)[0]
    assert np.allclose(found.mean, expected, atol=0.03 * np.abs(expected).max())


def test_on_an_accelerator_the_bound_is_the_same():
    pytest.importorskip("jax")
    y, found = np.round(np.exp(PLANTED.signal[ROWS])), []
    incidence = normalised_incidence(PLANTED.hypergraph)
    for operator in (LocalLaplacian.of_incidence(incidence), JaxLaplacian.of_incidence(incidence)):
        field = Matern(Spectrum.matrix_free(operator), 2, 3.0, variance=2.0, fixed=("nu",))
        model = LatentModel(field + Linear(COVARIATES), Poisson(), np.zeros(1))
        joint = JointVariational(solver_for(model.kernel, ROWS, OPTIONS._replace(n_probes=2, n_samples=2)), model, y)
        found.append(joint.value_and_gradient(model))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=2e-3 * np.abs(theirs).max())
