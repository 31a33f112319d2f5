import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from hypergauss import Hypergraph, HypergraphGPRegressor, Spectrum
from hypergauss.kernels import Matern
from tests.hypergraphs import hypergraph_of_sizes

pytestmark = pytest.mark.usefixtures("few_points")

H = hypergraph_of_sizes(40, [2, 3, 5, 8] * 5, seed=0)
NAMED = Hypergraph.from_incidence(H.incidence, vertices=[f"v{i}" for i in range(40)])
X = np.asarray(NAMED.vertices)
Y = Matern(Spectrum.of(H), 2.0, 8.0).prior_draws(np.arange(40), 1, np.random.default_rng(0))[:, 0]


def quick(**options):
    starts = {"n_starts": 1} if options.get("learn", True) else {}
    return HypergraphGPRegressor(**{"H": NAMED, "size_exponent": 0.0, "random_state": 0, **starts, **options})


def test_cloning_never_copies_the_hypergraph_the_kernel_or_the_graph():
    kernel, graph = Matern(Spectrum.of(NAMED)), NAMED.clique_expansion()
    assert clone(quick()).H is NAMED
    assert clone(quick(H=graph)).H is graph
    assert clone(quick(H={"a": NAMED, "b": graph})).H["a"] is NAMED
    assert clone(quick(kernel=kernel)).kernel is kernel


def test_parameters_are_stored_as_given_and_can_be_set():
    model = quick(noise_variance=0.3)
    assert model.get_params()["noise_variance"] == 0.3
    assert model.set_params(noise_variance=0.2, kernel="diffusion") is model
    assert clone(model).get_params() == model.get_params()


def test_fitting_changes_no_parameter():
    model = quick()
    before = dict(model.get_params())
    model.fit(X, Y)
    assert all(model.get_params()[name] is value for name, value in before.items())


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_a_fitted_model_survives_pickling(solver):
    model = quick(solver=solver).fit(X[:30], Y[:30])
    restored = pickle.loads(pickle.dumps(model))
    for before, after in zip(model.predict(X, return_std=True), restored.predict(X, return_std=True), strict=True):
        assert np.array_equal(before, after)


def test_an_unfitted_model_says_so():
    for ask in (lambda m: m.predict(X), lambda m: m.sample(X), lambda m: m.leave_one_out()):
        with pytest.raises(NotFittedError):
            ask(quick())


def test_names_may_come_as_a_column():
    flat, column = quick(learn=False).fit(X, Y), quick(learn=False).fit(X[:, None], Y)
    assert np.array_equal(flat.predict(X), column.predict(X[:, None]))


def test_fitting_again_forgets_the_first_fit():
    model = quick().fit(X, 100 + Y).fit(X[:30], Y[:30])
    assert np.array_equal(model.predict(X), quick().fit(X[:30], Y[:30]).predict(X))


def test_cross_validation_scores_each_fold_by_r2():
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(quick(), X, Y, cv=folds)
    predicted = cross_val_predict(quick(), X, Y, cv=folds)
    for score, (_, test) in zip(scores, folds.split(X), strict=True):
        expected = 1 - ((Y[test] - predicted[test]) ** 2).sum() / ((Y[test] - Y[test].mean()) ** 2).sum()
        assert score == pytest.approx(expected)


def test_grid_search_finds_the_noise_that_drew_the_data():
    drew = Matern(Spectrum.of(NAMED), 2.0, 8.0)
    model = HypergraphGPRegressor(NAMED, drew, learn=False)
    search = GridSearchCV(model, {"noise_variance": [0.01, 100.0]}, cv=KFold(4, shuffle=True, random_state=0))
    assert search.fit(X, Y).best_params_ == {"noise_variance": 0.01}


def test_a_pipeline_may_prepare_the_names():
    numbers = np.arange(40)
    pipeline = make_pipeline(FunctionTransformer(lambda v: np.array([f"v{i}" for i in v])), quick(learn=False))
    expected = quick(learn=False).fit(X, Y).predict(X)
    assert np.array_equal(pipeline.fit(numbers, Y).predict(numbers), expected)


