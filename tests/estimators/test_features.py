"""Many features in one line: as they are and smoothed over the hypergraph, sparse or not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import hypergauss as hg
from hypergauss.estimators.domain import COVARIATES, SMOOTHED, Domain
from hypergauss.estimators.features import _RESTART, are_many, feature_kernels
from hypergauss.kernels import Components, Linear, Matern
from hypergauss.solvers import choose

pytestmark = pytest.mark.usefixtures("few_points")

EDGES = {"x": [0, 1, 2], "y": [2, 3], "z": [3, 4, 5, 6], "w": [7, 8], "v": [9, 10, 11, 12]}
H = hg.Hypergraph.from_edges({k: [f"v{i}" for i in m] for k, m in EDGES.items()}, vertices=[f"v{i}" for i in range(14)])
RNG = np.random.default_rng(0)
X = sp.csr_array((RNG.random((14, 30)) < 0.3) * 1.0 + sp.eye_array(14, 30))
LABELS = ["a", "b", "a", "b", "b", "b", "b", "a", "c", "c"]


def test_smoothed_features_are_where_walks_of_the_dense_formula_stop():
    Z = X.toarray() / np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    R = H.incidence.toarray()
    degrees = R.sum(axis=1)
    P = np.diag(1 / np.maximum(degrees, 1)) @ R @ np.diag(1 / R.sum(axis=0)) @ R.T + np.diag(degrees == 0)
    smoothed = _RESTART * np.linalg.inv(np.eye(14) - (1 - _RESTART) * P) @ Z
    found = feature_kernels(Domain.of(H), X)
    for name, rows in ((COVARIATES, Z), (SMOOTHED, smoothed)):
        assert np.allclose(found[name].gram(), Components.of(rows, steps=2.0).gram(), atol=1e-8)


def test_sparse_features_give_the_model_of_dense_ones():
    wide = sp.hstack([X, sp.csr_array((14, 90))])  # words that nobody uses: more columns than measurements have
    models = [
        hg.HypergraphGPClassifier(H, covariates=given, learn=False).fit(H.vertices[:10], LABELS)
        for given in (wide, wide.toarray(), pd.DataFrame(wide.toarray(), index=H.vertices)[::-1])
    ]
    predicted = [model.predict_proba(H.vertices) for model in models]
    assert np.allclose(predicted[0].sum(axis=1), 1.0)
    assert np.allclose(predicted[1], predicted[0], atol=1e-9)
    assert np.allclose(predicted[2], predicted[0], atol=1e-9)


def test_sparse_tables_are_matched_by_their_index():
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), index=H.vertices)
    found = feature_kernels(Domain.of(H), frame[::-1])[SMOOTHED]
    assert np.allclose(found.gram(), feature_kernels(Domain.of(H), X)[SMOOTHED].gram(), atol=1e-10)


def test_weights_of_all_parts_are_learned_for_measurements_too():
    y = RNG.standard_normal(12)
    model = hg.HypergraphGPRegressor(H, covariates=X, size_exponent=0.0).fit(H.vertices[:12], y)
    assert set(model.relation_weights_) == {"hypergraph", COVARIATES, SMOOTHED}
    assert {f"{name}.{which}" for name in (COVARIATES, SMOOTHED) for which in ("steps", "variance")} <= set(
        model.hyperparameters_
    )


def test_a_model_with_features_is_the_same_after_saving_and_loading(tmp_path):
    model = hg.HypergraphGPClassifier(H, covariates=X, learn=False, likelihood="softmax", calibrate=True)
    model.fit(H.vertices[:10], LABELS)
    hg.save(model, tmp_path / "m.hypergauss")
    again = hg.load(tmp_path / "m.hypergauss")
    assert again.temperature_ == model.temperature_ != 1.0
    assert np.array_equal(again.predict_proba(H.vertices), model.predict_proba(H.vertices))


def test_classes_with_features_are_learned_by_products_alone():
    model = hg.HypergraphGPClassifier(H, covariates=X, solver="iterative", learn=False).fit(H.vertices[:10], LABELS)
    assert np.allclose(model.predict_proba(H.vertices).sum(axis=1), 1.0)


def test_few_columns_are_measurements_and_kernels_are_taken_as_they_are():
    assert not are_many(None)
    assert not are_many(np.zeros((14, 3)))
    assert not are_many(pd.Series(np.zeros(14)))
    assert not are_many(Linear(np.eye(14)))
    assert are_many(X)
    assert are_many(np.zeros((14, 101)))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (X[:9], ValueError, r"one row for each of the 14 vertices. Got shape \(9, 30\). Pass a DataFrame"),
        (sp.csr_array((14, 30)), ValueError, "must tell vertices apart. Got nothing but zeros"),
        (sp.csr_array(np.full((14, 5), 2.0)), ValueError, "must tell vertices apart. Got rows that are all alike"),
        (sp.csr_array(np.where(np.eye(14) > 0, np.nan, 0.0)), ValueError, "must not contain NaN.*Fill in missing"),
        (pd.DataFrame(np.eye(14, 120)), ValueError, "a row for every vertex. 'v0' and 13 others have none. Name the"),
    ],
)
def test_bad_features_are_named_with_their_rule(given, error, message):
    with pytest.raises(error, match=message):
        hg.HypergraphGPClassifier(H, covariates=given).fit(H.vertices[:10], LABELS)


@pytest.fixture
def products_only(monkeypatch):
    """Let a decomposition of 1,000 vertices take too much memory, and systems with some features not."""
    monkeypatch.setattr(choose, "memory_limit", lambda: 3e7)


def planted_words(seed=0, num_vertices=1000):
    planted = hg.datasets.make_planted_hypergraph(num_vertices, num_vertices, random_state=seed)
    rng = np.random.default_rng(seed)
    classes = np.unique(planted.communities, return_inverse=True)[1]
    likely = 0.02 + 0.2 * (rng.random((classes.max() + 1, 150)) < 0.1)
    words = sp.csr_array((rng.random((num_vertices, 150)) < likely[classes]) * 1.0)
    return planted.hypergraph, words, classes, rng.permutation(num_vertices)


@pytest.mark.usefixtures("products_only")
def test_where_eigenvectors_do_not_fit_words_stand_beside_a_markov_field():
    H, words, classes, order = planted_words()
    seen, unseen = order[:80], order[80:]
    accuracy, density = [], []
    for covariates in (None, words):
        model = hg.HypergraphGPClassifier(H, covariates=covariates).fit(seen, classes[seen])
        assert model.solver_ == "markov"
        proba = model.predict_proba(unseen)
        accuracy.append((model.classes_[proba.argmax(axis=1)] == classes[unseen]).mean())
        density.append(np.log(proba[np.arange(len(unseen)), classes[unseen]]).mean())
    assert accuracy[1] > accuracy[0]
    assert density[1] > density[0]
    assert model.elbo_trace_[-1] > model.elbo_trace_[0] + 1.0  # learning goes somewhere


@pytest.mark.usefixtures("products_only")
def test_measurements_with_words_are_a_markov_field_and_components_as_well():
    H, words, classes, order = planted_words()
    model = hg.HypergraphGPRegressor(H, covariates=words, learn=False).fit(order[:80], 1.0 * classes[order[:80]])
    assert model.solver_ == "markov"
    by_name = dict(zip(model.relation_weights_, model.kernel_.terms, strict=True))
    assert by_name[COVARIATES].rank == by_name[SMOOTHED].rank == 50
    # The same model, from the dense covariance.
    field, *featured = model.kernel_.terms
    matern = Matern(hg.Spectrum.of(H), field.nu, lengthscale=field.lengthscale, variance=field.variance)
    K, seen = sum(term.gram() for term in (matern, *featured)), order[:80]
    A = K[np.ix_(seen, seen)] + model.noise_variance_ * np.eye(80)
    mean = float(model.hyperparameters_["mean"][0])
    exact = mean + K[:, seen] @ np.linalg.solve(A, classes[seen] - mean)
    assert np.allclose(model.predict(H.vertices), exact, atol=1e-4)
