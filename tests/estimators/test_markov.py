"""Estimators on the Markov solver: nothing computed that was not asked for, nu by the evidence, and what is refused."""

import numpy as np
import pytest

from hypergauss import (
    Hypergraph,
    HypergraphGPClassifier,
    HypergraphGPRegressor,
    Iterative,
    Markov,
    Spectrum,
    load,
    save,
)
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.exceptions import LearningWarning
from hypergauss.kernels import Linear, Matern, Standardised
from hypergauss.solvers import choose
from hypergauss.solvers.iterative import posterior as of_iterative
from hypergauss.solvers.markov import posterior as of_markov
from hypergauss.spectrum import local_density

PLANTED = make_planted_hypergraph(300, 250, 5, random_state=4)
H, ROWS = PLANTED.hypergraph, np.arange(0, 300, 2)
COVARIATES = np.random.default_rng(1).standard_normal((300, 2))
Y = PLANTED.signal[ROWS] + 0.3 * np.random.default_rng(0).standard_normal(len(ROWS))


@pytest.mark.parametrize(("solver", "module"), [("markov", of_markov), ("iterative", of_iterative)])
def test_without_learning_the_log_evidence_is_estimated_when_read(solver, module, monkeypatch):
    estimated = []
    original = module.log_determinant
    monkeypatch.setattr(module, "log_determinant", lambda system: estimated.append(1) or original(system))
    model = HypergraphGPRegressor(H, solver=solver, learn=False).fit(H.vertices[ROWS], Y)
    before = model.posterior_.num_products
    mean = model.predict(H.vertices)
    assert model.posterior_.num_products == before  # the mean was solved for once
    assert not estimated
    assert np.isfinite(model.log_marginal_likelihood_)
    assert estimated == [1]
    assert model.log_marginal_likelihood_ == model.log_marginal_likelihood_
    assert np.corrcoef(mean, PLANTED.signal)[0, 1] > 0.5


def test_a_fit_anew_does_not_keep_the_earlier_log_evidence():
    model = HypergraphGPRegressor(H, solver="markov", learn=False).fit(H.vertices[ROWS], Y)
    first = model.log_marginal_likelihood_
    assert model.fit(H.vertices[ROWS], 3 * Y).log_marginal_likelihood_ != first


def test_nu_is_that_of_highest_evidence_and_predictions_are_those_of_the_dense_solver():
    model = HypergraphGPRegressor(H, solver=Markov(n_probes=16, tolerance=1e-9)).fit(H.vertices[ROWS], Y)
    assert model.solver_ == "markov"
    assert model.kernel_.nu in (1, 2, 3)
    learned = Matern(
        Spectrum.of(H),
        model.kernel_.nu,
        float(model.kernel_.lengthscale),
        variance=float(model.kernel_.variance),
        fixed=("nu",),
    )
    prior = model.posterior_.prior._replace(kernel=learned)
    dense = choose.condition(prior, model.posterior_.sites, "dense")
    everywhere = np.arange(300)
    assert np.allclose(model.predict(H.vertices), dense.mean(everywhere)[:, 0], atol=1e-6)


def test_where_eigenvectors_do_not_fit_a_default_regressor_is_a_markov_field(monkeypatch):
    monkeypatch.setattr(choose, "memory_limit", lambda: 2e6)
    model = HypergraphGPRegressor(H, learn=False).fit(H.vertices[ROWS], Y)
    assert model.solver_ == "markov"
    assert "Markov solver" in model.solver_plan_
    named = HypergraphGPRegressor(H, "matern", learn=False).fit(H.vertices[ROWS], Y)
    assert named.solver_ == "iterative"  # as it was named, with a nu that need not be whole


def test_a_model_is_saved_and_read_again(tmp_path):
    model = HypergraphGPRegressor(H, solver=Markov(seed=3), learn=False).fit(H.vertices[ROWS], Y)
    save(model, tmp_path / "model.hypergauss")
    again = load(tmp_path / "model.hypergauss")
    assert again.solver_ == "markov"
    assert again.posterior_.options == Markov(seed=3)
    assert np.allclose(again.predict(H.vertices), model.predict(H.vertices), atol=1e-6)
    wanted, found = (each.predict(H.vertices, return_std=True).std for each in (model, again))
    assert np.allclose(found, wanted, atol=1e-6)


