"""What a fit does where conjugate gradients do not converge."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.exceptions import ConvergenceError, LearningWarning
from hypergauss.kernels import Matern
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(60, 40, seed=2)
NAMES = list(H.vertices)
RNG = np.random.default_rng(0)
Y = Matern(hg.Spectrum.of(H), 2.0, 6.0).prior_draws(np.arange(40), 1, RNG)[:, 0] + 0.1 * RNG.standard_normal(40)
HASTY = hg.Iterative(max_iterations=2, n_deflated=0, n_probes=2)
TOLD = (
    r"did not converge, and the model is fitted anew by an exact one, predicted to take .* residual of .* Likely causes"
)


def regressor(**options):
    return hg.HypergraphGPRegressor(**({"H": H, "noise_variance": 1e-4, "learn": False} | options))


KERNELS = {"named": "matern", "given": Matern(hg.Spectrum.of(H))}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_a_regression_that_does_not_converge_is_solved_exactly_and_says_so(kernel):
    exact = regressor(kernel=kernel, solver="dense").fit(NAMES[:40], Y)
    with pytest.warns(LearningWarning, match=TOLD):
        model = regressor(kernel=kernel, solver=HASTY).fit(NAMES[:40], Y)
    assert model.solver_ in ("dense", "low-rank")
    assert model.solver_plan_.startswith("exact solver")
    for own, expected in zip(model.predict(NAMES, return_std=True), exact.predict(NAMES, return_std=True), strict=True):
        assert np.allclose(own, expected, atol=1e-6)


def test_hyperparameters_are_learned_anew_by_the_exact_solver():
    options = {"learn": True, "random_state": 0, "size_exponent": 0.0}
    with pytest.warns(LearningWarning, match=TOLD):
        model = regressor(solver=HASTY, **options).fit(NAMES[:40], Y)
    exact = regressor(solver=model.solver_, **options).fit(NAMES[:40], Y)
    assert model.log_marginal_likelihood_ == pytest.approx(exact.log_marginal_likelihood_, abs=1e-6)


def test_a_classification_that_does_not_converge_is_solved_exactly_and_says_so():
    labels = np.where(Y > 0, "high", "low")
    steep = Matern(hg.Spectrum.of(H), 3.0, 30.0, variance=1e6)
    options = {"kernel": steep, "likelihood": "logit", "inference": "variational", "learn": False}
    with pytest.warns(LearningWarning, match=TOLD):
        model = hg.HypergraphGPClassifier(H, solver=HASTY, **options).fit(NAMES[:40], labels)
    exact = hg.HypergraphGPClassifier(H, **options).fit(NAMES[:40], labels)
    assert np.allclose(model.predict_proba(NAMES), exact.predict_proba(NAMES), atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"kernel": Matern(hg.Spectrum.matrix_free(H))}], ids=["memory", "products"])
def test_without_an_exact_solver_that_fits_the_residual_and_likely_causes_are_told(monkeypatch, options):
    if not options:
        monkeypatch.setattr("hypergauss.estimators.blueprint.memory_limit", lambda: 0.0)
    with pytest.raises(ConvergenceError, match=r"relative residual of \d.* Likely causes"):
        regressor(solver=HASTY, **options).fit(NAMES[:40], Y)
