"""HypergraphGPClassifier: probabilities, labels of any kind, and what it refuses."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from hypergauss import Hypergraph, HypergraphGPClassifier, Spectrum, metrics
from hypergauss.datasets import load_house_votes, make_planted_hypergraph
from hypergauss.estimators.blueprint import ACTIVITY, LEVEL, RELATIVE_LEVEL
from hypergauss.estimators.defaults import default_class_priors
from hypergauss.exceptions import SamplingWarning
from hypergauss.inference import sample_posterior
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.laplace import LaplaceObjective
from hypergauss.inference.propagation import PropagationObjective
from hypergauss.inference.variational import VariationalObjective
from hypergauss.kernels import Matern, Standardised
from hypergauss.likelihoods import Bernoulli, MultinomialProbit, OrderedProbit, RobustMax, Softmax
from hypergauss.solvers.projection import SpectralFeatures

pytestmark = pytest.mark.usefixtures("few_points")

PLANTED = make_planted_hypergraph(90, 120, 3, within=0.95, random_state=0)
NAMES = np.array(["left", "centre", "right"])[PLANTED.communities]
#: The same, and a vertex 90 in no hyperedge.
WITH_ONE_ALONE = Hypergraph.from_incidence(np.vstack([PLANTED.hypergraph.incidence.toarray(), np.zeros(120)]))
TRAIN, TEST = np.arange(50), np.arange(50, 90)


def quick(H=PLANTED.hypergraph, **options):
    return HypergraphGPClassifier(H, **{"size_exponent": 0.0, "random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(TRAIN, NAMES[TRAIN])


def test_communities_are_found_with_probabilities_that_sum_to_one(fitted):
    p = fitted.predict_proba(TEST)
    assert p.shape == (40, 3)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert fitted.score(TEST, NAMES[TEST]) > 0.9
    assert list(fitted.classes_) == ["centre", "left", "right"]
    assert np.array_equal(fitted.predict(TEST), fitted.classes_[p.argmax(axis=1)])


def test_the_bound_is_that_of_its_trace_and_rises(fitted):
    priors = default_class_priors()
    assert set(fitted.hyperparameters_) == {"steps", "shape", "individuality", "activity", "variance"}
    log_prior = sum(priors[k].log_density(v) for k, v in fitted.hyperparameters_.items())
    assert fitted.elbo_ + log_prior == pytest.approx(fitted.elbo_trace_[-1], abs=1e-3)
    # The best bound at given hyperparameters is itself found by iteration, to some 1e-5.
    assert (np.diff(fitted.elbo_trace_) > -1e-4).all()


@pytest.mark.parametrize("likelihood", ["softmax", "robust-max", "logit", "probit"])
def test_every_likelihood_tells_two_parties_apart(likelihood):
    data = load_house_votes()
    order = np.random.default_rng(0).permutation(435)
    train, test = order[:100], order[100:]
    model = quick(data.hypergraph, likelihood=likelihood, integrate=False).fit(train, data.target[train])
    assert model.score(test, data.target[test]) > 0.85


@pytest.mark.parametrize("kind", ["int", "bool", "float", "tuple"])
def test_labels_of_any_kind_are_kept(kind):
    labels = {
        "int": PLANTED.communities * 10,
        "bool": PLANTED.communities == 0,
        "float": PLANTED.communities.astype(float),
        "tuple": pd.Series([("community", int(c)) for c in PLANTED.communities]).to_numpy(),
    }[kind]
    model = quick(learn=False).fit(TRAIN, labels[TRAIN])
    assert set(model.predict(TEST)) <= set(labels)


@pytest.mark.parametrize("likelihood", ["softmax", "robust-max"])
def test_draws_of_the_latents_have_the_posteriors_moments(likelihood):
    model = quick(likelihood=likelihood, learn=False).fit(TRAIN, NAMES[TRAIN])
    draws = model.sample(TEST[:5], 4000, random_state=0)
    assert draws.shape == (4000, 5, 3)
    for latent, posterior in enumerate(model.posterior_.posteriors):
        std = np.sqrt(posterior.variance(TEST[:5]))
        z = (draws[:, :, latent].mean(axis=0) - posterior.mean(TEST[:5])[:, 0]) / (std / np.sqrt(4000))
        assert np.abs(z).max() < 5


def test_a_vertex_given_twice_with_one_label_counts_once(fitted):
    twice = quick(learn=False).fit([*TRAIN, 0, 1], [*NAMES[TRAIN], NAMES[0], NAMES[1]])
    once = quick(learn=False).fit(TRAIN, NAMES[TRAIN])
    assert np.allclose(twice.predict_proba(TEST), once.predict_proba(TEST))


def test_it_survives_clone_and_cross_validation():
    model = quick(learn=False)
    assert clone(model).H is model.H
    assert cross_val_score(model, np.arange(75), NAMES[:75], cv=3).mean() > 0.8


def test_a_class_with_one_member_keeps_its_place():
    labels = NAMES[TRAIN].astype(object)
    labels[0] = "alone"
    p = quick(learn=False).fit(TRAIN, labels).predict_proba(TEST)
    assert p.shape == (40, 4)
    assert (p > 0).all()


def test_laplace_and_variational_inference_agree_at_the_same_hyperparameters():
    """Learned ones differ: where classes are told apart without error, Laplace's evidence rises with the variance."""
    variational, laplace = (
        quick(likelihood="softmax", inference=inference, learn=False).fit(TRAIN, NAMES[TRAIN])
        for inference in ("variational", "laplace")
    )
    assert (variational.predict(TEST) == laplace.predict(TEST)).mean() > 0.9
    assert np.abs(variational.predict_proba(TEST) - laplace.predict_proba(TEST)).max() < 0.06
    assert laplace.elbo_ == pytest.approx(variational.elbo_, abs=1)


