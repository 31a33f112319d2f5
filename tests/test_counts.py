"""What is counted and not timed: a change that needs more of it than this says why, and raises the figure."""

import tracemalloc

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.datasets import load_automobiles, load_house_votes, load_zoo, make_planted_hypergraph
from hypergauss.estimators import averaging
from hypergauss.inference import coupled_propagation
from hypergauss.kernels import Standardised
from hypergauss.learning import search
from hypergauss.operators.local import LocalLaplacian
from hypergauss.solvers.dense import DenseSolver
from hypergauss.solvers.low_rank import LowRankSolver


@pytest.fixture
def count(monkeypatch):
    """Return a function that counts the calls of a method from here on."""

    def counted(owner, name):
        calls = []
        function = getattr(owner, name)

        def call(*arguments, **options):
            calls.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, call)
        return calls

    return counted


@pytest.fixture(scope="module")
def cars():
    data = load_automobiles()
    price = np.log(data.target.dropna())
    known = np.random.default_rng(0).permutation(price.index)[:100]
    return data.hypergraph, known, price[known].to_numpy()


def test_evaluations_of_a_default_regression(cars, count):
    H, X, y = cars
    with_gradient, alone = count(search._Loss, "__call__"), count(averaging, "value_at")
    hg.HypergraphGPRegressor(H, random_state=0).fit(X, y)
    assert len(with_gradient) <= 90
    assert len(alone) <= 20


def test_evaluations_and_sweeps_of_a_default_classification(count):
    votes = load_house_votes()
    known = np.random.default_rng(0).permutation(votes.target.index)[:60]
    with_gradient, alone = count(search._Loss, "__call__"), count(averaging, "value_at")
    sweeps = [count(solver, "marginals") for solver in (DenseSolver, LowRankSolver)]
    hg.HypergraphGPClassifier(votes.hypergraph, random_state=0).fit(known, votes.target[known])
    assert len(with_gradient) + len(alone) <= 80
    assert sum(map(len, sweeps)) <= 360


def test_site_steps_of_a_default_classification_of_seven_classes(count):
    animals = load_zoo()
    known = np.random.default_rng(0).permutation(animals.target.index)[:60]
    steps = count(coupled_propagation, "_condition")
    hg.HypergraphGPClassifier(animals.hypergraph, random_state=0).fit(known, animals.target[known])
    assert len(steps) <= 550


def test_features_of_an_averaged_prediction_are_made_once_for_each_component(cars, count):
    H, X, y = cars
    model = hg.HypergraphGPRegressor(H, random_state=0).fit(X, y)
    made = count(Standardised, "features_and_structure")
    model.predict(H.vertices, return_std=True)
    assert len(made) == len(model.posterior_.components)


def test_products_of_an_iterative_regression(count):
    planted = make_planted_hypergraph(500, 400, random_state=0)
    rows = np.arange(0, 500, 4)
    products = count(LocalLaplacian, "affine")
    hg.HypergraphGPRegressor(planted.hypergraph, solver="iterative", learn=False).fit(rows, planted.signal[rows])
    assert 0 < len(products) <= 3_500


def test_bytes_of_a_default_regression_and_of_its_file(cars, tmp_path):
    H, X, y = cars
    tracemalloc.start()
    model = hg.HypergraphGPRegressor(H, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    hg.save(model, tmp_path / "cars.hypergauss")
    assert peak <= 2e6
    assert (tmp_path / "cars.hypergauss").stat().st_size <= 600e3
