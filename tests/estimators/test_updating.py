"""Growth, held against conditioning from scratch: dense formulas with kernels made anew from their hyperparameters."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import hypergauss as hg
from hypergauss import Hypergraph, HypergraphGPClassifier, HypergraphGPRegressor, Spectrum, kernels, parameters
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators import updating
from hypergauss.estimators.defaults import default_class_priors
from hypergauss.estimators.latent_task import LatentTask, kind_of
from hypergauss.estimators.tasks import How
from hypergauss.inference import SpectralFeatures
from hypergauss.inference.calibration import temperature_of, tempered
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.mixtures import components
from hypergauss.learning.priors import log_prior, match_priors
from hypergauss.solvers import solver_for
from hypergauss.solvers.markov.field import Field
from hypergauss.spectrum import zhou_laplacian
from tests.hypergraphs import random_hypergraph

pytestmark = pytest.mark.usefixtures("few_points")

H = random_hypergraph(24, 18, seed=3)
RNG = np.random.default_rng(7)
NAMES = list(H.vertices)
#: Two new vertices, one of them in a hyperedge that is there, new hyperedges, and another order of the vertices.
GROWN = H.with_edges({"new 1": [NAMES[0], NAMES[5], "eva"], "new 2": ["eva", "ida", NAMES[9]]}).with_members(
    {H.edges[2]: ["ida"]}
)
GROWN = GROWN.with_vertices([*reversed(GROWN.vertices)])
OBSERVED, LATER = NAMES[:12], NAMES[12:16]
VALUES = dict(zip([*NAMES, "eva", "ida"], RNG.standard_normal(26), strict=True))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def anew(kernel, grown):
    """Return a kernel of the default model made from its numbers alone on another hypergraph."""
    walk = kernel.part
    part = kernels.ShapedWalk(
        Spectrum.of(grown, size_exponent=walk.spectrum.size_exponent),
        float(walk.steps),
        np.asarray(walk.shape),
        variance=float(walk.variance),
    )
    numbers = {name: float(getattr(kernel, name)) for name in ("evenness", "level", "relative_level", "activity")}
    return kernels.Standardised(part, float(kernel.individuality), **numbers)


def dense_prediction(model, noises, grown, names, values, wanted):
    """Return mean and variance of the average, by K (K + S)^-1 alone."""
    at, to = grown.vertex_rows(names), grown.vertex_rows(wanted)
    means, variances, weights = [], [], []
    for (weight, part), noise in zip(components(model.posterior_), noises, strict=True):
        K = anew(part.prior.kernel, grown).gram()
        C = K[np.ix_(at, at)] + noise * np.eye(len(at))
        cross = K[np.ix_(to, at)]
        means.append(part.prior.mean[0] + cross @ np.linalg.solve(C, values - part.prior.mean[0]))
        variances.append(np.diag(K)[to] - np.einsum("ij,ij->i", cross, np.linalg.solve(C, cross.T).T))
        weights.append(weight)
    mean = np.average(means, axis=0, weights=weights)
    spread = (np.array(means) - mean) ** 2
    return mean, np.average(np.array(variances) + spread, axis=0, weights=weights)


def of(names):
    return np.array([VALUES[name] for name in names])


def noises(model):
    counts = model.observations_.counts[0]
    return [float(part.sites.variance[0] * counts) for _, part in components(model.posterior_)]


def test_a_regressor_that_took_in_vertices_hyperedges_and_measurements_is_one_conditioned_on_all_of_them():
    model = HypergraphGPRegressor(H, random_state=0).fit(OBSERVED, of(OBSERVED))
    assert len(components(model.posterior_)) > 1
    held = noises(model)
    again = [*LATER, OBSERVED[0], "eva"]  # one measured a second time
    values = of([*OBSERVED, *again])
    wanted = ["ida", "eva", NAMES[20], OBSERVED[0], OBSERVED[3]]
    hyperparameters = {name: np.array(value) for name, value in model.hyperparameters_.items()}
    expected = dense_prediction(model, held, GROWN, [*OBSERVED, *again], values, wanted)
    assert model.update(GROWN, again, of(again)) is model
    mean, std = model.predict(wanted, return_std=True, include_noise=False)
    np.testing.assert_allclose(mean, expected[0], atol=1e-9)
    np.testing.assert_allclose(std**2, expected[1], atol=1e-9)
    for name, value in hyperparameters.items():
        np.testing.assert_array_equal(model.hyperparameters_[name], value)
    assert model.H is GROWN
    assert list(model.vertices_) == list(GROWN.vertices)


@pytest.mark.parametrize("parts", [(True, False), (False, True)], ids=["growth first", "measurements first"])
def test_what_comes_in_several_steps_leads_to_where_one_step_does(parts):
    model = HypergraphGPRegressor(H, random_state=0).fit(OBSERVED, of(OBSERVED))
    other = HypergraphGPRegressor(H, random_state=0).fit(OBSERVED, of(OBSERVED))
    model.update(GROWN, LATER, of(LATER))
    for grows in parts:
        if grows:
            other.update(GROWN)
        else:
            other.update(X=LATER, y=of(LATER))
    for both in (model, other):
        assert len(both.leave_one_out()) == len(OBSERVED) + len(LATER)
    np.testing.assert_allclose(other.predict(GROWN.vertices), model.predict(GROWN.vertices), atol=1e-9)
    assert other.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, abs=1e-8)


def test_a_new_vertex_is_predicted_as_it_is_after_an_update_and_the_model_stays():
    model = HypergraphGPRegressor(H, random_state=0).fit(OBSERVED, of(OBSERVED))
    before, memberships = model.predict(NAMES), {"eva": [H.edges[1], H.edges[4]], "ida": {H.edges[2]: 2.0}, "uma": []}
    mean, std = model.predict_new(memberships, return_std=True)
    assert np.array_equal(model.predict(NAMES), before)
    grown = H.with_members({H.edges[1]: ["eva"], H.edges[4]: ["eva"], H.edges[2]: {"ida": 2.0}})
    grown = grown.with_vertices([*grown.vertices, "uma"])
    expected = model.update(grown).predict(["eva", "ida", "uma"], return_std=True)
    np.testing.assert_allclose((mean, std), expected, atol=1e-10)


def test_newcomers_may_come_as_a_hypergraph():
    model = HypergraphGPRegressor(H, learn=False).fit(OBSERVED, of(OBSERVED))
    given = Hypergraph.from_edges({H.edges[1]: ["eva"], H.edges[4]: {"eva": 2.0, "ida": 1.0}})
    by_dict = model.predict_new({"eva": {H.edges[1]: 1.0, H.edges[4]: 2.0}, "ida": [H.edges[4]]})
    np.testing.assert_allclose(model.predict_new(given), by_dict)


def labels(names, classes):
    """Return a label for each vertex that has to do with its value."""
    order = np.digitize(of(names), [-0.3, 0.4] if classes == 3 else [0.0])
    return np.array(["low", "middle", "high"] if classes == 3 else ["no", "yes"])[order]


def settled_from_nothing(model, grown, names, given, inference, wanted):
    """Return probabilities of sites that begin with nothing, on kernels made anew."""
    rows, codes = grown.vertex_rows(names), np.array([list(model.classes_).index(label) for label in given])
    how, total = How("auto", None, {}, {}, False, 1, 0, 0, None), 0.0
    for weight, latents in components(model.posterior_):
        kernel = anew(latents.posteriors[0].prior.kernel, grown)
        means = np.concatenate([part.prior.mean for part in latents.posteriors])
        fresh = LatentModel(kernel, latents.likelihood, means)
        task = LatentTask(latents.likelihood, rows, codes, inference=inference, batch_size=None, how=how)
        solver = solver_for(kernel, rows, "dense")
        objective = task.objective(solver, fresh, None)
        objective.tolerance = 1e-14
        found = task.conditioned(fresh, objective.settle(fresh).sites, solver)
        total = total + weight * found.probabilities(grown.vertex_rows(wanted))
    return total


@pytest.mark.parametrize(
    ("classes", "options", "inference"),
    [
        (2, {}, "ep"),
        (3, {}, "ep"),
        (3, {"likelihood": "softmax"}, "variational"),
        (3, {"likelihood": "ordinal"}, "ep"),
        (2, {"inference": "laplace", "likelihood": "logit"}, "laplace"),
    ],
)
def test_a_classifier_that_took_in_vertices_hyperedges_and_labels_is_one_conditioned_on_all(
    classes, options, inference
):
    order = pd.CategoricalDtype(["low", "middle", "high"] if classes == 3 else ["no", "yes"], ordered=True)
    model = HypergraphGPClassifier(H, random_state=0, max_iterations=20, **options)
    model.fit(OBSERVED, pd.Series(labels(OBSERVED, classes), dtype=order))
    again = [*LATER, OBSERVED[0], "eva"]
    wanted = ["ida", "eva", NAMES[20], OBSERVED[3]]
    names = list(dict.fromkeys([*OBSERVED, *again]))
    expected = settled_from_nothing(model, GROWN, names, labels(names, classes), inference, wanted)
    temperature = model.temperature_  # which an update keeps, as it does hyperparameters
    model.update(GROWN, again, labels(again, classes))
    expected = tempered(expected, temperature, model.shares_)
    np.testing.assert_allclose(model.predict_proba(wanted), expected, atol=1e-6)
    assert list(model.labels_.index) == list(dict.fromkeys([*model.labels_.index]))
    assert np.isfinite(model.elbo_)


def test_a_new_vertex_has_the_probabilities_that_it_has_after_an_update():
    model = HypergraphGPClassifier(H, random_state=0).fit(OBSERVED, labels(OBSERVED, 3))
    memberships = {"eva": [H.edges[1], H.edges[4]], "ida": [H.edges[2]]}
    found, predicted = model.predict_proba_new(memberships), model.predict_new(memberships)
    model.update(H.with_members({H.edges[1]: ["eva"], H.edges[4]: ["eva"], H.edges[2]: ["ida"]}))
    np.testing.assert_allclose(found, model.predict_proba(["eva", "ida"]), atol=1e-7)
    assert predicted.tolist() == model.predict(["eva", "ida"]).tolist()


def test_values_of_hyperparameters_are_weighed_by_what_all_data_say_of_them():
    model = HypergraphGPRegressor(H, random_state=0).fit(OBSERVED, of(OBSERVED))
    before = components(model.posterior_)
    again = [*LATER, "eva"]
    names, values = [*OBSERVED, *again], of([*OBSERVED, *again])
    at, old = GROWN.vertex_rows(names), H.vertex_rows(OBSERVED)
    logs = []
    for (weight, part), noise in zip(before, noises(model), strict=True):
        found = [
            multivariate_normal.logpdf(y, np.full(len(y), part.prior.mean[0]), K[np.ix_(i, i)] + noise * np.eye(len(i)))
            for K, i, y in (
                (anew(part.prior.kernel, GROWN).gram(), at, values),
                (anew(part.prior.kernel, H).gram(), old, of(OBSERVED)),
            )
        ]
        logs.append(np.log(weight) + found[0] - found[1])
    expected = np.exp(np.array(logs) - max(logs))
    expected = np.sort(expected / expected.sum())[::-1]
    model.update(GROWN, again, of(again), reweigh=True)
    kept = model.posterior_.weights
    assert len(kept) < len(before)
    assert 0.99 < expected[: len(kept)].sum() < 1  # next to nothing was left out
    np.testing.assert_allclose(kept, expected[: len(kept)] / expected[: len(kept)].sum(), atol=1e-7)


def test_labels_that_say_nothing_new_leave_weights_and_temperature_as_they_were():
    model = HypergraphGPClassifier(H, random_state=0, max_iterations=20).fit(OBSERVED, labels(OBSERVED, 3))
    weights, temperature = model.posterior_.weights, model.temperature_
    model.update(X=OBSERVED[:2], y=labels(OBSERVED[:2], 3), reweigh=True)
    np.testing.assert_allclose(
        model.posterior_.weights, np.sort(weights)[::-1][: len(model.posterior_.weights)], atol=0.02
    )
    assert model.temperature_ == pytest.approx(temperature, rel=0.02)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_weighed_anew_by_its_approximate_evidence(classes, tmp_path):
    model = HypergraphGPClassifier(H, random_state=0, max_iterations=20).fit(OBSERVED, labels(OBSERVED, classes))
    hg.save(model, tmp_path / "model")
    before = model.posterior_
    held = hg.load(tmp_path / "model").update(GROWN, LATER, labels(LATER, classes))
    logs = np.log(before.weights) + held.posterior_.log_evidences - before.log_evidences
    expected = np.sort(np.exp(logs - logs.max()))[::-1]
    again = hg.load(tmp_path / "model").update(GROWN, LATER, labels(LATER, classes), reweigh=True)
    model.update(GROWN, LATER, labels(LATER, classes), reweigh=True)
    kept = expected[: len(model.posterior_.weights)]
    np.testing.assert_allclose(model.posterior_.weights, kept / kept.sum(), atol=1e-9)
    np.testing.assert_allclose(again.predict_proba(NAMES), model.predict_proba(NAMES), atol=1e-12)
    codes = np.array([list(model.classes_).index(label) for label in model.labels_])
    assert model.temperature_ == pytest.approx(
        temperature_of(model.posterior_, codes, by_evidence=True, shares=model.shares_)
    )


def test_an_average_without_its_evidences_is_not_weighed_anew():
    model = HypergraphGPClassifier(H, random_state=0, max_iterations=20).fit(OBSERVED, labels(OBSERVED, 2))
    model.posterior_ = model.posterior_._replace(log_evidences=None)  # as of an earlier version's file
    with pytest.raises(ValueError, match="earlier version"):
        model.update(X=LATER, y=labels(LATER, 2), reweigh=True)


def heights(model, grown, names, given):
    """Return evidence plus log prior of each value that a classifier averages, conditioned on nothing but labels."""
    rows, codes = grown.vertex_rows(names), np.array([list(model.classes_).index(label) for label in given])
    how, found = How("auto", None, {}, default_class_priors(), False, 1, 0, 0, None), []
    for _, latents in components(model.posterior_):
        kernel = anew(latents.posteriors[0].prior.kernel, grown)
        fresh = LatentModel(kernel, latents.likelihood, np.zeros(len(latents.posteriors)), ("mean",))
        task = LatentTask(latents.likelihood, rows, codes, inference="ep", batch_size=None, how=how)
        objective = task.objective(solver_for(kernel, rows, "dense"), fresh, None)
        objective.tolerance = 1e-12
        prior = log_prior(fresh, match_priors(fresh, task.priors_for(fresh)))
        found.append((objective.settle(fresh).value, prior, parameters.pack(latents.posteriors[0].prior.kernel)))
    return tuple(np.array(each) for each in zip(*found, strict=True))


@pytest.mark.parametrize("classes", [2, 3])
def test_values_that_follow_the_data_move_together_and_are_weighed_anew(classes, monkeypatch):
    monkeypatch.setattr(updating, "_DISPENSABLE", 0.0)  # all values move
    first = NAMES[:8]
    model = HypergraphGPClassifier(H, random_state=0, max_iterations=20).fit(first, labels(first, classes))
    again = [*NAMES[8:20], "eva", "ida"]
    names = [*first, *again]
    before, weights = heights(model, H, first, labels(first, classes)), model.posterior_.weights
    still = heights(model, GROWN, names, labels(names, classes))
    mode = parameters.pack(model.kernel_)
    model.update(GROWN, again, labels(again, classes), relearn=True)
    after = heights(model, GROWN, names, labels(names, classes))
    # Which value is which: all have moved by as much.
    offset = parameters.pack(model.kernel_) - mode
    assert np.abs(offset).max() > 0.01
    order = [int(np.argmin(np.abs(before[2] + offset - there).max(axis=1))) for there in after[2]]
    assert 1 < len(set(order)) == len(order)
    np.testing.assert_allclose(after[2], before[2][order] + offset, atol=1e-12)
    logs = np.log(weights[order]) + (after[0] + after[1]) - (before[0] + before[1])[order]
    expected = np.exp(logs - logs.max())
    np.testing.assert_allclose(model.posterior_.weights, expected / expected.sum(), atol=1e-5)
    at = order.index(0)
    assert after[0][at] + after[1][at] > still[0][0] + still[1][0]  # that of the heaviest has risen
    wanted = ["ida", NAMES[21], NAMES[3]]
    proba = settled_from_nothing(model, GROWN, names, labels(names, classes), "ep", wanted)
    expected = tempered(proba, model.temperature_, model.shares_)
    np.testing.assert_allclose(model.predict_proba(wanted), expected, atol=1e-6)


def test_estimates_and_their_intervals_follow_too():
    first = NAMES[:6]
    model = HypergraphGPClassifier(H, random_state=0, max_iterations=20).fit(first, labels(first, 2))
    known = model.hyperparameter_posterior_
    model.update(GROWN, NAMES[6:20], labels(NAMES[6:20], 2), relearn=True)
    moved = model.hyperparameter_posterior_
    assert float(model.hyperparameters_["variance"]) == float(model.kernel_.variance)
    at = moved.entries.index("variance")
    assert moved.lower[at] < model.hyperparameters_["variance"] < moved.upper[at]
    assert moved.upper[at] / moved.lower[at] == pytest.approx(known.upper[at] / known.lower[at])
    assert moved.upper[at] != pytest.approx(known.upper[at], rel=1e-3)


def test_a_mode_follows_by_a_curvature_that_is_found_on_the_way(tmp_path):
    first = NAMES[:6]
    model = HypergraphGPClassifier(H, integrate=False, random_state=0).fit(first, labels(first, 2))
    hg.save(model, tmp_path / "model")
    values = dict(model.hyperparameters_)
    model.update(GROWN, NAMES[6:20], labels(NAMES[6:20], 2), relearn=True)
    assert float(model.hyperparameters_["variance"]) != pytest.approx(values["variance"], rel=0.01)
    np.testing.assert_array_equal(
        parameters.pack(model.kernel_), parameters.pack(model.posterior_.posteriors[0].prior.kernel)
    )
    assert model.hyperparameter_posterior_.covariance.any()  # and is kept for the next update
    assert "Predictions are made at" in " ".join(str(model.summary()).split())
    again = hg.load(tmp_path / "model").update(GROWN, NAMES[6:20], labels(NAMES[6:20], 2), relearn=True)
    np.testing.assert_allclose(again.predict_proba(NAMES), model.predict_proba(NAMES), atol=1e-9)


def test_what_was_not_learned_does_not_follow():
    model = HypergraphGPClassifier(H, learn=False).fit(OBSERVED, labels(OBSERVED, 2))
    with pytest.raises(ValueError, match="learn=False"):
        model.update(X=LATER, y=labels(LATER, 2), relearn=True)
    with pytest.raises(TypeError, match="relearn"):
        model.update(X=LATER, y=labels(LATER, 2), relearn="yes")


def test_hyperparameters_follow_slopes_that_are_exact():
    model = HypergraphGPClassifier(H, solver="iterative", max_iterations=5, random_state=0)
    model.fit(OBSERVED, labels(OBSERVED, 2))
    with pytest.raises(ValueError, match="iterative"):
        model.update(X=LATER, y=labels(LATER, 2), relearn=True)


def test_a_given_kernel_grows_with_the_hypergraph():
    kernel = kernels.Matern(Spectrum.of(H), nu=2.0, lengthscale=3.0) + kernels.Diffusion(Spectrum.of(H, 5))
    model = HypergraphGPRegressor(H, kernel, learn=False).fit(OBSERVED, of(OBSERVED)).update(GROWN)
    grown = kernels.Matern(Spectrum.of(GROWN), nu=2.0, lengthscale=3.0) + kernels.Diffusion(Spectrum.of(GROWN, 5))
    anew = HypergraphGPRegressor(GROWN, grown, learn=False).fit(OBSERVED, of(OBSERVED))
    np.testing.assert_allclose(model.predict(GROWN.vertices), anew.predict(GROWN.vertices), atol=1e-9)
    # And the estimator itself may be fitted again.
    again = model.fit(OBSERVED, of(OBSERVED)).predict(GROWN.vertices)
    np.testing.assert_allclose(again, anew.predict(GROWN.vertices), atol=1e-9)


@pytest.mark.parametrize("combine", ["sum", "product"])
def test_several_relations_and_covariates_grow_along(combine):
    other = random_hypergraph(24, 9, seed=4)
    other = other.with_vertices([*other.vertices[3:], *other.vertices[:3]])
    table = pd.DataFrame({"age": np.arange(25.0) ** 2}, index=[*NAMES, "eva"])
    relations = {"bills": H, "committees": other}
    options = {"covariates": table, "combine": combine, "learn": False}
    model = HypergraphGPRegressor(relations, **options).fit(OBSERVED, of(OBSERVED))
    grown = other.with_members({other.edges[0]: ["eva"]})
    model.update({"committees": grown}, ["eva"], [VALUES["eva"]])
    names = [*OBSERVED, "eva"]
    relations = {"bills": H, "committees": grown}
    anew = HypergraphGPRegressor(relations, **options, scale_target=False).fit(names, of(names))
    # `scale_target` sets the mean alone here.
    anew.posterior_ = _with_mean(anew.posterior_, model.posterior_.prior.mean)
    wanted = [*NAMES, "eva"]
    np.testing.assert_allclose(model.predict(wanted), anew.predict(wanted), atol=1e-9)


def _with_mean(posterior, mean):
    prior = posterior.prior._replace(mean=mean)
    return solver_for(prior.kernel, posterior.sites.rows, "dense").posterior(prior, posterior.sites)


def test_known_noise_comes_with_each_measurement():
    model = HypergraphGPRegressor(H, learn=False).fit(OBSERVED, of(OBSERVED), noise_variance=np.full(12, 0.2))
    model.update(X=[OBSERVED[0]], y=[2.0], noise_variance=[0.1])
    names, values = [*OBSERVED, OBSERVED[0]], [*of(OBSERVED), 2.0]
    anew = HypergraphGPRegressor(H, learn=False).fit(names, values, noise_variance=[0.2] * 12 + [0.1])
    anew.posterior_ = _with_mean(anew.posterior_, model.posterior_.prior.mean)
    np.testing.assert_allclose(model.predict(NAMES), anew.predict(NAMES), atol=1e-9)
    assert model.log_marginal_likelihood_ == pytest.approx(anew.posterior_.log_evidence)


@pytest.mark.parametrize("inducing", [NAMES[3:9], SpectralFeatures(4)])
def test_inducing_variables_stay_the_same(inducing):
    model = HypergraphGPRegressor(H, "matern", inducing=inducing, learn=False).fit(OBSERVED, of(OBSERVED)).update(GROWN)
    anew = HypergraphGPRegressor(GROWN, "matern", inducing=inducing, learn=False).fit(OBSERVED, of(OBSERVED))
    np.testing.assert_allclose(model.predict(GROWN.vertices), anew.predict(GROWN.vertices), atol=1e-8)


def test_the_iterative_solver_begins_where_it_was_and_ends_where_it_would_from_nothing():
    H = random_hypergraph(120, 90, seed=5)
    names = list(H.vertices)
    y = np.sin(np.arange(60.0))
    solver = hg.Iterative(tolerance=1e-8)
    kernel = kernels.Matern(Spectrum.matrix_free(H), nu=2.0, lengthscale=2.0)
    model = HypergraphGPRegressor(H, kernel, learn=False, solver=solver).fit(names[:60], y)
    grown = H.with_members({H.edges[0]: ["eva"], H.edges[1]: ["eva"]})
    model.update(grown, ["eva"], [0.3])
    products = model.posterior_.num_products
    mean = model.predict(grown.vertices)
    used = model.posterior_.num_products - products
    fresh = kernels.Matern(Spectrum.matrix_free(grown), nu=2.0, lengthscale=2.0)
    anew = HypergraphGPRegressor(grown, fresh, learn=False, solver=solver)
    anew.fit([*names[:60], "eva"], [*y, 0.3])
    expected = model.posterior_.prior.mean + _fresh_mean(anew, model)
    np.testing.assert_allclose(mean, expected.ravel(), atol=1e-6)
    assert used < anew.posterior_.num_products


def _fresh_mean(anew, model):
    """Return the mean less the prior's of the same sites, from nothing."""
    prior = anew.posterior_.prior._replace(mean=model.posterior_.prior.mean)
    anew.posterior_ = solver_for(prior.kernel, anew.posterior_.sites.rows, anew.solver).posterior(
        prior, anew.posterior_.sites
    )
    return anew.posterior_.mean(np.arange(prior.kernel.num_vertices)) - prior.mean