def test_ordered_classes_have_one_latent_function():
    order = np.argsort(PLANTED.hypergraph.vertex_degrees)
    levels = np.zeros(90, dtype=int)
    levels[order[30:60]], levels[order[60:]] = 1, 2
    model = quick(likelihood="ordinal").fit(TRAIN, levels[TRAIN])
    p = model.predict_proba(TEST)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert model.sample(TEST, 2).shape == (2, 40, 1)
    assert list(model.classes_) == [0, 1, 2]


LEVELS = np.array(["low", "medium", "high"])[np.digitize(PLANTED.signal, np.quantile(PLANTED.signal, [0.3, 0.7]))]


@pytest.mark.parametrize("kind", [pd.Series, pd.Index, pd.Categorical])
def test_ordered_categories_keep_their_order(kind):
    given = pd.Categorical(LEVELS[TRAIN], ["none", "low", "medium", "high"], ordered=True)
    by_name = quick(likelihood="ordinal", learn=False).fit(TRAIN, kind(given))
    by_number = quick(likelihood="ordinal", learn=False).fit(TRAIN, given.codes.astype(int))
    assert by_name.classes_.tolist() == ["low", "medium", "high"]
    assert by_number.classes_.tolist() == [1, 2, 3]
    np.testing.assert_allclose(by_name.predict_proba(TEST), by_number.predict_proba(TEST), atol=1e-12)
    assert set(by_name.predict(TEST)) <= {"low", "medium", "high"}


@pytest.mark.parametrize("y", [LEVELS, LEVELS.astype(object), pd.Series(LEVELS), pd.Categorical(LEVELS)])
@pytest.mark.parametrize("likelihood", ["ordinal", OrderedProbit(3)], ids=["named", "given"])
def test_ordinal_labels_of_text_without_an_order_are_refused(y, likelihood):
    with pytest.raises(ValueError, match=r"classes in an order. Got text such as 'high'.*ordered=True"):
        quick(likelihood=likelihood, learn=False).fit(np.arange(90), y)


@pytest.mark.parametrize("inducing", [12, SpectralFeatures(12), TRAIN[:12]], ids=["number", "spectral", "names"])
def test_few_inducing_variables_serve_as_well(inducing):
    sparse = quick(inducing=inducing, integrate=False).fit(TRAIN, NAMES[TRAIN])
    assert sparse.solver_ == "sparse"
    assert sparse.score(TEST, NAMES[TEST]) > 0.85


