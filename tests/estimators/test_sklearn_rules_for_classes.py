"""HypergraphGPClassifier follows scikit-learn's rules: its checks, its tools, labels of every kind."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score

from hypergauss import Hypergraph, HypergraphGPClassifier, Spectrum
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.kernels import Matern
from tests.estimators.test_sklearn_rules import COLUMNS, EXPECTED_FAILURES, TakesMatrices, failed_checks

pytestmark = pytest.mark.usefixtures("few_points")

PLANTED = make_planted_hypergraph(60, 90, 3, within=0.95, random_state=1)
NAMED = Hypergraph.from_incidence(PLANTED.hypergraph.incidence, vertices=[f"v{i}" for i in range(60)])
X = np.asarray(NAMED.vertices)
Y = np.array(["left", "centre", "right"])[PLANTED.communities]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def quick(**options):
    return HypergraphGPClassifier(**{"H": NAMED, "learn": False, "random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(X[:40], Y[:40])


class MatrixClassifier(TakesMatrices, HypergraphGPClassifier):
    """The classifier, but of several labels for one vertex, as the checks give them, it takes the first."""

    def fit(self, X, y):
        names, labels = np.asarray(X), np.asarray(y)
        if names.ndim == 0 or names.shape[:1] != labels.shape[:1] or names.size != len(names):
            return super().fit(X, y)  # what is to be refused
        first = ~pd.Series(names.ravel()).duplicated().to_numpy()
        return super().fit(names[first], labels[first])


def test_scikit_learns_checks_pass():
    assert failed_checks(quick()) == set()


def test_scikit_learns_checks_for_matrices_fail_only_where_they_must():
    one_edge = Hypergraph.from_edges([range(30)], vertices=range(30))
    expected = EXPECTED_FAILURES | {"check_classifiers_train": COLUMNS}
    assert failed_checks(MatrixClassifier(one_edge, learn=False)) == set(expected)


def test_it_is_known_as_a_classifier():
    assert is_classifier(quick())


def test_cloning_never_copies_the_hypergraph_or_the_kernel():
    kernel = Matern(Spectrum.of(NAMED))
    model = clone(quick(kernel=kernel))
    assert model.H is NAMED
    assert model.kernel is kernel


def test_parameters_are_stored_as_given_and_can_be_set():
    model = quick(likelihood="robust-max")
    assert model.get_params()["likelihood"] == "robust-max"
    assert model.set_params(likelihood="softmax", kernel="diffusion") is model
    assert clone(model).get_params() == model.get_params()


def test_fitting_changes_no_parameter_and_returns_the_model():
    model = quick()
    before = dict(model.get_params())
    assert model.fit(X[:40], Y[:40]) is model
    assert all(model.get_params()[name] is value for name, value in before.items())


def test_fitting_again_forgets_the_first_fit(fitted):
    again = quick().fit(X, np.roll(Y, 1)).fit(X[:40], Y[:40])
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_a_fitted_model_survives_pickling(solver):
    model = quick(solver=solver).fit(X[:40], Y[:40])
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(restored.classes_, model.classes_)


def test_models_survive_a_read_only_memory_map(fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "model")
    restored = joblib.load(tmp_path / "model", mmap_mode="r")
    assert np.array_equal(restored.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "sample"])
def test_an_unfitted_model_says_so(ask):
    with pytest.raises(NotFittedError):
        getattr(quick(), ask)(X)


def test_names_and_labels_may_come_as_columns_of_which_labels_warn(fitted):
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = quick().fit(X[:40, None], Y[:40, None])
    assert np.array_equal(column.predict_proba(X[:, None]), fitted.predict_proba(X))


def test_cross_validation_scores_each_fold_by_accuracy():
    scores = cross_val_score(quick(), X, Y, cv=FOLDS)
    predicted = cross_val_predict(quick(), X, Y, cv=FOLDS)
    for score, (_, test) in zip(scores, FOLDS.split(X, Y), strict=True):
        assert score == pytest.approx((predicted[test] == Y[test]).mean())
    assert scores.mean() > 0.8


def test_cross_validated_probabilities_score_better_than_the_shares_of_classes():
    p = cross_val_predict(quick(), X, Y, cv=FOLDS, method="predict_proba")
    shares = np.unique(Y, return_counts=True)[1] / len(Y)
    assert log_loss(Y, p) < 0.8 * log_loss(Y, np.tile(shares, (60, 1)))


def test_grid_search_prefers_the_hypergraph_that_drew_the_communities():
    shuffled = Hypergraph.from_incidence(NAMED.incidence[np.random.default_rng(0).permutation(60)], vertices=X)
    search = GridSearchCV(quick(), {"H": [shuffled, NAMED]}, cv=FOLDS, scoring="neg_log_loss")
    assert search.fit(X, Y).best_params_["H"] is NAMED


LABELS = {
    "text": Y,
    "objects": Y.astype(object),
    "whole numbers": 10 * PLANTED.communities - 10,
    "whole floats": PLANTED.communities.astype(float),
    "truth values": PLANTED.communities == 1,
    "categories": pd.Series(Y).astype("category"),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_classes_are_sorted_and_predictions_are_labels(labels):
    model = quick().fit(X[:40], labels[:40])
    assert np.array_equal(model.classes_, np.unique(labels))
    p, predicted = model.predict_proba(X), model.predict(X)
    assert p.shape == (60, len(model.classes_))
    assert np.allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(predicted, model.classes_[p.argmax(axis=1)])
    assert type(predicted[0]) is type(np.asarray(labels)[0])
    # Each column belongs to its class: labelled vertices are mostly given their own label.
    own = p[np.arange(40), np.searchsorted(model.classes_, np.asarray(labels[:40]))]
    assert (own > 1 / len(model.classes_)).mean() > 0.9


def test_renaming_classes_permutes_the_columns(fitted):
    renamed = {"left": "c", "centre": "b", "right": "a"}
    model = quick().fit(X[:40], [renamed[label] for label in Y[:40]])
    columns = [list(model.classes_).index(renamed[label]) for label in fitted.classes_]
    assert np.allclose(model.predict_proba(X)[:, columns], fitted.predict_proba(X), atol=1e-6)


def test_a_rare_class_is_neither_lost_nor_overrated():
    rare = np.where(np.arange(60) % 15 == 0, "rare", "common")
    model = quick().fit(X, rare)
    p = model.predict_proba(X)[:, 1]
    assert list(model.classes_) == ["common", "rare"]
    assert p[rare == "rare"].mean() > p[rare == "common"].mean()
    assert 0.0 < p.mean() < 0.5


@pytest.mark.parametrize("likelihood", ["softmax", "robust-max"])
def test_a_class_with_one_member_keeps_its_place(likelihood):
    labels = Y[:40].astype(object)
    labels[7] = "alone"
    model = quick(likelihood=likelihood).fit(X[:40], labels)
    p = model.predict_proba(X)
    assert list(model.classes_) == ["alone", "centre", "left", "right"]
    assert p[:, 0].argmax() == 7


def test_all_vertices_may_be_labelled():
    model = quick().fit(X, Y)
    assert model.score(X, Y) > 0.9