def test_a_saved_model_is_updated_as_the_one_that_was_saved(tmp_path):
    for model, given in (
        (HypergraphGPRegressor(H, random_state=0), of),
        (HypergraphGPClassifier(H, random_state=0), lambda names: labels(names, 3)),
    ):
        model.fit(OBSERVED, given(OBSERVED))
        hg.save(model, tmp_path / "model")
        loaded = hg.load(tmp_path / "model").update(GROWN, LATER, given(LATER))
        model.update(GROWN, LATER, given(LATER))
        ask = "predict" if given is of else "predict_proba"
        np.testing.assert_allclose(getattr(loaded, ask)(GROWN.vertices), getattr(model, ask)(GROWN.vertices), atol=1e-9)


REGRESSOR = HypergraphGPRegressor(H, learn=False).fit(OBSERVED, of(OBSERVED))
CLASSIFIER = HypergraphGPClassifier(H, learn=False).fit(OBSERVED, labels(OBSERVED, 3))
RELATIONS = HypergraphGPRegressor({"bills": H, "committees": H}, learn=False).fit(OBSERVED, of(OBSERVED))


@pytest.mark.parametrize(
    ("model", "given", "error", "message"),
    [
        (REGRESSOR, {"H": H.without([NAMES[1]])}, ValueError, "hold all 24 vertices .* without .* fit again"),
        (REGRESSOR, {"H": H.clique_expansion()}, TypeError, "must be a Hypergraph, as the model has it. Got Graph"),
        (REGRESSOR, {"H": {"bills": H}}, TypeError, "Got several relations. Pass the grown Hypergraph"),
        (RELATIONS, {"H": H}, TypeError, "relations bills, committees. Got Hypergraph. Name those that have grown"),
        (RELATIONS, {"H": {"votes": H}}, ValueError, r"knows \(bills, committees\). Got 'votes'. A new kind"),
        (REGRESSOR, {}, ValueError, "something to take in. Got nothing. Pass `H`"),
        (REGRESSOR, {"X": LATER}, ValueError, "go together. Got `X` alone"),
        (REGRESSOR, {"X": ["nobody"], "y": [1.0]}, ValueError, "must belong to the hypergraph .* Got 'nobody'"),
        (REGRESSOR, {"X": LATER, "y": np.zeros((4, 2))}, ValueError, "must have 1 outputs, as in `fit`. Got 2"),
        (REGRESSOR, {"X": LATER, "y": [1.0] * 4, "noise_variance": [1.0] * 4}, ValueError, "was learned, and cannot"),
        (REGRESSOR, {"covariates": np.zeros((24, 1))}, ValueError, "of a model that has a table of them"),
        (CLASSIFIER, {"X": [OBSERVED[0]], "y": ["?"]}, ValueError, "classes that the model knows .* Got '\\?'. A new"),
        (CLASSIFIER, {"y": ["low"]}, ValueError, "go together. Got `y` alone"),
        (CLASSIFIER, {}, ValueError, "something to take in"),
    ],
)
def test_an_update_that_does_not_fit_the_model_is_refused_and_leaves_it_as_it_was(model, given, error, message):
    before = model.posterior_
    with pytest.raises(error, match=message):
        model.update(**given)
    assert model.posterior_ is before