def test_mini_batches_reach_nearly_the_same_bound():
    options = {"likelihood": "softmax", "inducing": SpectralFeatures(10)}
    whole = quick(**options, integrate=False).fit(TRAIN, NAMES[TRAIN])
    batches = quick(**options, batch_size=25).fit(TRAIN, NAMES[TRAIN])
    assert batches.elbo_ == pytest.approx(whole.elbo_, abs=2.5)
    assert batches.score(TEST, NAMES[TEST]) > 0.85


def test_sampling_keeps_its_draws_and_averages_them(monkeypatch):
    few = partial(sample_posterior, chains=2, draws=200, warm_up=20, thin=1)
    monkeypatch.setattr("hypergauss.estimators.latent_task.sample_posterior", few)
    model = HypergraphGPClassifier(PLANTED.hypergraph, inference="mcmc", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)  # of few draws
        model.fit(TRAIN[:20], NAMES[TRAIN[:20]])
    p = model.predict_proba(TEST)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(p, model.draws_.probabilities(TEST, every=2))
    in_coordinates = np.median(np.log(model.draws_.hyperparameters["steps"]))
    assert model.hyperparameters_["steps"] == pytest.approx(np.exp(in_coordinates))
    assert model.size_exponent_ == 0.0
    assert np.isnan(model.elbo_)
    assert model.sample(TEST[:4], 3, random_state=0).shape == (3, 4, 3)


def test_a_class_missing_from_a_fold_is_missing_from_its_probabilities():
    present = np.flatnonzero(NAMES != "right")[: len(TRAIN)]
    model = quick(learn=False).fit(present, NAMES[present])
    assert list(model.classes_) == ["centre", "left"]
    assert model.predict_proba(TEST).shape == (40, 2)


def test_a_kernel_may_come_from_another_hypergraph_on_the_same_vertices():
    other = make_planted_hypergraph(90, 120, 3, within=0.5, random_state=1).hypergraph
    kernel = Standardised(
        Matern(Spectrum.of(other)), level=LEVEL, relative_level=RELATIVE_LEVEL, activity=ACTIVITY, fixed="evenness"
    )
    model = quick(kernel=kernel, size_exponent="auto", learn=False).fit(TRAIN, NAMES[TRAIN])
    own = quick(other, kernel="matern", learn=False).fit(TRAIN, NAMES[TRAIN])
    assert np.allclose(model.predict_proba(TEST), own.predict_proba(TEST))


def test_the_level_of_classes_is_as_uncertain_as_their_functions_and_noise_vary():
    model = quick(kernel="walk").fit(TRAIN, NAMES[TRAIN])
    assert model.kernel_.level_variance == 1.0 + model.hyperparameters_["variance"]
    known = quick(kernel="walk", inference="dirichlet").fit(TRAIN, NAMES[TRAIN])
    assert known.kernel_.level_variance == LEVEL


@pytest.mark.parametrize("options", [{}, {"learn": False}, {"inference": "variational", "likelihood": "softmax"}])
@pytest.mark.parametrize("num_classes", [3, 2])
def test_a_vertex_without_memberships_has_the_classes_shares(options, num_classes):
    """Whatever was learned, and however much probabilities are sharpened; of many classes and of two."""
    labels = NAMES if num_classes == 3 else np.where(NAMES == "left", "left", "other")
    # Classes of 25, 10 and 5 labels: far from alike.
    train = np.concatenate([np.flatnonzero(n == NAMES)[:k] for n, k in (("left", 25), ("centre", 10), ("right", 5))])
    model = quick(H=WITH_ONE_ALONE, **options).fit(train, labels[train])
    alone, expected = model.predict_proba([90])[0], model.shares_
    counts = np.array([(labels[train] == name).sum() for name in model.classes_])
    assert np.allclose(expected, (counts + 1) / (len(train) + len(counts)))
    assert np.allclose(alone, expected, atol=0.05)  # what is not known of the level is left as doubt
    others = np.setdiff1d(np.arange(90), train)
    own = np.searchsorted(model.classes_, labels[others])
    told = np.log(model.predict_proba(others)[np.arange(len(others)), own])
    assert told.mean() > np.log(expected[own]).mean() + 0.1  # memberships say more


