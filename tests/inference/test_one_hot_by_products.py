"""Labels as zeros and ones on a Markov field: folds against dense solves, slopes against differences, whole models."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import hypergauss as hg
from hypergauss import HypergraphGPClassifier, Markov, Spectrum, parameters
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.inference.calibration import best_temperature, log_prior_of_temperature, tempered
from hypergauss.inference.folds import fold_of
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.one_hot import OneHotLatents
from hypergauss.inference.one_hot_by_products import OneHotByProducts
from hypergauss.kernels import Linear, Matern, Standardised
from hypergauss.likelihoods import Softmax
from hypergauss.solvers import solver_for
from hypergauss.solvers.work import FOLDS, num_held_out_folds
from tests.oracles import central_differences

PLANTED = make_planted_hypergraph(120, 90, 3, within=0.9, random_state=103)
H, CLASSES = PLANTED.hypergraph, PLANTED.communities
ROWS = np.random.default_rng(104).permutation(120)[:45]
REST = np.setdiff1d(np.arange(120), ROWS)
TIGHT = Markov(tolerance=1e-10, learning_tolerance=1e-10)
MEAN = np.array([0.3, -0.2, 0.1])


def model_at(nu=2, mean=MEAN):
    return LatentModel(Matern(Spectrum.of(H), nu, 3.0, variance=2.0, fixed=("nu",)), Softmax(3), mean)


def objective(model, rows=ROWS):
    return OneHotByProducts(solver_for(model.kernel, rows, TIGHT), CLASSES[rows], 3)


def dense_means(model, rows=ROWS):
    """Return the mean of each label from those of other folds, shape (n, C), by K (K_tt + I)^-1 alone."""
    K, fold = model.kernel.gram()[np.ix_(rows, rows)], fold_of(CLASSES[rows])
    targets, found = 4 * (np.eye(3)[CLASSES[rows]] - 1 / 3), np.empty((len(rows), 3))
    for own in (fold == number for number in range(FOLDS)):
        system = K[np.ix_(~own, ~own)] + np.eye((~own).sum())
        found[own] = model.mean + K[np.ix_(own, ~own)] @ np.linalg.solve(system, targets[~own] - model.mean)
    return found


def fitted(rows=ROWS, labels=CLASSES, **settings):
    return HypergraphGPClassifier(H, **({"solver": "markov"} | settings)).fit(
        H.vertices[rows], np.asarray(labels)[rows]
    )


def dense_probabilities(model, hypergraph, names, codes, wanted):
    """Return the probabilities of a model with one value of its hyperparameters, by dense solves."""
    learned, C = model.kernel_, len(model.classes_)
    kernel = Matern(Spectrum.of(hypergraph), learned.nu, float(learned.lengthscale), variance=float(learned.variance))
    # The density of eigenvalues, which scales a kernel, is estimated where there are no eigenvectors.
    at, to = hypergraph.vertex_rows(names), hypergraph.vertex_rows(wanted)
    K = kernel.gram() * float(learned.density().scale / kernel.density().scale)
    mean = np.concatenate([part.prior.mean for part in model.posterior_.posteriors])
    targets = 4 * (np.eye(C)[codes] - 1 / C)
    found = mean + K[np.ix_(to, at)] @ np.linalg.solve(K[np.ix_(at, at)] + np.eye(len(at)), targets - mean)
    return tempered(softmax(found, axis=1), model.temperature_)


@pytest.mark.parametrize("nu", [1, 2, 3])
def test_the_means_of_held_out_labels_are_those_of_dense_solves_without_their_fold(nu):
    model = model_at(nu)
    found = objective(model).folds
    means = found.means(model.kernel, model.mean)
    assert sorted(found.places) == list(range(len(ROWS)))
    assert np.allclose(means, dense_means(model)[found.places], atol=1e-9)


def test_the_objective_is_their_log_density_at_the_best_temperature():
    model, codes = model_at(), CLASSES[ROWS]
    means = dense_means(model)
    T = best_temperature(softmax(means, axis=1), codes)
    expected = log_softmax(means / T, axis=1)[np.arange(len(codes)), codes].sum() + log_prior_of_temperature(T)
    assert objective(model).value(model) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("nu", [1, 2, 3])
def test_slopes_in_kernel_and_mean_are_those_of_central_differences(nu):
    model = model_at(nu)
    found, at = objective(model), parameters.pack(model)
    value, gradient = found.value_and_gradient(model)
    assert value == pytest.approx(found.value(model), abs=1e-9)
    expected = central_differences(lambda x: found.value(parameters.unpack(model, x)), at, step=1e-3)
    assert len(gradient) == 5  # lengthscale, variance and three means
    assert np.abs(gradient).min() > 1e-3
    assert np.allclose(gradient, expected, atol=1e-5)


def of_parts(name):
    field = Matern(Spectrum.of(H), 2, 3.0, variance=2.0, fixed=("nu",))
    other = make_planted_hypergraph(120, 80, 3, within=0.9, random_state=105).hypergraph
    kernel = {
        "standardised": lambda: Standardised(field, 0.5, level=1.0, activity=0.05),
        "features": lambda: field + Linear(np.random.default_rng(3).standard_normal((120, 2)), [0.5, 0.2]),
        "relations": lambda: field + Matern(Spectrum.of(other), 1, 2.0, fixed=("nu",)),
    }[name]()
    return LatentModel(kernel, Softmax(3), MEAN)


@pytest.mark.parametrize("name", ["standardised", "features", "relations"])
def test_of_several_parts_held_out_means_are_dense_and_slopes_those_of_differences(name):
    model = of_parts(name)
    found, at = objective(model), parameters.pack(model)
    means = found.folds.means(model.kernel, model.mean)
    assert np.allclose(means, dense_means(model)[found.folds.places], atol=1e-9)
    value, gradient = found.value_and_gradient(model)
    assert value == pytest.approx(found.value(model), abs=1e-9)
    expected = central_differences(lambda x: found.value(parameters.unpack(model, x)), at, step=1e-3)
    assert np.allclose(gradient, expected, atol=1e-5)


def test_slopes_count_the_folds_that_are_held_out_alone(monkeypatch):
    monkeypatch.setattr("hypergauss.inference.folds.num_held_out_folds", lambda _: 2)
    model = model_at()
    found = objective(model)
    assert np.array_equal(np.unique(fold_of(CLASSES[ROWS])[found.folds.places]), [0, 1])
    _, gradient = found.value_and_gradient(model)
    expected = central_differences(lambda x: found.value(parameters.unpack(model, x)), parameters.pack(model), 1e-3)
    assert np.allclose(gradient, expected, atol=1e-5)


def test_each_class_is_dealt_evenly_into_folds():
    codes = np.repeat([0, 1, 2], [23, 11, 2])
    fold = fold_of(codes)
    for own in (codes == each for each in range(3)):
        counts = np.bincount(fold[own], minlength=FOLDS)
        assert counts.max() - counts.min() <= 1


def test_of_many_labels_a_few_folds_are_enough():
    assert [num_held_out_folds(n) for n in (1, 500, 800, 1_000, 2_000, 4_000, 10**6)] == [5, 5, 5, 4, 2, 1, 1]


def test_labels_of_folds_that_are_not_held_out_do_not_choose_the_temperature(monkeypatch):
    monkeypatch.setattr("hypergauss.inference.folds.num_held_out_folds", lambda _: 2)
    model = fitted(learn=False)
    found = model.posterior_.left_out_probabilities()
    is_known = np.isfinite(found[:, 0])
    codes = CLASSES[np.sort(ROWS)]  # as a model keeps them
    assert np.array_equal(is_known, fold_of(codes) < 2)
    assert model.temperature_ == best_temperature(found[is_known], codes[is_known])


def test_a_model_predicts_as_dense_solves_at_its_hyperparameters_do():
    model = fitted(solver=TIGHT)
    assert isinstance(model.posterior_, OneHotLatents)
    assert model.solver_ == "markov"
    expected = dense_probabilities(model, H, H.vertices[ROWS], CLASSES[ROWS], H.vertices)
    found = model.predict_proba(H.vertices)
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.allclose(found, expected, atol=1e-7)
    assert (found[REST].argmax(axis=1) == CLASSES[REST]).mean() > 0.7


def test_asking_for_zeros_and_ones_is_what_is_done_unasked():
    asked = fitted(inference="one-hot").predict_proba(H.vertices)
    assert np.array_equal(asked, fitted().predict_proba(H.vertices))


@pytest.mark.parametrize(("settings", "tolerance"), [({"learn": False, "calibrate": False}, 1e-6), ({}, 0.01)])
def test_permuting_vertices_permutes_the_answer(settings, tolerance):
    """To rounding where nothing is learned; else folds are dealt by the order of vertices, and others say the same."""
    other = H.with_vertices([*reversed(H.vertices)])
    assert list(other.vertices) != list(H.vertices)
    again = HypergraphGPClassifier(other, solver="markov", **settings).fit(H.vertices[ROWS], CLASSES[ROWS])
    found, expected = again.predict_proba(H.vertices), fitted(**settings).predict_proba(H.vertices)
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_saved_model_predicts_the_same(tmp_path, num_classes):
    model = fitted(labels=CLASSES % num_classes)
    hg.save(model, tmp_path / "classes.hypergauss")
    again = hg.load(tmp_path / "classes.hypergauss")
    assert isinstance(again.posterior_, OneHotLatents)
    assert np.allclose(again.predict_proba(H.vertices), model.predict_proba(H.vertices), atol=1e-5)


def test_an_updated_model_is_one_conditioned_on_all_labels_of_the_grown_hypergraph():
    model = fitted(solver=TIGHT)
    grown = H.with_edges({"w": ["eva", H.vertices[0]], "x": ["eva", H.vertices[1], H.vertices[2]]})
    model.update(grown, H.vertices[REST[:9]], CLASSES[REST[:9]])
    rows = np.append(ROWS, REST[:9])
    assert set(model.labels_.index) == set(H.vertices[rows])
    expected = dense_probabilities(model, grown, H.vertices[rows], CLASSES[rows], grown.vertices)
    assert np.allclose(model.predict_proba(grown.vertices), expected, atol=1e-7)


def test_somebody_new_is_predicted_as_after_an_update():
    model = fitted(solver=TIGHT)
    edge = H.edges[0]
    before = model.predict_proba(H.vertices)
    found = model.predict_proba_new({"eva": [edge]})
    grown = H.with_members({edge: ["eva"]})
    assert np.array_equal(model.predict_proba(H.vertices), before)
    updated = model.update(grown)
    expected = dense_probabilities(updated, grown, H.vertices[ROWS], CLASSES[ROWS], ["eva"])
    assert np.allclose(found, expected, atol=1e-7)


def test_classes_that_are_rare_or_seen_once_are_no_trouble():
    rare = np.where(CLASSES == 0, "common", "usual").astype(object)
    rare[ROWS[:3]], rare[ROWS[3]] = "rare", "once"
    model = fitted(labels=rare)
    found = model.predict_proba(H.vertices)
    assert found.shape == (120, 4)
    assert np.isfinite(found).all()
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.isfinite(model.temperature_)
    rest = found[REST].mean(axis=0)
    assert rest[list(model.classes_).index("once")] < rest[list(model.classes_).index("usual")]


def test_a_vertex_that_no_label_reaches_has_the_shares_of_the_classes():
    """Also where every labelled vertex is reached by others, so that held-out labels say nothing of it."""
    alone = H.with_vertices([*H.vertices, "alone"])
    labels = np.where(CLASSES == 0, "a", "b")
    linked = np.flatnonzero(np.asarray(H.incidence.sum(axis=1)).ravel() > 0)
    chosen = np.intersect1d(ROWS, linked)
    model = HypergraphGPClassifier(alone, solver="markov").fit(H.vertices[chosen], labels[chosen])
    share = (labels[chosen] == "a").mean()
    assert abs(share - 0.5) > 0.1
    assert model.predict_proba(["alone"])[0, 0] == pytest.approx(share, abs=0.05)


def test_fewer_labels_than_folds_are_enough():
    model = HypergraphGPClassifier(H, solver="markov").fit(H.vertices[ROWS[:3]], ["a", "b", "a"])
    assert np.isfinite(model.predict_proba(H.vertices)).all()