def test_a_label_that_contradicts_a_known_one_is_refused():
    other = next(c for c in CLASSIFIER.classes_ if c != CLASSIFIER.labels_.loc[OBSERVED[0]])
    with pytest.raises(ValueError, match=f"contradict .* Got '{other}' for .* Leave it out, or fit again"):
        CLASSIFIER.update(X=[OBSERVED[0]], y=[other])


@pytest.mark.parametrize(
    ("model", "memberships", "error", "message"),
    [
        (REGRESSOR, {"eva": ["?"]}, ValueError, r"hyperedges that the model knows \(18\). Got '\?'. Add them with"),
        (REGRESSOR, {NAMES[0]: []}, ValueError, "must be of new vertices. .* Ask `predict` for it"),
        (REGRESSOR, {}, ValueError, "at least one new vertex. Got none"),
        (REGRESSOR, ["eva"], TypeError, "must be a dict of new vertex to its hyperedges, or a Hypergraph. Got list"),
        (REGRESSOR, {"eva": "x"}, TypeError, "must come in a list. Got 'x' for 'eva'"),
        (RELATIONS, {"eva": []}, ValueError, "must be a dict by relation"),
    ],
)
def test_newcomers_that_do_not_fit_the_model_are_refused(model, memberships, error, message):
    with pytest.raises(error, match=message):
        model.predict_new(memberships)