def test_explanations_are_those_of_the_iterative_solver():
    kernel = Matern(Spectrum.matrix_free(H), 2, 4.0)
    first, second = (
        HypergraphGPRegressor(H, kernel, solver=solver, learn=False).fit(H.vertices[ROWS], Y)
        for solver in (Markov(tolerance=1e-9), Iterative(tolerance=1e-9))
    )
    mine, theirs = first.explain(H.vertices[1]), second.explain(H.vertices[1])
    numbers = [each.edges.select_dtypes("number").to_numpy(float) for each in (mine, theirs)]
    assert np.allclose(*numbers, atol=1e-6)


def standardised(spectrum=None):
    spectrum = Spectrum.matrix_free(H) if spectrum is None else spectrum
    return Standardised(Matern(spectrum, 2, 4.0, fixed=("nu",)), 0.5, level=1.0, activity=0.1)


def test_a_field_is_centred_and_scaled_where_it_is_asked_for(tmp_path):
    """Means, deviations and explanations are those of the dense solver; nothing is random at 300 vertices but draws."""
    fit = (H.vertices[ROWS], Y)
    free = HypergraphGPRegressor(H, standardised(), solver=Markov(tolerance=1e-9, n_samples=300), learn=False).fit(*fit)
    dense = HypergraphGPRegressor(H, standardised(Spectrum.of(H)), solver="dense", learn=False).fit(*fit)
    assert free.solver_ == "markov"
    (mean, std), (wanted, wanted_std) = (each.predict(H.vertices, return_std=True) for each in (free, dense))
    assert np.allclose(mean, wanted, atol=1e-7)
    assert np.allclose(std, wanted_std, atol=1e-7)
    for vertex in H.vertices[[1, 4]]:
        mine, theirs = (each.explain(vertex).edges.select_dtypes("number").to_numpy(float) for each in (free, dense))
        assert np.allclose(mine, theirs, atol=1e-7)
    save(free, tmp_path / "model.hypergauss")
    assert np.allclose(load(tmp_path / "model.hypergauss").predict(H.vertices), mean, atol=1e-6)


def test_without_eigenvectors_a_standardised_kernel_is_solved_as_a_field_unasked():
    model = HypergraphGPRegressor(H, standardised(), learn=False).fit(H.vertices[ROWS], Y)
    assert model.solver_ == "markov"


def test_relations_and_a_linear_effect_are_added_and_learned():
    other = make_planted_hypergraph(300, 250, 5, random_state=9).hypergraph
    effect = 0.8 * COVARIATES[:, 0]
    solver = Markov(n_probes=4)
    model = HypergraphGPRegressor({"own": H, "other": other}, covariates=Linear(COVARIATES), solver=solver)
    model.fit(H.vertices[ROWS], Y + effect[ROWS])
    assert model.solver_ == "markov"
    assert set(model.relation_weights_) == {"own", "other", "covariates"}
    assert np.corrcoef(model.predict(H.vertices), PLANTED.signal + effect)[0, 1] > 0.9


def test_relations_and_a_linear_effect_of_counts_are_learned_through_their_likelihood():
    other = make_planted_hypergraph(300, 250, 5, random_state=9).hypergraph
    level = PLANTED.signal + 0.5 * COVARIATES[:, 0]
    counts = np.random.default_rng(2).poisson(np.exp(1.0 + level))
    model = HypergraphGPRegressor(
        {"own": H, "other": other},
        covariates=Linear(COVARIATES),
        solver=Markov(n_probes=4),
        likelihood="poisson",
        max_iterations=10,
    ).fit(H.vertices[ROWS], counts[ROWS])
    assert model.solver_ == "markov"
    hidden = np.setdiff1d(np.arange(300), ROWS)
    assert np.corrcoef(np.log(model.predict(H.vertices)), level)[0, 1] > 0.8
    assert np.isfinite(model.predict(H.vertices[hidden[:5]], return_std=True)[1]).all()


