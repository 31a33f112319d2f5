"""The study of the defaults: its splits, its peers and its tables."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from hypergauss import metrics
from hypergauss.cli import main
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators import HypergraphGPRegressor
from hypergauss.experiments import defaults
from hypergauss.experiments.benchmarks import CLASSES, VALUES, of_labels, of_values, with_few_memberships
from hypergauss.experiments.ingredients import variants
from hypergauss.experiments.peers import FLOOR, class_peers, eigenvector_peers, log_densities, transitions, value_peers


@pytest.fixture(scope="module")
def planted():
    return make_planted_hypergraph(80, 120, 3, within=0.95, random_state=0)


@pytest.fixture(scope="module")
def benchmark(planted):
    return of_labels(planted.hypergraph, pd.Series(planted.communities.astype(str)))


def test_a_fifth_of_the_vertices_with_a_label_that_another_shares_is_observed(planted):
    labels = pd.Series(planted.communities.astype(object))
    labels[3], labels[7] = None, "alone"
    found = of_labels(planted.hypergraph, labels)
    assert not np.isin([3, 7], found.vertices).any()
    assert (np.diff(found.vertices) > 0).all()
    order = np.random.default_rng(4).permutation(78)
    assert np.array_equal(found.split(4).train, order[:16])
    assert np.array_equal(found.split(4).test, order[16:])


def test_the_house_has_87_labels_and_the_zoo_60():
    assert CLASSES["house-votes"]().num_train == 87
    assert CLASSES["zoo"]().num_train == 60


def test_only_vertices_asked_for_lose_memberships(planted):
    whole = of_values(planted.hypergraph, pd.Series(planted.signal))
    few = with_few_memberships(whole, 0, 2)
    split = whole.split(0)
    before, after = (b.hypergraph.incidence.toarray().astype(bool) for b in (whole, few))
    assert np.array_equal(before[split.train], after[split.train])
    assert (after[split.test].sum(axis=1) <= 2).all()
    assert not (after & ~before).any()


def test_errors_at_cars_of_few_memberships_are_about_as_large_as_was_said():
    """Their intervals were too wide: squared errors came to 0.64 of the predicted variance."""
    cars = VALUES["automobiles"]()
    squares = []
    for seed, kept in product((100, 101), (1, 2)):
        few = with_few_memberships(cars, seed, kept)
        split = few.split(seed)
        model = HypergraphGPRegressor(few.hypergraph, random_state=0)
        model.fit(few.vertices[split.train], few.target[split.train])
        mean, std = model.predict(few.vertices[split.test], return_std=True)
        squares.append((((few.target[split.test] - mean) / std) ** 2).mean())
    assert 0.75 < np.mean(squares) < 1.2


@pytest.mark.parametrize("name", ["hypergraph", "clique graph"])
def test_peers_solve_with_the_symmetric_transitions_of_their_relation(planted, name):
    H = planted.hypergraph
    S = transitions(H)[name]
    dense = S.B @ S.B.T - np.diag(S.c)
    if name == "clique graph":
        W = H.clique_expansion().adjacency.toarray()
        d = W.sum(axis=1)
        scale = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
        assert np.allclose(dense, scale[:, None] * W * scale, atol=1e-10)
    right = np.random.default_rng(0).standard_normal((80, 2))
    rows = np.arange(10, 60)
    expected = np.linalg.solve(np.eye(50) - 0.9 * dense[np.ix_(rows, rows)], right[rows])
    assert np.allclose(S.solve(rows, 0.9, right[rows]), expected)


def test_every_peer_is_worth_beating(benchmark):
    split = benchmark.split(0)
    known, asked = benchmark.target[split.train], benchmark.target[split.test]
    peers = class_peers(benchmark.hypergraph)
    assert len(peers) == 6
    for predict in peers.values():
        p = predict(benchmark.vertices[split.train], known, benchmark.vertices[split.test])
        assert np.allclose(p.sum(axis=1), 1.0)
        assert metrics.accuracy(asked, p, np.unique(known)) > 0.7
        assert log_densities(asked, p, np.unique(known)).mean() > -0.9


def test_peers_of_values_choose_how_many_eigenvectors(planted):
    train, test = np.arange(40), np.arange(40, 80)
    for predict in {**value_peers(planted.hypergraph), **eigenvector_peers(planted.hypergraph)}.values():
        mean, std = predict(train, planted.signal[train], test)
        assert np.corrcoef(mean, planted.signal[test])[0, 1] > 0.5
        assert (std > 0).all()


def test_a_label_that_is_no_class_has_the_floor_for_its_density():
    p = np.array([[0.75, 0.25], [1.0, 0.0], [0.5, 0.5]])
    found = log_densities(np.array(["a", "b", "z"]), p, np.array(["a", "b"]))
    assert np.allclose(found, np.log([0.75, FLOOR, FLOOR]))


def test_the_calibration_error_by_chance_is_that_of_as_many_coins():
    """Of n fair coins the share of heads is off by (2 / (pi n))^1/2 / 2 on average; sure things are never off."""
    n = 400
    coins = np.full((n, 2), 0.5)
    off = defaults._error_by_chance(coins, 0)
    assert abs(off - np.sqrt(2 / (np.pi * n)) / 2) < 4 * np.sqrt(0.25 / n / defaults._DRAWS)
    assert defaults._error_by_chance(np.eye(3)[[0, 1, 2, 2]], 0) == 0.0


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
@pytest.mark.usefixtures("short_fits")
@pytest.mark.parametrize("classifies", [True, False])
def test_each_ingredient_can_be_taken_out(planted, classifies):
    rng = np.random.default_rng(0)
    train = rng.permutation(80)[:20]
    y = planted.communities[train] % 2 if classifies else planted.signal[train]
    found = {}
    for name, model in variants(planted.hypergraph, classifies=classifies).items():
        model.fit(train, y)
        found[name] = model.predict_proba(np.arange(80)) if classifies else model.predict(np.arange(80))
    assert len(found) == (13 if classifies else 11)
    default = found.pop("default")
    for name, other in found.items():
        assert np.isfinite(other).all(), name
        assert not np.allclose(other, default), name


def test_a_set_that_is_run_replaces_its_own_scores_and_what_is_missing_is_said(tmp_path, monkeypatch, benchmark):
    monkeypatch.setitem(defaults.CLASSES, "zoo", lambda: benchmark)
    monkeypatch.setattr(defaults, "class_peers", lambda H: dict(list(class_peers(H).items())[:2]))
    old = {"set": ["zoo", "house-votes"], "method": "default", "seed": 99, "accuracy": 0.5, "ece": 0.1, "chance": 0.1}
    pd.DataFrame(old).assign(density=-1.0, seconds=1.0).to_csv(tmp_path / "defaults.csv", index=False)
    assert main(["reproduce", "defaults", "--quick", "--only", "zoo", "--out", str(tmp_path)]) == 0
    kept = pd.read_csv(tmp_path / "defaults.csv")
    assert kept[kept["set"] == "zoo"]["seed"].max() == 1
    assert (kept[kept["set"] == "house-votes"]["seed"] == 99).all()
    text = (tmp_path / "defaults.txt").read_text()
    assert "best peer of each score" in text
    assert "Not run: us-senate-106" in " ".join(text.split())


def test_ingredients_are_kept_set_by_set_so_that_an_interrupted_run_can_go_on(tmp_path, monkeypatch, benchmark):
    def few(H, **options):  # that each of them can be taken out has a test of its own
        return dict(list(variants(H, **options).items())[:2])

    monkeypatch.setattr(defaults, "variants", few)

    def interrupted():
        raise KeyboardInterrupt

    loaders = dict.fromkeys(defaults.CLASSES, interrupted) | {"us-senate-106": lambda: benchmark}
    for name, loader in loaders.items():
        monkeypatch.setitem(defaults.CLASSES, name, loader)
    with pytest.raises(KeyboardInterrupt):
        defaults.run(tmp_path, Console(quiet=True), quick=True, only=["ingredients"])
    kept = pd.read_csv(tmp_path / "defaults.csv")
    assert set(kept["set"]) == {"ingredients: us-senate-106"}
    monkeypatch.setitem(defaults.CLASSES, "zoo", lambda: benchmark)
    defaults.run(tmp_path, Console(quiet=True), quick=True, only=["ingredients: zoo"])
    assert set(pd.read_csv(tmp_path / "defaults.csv")["set"]) == {"ingredients: us-senate-106", "ingredients: zoo"}
    text = " ".join((tmp_path / "defaults.txt").read_text().split())
    assert "ingredients: house-votes" in text.split("Not run:")[1]


def test_an_unknown_set_and_a_set_of_another_study_are_sentences(tmp_path, capsys):
    assert main(["reproduce", "defaults", "--only", "elephants", "--out", str(tmp_path)]) == 1
    assert "us-senate-106" in capsys.readouterr().err
    assert main(["reproduce", "zoo", "--only", "zoo", "--out", str(tmp_path)]) == 1
    assert "--only is of the studies defaults and movielens" in capsys.readouterr().err
