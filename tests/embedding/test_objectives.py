import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, ortho_group

from hypergauss import parameters
from hypergauss.embedding.pivots import choose_inducing
from tests import oracles
from tests.embedding.models import KINDS, case

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def log_posterior(c):
    """The long way: a column at a time with SciPy, and the densities of the priors."""
    C = c.covariance()
    likelihood = 0.0
    for values, pattern in zip(c.data.values.T, c.data.pattern_of, strict=True):
        known = c.data.patterns[pattern]
        likelihood += multivariate_normal.logpdf(values[known], cov=C[np.ix_(known, known)])
    scale = float(c.model.latent_lengthscale)
    X = scale * np.asarray(c.model.coordinates)
    return likelihood + norm.logpdf(X).sum() + norm.logpdf(np.log(scale))


def value(c, model=None, inducing=None):
    return c.objective(inducing).value(c.model if model is None else model)


@every_kind
def test_the_log_posterior_is_scipys_normal_column_by_column(kind):
    c = case(**kind)
    assert value(c) == pytest.approx(log_posterior(c), rel=1e-10)


@every_kind
@pytest.mark.parametrize("inducing", [None, [0, 2, 5, 8]], ids=["dense", "sparse"])
def test_gradients_match_central_differences(kind, inducing):
    c = case(**kind)
    objective = c.objective(None if inducing is None else np.array(inducing))
    theta = parameters.pack(c.model)
    expected = oracles.central_differences(lambda t: objective.value(parameters.unpack(c.model, t)), theta)
    assert np.allclose(objective.value_and_gradient(c.model)[1], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inducing", [None, [0, 2, 5, 8]], ids=["dense", "sparse"])
@pytest.mark.parametrize("latent", ["squared-exponential", "linear"])
def test_turning_and_reflecting_the_map_changes_nothing(inducing, latent):
    c = case(Q=3, latent=latent)
    inducing = None if inducing is None else np.array(inducing)
    before = value(c, inducing=inducing)
    turn = ortho_group.rvs(3, random_state=0)
    for move in (turn, turn * [1, 1, -1]):
        there = c.model.with_coordinates(c.model.coordinates @ move)
        assert value(c, there, inducing) == pytest.approx(before, rel=1e-10)


@every_kind
def test_the_sparse_objective_is_a_lower_bound_and_tight_where_every_vertex_induces(kind):
    c = case(**kind)
    exact = value(c)
    few, more, every = (value(c, inducing=np.arange(n)) for n in (3, 6, 9))
    assert few < more <= exact + 1e-6
    assert every == pytest.approx(exact, abs=2e-4)


def test_more_inducing_vertices_than_the_covariance_has_ranks_are_chosen_without_a_warning():
    """What is left of variances is rounding then, by which nothing can be divided."""
    c = case(N=30, M=3, Q=1, latent="linear")
    assert len(set(choose_inducing(c.model, c.vertices, 30))) == 30
