"""The sampler draws from the posterior: factors from the prior, ratings from the factors, and back.

Whatever is made of (parameters, ratings) drawn together keeps its distribution when the parameters move by a step that
leaves the posterior as it is (Geweke, 2004). So each move, and the whole sweep, is run once from many such draws; and
chains that begin elsewhere must rank the parameters that made the ratings evenly among their draws (Talts et al.,
2018). Ratings of a wild scale, which the heavy tails of the prior make, are left out: an event of the ratings alone
does not change what the posterior is.
"""

import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp

from hypergauss import Hypergraph
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.grades import Cuts, Grades
from hypergauss.factorisation.moods import MOOD_RATE, MOOD_SHAPE, Moods
from hypergauss.factorisation.moves import Moving, balance_scales, trade_means
from hypergauss.factorisation.noise import NOISE_RATE, NOISE_SHAPE, SHAPES, Precisions
from hypergauss.factorisation.normal_equations import features, normal_equations, scattered_noise, system
from hypergauss.factorisation.scaling import step_scale
from hypergauss.factorisation.spectral_prior import RATE, SHAPE, Grid, Hyperparameters
from hypergauss.factorisation.stretching import stretch
from tests.factorisation.problems import make_problem

NU, LENGTHSCALE = (axis.ravel() for axis in np.meshgrid([1.0, 6.0], np.linspace(1.0, 5.0, 9), indexing="ij"))
GRID = Grid(NU, LENGTHSCALE, -0.5 * np.log(LENGTHSCALE / 3.0) ** 2, 4)


def small_problem(seed=0):
    groups = Hypergraph.from_edges([[0, 1, 2], [3, 4, 5, 6]], vertices=range(8))
    return make_problem(
        8, 6, share=0.9, seed=seed, n_factors=2, grid=GRID, relations=({"group": groups}, {}), individual=True
    )


PROBLEM, TABLE = small_problem()
#: Two days of each user.
DAYS = 2 * TABLE.user + TABLE.item % 2
PROBLEM = PROBLEM._replace(days=DAYS)


def inverse_gamma(shape, rate, rng, size=None):
    return rate / rng.gamma(shape, size=size)


def from_prior(rng, *, tau=None):
    """Draw everything but the ratings; mu, of which the prior knows nothing, is 0."""
    coordinates, hyper, noise = [], [], []
    p = np.exp(GRID.log_weights)
    for side in PROBLEM.sides:
        block = np.array([0, 1, 1])
        point = rng.choice(len(p), size=2, p=p / p.sum())[block]
        v, v0 = inverse_gamma(SHAPE, RATE, rng, (2, 2))[:, block]
        weights = inverse_gamma(SHAPE, RATE, rng, len(side.relations.names))
        own = Hyperparameters(point, v, v0, weights, rng.standard_normal(2)[block], block)
        kappa, U = side.modes.filters(point), side.modes.vectors
        spectral = U @ (np.sqrt(kappa[:-1]) * rng.standard_normal((U.shape[1], 3)))
        if U.shape[1] < len(U):
            white = rng.standard_normal((len(U), 3))
            spectral += np.sqrt(kappa[-1]) * (white - U @ (U.T @ white))
        levels = np.sqrt(v0) * rng.standard_normal((side.num_levels, 3))
        effects = np.sqrt(weights[side.relations.owner])[:, None] * np.sqrt(v)
        effects = effects * rng.standard_normal(effects.shape)
        coordinates.append(own.expansion * np.concatenate([np.sqrt(v) * spectral, levels, effects]))
        hyper.append(own)
        a = rng.choice(SHAPES)
        noise.append(Precisions(rng.gamma(a, size=side.num_vertices) / a, float(a)))
    tau = 1.0 / inverse_gamma(NOISE_SHAPE, NOISE_RATE, rng) if tau is None else tau
    variance = float(inverse_gamma(MOOD_SHAPE, MOOD_RATE, rng))
    moods = Moods(np.sqrt(variance) * rng.standard_normal(DAYS.max() + 1), variance)
    return gibbs.State(tuple(coordinates), tuple(hyper), 0.0, tau, None, tuple(noise), moods)


