"""Which solver is chosen, what it is predicted to take, and what is refused beforehand."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.exceptions import InsufficientMemoryError
from hypergauss.solvers import choose
from hypergauss.solvers.choose import plan_solver
from hypergauss.solvers.costs import exact_fit
from hypergauss.solvers.work import Work


@pytest.fixture(scope="module")
def small():
    return {"hypergraph": make_planted_hypergraph(300, 200, random_state=0).hypergraph}


@pytest.fixture(scope="module")
def large():
    return {"hypergraph": make_planted_hypergraph(60_000, 60_000, random_state=0).hypergraph}


def test_small_problems_are_solved_exactly(small):
    plan = plan_solver(small, Work(100))
    assert not plan.is_iterative
    assert plan.chosen.seconds < 60


def test_large_problems_are_solved_iteratively_and_say_so_in_one_line(large):
    plan = plan_solver(large, Work(10_000))
    assert plan.is_iterative
    assert plan.chosen.seconds < plan.other.seconds
    assert str(plan).startswith("iterative solver, predicted to take")
    assert "\n" not in str(plan)


def test_a_solver_that_is_asked_for_is_taken(small, large):
    assert plan_solver(small, Work(100), solver="iterative").is_iterative
    assert plan_solver(small, Work(100), solver=hg.Iterative(tolerance=1e-4)).is_iterative
    assert not plan_solver(small, Work(100), solver="dense").is_iterative
    assert not plan_solver(large, Work(1000), rank=20).is_iterative  # a truncated spectrum has eigenvectors


def test_what_will_not_fit_is_refused_with_the_figure_and_the_alternative(large):
    with pytest.raises(InsufficientMemoryError, match=r"need [\d.e+]+ GB.*solver='iterative'"):
        plan_solver(large, Work(10**6), solver="dense")
    assert issubclass(InsufficientMemoryError, MemoryError)


def test_memory_that_is_short_moves_the_choice(small, monkeypatch):
    exact = plan_solver(small, Work(100)).chosen
    monkeypatch.setattr(choose, "available_memory", lambda: exact.bytes)  # of which a share may be used
    assert plan_solver(small, Work(100)).is_iterative
    monkeypatch.setattr(choose, "available_memory", lambda: 1.0)
    with pytest.raises(InsufficientMemoryError, match="more memory"):
        plan_solver(small, Work(100))


def test_predictions_grow_with_the_problem():
    costs = [
        plan_solver({"h": make_planted_hypergraph(n, n, random_state=0).hypergraph}, Work(n // 5), solver="iterative")
        for n in (1000, 10_000)
    ]
    assert costs[1].chosen.bytes > 5 * costs[0].chosen.bytes
    assert costs[1].other.seconds > 100 * costs[0].other.seconds


def test_an_estimator_reports_its_plan_and_keeps_its_settings():
    planted = make_planted_hypergraph(200, 150, random_state=0)
    rows = np.arange(0, 200, 3)
    settings = hg.Iterative(tolerance=1e-4, n_samples=8, n_deflated=8, n_probes=4)
    model = hg.HypergraphGPRegressor(planted.hypergraph, solver=settings, learn=False).fit(rows, planted.signal[rows])
    assert model.solver_ == "iterative"
    assert model.solver_plan_.startswith("iterative solver")
    # Without eigenvectors there is nothing to scale vertices by: the kernel is the filter as it is.
    matern = hg.kernels.Matern(hg.Spectrum.of(planted.hypergraph))
    exact = hg.HypergraphGPRegressor(planted.hypergraph, matern, solver="dense", learn=False)
    exact.fit(rows, planted.signal[rows])
    # Kernels differ by how their mean prior variance is found: from a density, and from all eigenvalues.
    assert np.abs(model.predict(range(200)) - exact.predict(range(200))).max() < 0.05


def test_learning_the_size_exponent_needs_exact_evidence():
    H = make_planted_hypergraph(100, 80, random_state=0).hypergraph
    with pytest.raises(ValueError, match="only estimates"):
        hg.HypergraphGPRegressor(H, solver="iterative", size_exponent="learn").fit(range(50), np.arange(50.0))


def test_settings_are_checked_before_anything_else():
    H = make_planted_hypergraph(100, 80, random_state=0).hypergraph
    with pytest.raises(ValueError, match="below which double precision"):
        hg.HypergraphGPRegressor(H, solver=hg.Iterative(tolerance=1e-15)).fit(range(50), np.arange(50.0))
    with pytest.raises(ValueError, match="must be one of"):
        hg.HypergraphGPRegressor(H, solver="magic").fit(range(50), np.arange(50.0))
    with pytest.raises(ValueError, match="variational"):
        hg.HypergraphGPClassifier(H, solver="iterative", inference="laplace").fit(range(50), np.arange(50) % 2)


def test_what_products_cannot_follow_is_left_to_eigenvectors(large):
    H = large["hypergraph"]
    options = {"kernel": None, "combine": "sum", "rank": None, "work": Work(100)}
    plain = Blueprint.of(H, covariates=None, size_exponent="auto", **options)
    assert plain.plan.is_iterative
    with pytest.raises(InsufficientMemoryError, match="covariates without features"):
        Blueprint.of(H, covariates=np.arange(H.num_vertices), size_exponent="auto", **options)
    with pytest.raises(InsufficientMemoryError, match="learned size exponent"):
        Blueprint.of(H, covariates=None, size_exponent="learn", **options)
    features = hg.kernels.Linear(np.ones((H.num_vertices, 1)))
    assert Blueprint.of(H, covariates=features, size_exponent="auto", **options).plan.is_iterative


def test_a_model_without_eigenvectors_has_a_report_with_the_hyperedges_that_speak(tmp_path):
    planted = make_planted_hypergraph(120, 100, random_state=0)
    y = pd.Series(planted.signal[::3], index=np.arange(0, 120, 3))
    settings = hg.Iterative(n_samples=8, n_probes=4, n_deflated=8)
    model = hg.HypergraphGPRegressor(planted.hypergraph, solver=settings, learn=False).fit(y.index, y)
    hg.write_report(model, tmp_path / "report.html", y)
    page = (tmp_path / "report.html").read_text()
    content = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))
    edge, contribution = content["speaking"]["top"][1][0]
    loudest = model.explain(1).edges.iloc[0]
    assert planted.hypergraph.incidence[1, [loudest["edge"]]].sum() == 1
    assert content["speaking"]["edges"][edge] == str(loudest["edge"])
    assert contribution == pytest.approx(loudest["contribution"], rel=1e-3)


def test_a_plan_tells_in_one_line_what_hyperparameters_are_learned_from():
    H = make_planted_hypergraph(3_000, 600, random_state=0).hypergraph
    plan = plan_solver({"h": H}, Work(2_000), searched=None)
    assert plan.learning_size < 2_000
    told = f"; hyperparameters are learned from {plan.learning_size:,} of 2,000 observations"
    assert str(plan).endswith(told)
    plain = plan_solver({"h": H}, Work(200), searched=None)
    assert plain.learning_size == 200
    assert "learned from" not in str(plain)


def test_a_plan_counts_the_decompositions_of_a_search_evaluations_and_averaging(small):
    work = Work(100)
    searched, plain = (exact_fit(small, work, searched=names) for names in (("hypergraph",), ()))
    fixed = exact_fit(small, work._replace(averages=False))
    held = exact_fit(small, work._replace(learns=False))
    assert searched.searches
    assert not plain.searches
    assert searched.cost.seconds > plain.cost.seconds > fixed.cost.seconds > held.cost.seconds > 0
    assert (plain.num_points, fixed.num_points, held.num_points) == (20, 0, 0)


def test_labels_cost_more_than_measurements_and_coupled_classes_most(small):
    kinds = [Work(200), Work(200, "sites"), Work(200, "coupled", 4), Work(200, "coupled", 8)]
    seconds = [exact_fit(small, work._replace(averages=False), searched=("hypergraph",)).cost.seconds for work in kinds]
    assert seconds[0] < seconds[2] < seconds[3]
    assert seconds[1] < seconds[2]
    assert exact_fit(small, kinds[2]).cost.bytes > exact_fit(small, kinds[1]).cost.bytes