def test_all_vertices_may_be_labelled():
    model = quick(learn=False).fit(np.arange(90), NAMES)
    assert model.score(np.arange(90), NAMES) > 0.95


@pytest.mark.parametrize(
    ("options", "X", "y", "message"),
    [
        ({"inducing": 91}, [0, 1], ["a", "b"], "`inducing` must be between 1 and 90"),
        ({"inducing": [0, 0]}, [0, 1], ["a", "b"], "must name different vertices"),
        ({"inducing": ["nobody"]}, [0, 1], ["a", "b"], "must belong to the hypergraph"),
        (
            {"inference": "laplace", "likelihood": "robust-max"},
            [0, 1],
            ["a", "b"],
            "needs a likelihood with slopes. Got `likelihood='robust-max'`.*Choose 'softmax'",
        ),
        ({"inference": "mcmc", "learn": False}, [0, 1], ["a", "b"], "draws hyperparameters along"),
        ({"inference": "mcmc", "inducing": 5}, [0, 1], ["a", "b"], "samples the full model"),
        ({"inference": "mcmc", "size_exponent": "learn"}, [0, 1], ["a", "b"], "cannot learn the size exponent"),
        ({"inference": "magic"}, [0, 1], ["a", "b"], "`inference` must be one of"),
        ({"batch_size": 5}, [0, 1], ["a", "b"], "Set `inducing`"),
        ({"batch_size": 0, "inducing": 5}, [0, 1], ["a", "b"], "`batch_size` must be"),
        ({"batch_size": 5, "inducing": 5, "size_exponent": "learn"}, [0, 1], ["a", "b"], "Give a number"),
        ({"likelihood": Softmax(3)}, [0, 1], ["a", "b"], "is for 3 classes. Got 2"),
        ({"likelihood": RobustMax(2)}, [0, 1, 2], ["a", "b", "c"], "is for 2 classes. Got 3"),
        ({}, [0, 1], ["a", "a"], "at least two classes. Got one: 'a'"),
        ({}, [0, 1], [0.5, 1.5], "must hold classes. Got continuous numbers such as 0.5"),
        ({}, [0, 1], ["a", None], "missing labels"),
        ({}, [], [], "at least one"),
        ({}, [0, 1, 0], ["a", "b", "b"], "one label each. Got two for 0."),
        ({}, [0, 1], ["a"], "`vertices` and `y` must have the same length"),
        ({}, [0, 999], ["a", "b"], "must belong to the hypergraph"),
        ({"likelihood": "logit"}, [0, 1, 2], ["a", "b", "c"], "is for two classes. Got 3. Use 'softmax' or 'probit'"),
        (
            {"likelihood": "probit", "inference": "variational"},
            [0, 1, 2],
            ["a", "b", "c"],
            "no expectation that variational inference could use. Use `inference='ep'`.*'softmax'",
        ),
        (
            {"likelihood": "probit", "inference": "laplace"},
            [0, 1, 2],
            ["a", "b", "c"],
            "needs a likelihood with slopes. Got `likelihood='probit'` for 3 classes.*Choose 'softmax'",
        ),
        ({"likelihood": "softmax", "inference": "ep"}, [0, 1], ["a", "b"], "which Softmax does not have"),
        ({"solver": "iterative", "inference": "ep"}, [0, 1], ["a", "b"], "by `inference='variational'`. Got 'ep'"),
        ({"likelihood": "normal"}, [0, 1], ["a", "b"], "`likelihood` must be one of"),
        (
            {"kernel": Matern(Spectrum.of(load_house_votes().hypergraph)), "size_exponent": "auto"},
            [0, 1],
            ["a", "b"],
            "435",
        ),
    ],
)
def test_what_it_refuses_is_named_with_its_rule(options, X, y, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "two", "many"),
    [
        ({}, Bernoulli, MultinomialProbit),
        ({"inference": "ep"}, Bernoulli, MultinomialProbit),
        ({"inference": "variational"}, Bernoulli, Softmax),
        ({"inference": "laplace"}, Bernoulli, Softmax),
        ({"solver": "iterative"}, Bernoulli, Softmax),
        ({"kernel": Matern(Spectrum.matrix_free(PLANTED.hypergraph)), "size_exponent": "auto"}, Bernoulli, Softmax),
    ],
    ids=["usual", "propagation", "variational", "laplace", "products", "a kernel without eigenvectors"],
)
def test_the_usual_likelihood_is_one_that_inference_and_solver_can_use(options, two, many):
    for labels, expected in ((NAMES == "left", two), (NAMES, many)):
        model = quick(**options, learn=False).fit(TRAIN, labels[TRAIN])
        assert type(model.posterior_.likelihood) is expected
        assert model.score(TEST, labels[TEST]) > 0.7


