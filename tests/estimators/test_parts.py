"""Learning from a part of the observations, and conditioning on all of them."""

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators.tasks import chosen_part
from hypergauss.inference.mixtures import components
from hypergauss.likelihoods import MultinomialProbit, Softmax
from hypergauss.solvers import costs, work
from hypergauss.solvers.sites import Observations

pytestmark = pytest.mark.usefixtures("few_points")

PLANTED = make_planted_hypergraph(150, 40, random_state=0)
H, Y = PLANTED.hypergraph, PLANTED.signal
ROWS = np.arange(0, 150, 2)


@pytest.fixture
def few(monkeypatch):
    """Let twenty-five observations be as many as can be afforded."""

    def size(asked, *_):
        return min(25, asked.num_sites) if asked.learns and not asked.from_all else asked.num_sites

    for module in (costs, work):
        monkeypatch.setattr(module, "learning_size", size)
    return monkeypatch


def test_a_part_has_every_kind_in_proportion_and_is_the_same_each_time():
    kinds = np.repeat([0, 1, 2], [60, 39, 1])
    chosen = chosen_part(kinds, 20)
    assert np.array_equal(chosen, chosen_part(kinds, 20))
    assert len(np.unique(chosen)) == 20
    counts = np.bincount(kinds[chosen])
    assert np.abs(counts - 0.2 * np.array([60, 39, 1])).max() <= 1
    assert counts[2] == 1


def test_a_part_of_merged_measurements_is_what_its_own_measurements_merge_to():
    rng = np.random.default_rng(0)
    rows, y, noise = np.repeat(np.arange(6), 2), rng.normal(size=(12, 2)), rng.uniform(0.5, 2, 12)
    for known in (None, noise):
        whole = Observations.of(rows, y, known).part(np.array([1, 4]))
        some = np.isin(rows, [1, 4])
        own = Observations.of(rows[some], y[some], None if known is None else known[some])
        for of_part, expected in zip(whole.sites(0.3), own.sites(0.3), strict=True):
            assert np.allclose(of_part, expected)


@pytest.mark.usefixtures("few")
def test_a_regression_learns_from_a_part_and_conditions_on_all():
    model = hg.HypergraphGPRegressor(H, size_exponent=0.0, integrate=False, random_state=0).fit(ROWS, Y[ROWS])
    part = ROWS[chosen_part(np.zeros(len(ROWS)), 25)]
    assert "learned from 25 of 75 observations" in model.solver_plan_
    assert len(model.posterior_.sites.rows) == len(ROWS)
    # Centre and scale are those of all measurements; the rest is as if there were no others.
    held = hg.HypergraphGPRegressor(H, kernel=model.kernel_, noise_variance=model.noise_variance_, learn=False)
    assert np.allclose(held.fit(ROWS, Y[ROWS]).predict(range(150)), model.predict(range(150)), atol=1e-6)
    assert not np.allclose(held.fit(part, Y[part]).predict(range(150)), model.predict(range(150)), atol=1e-3)


@pytest.mark.usefixtures("few")
def test_what_is_averaged_over_is_conditioned_on_all_measurements():
    model = hg.HypergraphGPRegressor(H, size_exponent=0.0, random_state=0).fit(ROWS, Y[ROWS])
    parts = [part for _, part in components(model.posterior_)]
    assert len(parts) > 1
    assert {len(part.sites.rows) for part in parts} == {len(ROWS)}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_classification_learns_from_a_part_and_conditions_on_all(num_classes):
    labels = np.searchsorted(np.quantile(Y, np.arange(1, num_classes) / num_classes), Y)
    options = {"size_exponent": 0.0, "integrate": False, "calibrate": False, "random_state": 0}
    model = hg.HypergraphGPClassifier(H, **options).fit(ROWS, labels[ROWS])
    assert "learned from 25 of 75 observations" in model.solver_plan_
    assert len(model.posterior_.posteriors[0].sites.rows) == len(ROWS)
    held = hg.HypergraphGPClassifier(H, kernel=model.kernel_, learn=False).fit(ROWS, labels[ROWS])
    assert np.allclose(held.predict_proba(range(150)), model.predict_proba(range(150)), atol=1e-5)
    assert model.elbo_ == pytest.approx(held.elbo_, abs=1e-3)  # that of all labels


def test_a_given_kernel_is_learned_from_all_observations(few):
    def learned():
        kernel = hg.kernels.Matern(hg.Spectrum.of(H))
        return hg.HypergraphGPRegressor(H, kernel=kernel, random_state=0, n_starts=1).fit(ROWS, Y[ROWS])

    model = learned()
    few.undo()
    assert model.solver_plan_ is None
    assert model.hyperparameters_ == learned().hyperparameters_


def test_many_labels_of_several_classes_are_seen_through_softmax(monkeypatch):
    labels = np.searchsorted(np.quantile(Y, [1 / 3, 2 / 3]), Y)

    def likelihood(**more):
        model = hg.HypergraphGPClassifier(H, learn=False, **more).fit(ROWS, labels[ROWS])
        return model.posterior_.likelihood

    assert isinstance(likelihood(), MultinomialProbit)
    monkeypatch.setattr("hypergauss.estimators.classifier.coupled_is_affordable", lambda *_: False)
    assert isinstance(likelihood(), Softmax)
    assert isinstance(likelihood(likelihood="probit"), MultinomialProbit)  # as it was asked for