def test_models_by_draws_say_that_they_are_to_be_fitted_again():
    model = HypergraphGPClassifier(H, inference="variational", inducing=NAMES[:6], batch_size=6, max_iterations=2)
    model.fit(OBSERVED, labels(OBSERVED, 2))
    with pytest.raises(ValueError, match="Got one by mini-batches"):
        model.update(GROWN)


def test_kinds_of_inference_are_told_apart():
    assert kind_of(CLASSIFIER.posterior_.likelihood, "ep") == "coupled"


def test_measurements_on_a_log_scale_are_taken_in_on_it():
    prices = {name: float(np.exp(value)) for name, value in VALUES.items()}
    options = {"integrate": False, "random_state": 0}
    model = HypergraphGPRegressor(H, transform="log", **options).fit(OBSERVED, [prices[name] for name in OBSERVED])
    logs = HypergraphGPRegressor(H, **options).fit(OBSERVED, of(OBSERVED))
    again = [*LATER, "eva"]
    model.update(GROWN, again, [prices[name] for name in again])
    logs.update(GROWN, again, of(again))
    median = model.predict_quantiles(GROWN.vertices, [0.5])[:, 0]
    np.testing.assert_allclose(median, np.exp(logs.predict(GROWN.vertices)), rtol=1e-6)
    jacobian = -of([*OBSERVED, *again]).sum()
    assert model.log_marginal_likelihood_ == pytest.approx(logs.log_marginal_likelihood_ + jacobian, abs=1e-6)
    with pytest.raises(ValueError, match="positive `y`"):
        model.update(X=LATER, y=[-1.0] * len(LATER))