def latent(state, rng):
    """Draw the ratings that a state makes."""
    u, w = (f[at] for f, at in zip(PROBLEM.factors(state), (TABLE.user, TABLE.item), strict=True))
    eta = state.mean + u[:, 0] + w[:, 0] + (u[:, 1:] * w[:, 1:]).sum(axis=1) + state.moods.each[DAYS]
    precision = state.precision * state.noise[0].each[TABLE.user] * state.noise[1].each[TABLE.item]
    return eta + rng.standard_normal(len(eta)) / np.sqrt(precision)


def summaries(state):
    """Return numbers that see every block: columns, products of columns, hyperparameters, noise; none sees mu."""
    found = [np.log(state.precision), 0.0 if state.cuts is None else state.cuts.thresholds[0]]
    found += [*state.moods.each[:3], np.log(state.moods.variance)]
    for side, x, hyper, noise in zip(PROBLEM.sides, state.coordinates, state.hyper, state.noise, strict=True):
        n = side.num_vertices
        found += [*np.log((x**2).sum(axis=0)), *x[n], x[:n, 0] @ x[:n, 1], x[:n, 1] @ x[:n, 2], *x[0], x[:n, 1].sum()]
        found += [*np.log(hyper.variance), *np.log(hyper.level_variance), *hyper.expansion, *np.log(hyper.weights)]
        found += [*GRID.lengthscale[hyper.point], *GRID.nu[hyper.point], np.log(noise.each[0]), noise.shape]
    users, items = PROBLEM.factors(state)
    return np.array(
        [*found, (users[0, 1:] * items[0, 1:]).sum(), users[0, 0] + users[0, 1:] @ items[:, 1:].mean(axis=0)]
    )


def least_p(before, after):
    """Return the least p-value over summaries of two samples, corrected for their number."""
    p = [ks_2samp(a, b, method="asymp").pvalue for a, b in zip(np.transpose(before), np.transpose(after), strict=True)]
    return min(p) * len(p)


MOVES = {
    "trade": lambda moving, rng: trade_means(PROBLEM.sides, moving, rng),
    "balance": balance_scales,
}


def after_move(name, state, rng):
    return MOVES[name](Moving.of(PROBLEM.sides, state), rng).arrived(PROBLEM.sides, state)


@pytest.mark.parametrize("name", MOVES)
def test_a_move_leaves_the_prior_as_it_is_and_predictions_too(name, rng):
    size, before, after, stayed = 600, [], [], 0
    for _ in range(size):
        before.append(summaries(from_prior(rng)))
        state = from_prior(rng)
        moved = after_move(name, state, rng)
        after.append(summaries(moved))
        stayed += np.array_equal(moved.coordinates[1], state.coordinates[1])
    assert stayed < 0.75 * size
    assert least_p(before, after) > 1e-3
    u, w = PROBLEM.factors(state)
    expected = state.mean + u[:, :1] + w[:, 0] + u[:, 1:] @ w[:, 1:].T
    u, w = PROBLEM.factors(moved)
    assert np.allclose(moved.mean + u[:, :1] + w[:, 0] + u[:, 1:] @ w[:, 1:].T, expected)


def rated(rng, *, graded):
    """Return a state and a problem with ratings that it made, not too wild."""
    while True:
        state = from_prior(rng, tau=1.0 if graded else None)
        y = latent(state, rng)
        if graded:
            cut = np.array([3.0 * rng.standard_normal()])
            label = (y > cut[0]).astype(int)
            if not 0.2 < label.mean() < 0.8 or np.abs(y).max() > 100:
                continue
            grades = Grades(np.arange(2.0), label, TABLE.user, TABLE.item, np.dtype(float))
            return state._replace(cuts=Cuts(y, cut)), PROBLEM._replace(grades=grades)
        if 0.2 < y.std() < 20:
            return state, PROBLEM._replace(values=y)


