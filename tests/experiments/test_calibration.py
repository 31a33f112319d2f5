"""The calibration study in small: its exact posterior is exact, and the default is nearly as good on its own data."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from hypergauss import Hypergraph, Spectrum
from hypergauss.experiments.calibration import (
    AT_MEDIANS,
    draw_labels,
    exact_probabilities,
    interval_table,
    label_table,
    score_intervals,
    score_labels,
)
from hypergauss.experiments.peers import log_densities
from hypergauss.inference.latent_model import LatentModel
from hypergauss.kernels import Walk
from hypergauss.likelihoods import Bernoulli


def test_importance_sampling_agrees_with_quadrature_of_two_labels():
    model, _, y, order = draw_labels(2, 0, 60, num_labels=2)
    train, test = order[:2], order[2:]
    found, effective = exact_probabilities(model, train, y[train], test, np.random.default_rng(0))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    z = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel()
    K = model.kernel.gram(train, train)
    f = z @ np.linalg.cholesky(K).T
    w = w * norm.cdf((2 * y[train] - 1) * f).prod(axis=1)
    across = model.kernel.gram(train, test)
    gain = np.linalg.solve(K, across)
    left = model.kernel.diagonal(test) - (across * gain).sum(axis=0)
    exact = (w[:, None] * norm.cdf(f @ gain / np.sqrt(1 + left))).sum(axis=0) / w.sum()
    assert effective > 1000
    assert np.abs(found[:, 1] - exact).max() < 0.04


def test_vertices_with_the_same_memberships_do_no_harm():
    H = Hypergraph.from_edges([[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 0, 1]])
    kernel = Walk(Spectrum.of(H), variance=4.0)  # of rank 4 at most, with twins
    model = LatentModel(kernel, Bernoulli("probit"), np.zeros(1))
    train, y = np.array([0, 1, 2, 6]), np.array([1, 1, 0, 0])
    found, _ = exact_probabilities(model, train, y, np.array([0, 1, 5]), np.random.default_rng(0))
    assert np.allclose(found[0], found[1])
    assert found[0, 1] > 0.6


def test_the_probit_of_four_classes_has_its_exact_posterior_too():
    model, _, y, order = draw_labels(4, 0, 60, num_labels=8)
    train, test = order[:8], order[8:]
    first, effective = exact_probabilities(model, train, y[train], test, np.random.default_rng(0))
    second, _ = exact_probabilities(model, train, y[train], test, np.random.default_rng(1))
    assert effective > 100
    assert np.allclose(first.sum(axis=1), 1.0)
    assert np.abs(first - second).max() < 0.15
    assert np.abs(first - second).mean() < 0.02


@pytest.mark.slow
def test_intervals_of_data_from_the_model_cover_about_as_often_as_they_say():
    rows = list(score_intervals(20, range(16), 60))
    for name in ("of f", "of a measurement"):
        assert abs(np.mean([row[f"90% {name}"] for row in rows]) - 0.9) < 0.06
        assert abs(np.mean([row[f"50% {name}"] for row in rows]) - 0.5) < 0.1


def test_the_truth_can_be_held_at_the_medians_of_the_priors():
    [row] = score_intervals(20, range(1), 60, truth=AT_MEDIANS)
    assert row["hyperparameters"] == AT_MEDIANS
    assert 0 <= row["90% of f"] <= 1


def test_probabilities_of_data_from_the_model_are_near_those_of_the_exact_posterior():
    parts = list(score_labels(2, range(4), 60))
    classes = np.arange(2)
    gaps = [(log_densities(p.truth, p.ours, classes) - log_densities(p.truth, p.exact, classes)).mean() for p in parts]
    assert np.mean(gaps) > -0.05
    assert label_table({2: parts}).row_count == 2


def test_tables_have_a_row_for_each_number_of_measurements():
    scores = pd.DataFrame(
        [{"hyperparameters": AT_MEDIANS, "n": n, "seed": s, "50% of f": 0.5} for n in (20, 50) for s in range(2)]
    )
    assert interval_table(scores).row_count == 2