def test_a_new_vertex_is_predicted_on_the_log_scale_and_after_loading(tmp_path):
    model = HypergraphGPRegressor(H, transform="log", learn=False).fit(OBSERVED, np.exp(of(OBSERVED)))
    hg.save(model, tmp_path / "model")
    memberships = {"eva": [H.edges[1]]}
    mean = model.predict_new(memberships)
    loaded = hg.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_new(memberships), mean)
    for each in (model, loaded):
        each.update(H.with_members({H.edges[1]: ["eva"]}))
        np.testing.assert_allclose(each.predict(["eva"]), mean)
    assert loaded.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_)


def test_the_markov_solver_begins_where_it_was_and_ends_where_the_dense_one_does():
    H = random_hypergraph(120, 90, seed=5)
    names, y = list(H.vertices), np.sin(np.arange(60.0))
    kernel = kernels.Matern(Spectrum.matrix_free(H), nu=2.0, lengthscale=2.0)
    model = HypergraphGPRegressor(H, kernel, learn=False, solver=hg.Markov(tolerance=1e-8)).fit(names[:60], y)
    grown = H.with_members({H.edges[0]: ["eva"], H.edges[1]: ["eva"]})
    fresh = kernels.Matern(Spectrum.of(grown), nu=2.0, lengthscale=2.0)
    model.update(grown, ["eva"], [0.3])
    assert model.solver_ == "markov"
    prior = model.posterior_.prior._replace(kernel=fresh)
    expected = solver_for(fresh, model.posterior_.sites.rows, "dense").posterior(prior, model.posterior_.sites)
    np.testing.assert_allclose(
        model.predict(grown.vertices), expected.mean(np.arange(grown.num_vertices))[:, 0], atol=1e-6
    )
    assert abs(model.log_marginal_likelihood_ - expected.log_evidence) < 1.0


