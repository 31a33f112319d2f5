"""HypergraphGPClassifier: probabilities, labels of any kind, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from hypergauss import HypergraphGPClassifier, Spectrum
from hypergauss.datasets import load_house_votes, make_planted_hypergraph
from hypergauss.inference import LogNormal
from hypergauss.kernels import Matern

PLANTED = make_planted_hypergraph(90, 120, 3, within=0.95, random_state=0)
NAMES = np.array(["left", "centre", "right"])[PLANTED.communities]
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
    noise = LogNormal(1e-3, 1.0).log_density(fitted.hyperparameters_["epsilon"])
    assert fitted.elbo_ + noise == pytest.approx(fitted.elbo_trace_[-1], abs=1e-3)
    # The best bound at given hyperparameters is itself found by iteration, to some 1e-5.
    assert (np.diff(fitted.elbo_trace_) > -1e-4).all()


@pytest.mark.parametrize("likelihood", ["softmax", "robust-max", "logit", "probit"])
def test_every_likelihood_tells_two_parties_apart(likelihood):
    data = load_house_votes()
    order = np.random.default_rng(0).permutation(435)
    train, test = order[:100], order[100:]
    model = quick(data.hypergraph, likelihood=likelihood).fit(train, data.target[train])
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
    for latent, posterior in enumerate(model._posteriors):
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
    assert cross_val_score(model, np.arange(90), NAMES, cv=3).mean() > 0.8


def test_a_class_with_one_member_keeps_its_place():
    labels = NAMES[TRAIN].astype(object)
    labels[0] = "alone"
    p = quick(learn=False).fit(TRAIN, labels).predict_proba(TEST)
    assert p.shape == (40, 4)
    assert (p > 0).all()


@pytest.mark.parametrize(
    ("options", "X", "y", "message"),
    [
        ({}, [0, 1], ["a", "a"], "at least two classes. Got one: 'a'"),
        ({}, [0, 1], [0.5, 1.5], "must hold classes. Got continuous numbers such as 0.5"),
        ({}, [0, 1], ["a", None], "missing labels"),
        ({}, [], [], "at least one"),
        ({}, [0, 1, 0], ["a", "b", "b"], "one label each. Got two for 0"),
        ({}, [0, 1], ["a"], "`vertices` and `y` must have the same length"),
        ({}, [0, 999], ["a", "b"], "must belong to the hypergraph"),
        ({"likelihood": "probit"}, [0, 1, 2], ["a", "b", "c"], "is for two classes. Got 3"),
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
