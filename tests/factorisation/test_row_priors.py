"""What is expected of a row before its ratings: dense conditioning says the same."""

import numpy as np
import pytest

from hypergauss import Hypergraph
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.grounds import make_grounds, relation_row
from hypergauss.factorisation.ratings import tabulate
from hypergauss.factorisation.row_priors import Place, SideDraws, smooth_part
from hypergauss.factorisation.sides import make_sides
from hypergauss.learning.priors import LogNormal
from tests.factorisation.problems import make_problem, random_ratings

PRIORS = {"nu": LogNormal(3.0), "lengthscale": LogNormal(3.0)}


@pytest.fixture(scope="module")
def drawn():
    """A side after some sweeps, its coordinates and hyperparameters."""
    problem, _ = make_problem(n_factors=2)
    rng = np.random.default_rng(0)
    state = gibbs.start(problem, rng)
    for _ in range(5):
        state = gibbs.sweep(problem, state, rng)
    return problem.sides[0], state.coordinates[0], state.hyper[0], problem.factors(state)[0]


def _draws(drawn):
    side, x, hyper, factors = drawn
    part = smooth_part(side, x, hyper)
    lone = side.lone_variances(hyper)
    return SideDraws(factors[None], lone[None], part.weights[None].astype(float), part.slack[None].astype(float))


def _spectral_covariance(side, hyper, column, extra):
    """Return the covariance of the spectral part of all vertices and of one more whose row of U is given."""
    kappa = side.modes.filters(hyper.point)[:, column]
    U = np.vstack([side.modes.vectors, extra])
    K = kappa[-1] * np.eye(len(U)) + U @ np.diag(kappa[:-1] - kappa[-1]) @ U.T
    return hyper.expansion[column] ** 2 * hyper.variance[column] * K


def test_a_newcomer_is_expected_to_be_what_conditioning_on_all_others_says(drawn):
    side, x, hyper, _ = drawn
    rng = np.random.default_rng(1)
    place = Place(0.3 * rng.standard_normal(side.modes.vectors.shape[1]), rng.standard_normal(side.num_levels))
    found = _draws(drawn).newcomer(place)
    for column in range(x.shape[1]):
        K = _spectral_covariance(side, hyper, column, place.modes)
        weights = np.linalg.solve(K[:-1, :-1], K[:-1, -1])
        mean = weights @ x[: side.num_vertices, column] + place.features @ x[side.num_vertices :, column]
        assert np.isclose(found.mean[0, column], mean, rtol=1e-4, atol=1e-5)
        assert np.isclose(found.variance[0, column], K[-1, -1] - weights @ K[:-1, -1], rtol=1e-4)


def test_a_known_vertex_is_expected_to_be_what_all_others_say(drawn):
    side, x, hyper, _ = drawn
    draws = _draws(drawn)
    for row in (0, 7, 29):
        place = Place(side.modes.vectors[row], side.features[[row]].toarray()[0])
        found = draws.known(row, place)
        others = np.arange(side.num_vertices) != row
        for column in range(x.shape[1]):
            K = _spectral_covariance(side, hyper, column, place.modes)[:-1, :-1]
            weights = np.linalg.solve(K[np.ix_(others, others)], K[others, row])
            mean = weights @ x[: side.num_vertices][others, column]
            mean += place.features @ x[side.num_vertices :, column]
            assert np.isclose(found.mean[0, column], mean, rtol=1e-3, atol=1e-4)
            assert np.isclose(found.variance[0, column], K[row, row] - weights @ K[others, row], rtol=1e-3)


def test_a_row_that_moves_changes_what_is_expected_of_others_and_not_of_itself(drawn):
    side, x, hyper, factors = drawn
    draws = _draws(drawn)
    places = [Place(side.modes.vectors[row], side.features[[row]].toarray()[0]) for row in (3, 4)]
    before = [draws.known(row, place) for row, place in zip((3, 4), places, strict=True)]
    change = np.array([0.5, -1.0, 2.0])
    moved = x.copy()
    moved[3] += change
    draws.move(3, places[0], factors[None, 3] + change)
    draws.rows[:, 3] += change
    fresh = _draws((side, moved, hyper, draws.rows[0]))
    assert np.allclose(draws.weights, fresh.weights, rtol=1e-4, atol=1e-6)
    assert np.allclose(draws.known(3, places[0]).mean, before[0].mean, atol=1e-4)
    assert np.abs(draws.known(4, places[1]).mean - before[1].mean).max() > 1e-4
    draws.rows[:, 3] -= change  # the fixture's own


@pytest.mark.parametrize("exponent", [0.0, 0.7])
@pytest.mark.parametrize("rank", [None, 8])
def test_memberships_of_a_known_vertex_put_it_in_its_own_place(exponent, rank):
    table = tabulate(*random_ratings(30, 20, 0.3, 0), bounds=None)
    options = {"kernel": "matern", "rank": rank, "size_exponent": exponent, "priors": PRIORS, "relations": ({}, {})}
    sides = make_sides(table, dtype=float, **options)
    for side, ground in enumerate(make_grounds(table, sides, ({}, {}), exponent)):
        own, other = (table.user, table.item) if side == 0 else (table.item, table.user)
        for row in (0, 5, 11):
            there, again = ground.of_known(row), ground.of_newcomer(other[own == row], np.zeros(0))
            assert np.allclose(again.features, there.features)
            assert np.allclose(again.modes, there.modes, atol=1e-7)


def test_a_row_of_relations_is_that_of_a_known_vertex_with_the_same_memberships():
    table = tabulate(*random_ratings(30, 20, 0.3, 0), bounds=None)
    H = Hypergraph.from_edges({"young": [0, 1, 2, 5], "old": [3, 4], "far": [1, 4, 29]})
    relations = ({"age": H}, {})
    sides = make_sides(
        table, kernel="matern", rank=8, size_exponent=0.0, priors=PRIORS, relations=relations, dtype=float
    )
    ground = make_grounds(table, sides, relations, 0.0)[0]
    row = relation_row("relations", {"age": ["young", "far"]}, relations[0], ground.scales)
    known = ground.of_known(table.users.get_loc(1)).features[-3:]
    assert np.allclose(row, known)
    assert np.allclose(relation_row("relations", None, relations[0], ground.scales), 0.0)
    for given, kind, message in (
        ({"sex": ["f"]}, ValueError, r"must name relations of the fit \('age'\). Got 'sex'"),
        ({"age": ["middle"]}, ValueError, r"must belong to the hyperedges of 'age' \(3\). Got 'middle'"),
        ([1], TypeError, r"must be a dict"),
    ):
        with pytest.raises(kind, match=message):
            relation_row("relations", given, relations[0], ground.scales)
