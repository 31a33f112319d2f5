"""The Cora study: its splits, its temperature, and what it says without the data."""

import numpy as np
import pytest

from hypergauss.cli import main
from hypergauss.experiments.cora import best_calibration, calibrated, splits


def test_splits_are_half_a_quarter_and_the_last_quarter_of_a_permutation():
    ((seed, split),) = splits(2708, range(3, 4))
    order = np.random.default_rng(3).permutation(2708)
    assert seed == 3
    assert [len(part) for part in split] == [1354, 677, 677]
    assert np.array_equal(np.concatenate(split), order)


def test_the_temperature_and_the_floor_that_spoilt_honest_probabilities_are_found():
    rng = np.random.default_rng(0)
    raw = rng.dirichlet(np.full(4, 0.3), size=20_000)
    honest = calibrated(raw, 0.5, 0.05)
    topics = (rng.random((20_000, 1)) > honest.cumsum(axis=1)).sum(axis=1)
    temperature, floor = best_calibration(raw, topics, (0.01, 0.05, 0.2))
    assert floor == 0.05
    assert temperature == pytest.approx(0.5, rel=0.03)


def test_without_the_data_the_study_says_what_to_set(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("HYPERGAUSS_DATA", raising=False)
    assert main(["reproduce", "cora", "--out", str(tmp_path)]) == 1
    assert "HYPERGAUSS_DATA must name the folder that holds cora-coauthorship" in capsys.readouterr().err