def test_a_density_by_probes_stays_while_growth_is_small_and_answers_are_those_of_the_same_field():
    H = make_planted_hypergraph(1_100, 900, random_state=6).hypergraph
    names, y = list(H.vertices), np.sin(np.arange(300.0))
    kernel = kernels.Matern(Spectrum.matrix_free(H), nu=2.0, lengthscale=2.0)
    model = HypergraphGPRegressor(H, kernel, learn=False, solver=hg.Markov(tolerance=1e-9)).fit(names[:300], y)
    field = Field.of(kernel)
    grown = H.with_members({H.edges[0]: ["eva"], H.edges[1]: ["eva"]})
    alone = model.predict_new({"eva": [H.edges[0], H.edges[1]]})
    model.update(grown, ["eva"], [0.3])
    spectrum = model.posterior_.prior.kernel.spectrum
    assert spectrum.density is kernel.spectrum.density
    values, vectors = np.linalg.eigh(zhou_laplacian(grown).dense())
    K = vectors * (field.s * (field.c / (field.c + values)) ** field.nu) @ vectors.T
    sites, mean = model.posterior_.sites, model.posterior_.prior.mean

    def expected(rows, targets, variance):
        weights = np.linalg.solve(K[np.ix_(rows, rows)] + np.diag(variance), targets - mean)
        return mean + K[:, rows] @ weights

    after = expected(sites.rows, sites.mean, sites.variance)
    np.testing.assert_allclose(model.predict(grown.vertices), after[:, 0], atol=1e-6)
    was = sites.rows != grown.vertices.get_loc("eva")
    before = expected(sites.rows[was], sites.mean[was], sites.variance[was])
    np.testing.assert_allclose(alone, before[grown.vertices.get_indexer(["eva"]), 0], atol=1e-6)
    model.update(grown.with_edges({f"new {j}": names[j : j + 20] for j in range(60)}))
    assert model.posterior_.prior.kernel.spectrum.density is not spectrum.density