def test_classes_of_several_relations_and_of_a_standardised_kernel_are_told():
    other = make_planted_hypergraph(300, 250, 5, random_state=9).hypergraph
    labels = np.where(PLANTED.signal > 0, "a", "b")
    hidden = np.setdiff1d(np.arange(300), ROWS)
    quick = {"solver": Markov(n_probes=4, n_samples=16)}
    for model in (
        HypergraphGPClassifier({"own": H, "other": other}, **quick),
        HypergraphGPClassifier(H, standardised(), **quick),
        HypergraphGPClassifier(H, standardised(), inference="one-hot", **quick),
    ):
        model.fit(H.vertices[ROWS], labels[ROWS])
        assert model.solver_ == "markov"
        assert model.score(H.vertices[hidden], labels[hidden]) > 0.75


def test_labels_of_a_field_that_is_learned_by_a_bound_are_taken_in():
    """A label that has just come says nothing where sites begin, and its pseudo-observation is 0 / 0."""
    labels = np.where(PLANTED.signal > 0, "a", "b")
    hidden = np.setdiff1d(np.arange(300), ROWS)
    settings = {"solver": "markov", "inference": "variational", "learn": False}
    model = HypergraphGPClassifier(H, **settings).fit(H.vertices[ROWS], labels[ROWS])
    model.update(X=H.vertices[hidden[:9]], y=labels[hidden[:9]])
    known = np.append(ROWS, hidden[:9])
    anew = HypergraphGPClassifier(H, **settings).fit(H.vertices[known], labels[known])
    # Sites settle to a percent.
    assert np.allclose(model.predict_proba(H.vertices), anew.predict_proba(H.vertices), atol=0.02)


def test_plan_and_summary_say_what_the_prior_is(monkeypatch):
    model = HypergraphGPRegressor(H, solver="markov", learn=False).fit(H.vertices[ROWS], Y)
    assert "neither centred nor scaled" in model.solver_plan_
    assert any("not centred" in note for note in model.summary().notes)
    scaled = HypergraphGPRegressor(H, standardised(), learn=False).fit(H.vertices[ROWS], Y)
    assert not any("from probes" in note for note in scaled.summary().notes)  # there are none for so few vertices
    monkeypatch.setattr(local_density, "_FEW_VERTICES", 200)
    scaled = HypergraphGPRegressor(H, standardised(), learn=False).fit(H.vertices[ROWS], Y)
    assert any("from probes, which are typically off by" in note for note in scaled.summary().notes)
    exact = HypergraphGPRegressor(H, learn=False).fit(H.vertices[ROWS], Y)
    assert "centred" not in exact.solver_plan_
    assert not any("not centred" in note for note in exact.summary().notes)


def test_what_the_solver_cannot_do_is_refused_with_a_way_out():
    fit = (H.vertices[ROWS], Y)
    with pytest.raises(ValueError, match=r"whole nu\. Got nu = 1\.5"):
        HypergraphGPRegressor(H, Matern(Spectrum.matrix_free(H), 1.5), solver="markov", learn=False).fit(*fit)
    with pytest.raises(ValueError, match="whose nu is free"):
        HypergraphGPRegressor(H, Matern(Spectrum.matrix_free(H), 2), solver="markov").fit(*fit)
    with pytest.raises(ValueError, match=r"covariates with few features, added.*`covariates=Linear\(X\)`"):
        HypergraphGPRegressor(H, covariates=COVARIATES, solver="markov").fit(*fit)
    with pytest.raises(ValueError, match="`tolerance` must lie between"):
        HypergraphGPRegressor(H, solver=Markov(tolerance=2.0)).fit(*fit)


def test_a_system_that_does_not_converge_falls_back_to_an_exact_solver_and_says_so():
    with pytest.warns(LearningWarning, match="The Markov solver did not converge"):
        model = HypergraphGPRegressor(H, solver=Markov(max_iterations=2), learn=False).fit(H.vertices[ROWS], Y)
    assert model.solver_ in ("dense", "low-rank")


def test_isolated_vertices_and_components_have_finite_answers():
    small = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["d", "e"]], vertices=list("abcdef"))
    model = HypergraphGPRegressor(small, solver="markov").fit(["a", "c", "d"], [1.0, 1.2, -1.0])
    mean, std = model.predict(list("abcdef"), return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
