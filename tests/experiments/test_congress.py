"""The congress study: its partitions, its recipe, its baselines and what it says without the data."""

import jax.numpy as jnp
import numpy as np
import pytest

from hypergauss import Graph, Spectrum, metrics
from hypergauss.cli import main
from hypergauss.datasets import make_planted_hypergraph
from hypergauss.experiments.congress import Problem, methods, partitions
from hypergauss.experiments.recipe import train_as_the_paper
from hypergauss.inference.latent import LatentData, LatentModel, empty_sites
from hypergauss.inference.variational import best_sites
from hypergauss.kernels import Diffusion, Matern
from hypergauss.likelihoods import RobustMax


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


def latent_model(problem, kernel=Matern):
    return LatentModel(kernel(Spectrum.of(problem.hypergraph)), RobustMax(3, 1e-3, fixed=("epsilon",)), jnp.zeros(3))


def test_the_papers_recipe_climbs_towards_the_best_bound(problem):
    """A step of length 0.001 leaves (1 - 0.001)^t of the sites' distance: the bound rises, and stays below the best."""
    model = latent_model(problem)
    data = LatentData.of(model.kernel, np.arange(50), problem.groups[:50])
    trained = train_as_the_paper(model, data, steps=100)
    assert len(trained.trace) == 101
    assert (np.diff(trained.trace) > 0).all()
    best = best_sites(trained.model, data, empty_sites(model, data))
    assert trained.trace[-1] < float(best.value)
    faster = train_as_the_paper(model, data, steps=100, rate=0.05)
    assert faster.trace[-1] > trained.trace[-1]


def test_the_papers_recipe_is_for_the_papers_kernel(problem):
    model = latent_model(problem, Diffusion)
    with pytest.raises(TypeError, match="Got Diffusion"):
        train_as_the_paper(model, LatentData.of(model.kernel, np.arange(5), problem.groups[:5]))


def test_without_the_data_the_study_says_what_to_set(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("HYPERGAUSS_DATA", raising=False)
    assert main(["reproduce", "congress", "--out", str(tmp_path)]) == 1
    assert "HYPERGAUSS_DATA must name the folder" in capsys.readouterr().err