def test_its_printed_form_names_its_hypergraph():
    assert "Hypergraph(40 vertices" in repr(HypergraphGPRegressor(NAMED))
    assert "HypergraphGPRegressor" in HypergraphGPRegressor(NAMED)._repr_html_()


class TakesMatrices:
    """Mixed into an estimator, claims that it takes the 2-D arrays that scikit-learn's checks feed."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class MatrixRegressor(TakesMatrices, HypergraphGPRegressor):
    """A regressor without the parameter `transform`, which the checks for matrices would call as a method."""

    def __init__(self, H, *, size_exponent="auto", n_starts=1):
        super().__init__(H, size_exponent=size_exponent, n_starts=n_starts)
        del self.transform

    def fit(self, X, y):
        self.transform = "none"
        try:
            return super().fit(X, y)
        finally:
            del self.transform


INDEXES_X = "the check takes columns of X, which the tag `one_d_array` has made a 1-D array"
NAMES = "X holds names of vertices, for which the check asks another message than for a matrix of numbers"
SPARSE = "X holds names of vertices, of which there is no sparse form"

#: Checks of scikit-learn that cannot hold for any estimator on vertices, each with its reason.
EXPECTED_FAILURES = {
    "check_dont_overwrite_parameters": INDEXES_X,
    "check_n_features_in_after_fitting": INDEXES_X,
    "check_f_contiguous_array_estimator": INDEXES_X,
    "check_methods_sample_order_invariance": INDEXES_X,
    "check_methods_subset_invariance": INDEXES_X,
    "check_fit2d_1sample": INDEXES_X,
    "check_fit2d_1feature": INDEXES_X,
    "check_dict_unchanged": INDEXES_X,
    "check_n_features_in": INDEXES_X,
    "check_fit2d_predict1d": INDEXES_X,
    "check_positive_only_tag_during_fit": "a negative number is not the name of a vertex",
    "check_complex_data": NAMES,
    "check_estimators_empty_data_messages": NAMES,
    "check_estimators_nan_inf": NAMES,
    "check_estimator_sparse_tag": SPARSE,
    "check_estimator_sparse_array": SPARSE,
    "check_estimator_sparse_matrix": SPARSE,
}
COLUMNS = "the target is a function of columns of X that vertex names do not carry"
EXPECTED_FAILURES_OF_REGRESSORS = {
    "check_regressors_no_decision_function": INDEXES_X,
    "check_regressors_train": COLUMNS,
}


def failed_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # little to learn from, and all the checks that tags leave out
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert results
    return {result["check_name"] for result in results if result["status"] == "failed"}


def test_scikit_learns_checks_pass():
    assert failed_checks(quick()) == set()


def test_scikit_learns_checks_for_matrices_fail_only_where_they_must():
    one_edge = Hypergraph.from_edges([range(30)], vertices=range(30))
    options = {"size_exponent": 0.0, "n_starts": 1}
    expected = EXPECTED_FAILURES | EXPECTED_FAILURES_OF_REGRESSORS
    assert failed_checks(MatrixRegressor(one_edge, **options)) == set(expected)


def test_a_missing_target_is_told():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        quick().fit(X, None)


def test_models_survive_a_read_only_memory_map(tmp_path):
    """joblib maps large arrays into its workers this way."""
    model = quick().fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    restored = joblib.load(tmp_path / "model", mmap_mode="r")
    assert restored.H.equals(NAMED)
    assert np.array_equal(restored.predict(X), model.predict(X))


def test_a_scale_of_targets_named_transform_leaves_it_a_regressor():
    # Names decide in some places of scikit-learn: `transform` is a parameter here, and no method.
    model = quick(transform="log", learn=False)
    assert get_tags(model).estimator_type == "regressor"
    assert get_tags(model).transformer_tags is None
    pipeline = make_pipeline(FunctionTransformer(), model).fit(X, np.exp(Y))
    assert np.array_equal(pipeline.predict(X), clone(model).fit(X, np.exp(Y)).predict(X))
    search = GridSearchCV(quick(learn=False), {"transform": ["none", "log"]}, cv=2).fit(X, np.exp(Y))
    assert search.best_estimator_.transform == search.best_params_["transform"]