def test_stretching_leaves_parameters_and_grades_distributed_as_they_were(rng):
    """Of four ratings: they say so little of the scale that the prior decides with them."""
    size, before, after, stayed = 800, [], [], 0

    def few_grades():
        state, place = from_prior(rng, tau=1.0), slice(4)
        y, cut = latent(state, rng)[place], 3.0 * rng.standard_normal(1)
        label = (y > cut[0]).astype(int)
        grades = Grades(np.arange(2.0), label, TABLE.user[place], TABLE.item[place], np.dtype(float))
        return state._replace(cuts=Cuts(y, cut)), PROBLEM._replace(grades=grades)

    for _ in range(size):
        before.append(summaries(few_grades()[0]))
        state, problem = few_grades()
        eta = (problem.fitted(state) + problem.moods(state))[:4]
        for _ in range(8):
            moved, stretched = stretch(problem, state, eta, rng)
            stayed += moved is state
            state, eta = moved, stretched
        assert np.allclose((problem.fitted(state) + problem.moods(state))[:4], eta)
        after.append(summaries(state))
    assert 0.05 < stayed / (8 * size) < 0.9
    assert least_p(before, after) > 1e-3


@pytest.mark.parametrize("own", [0, 1])
def test_a_step_of_the_scale_leaves_parameters_and_ratings_distributed_as_they_were(own, rng):
    size, before, after, rises, stayed = 400, [], [], [], 0
    for _ in range(size):
        before.append(summaries(rated(rng, graded=False)[0]))
        state, problem = rated(rng, graded=False)
        side, view, precision = problem.sides[own], problem.views[own], state.precision * state.noise[own].each
        e, weights = features(problem.factors(state)[1 - own]), state.noise[1 - own].each
        sums = normal_equations(view.pattern, view.table(problem.without_moods(state)), e, weights)
        hyper = state.hyper[own]
        conditional = system(sums, side.columns(hyper), mean=state.mean, precision=precision, free=problem.free)
        for _ in range(3):
            y = conditional.draw(scattered_noise(conditional.gram, rng), 1e-10, rng).smooth
            moved, conditional = step_scale(side, hyper, conditional, y, rng)
            stayed += moved is hyper
            hyper = moved
        rises.append(np.log(np.abs(hyper.expansion[1] / state.hyper[own].expansion[1])))
        drawn, columns = conditional.draw(scattered_noise(conditional.gram, rng), 1e-10, rng), conditional.columns
        x = np.concatenate(
            [columns.rough * drawn.rough + columns.spectral(drawn.smooth), columns.effects(drawn.smooth)]
        )
        both = [(x, hyper) if side == own else (state.coordinates[side], state.hyper[side]) for side in (0, 1)]
        coordinates, hypers = zip(*both, strict=True)
        after.append(summaries(state._replace(coordinates=coordinates, hyper=hypers)))
    assert 0.05 < stayed / (3 * size) < 0.9
    assert least_p(before, after) > 1e-3
    # State by state, for a step goes little way beside the prior's width: as often up as down.
    assert abs(np.mean(rises)) < 4 * np.std(rises) / np.sqrt(size)


@pytest.mark.parametrize("graded", [False, True])
def test_a_sweep_leaves_parameters_and_ratings_distributed_as_they_were(graded, rng):
    size, before, after = 250, [], []
    for _ in range(size):
        state, problem = rated(rng, graded=graded)
        before.append(summaries(state))
        state, problem = rated(rng, graded=graded)
        after.append(summaries(gibbs.sweep(problem, state, rng)))
    assert least_p(before, after) > 1e-3


def test_ranks_of_what_made_the_ratings_are_even_among_draws_of_a_chain(rng):
    """Simulation-based calibration, from the sampler's own start: among three draws there are four ranks."""
    size, warm_up, draws, thin, ranks = 24, 25, 3, 8, []
    for _ in range(size):
        truth, problem = rated(rng, graded=False)
        state, kept = gibbs.start(problem, rng), []
        for number in range(warm_up + (draws - 1) * thin + 1):
            state = gibbs.sweep(problem, state, rng)
            if number >= warm_up and (number - warm_up) % thin == 0:
                kept.append(summaries(state))
        ranks.append((np.array(kept) < summaries(truth)).sum(axis=0))
    watched = np.array([0, -2, -1])  # noise, a product of factors, an identified bias
    for own in np.transpose(ranks)[watched]:
        assert chisquare(np.bincount(own, minlength=draws + 1)).pvalue > 1e-3