@pytest.mark.parametrize("transform", ["none", "log"])
def test_a_new_vertex_of_a_large_field_is_predicted_as_after_an_update(transform):
    members = make_planted_hypergraph(1_100, 900, random_state=6).hypergraph
    # Names that are tuples, and memberships with numbers.
    H = Hypergraph.from_edges({("edge", e): members.members(e) for e in members.edges}, vertices=members.vertices)
    kernel = kernels.Matern(Spectrum.matrix_free(H), nu=2.0, lengthscale=2.0)
    model = HypergraphGPRegressor(H, kernel, learn=False, transform=transform, solver=hg.Markov(tolerance=1e-8))
    model.fit(H.vertices[:300], np.exp(np.sin(np.arange(300.0))))
    given = {"eva": [("edge", 4), ("edge", 7)], "ida": {("edge", 7): 2.0, ("edge", 9): 0.0}}
    before = model.posterior_
    mean, std = model.predict_new(given, return_std=True)
    alone = model.predict_new(given)
    assert model.posterior_ is before
    with pytest.raises(ValueError, match="`memberships` must be in hyperedges that the model knows"):
        model.predict_new({"eva": [("edge", -1)]})
    with pytest.raises(ValueError, match="must be of new vertices"):
        model.predict_new({0: [("edge", 1)]})
    grown = H.with_members({("edge", 4): ["eva"], ("edge", 7): {"eva": 1.0, "ida": 2.0}})
    expected = model.update(grown).predict(["eva", "ida"], return_std=True)
    np.testing.assert_allclose((mean, std), expected, rtol=1e-6)
    np.testing.assert_allclose(alone, mean, rtol=1e-6)


