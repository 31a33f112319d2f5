"""Estimators on Laplacians besides Zhou's."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from hypergauss import Hypergraph, HypergraphGPClassifier, HypergraphGPRegressor, Spectrum, load, save
from hypergauss.kernels import Matern
from hypergauss.spectrum.factored import NAMED
from tests import oracles
from tests.hypergraphs import random_hypergraph

pytestmark = pytest.mark.usefixtures("few_points")

OTHERS = tuple(NAMED)


@pytest.fixture(scope="module")
def problem():
    H = random_hypergraph(20, 14, seed=5)
    rng = np.random.default_rng(0)
    names = list(H.vertices)[:12]
    return H, names, rng.standard_normal(12) + 2.0


@pytest.mark.parametrize("name", OTHERS)
def test_the_posterior_is_that_of_the_dense_formulas(problem, name):
    H, names, y = problem
    model = HypergraphGPRegressor(H, Matern(Spectrum.of(H, laplacian=name), 1.5, 2.0), learn=False, scale_target=False)
    model = model.fit(names, y)
    L = oracles.other_laplacian(H, name)
    K = oracles.filtered(L, lambda values: np.exp(-1.5 * np.log1p(4.0 * np.maximum(values, 0) / 3)))
    K = oracles.with_mean_variance(K, 1.0)
    rows = np.arange(12)
    expected = oracles.log_evidence(K, rows, y[:, None], 0.1, np.atleast_1d(model.mean_))
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)
    solved = np.linalg.solve(K[:12, :12] + 0.1 * np.eye(12), y - model.mean_)
    assert np.allclose(model.predict(list(H.vertices)), model.mean_ + K[:, :12] @ solved)


@pytest.mark.parametrize("name", OTHERS)
def test_both_estimators_learn_with_a_laplacian_by_name(problem, name):
    H, names, y = problem
    model = HypergraphGPRegressor(H, laplacian=name).fit(names, y)
    assert np.isfinite(model.predict(list(H.vertices), return_std=True).std).all()
    assert type(model.kernel_.spectrum.source).__name__ == "FactoredLaplacian"
    labels = np.where(y > np.median(y), "high", "low")
    classes = HypergraphGPClassifier(H, laplacian=name, size_exponent=0.0).fit(names, labels)
    assert np.allclose(classes.predict_proba(list(H.vertices)).sum(axis=1), 1.0)


def test_a_matrix_of_ones_own_gives_what_its_name_gives(problem):
    H, names, y = problem
    L = Spectrum.of(H, laplacian="rodriguez").laplacian()
    found, expected = (
        HypergraphGPRegressor(H, Matern(Spectrum.of(H, laplacian=laplacian), 1.5, 0.5)).fit(names, y)
        for laplacian in (sp.csr_array(L), "rodriguez")
    )
    assert np.allclose(found.predict(list(H.vertices)), expected.predict(list(H.vertices)), atol=1e-5)
    assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, abs=1e-6)


def test_a_matrix_has_no_size_exponent_to_learn(problem):
    H, names, y = problem
    model = HypergraphGPRegressor(H, laplacian=Spectrum.of(H, laplacian="rodriguez").laplacian()).fit(names, y)
    assert model.size_exponent_ is None
    assert model.size_exponent_profile_ is None


@pytest.mark.parametrize("name", OTHERS)
def test_explanations_add_up_without_hyperedges(problem, name):
    H, names, y = problem
    model = HypergraphGPRegressor(H, laplacian=name, size_exponent=0.0).fit(names, y)
    told = model.explain(H.vertices[15])
    assert len(told.edges) == 0
    assert told.mean + told.vertices.contribution.sum() == pytest.approx(told.prediction)
    assert told.mean + sum(told.rest.values()) == pytest.approx(told.prediction)
    assert told.prediction == pytest.approx(model.predict([H.vertices[15]])[0])


@pytest.mark.parametrize("laplacian", [*OTHERS, "dense", "sparse"])
def test_models_on_them_are_saved_and_loaded(problem, laplacian, tmp_path):
    H, names, y = problem
    if laplacian in ("dense", "sparse"):
        L = Spectrum.of(H, laplacian="bolla").laplacian()
        laplacian = L if laplacian == "dense" else sp.csr_array(L)
    model = HypergraphGPRegressor(H, laplacian=laplacian).fit(names, y)
    save(model, tmp_path / "model.hypergauss")
    again = load(tmp_path / "model.hypergauss")
    assert (again.predict(list(H.vertices)) == model.predict(list(H.vertices))).all()
    assert np.array_equal(again.kernel_.spectrum.laplacian(), model.kernel_.spectrum.laplacian())


def test_an_operator_given_as_laplacian_serves_but_is_not_saved(problem, tmp_path):
    H, names, y = problem
    L = Spectrum.of(H, laplacian="bolla").laplacian()
    model = HypergraphGPRegressor(H, laplacian=aslinearoperator(L)).fit(names, y)
    assert np.allclose(
        model.predict(list(H.vertices)), HypergraphGPRegressor(H, laplacian=L).fit(names, y).predict(list(H.vertices))
    )
    with pytest.raises(TypeError, match=r"`laplacian` holds .*which a model file cannot"):
        save(model, tmp_path / "model.hypergauss")


def test_an_iterative_fit_takes_them_too(problem):
    H, names, y = problem
    options = {"kernel": "diffusion", "learn": False, "laplacian": "carletti", "size_exponent": 0.0}
    exact = HypergraphGPRegressor(H, Matern(Spectrum.of(H, laplacian="carletti")), learn=False).fit(names, y)
    kernel = Matern(Spectrum.matrix_free(H, laplacian="carletti"))
    products = HypergraphGPRegressor(H, kernel, learn=False, solver="iterative").fit(names, y)
    assert np.allclose(products.predict(list(H.vertices)), exact.predict(list(H.vertices)), atol=1e-4)
    named = HypergraphGPRegressor(H, solver="iterative", **options).fit(names, y)
    assert named.kernel_.spectrum.is_matrix_free


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"laplacian": "bola"}, "'bola'"),
        ({"laplacian": np.eye(3)}, r"20 vertices. Got shape \(3, 3\)"),
        ({"laplacian": -np.eye(20)}, "positive semidefinite"),
        ({"laplacian": np.eye(20) + np.eye(20, k=1)}, "must be symmetric"),
        ({"laplacian": np.eye(20), "size_exponent": 1.0}, "has its weights. Got 1.0"),
        ({"laplacian": np.eye(20), "size_exponent": "learn"}, "has its weights. Got 'learn'"),
    ],
)
def test_what_is_no_laplacian_is_refused(problem, arguments, message):
    H, names, y = problem
    with pytest.raises(ValueError, match=message):
        HypergraphGPRegressor(H, **arguments).fit(names, y)


def test_a_laplacian_beside_a_given_kernel_is_refused(problem):
    H, names, y = problem
    with pytest.raises(ValueError, match=r"`laplacian` must be left as it is.*Set it in `Spectrum.of`"):
        HypergraphGPRegressor(H, Matern(Spectrum.of(H)), laplacian="bolla").fit(names, y)


def test_a_matrix_for_several_relations_is_refused():
    relations = {"x": Hypergraph.from_edges([["a", "b"]]), "y": Hypergraph.from_edges([["b", "a"]])}
    with pytest.raises(ValueError, match="must be a name where `H` holds several relations"):
        HypergraphGPRegressor(relations, laplacian=np.eye(2)).fit(["a", "b"], [1.0, 2.0])
