"""The paper's own training."""

import numpy as np
import pytest

from hypergauss import Spectrum, parameters
from hypergauss.datasets import load_zoo, make_planted_hypergraph
from hypergauss.embedding.memberships import Memberships
from hypergauss.embedding.model import Vertices
from hypergauss.embedding.objectives import LogPosterior
from hypergauss.experiments.recipe import elbo_gradient, map_as_the_paper, train_as_the_paper
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.variational import best_sites, elbo
from hypergauss.kernels import Diffusion, Matern
from hypergauss.likelihoods import RobustMax
from hypergauss.solvers import NaturalSites, SpectralFeatures, solver_for
from tests import oracles

PLANTED = make_planted_hypergraph(90, 120, 3, within=0.95, random_state=0)
SPECTRUM = Spectrum.of(PLANTED.hypergraph)
ROWS, Y = np.arange(50), PLANTED.communities[:50]
MODEL = LatentModel(Matern(SPECTRUM), RobustMax(3, 1e-3, fixed=("epsilon",)), np.zeros(3))


def test_the_papers_recipe_climbs_towards_the_best_bound():
    """A step of length 0.001 leaves (1 - 0.001)^t of the sites' distance: the bound rises, and stays below the best."""
    solver = solver_for(MODEL.kernel, ROWS)
    trained = train_as_the_paper(MODEL, solver, Y, steps=100)
    assert len(trained.trace) == 101
    assert (np.diff(trained.trace) > 0).all()
    best = best_sites(trained.model, solver, Y, NaturalSites.empty(50, 3))
    assert trained.trace[-1] < best.value
    faster = train_as_the_paper(MODEL, solver, Y, steps=100, rate=0.05)
    assert faster.trace[-1] > trained.trace[-1]


def test_the_first_step_of_adam_is_as_long_as_its_rate():
    """In the coordinates that softplus undoes, whatever the gradient."""
    before, after = MODEL.kernel, train_as_the_paper(MODEL, solver_for(MODEL.kernel, ROWS), Y, steps=1).model.kernel
    for name in ("nu", "lengthscale", "variance"):
        moved = [np.log(np.expm1(float(getattr(kernel, name)))) for kernel in (before, after)]
        assert abs(moved[1] - moved[0]) == pytest.approx(1e-3, rel=1e-4)


@pytest.mark.parametrize("inducing", [None, SpectralFeatures(6)], ids=["exact", "sparse"])
def test_the_gradient_is_that_of_the_bound_at_any_sites(inducing):
    rows, y = ROWS[:12], Y[:12].astype(float)
    solver = solver_for(MODEL.kernel, rows, "dense", inducing)
    rng = np.random.default_rng(0)
    sites = NaturalSites(rng.normal(size=(12, 3)), rng.uniform(0.1, 2.0, size=(12, 3)))

    def bound(theta):
        marginals = solver.marginals(parameters.unpack(MODEL.kernel, theta), MODEL.mean, sites)
        return elbo(marginals, sites, MODEL.likelihood.expectation(marginals.mean, marginals.total_variance, y))

    expected = oracles.central_differences(bound, parameters.pack(MODEL.kernel))
    np.testing.assert_allclose(elbo_gradient(MODEL, solver, y, sites), expected, rtol=1e-6, atol=1e-7)


def test_a_map_by_the_papers_recipe_climbs_and_moves_all_it_should():
    H = load_zoo().hypergraph
    start, after = (map_as_the_paper(H, steps=steps) for steps in (0, 30))
    objective = LogPosterior(start, Memberships.of(H, None), Vertices(Spectrum.of(H).vertex_vectors, None))
    assert objective.value(after) > objective.value(start) + 1.0
    assert (float(start.variance), float(start.noise_variance)) == (1.0, 0.01)
    moved = np.abs(after.coordinates - start.coordinates)
    assert 0.0 < moved.max() <= 30 * 1e-3 * 1.5  # a step of Adam is about as long as its rate
    assert float(after.noise_variance) != 0.01


def test_the_papers_recipe_is_for_the_papers_kernel():
    model = LatentModel(Diffusion(SPECTRUM), MODEL.likelihood, np.zeros(3))
    with pytest.raises(TypeError, match="Got Diffusion"):
        train_as_the_paper(model, solver_for(model.kernel, ROWS), Y)