def test_new_vertices_have_calibrated_probabilities():
    model = HypergraphGPClassifier(H, calibrate=True, likelihood="softmax", random_state=0, max_iterations=10)
    model.fit(OBSERVED, labels(OBSERVED, 3))
    model.temperature_ = 2.0
    found = model.predict_proba_new({"eva": [H.edges[1]]})
    model.update(H.with_members({H.edges[1]: ["eva"]}))
    assert model.temperature_ == 2.0
    np.testing.assert_allclose(found, model.predict_proba(["eva"]), atol=1e-7)
    plain = model.posterior_.probabilities(model._rows(["eva"]))
    powers = np.sqrt(plain * model.shares_)
    np.testing.assert_allclose(found, powers / powers.sum(), atol=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"laplacian": "bolla", "learn": False}, "by Zhou's Laplacian"),
        ({"covariates": np.random.default_rng(0).random((24, 101)), "learn": False}, "takes in observations alone"),
    ],
)
def test_models_that_cannot_grow_say_so_and_stay(options, message):
    model = HypergraphGPRegressor(H, **options).fit(OBSERVED, of(OBSERVED))
    before = model.predict(NAMES)
    for grow in (lambda: model.update(GROWN), lambda: model.predict_new({"eva": [H.edges[1]]})):
        with pytest.raises(ValueError, match=message):
            grow()
    assert np.array_equal(model.predict(NAMES), before)


THROUGH = {
    "student-t": lambda names: of(names),
    "poisson": lambda names: np.round(np.exp(of(names) - np.min(of(NAMES)))),
    "ordinal": lambda names: np.digitize(of(names), np.quantile(of(NAMES), [0.4, 0.7])),
}


@pytest.mark.parametrize("likelihood", list(THROUGH))
@pytest.mark.parametrize(("solver", "tolerance"), [("auto", 1e-4), ("markov", 0.05)])
def test_updates_through_a_likelihood_are_where_sites_settle_from_nothing(likelihood, solver, tolerance):
    """With the same hyperparameters. By products sites settle to a percent."""
    y = THROUGH[likelihood]
    model = HypergraphGPRegressor(H, likelihood=likelihood, solver=solver, learn=False).fit(OBSERVED, y(OBSERVED))
    predicted = model.predict_new({"eva": [H.edges[1]]})
    assert np.isfinite(predicted).all()
    model.update(GROWN, LATER, y(LATER))
    assert len(model.leave_one_out()) == len(OBSERVED) + len(LATER)
    part = components(model.posterior_)[0][1]
    prior = part.posteriors[0].prior
    rows = GROWN.vertex_rows([*OBSERVED, *LATER])
    inference = "ep" if part.likelihood.is_log_concave and solver == "auto" else "variational"
    how = How("auto", None, {}, {}, False, 1, 0, 0, None)
    values = y([*OBSERVED, *LATER]).astype(float)
    task = LatentTask(part.likelihood, rows, values, inference=inference, batch_size=None, how=how)
    latent = LatentModel(prior.kernel, part.likelihood, prior.mean)
    prepared = solver_for(prior.kernel, rows, "dense" if solver == "auto" else solver)
    objective = task.objective(prepared, latent, None)
    objective.tolerance = 1e-12  # of exact solvers
    anew = task.conditioned(latent, objective.settle(latent)[0], prepared, objective)
    everywhere = np.arange(GROWN.num_vertices)
    for found, expected in zip(part.conditionals(everywhere), anew.conditionals(everywhere), strict=True):
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


def test_what_more_was_observed_must_fit_the_likelihood():
    counts = HypergraphGPRegressor(H, likelihood="poisson", learn=False).fit(OBSERVED, THROUGH["poisson"](OBSERVED))
    levels = HypergraphGPRegressor(H, likelihood="ordinal", learn=False).fit(OBSERVED, THROUGH["ordinal"](OBSERVED))
    for model, names, y, message in (
        (counts, LATER[:1], [0.5], "must hold counts"),
        (counts, OBSERVED[:1], [1], "observed once each.*one more observation"),
        (counts, [LATER[0], LATER[0]], [1, 1], "observed once each"),
        (levels, LATER[:1], [7], "levels that the model knows"),
    ):
        before = model.predict(NAMES)
        with pytest.raises(ValueError, match=message):
            model.update(X=names, y=y)
        assert np.array_equal(model.predict(NAMES), before)


def test_a_saved_model_through_a_likelihood_is_updated(tmp_path):
    model = HypergraphGPRegressor(H, likelihood="poisson", learn=False).fit(OBSERVED, THROUGH["poisson"](OBSERVED))
    hg.save(model, tmp_path / "counts.hypergauss")
    again = hg.load(tmp_path / "counts.hypergauss")
    for each in (model, again):
        each.update(X=LATER, y=THROUGH["poisson"](LATER))
    np.testing.assert_allclose(again.predict(NAMES), model.predict(NAMES), rtol=1e-5)


def test_a_model_on_another_laplacian_takes_in_observations():
    model = HypergraphGPRegressor(H, laplacian="bolla", learn=False).fit(OBSERVED, of(OBSERVED))
    model.update(X=LATER, y=of(LATER))
    assert len(model.leave_one_out()) == len(OBSERVED) + len(LATER)


def test_a_regressor_by_draws_is_to_be_fitted_again():
    model = HypergraphGPRegressor(H, learn=False).fit(OBSERVED, of(OBSERVED))
    model.draws_ = object()
    with pytest.raises(ValueError, match="Got one by draws"):
        model.update(GROWN)