LABELS = {
    "tuples": {"left": ("left", 1), "centre": ("centre", 3), "right": ("right", 2)},
    "tuples of several lengths": {"left": ("left",), "centre": ("left", 3), "right": ("right", 2)},
    "text and numbers": {"left": "left", "centre": 2, "right": 7},
    "without an order": {name: frozenset(name) for name in ("left", "centre", "right")},
}


@pytest.mark.parametrize("renamed", LABELS.values(), ids=LABELS)
def test_labels_may_be_anything_hashable(renamed):
    labels = [renamed[name] for name in NAMES[TRAIN]]
    usual, model = (quick(learn=False).fit(TRAIN, y) for y in (NAMES[TRAIN], labels))
    expected = usual.predict_proba(TEST)[:, [list(usual.classes_).index(old) for old in _old(renamed, model.classes_)]]
    assert np.allclose(model.predict_proba(TEST), expected, atol=1e-9)
    assert [renamed[name] for name in usual.predict(TEST)] == list(model.predict(TEST))
    truth = [renamed[name] for name in NAMES[TEST]]
    assert model.score(TEST, truth) == pytest.approx(usual.score(TEST, NAMES[TEST]))
    assert metrics.accuracy(truth, model.predict_proba(TEST), model.classes_) == pytest.approx(model.score(TEST, truth))
    label = model.classes_[0]
    assert model.explain(TEST[0], label=label).of == f"latent margin for {label!s}"


def _old(renamed, classes):
    return [next(old for old, new in renamed.items() if new == label) for label in classes]


def test_labels_that_cannot_be_told_apart_are_refused():
    with pytest.raises(TypeError, match="`y` must hold labels that can be hashed"):
        quick().fit([0, 1], np.array([{"a": 1}, {"b": 2}], dtype=object))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (VariationalObjective, {"likelihood": "logit", "inference": "variational"}),
        (LaplaceObjective, {"likelihood": "logit", "inference": "laplace"}),
        (PropagationObjective, {"likelihood": "probit"}),
        (CoupledPropagation, {"likelihood": "probit"}),
    ],
)
def test_the_final_answer_starts_from_sites_that_learning_found(monkeypatch, kind, options):
    starts, ends = [], []
    settle = kind.settle

    def watched(self, model):
        starts.append(self.sites)
        ends.append(settle(self, model))
        return ends[-1]

    monkeypatch.setattr(kind, "settle", watched)
    labels = NAMES[TRAIN] if kind is CoupledPropagation else NAMES[TRAIN] == "left"
    quick(**options, kernel="matern", integrate=False).fit(TRAIN, labels)
    assert not starts[0].shift.any()
    assert any(starts[-1] is end.sites for end in ends[:-1])


def test_labels_are_those_of_the_vertices_that_their_index_names(fitted):
    labels = pd.Series(NAMES[TRAIN], index=TRAIN)
    asked = quick(learn=False).fit(TRAIN, NAMES[TRAIN]).predict_proba(TEST)
    for y in (labels, labels.iloc[::-1], labels.reset_index(drop=True)):
        assert np.allclose(quick(learn=False).fit(TRAIN, y).predict_proba(TEST), asked, atol=1e-9)
    with pytest.raises(ValueError, match=r"index of `y` must name the vertices of `X`.*Got 89.*`y.to_numpy\(\)`"):
        quick().fit(TRAIN, labels.rename({0: 89}))
