"""Suggestions are what a new observation tells, by the formula and in fact."""

import numpy as np
import pytest

import hypergauss as hg
from tests.hypergraphs import random_hypergraph

pytestmark = pytest.mark.usefixtures("few_points")

H = random_hypergraph(14, 9, seed=5)
NAMES = list(H.vertices)


def fitted(rows, noise=0.1):
    return hg.HypergraphGPRegressor(H, learn=False, noise_variance=noise).fit([NAMES[i] for i in rows], np.sin(rows))


def entropy_drop(before, after, others):
    """Return how much the entropies of single vertices fall, summed."""
    old, new = (model.posterior_.variance(others) for model in (before, after))
    return float(np.log(old / new).sum() / 2)


def test_the_first_suggestion_lowers_the_entropy_of_the_others_by_what_it_says():
    model = fitted([2, 3, 4])
    best = hg.suggest_vertices(model, 1)
    row = int(H.vertex_rows(best.index)[0])
    others = np.setdiff1d(np.arange(14), [2, 3, 4])
    gains = {r: entropy_drop(model, fitted([2, 3, 4, r]), others) for r in others}
    assert best["information"].iloc[0] == pytest.approx(gains[row], rel=1e-9)
    assert gains[row] == pytest.approx(max(gains.values()))


def test_later_suggestions_count_on_earlier_ones():
    model = fitted([2, 3, 4])
    both = hg.suggest_vertices(model, 2)
    first, second = H.vertex_rows(both.index)
    others = np.setdiff1d(np.arange(14), [2, 3, 4])
    drop = entropy_drop(fitted([2, 3, 4, first]), fitted([2, 3, 4, first, second]), others)
    assert both["information"].iloc[1] == pytest.approx(drop, rel=1e-9)


def test_the_largest_and_smallest_value_are_looked_for_by_bounds():
    model = fitted([2, 3, 4])
    upper = hg.suggest_vertices(model, 14, criterion="upper-confidence")["bound"]
    lower = hg.suggest_vertices(model, 14, criterion="lower-confidence")["bound"]
    assert len(upper) == 11
    assert upper.is_monotonic_decreasing
    assert lower.is_monotonic_increasing
    assert upper.max() > model.predict(NAMES).max()


def test_only_candidates_are_suggested():
    found = hg.suggest_vertices(fitted([2, 3]), 5, candidates=NAMES[2:6])
    assert set(found.index) == set(NAMES[4:6])
    assert hg.suggest_vertices(fitted([2, 3]), 5, candidates=NAMES[2:3]).empty


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="criterion"):
        hg.suggest_vertices(fitted([2, 3]), criterion="luck")
    with pytest.raises(ValueError, match="level"):
        hg.suggest_vertices(fitted([2, 3]), criterion="upper-confidence", level=2.0)
