"""Inputs that once were taken in silence or met Python's own errors: each is refused with a sentence."""

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.plotting.tasks import plot_map
from tests.hypergraphs import random_hypergraph

H = random_hypergraph(12, 9, seed=0)
V = H.vertices.tolist()
Y = np.linspace(-1.0, 1.0, len(V))


def regressor(**settings):
    return hg.HypergraphGPRegressor(H, "matern", learn=False, **settings)


def classifier(**settings):
    return hg.HypergraphGPClassifier(H, "matern", learn=False, **settings)


def factorisation(**settings):
    return hg.KPMF(1, chains=2, warm_up=1, draws=1, random_state=0, **settings)


RATED = (["a", "a", "b"], ["x", "y", "x"], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            lambda: regressor().fit(V[:3], np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])),
            ValueError,
            r"`y` must not contain masked entries\. Got 1\. Leave unmeasured vertices out",
        ),
        (
            lambda: classifier().fit(V[:3], np.ma.masked_array(["a", "b", "a"], [0, 1, 0])),
            ValueError,
            r"`y` must not contain masked entries",
        ),
        (
            lambda: factorisation().fit(*RATED[:2], np.ma.masked_array(RATED[2], [0, 1, 0])),
            ValueError,
            r"`ratings` must not contain masked entries",
        ),
        (
            lambda: regressor().fit(V[:2], pd.to_datetime(["2020-01-01", "2021-01-01"])),
            TypeError,
            r"`y` must hold numbers\. Got datetime64.*Choose a unit",
        ),
        (lambda: regressor().fit({V[0], V[1]}, Y[:2]), TypeError, r"in an order.*Got a set"),
        (lambda: regressor().fit(V, Y).predict(frozenset(V)), TypeError, r"in an order.*Got a set"),
        (lambda: classifier().fit(V[:4], ["1", 1, "1", 1]), TypeError, r"Got .* and .*, which would be two classes"),
        (
            lambda: classifier(inducing=["nobody"]).fit(V[:4], ["a", "b", "a", "b"]),
            ValueError,
            r"`inducing` must belong to the hypergraph",
        ),
        (
            lambda: factorisation(item_relations={"g": hg.Hypergraph.from_edges([["X", "Y"]])}).fit(*RATED),
            ValueError,
            r"`item_relations\['g'\]` must tell of some that were rated\. Got names such as 'X'.*have 'x'",
        ),
        (
            lambda: factorisation().fit(*map(pd.Series, RATED[:2]), pd.Series(RATED[2], index=[2, 1, 0])),
            ValueError,
            r"`users` and `ratings` must have one index",
        ),
        (lambda: H.clique_expansion(weighted="no"), TypeError, r"`weighted` must be True or False"),
        (lambda: hg.load(None), TypeError, r"`path` must name a file\. Got NoneType"),
        (lambda: hg.read_hif(3), TypeError, r"`path` must name a file\. Got int"),
        (lambda: hg.write_hif([["a"]], "a.json"), TypeError, r"`H` must be a Hypergraph\. Got list"),
        (lambda: hg.write_table([["a"]], "a.csv"), TypeError, r"`H` must be a Hypergraph\. Got list"),
        (lambda: hg.to_networkx([["a"]]), TypeError, r"`H` must be a Hypergraph\. Got list"),
        (lambda: hg.to_xgi([["a"]]), TypeError, r"`H` must be a Hypergraph\. Got list"),
        (lambda: hg.to_hypernetx([["a"]]), TypeError, r"`H` must be a Hypergraph\. Got list"),
        (lambda: hg.to_hyperedge_index([["a"]]), TypeError, r"`H` must be a Hypergraph\. Got list"),
        (lambda: hg.HypergraphGPRegressor(pd.DataFrame()).fit(V, Y), TypeError, r"Got pandas\..*DataFrame.*from_xgi"),
        (lambda: hg.assess(regressor().fit(V, Y), V[:5], Y[:4]), ValueError, r"`X` and `y` must have the same length"),
        (lambda: regressor().fit(V, Y).predict_new({"new": 0}), TypeError, r"Got 0 for 'new': pass \[0\]"),
        (
            lambda: hg.write_report(regressor().fit(V, Y), "report.html", [1.0, 2.0]),
            TypeError,
            r"`observed` must be a Series indexed by vertex, or a dict\. Got list",
        ),
    ],
)
def test_it_is_refused_with_what_arrived_and_what_to_do(wrong, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        wrong()
    assert not list(tmp_path.iterdir())


def test_a_map_has_a_class_for_every_vertex():
    model = hg.SpectralEmbedding(2).fit(H)
    model.coordinate_std_ = np.ones_like(model.embedding_)
    with pytest.raises(ValueError, match=r"`vertices` and `classes` must have the same length. Got 12 and 1"):
        plot_map(model, ["a"], None)


def test_what_only_looks_wrong_is_taken():
    observed = dict(zip(V, Y, strict=True))
    model = regressor().fit(observed.keys(), list(observed.values()))  # keys have an order
    np.testing.assert_array_equal(model.predict(V), regressor().fit(V, np.ma.masked_array(Y)).predict(V))
    table = pd.DataFrame(dict(zip(("user", "item", "rating"), RATED, strict=True)), index=[5, 3, 9])
    one, other = (factorisation().fit(*columns) for columns in ((table.user, table.item, table.rating), RATED))
    np.testing.assert_array_equal(one.predict(*RATED[:2]), other.predict(*RATED[:2]))
    assert classifier().fit(V[:4], [True, False, True, False]).classes_.tolist() == [False, True]
