"""The congress study: its partitions, its baselines and what it says without the data."""

import numpy as np
import pandas as pd
import pytest

from hypergauss import Graph, metrics
from hypergauss.cli import main
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.experiments.congress import DEFAULT, Problem, methods, paired, partitions


@pytest.fixture(scope="module")
def problem():
    """Return a planted hypergraph in the place of congress."""
    planted = make_planted_hypergraph(90, 120, 3, within=0.95, random_state=0)
    H = planted.hypergraph
    graph = H.clique_expansion(weighted=True)
    assert isinstance(graph, Graph)
    return Problem({"hypergraph": H, "weighted clique graph": graph}, planted.communities)


def test_forty_are_held_out_by_the_first_entries_of_a_permutation():
    found = list(partitions(120, range(2)))
    assert [seed for seed, _, _ in found] == [0, 1]
    order = np.random.default_rng(1).permutation(120)
    assert np.array_equal(found[1][2], order[:40])
    assert np.array_equal(found[1][1], order[40:])


@pytest.mark.parametrize("name", ["label propagation, tuned", "logistic on eigenvectors, tuned"])
def test_baselines_are_worth_beating(problem, name):
    _, train, test = next(partitions(90, range(1)))
    p = methods(problem, paper_recipe=False)[name](train, test)
    assert np.allclose(p.proba.sum(axis=1), 1.0)
    assert metrics.accuracy(problem.groups[test], p.proba, p.classes) > 0.9
    assert metrics.log_predictive_density(problem.groups[test], p.proba, p.classes) > -0.5


def test_gains_are_paired_by_partition_and_calibration_is_pooled():
    rng = np.random.default_rng(0)
    hard = 3 * rng.standard_normal(10)  # what makes a partition hard is common to all methods
    rows, pooled = [], {}
    for name, behind in ((DEFAULT, 0.0), ("another", 0.2)):
        density = hard - behind + 1e-3 * rng.standard_normal(10)
        rows += [{"method": name, "seed": s, "density": d, "accuracy": 0.8} for s, d in enumerate(density)]
        pooled[name] = (np.array(["a", "b"] * 20), np.tile([[0.7, 0.3], [0.7, 0.3]], (20, 1)), np.array(["a", "b"]))
    table = {row[0]: row[1:] for row in paired(pd.DataFrame(rows), pooled)}
    assert table[DEFAULT] == ["", "", "", "0.200"]  # right half of the time, sure of seven tenths
    assert table["another"][0] == "+0.200 ± 0.000"
    assert float(table["another"][1]) > 100
    assert table["another"][2:] == ["+0.000 ± 0.000", "0.200"]


def test_without_the_data_the_study_says_what_to_set(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("HYPERGAUSS_DATA", raising=False)
    assert main(["reproduce", "congress", "--out", str(tmp_path)]) == 1
    assert "HYPERGAUSS_DATA must name the folder" in capsys.readouterr().err
