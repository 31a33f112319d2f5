"""What is solved comes from the ratings given, and the fixed kernels are the paper's."""

import numpy as np
import pytest
import scipy.linalg

from hypergauss import KPMF, Hypergraph, select_inducing_vertices
from hypergauss.exceptions import SamplingWarning
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.chains import check_schedule, sample
from hypergauss.factorisation.fitting import fixed_kernels, gibbs_problem, mode_problem
from hypergauss.factorisation.normal_equations import System
from hypergauss.factorisation.ratings import tabulate
from hypergauss.factorisation.sides import PRIORS
from tests.factorisation.problems import random_ratings

USER, ITEM, VALUE = random_ratings(25, 18, 0.4, seed=1)
TABLE = tabulate(USER, ITEM, VALUE, bounds=None)
FIXED = {"rank": "auto", "size_exponent": 0.0, "nu": 1.5, "lengthscale": 5.0, "variance": 0.7}


def incidence():
    R = np.zeros(TABLE.shape)
    R[TABLE.user, TABLE.item] = 1.0
    return R


def test_the_hypergraph_is_that_of_the_ratings_given_alone():
    model = KPMF(2, chains=1, warm_up=1, draws=1, random_state=0).fit(USER, ITEM, VALUE)
    assert np.array_equal(model.ratings_.hypergraph().incidence.toarray(), incidence())
    held_out = np.arange(len(USER)) % 4 == 0
    part = KPMF(2, chains=1, warm_up=1, draws=1, random_state=0).fit(USER[~held_out], ITEM[~held_out], VALUE[~held_out])
    assert part.ratings_.hypergraph().num_incidences == (~held_out).sum()


def test_the_diffusion_kernel_is_that_of_the_weighted_clique_expansion():
    R = incidence()
    kernels = fixed_kernels(TABLE.hypergraph(), kernel="diffusion", **FIXED)
    for kernel, side in zip(kernels, (R, R.T), strict=True):
        W = side @ side.T
        np.fill_diagonal(W, 0.0)
        expected = scipy.linalg.expm(-0.01 * (np.diag(W.sum(axis=1)) - W))
        assert np.allclose(kernel.gram(), 0.7 * len(W) / np.trace(expected) * expected, atol=1e-10)


def test_inducing_vertices_are_selected_on_each_side():
    H = TABLE.hypergraph()
    kernels = fixed_kernels(H, kernel="matern", **FIXED)
    options = {"n_factors": 2, "biases": False, "mean": "learned", "noise_variance": 1.0, "tolerance": 1e-3}
    problem, _ = mode_problem(TABLE, kernels, np.array([3, 4]), inducing=(6, 5), **options)
    assert [columns.shape for columns in problem.columns] == [(6, 2), (5, 2)]
    rows = H.vertex_rows(select_inducing_vertices(H, 6, random_state=3))
    K = np.asarray(kernels[0].gram())
    nystrom = K[:, rows] @ np.linalg.solve(K[np.ix_(rows, rows)], K[rows])
    features = problem.columns[0].factors(np.eye(6))
    assert np.allclose(features @ features.T, nystrom, atol=1e-6)


def sampled(table, **options):
    settings = {"n_factors": 3, "likelihood": "gaussian", "kernel": "matern", "biases": True, "rank": "auto"}
    settings |= {"noise": "individual"}
    settings |= {"size_exponent": 0.0, "priors": PRIORS, "tolerance": 3e-3, "precision": "single", **options}
    return gibbs_problem(table, ({}, {}), **settings)[0]


def test_every_sweep_is_reported():
    seen = []
    options = {"n_jobs": 1, "checkpoint": None, "report": lambda done, total: seen.append((done, total))}
    options["disagreement"] = lambda kept: 2.0
    sample(sampled(TABLE), check_schedule(2, 2, 2, 2, 400), np.random.SeedSequence(0), **options)
    assert seen == [(done, 6) for done in range(1, 7)]


@pytest.mark.parametrize("agreed_after", [25, 100, None])
def test_chains_run_until_they_agree_or_the_most_draws_are_made(agreed_after, monkeypatch):
    monkeypatch.setattr(
        gibbs, "sweep", lambda problem, state, rng: state
    )  # when they stop is tested, not what is drawn
    seen = []

    def disagreement(kept):
        seen.append(len(kept[0].mean))
        return 1.04 if seen[-1] == agreed_after else 1.3

    def run():
        options = {"n_jobs": 1, "checkpoint": None, "report": None, "disagreement": disagreement}
        return sample(sampled(TABLE), check_schedule(2, 1, "auto", 1, 120), np.random.SeedSequence(0), **options)

    if agreed_after is None:
        with pytest.warns(SamplingWarning, match=r"2 chains disagree after 120 draws each: the worst R-hat is 1\.300"):
            kept = run()
        assert seen == [25, 50, 75, 100, 120]
    else:
        kept = run()
        assert seen[-1] == agreed_after
    assert [len(chain.mean) for chain in kept] == [agreed_after or 120] * 2


def test_a_sweep_takes_no_more_steps_for_more_ratings(monkeypatch):
    """A step is one pass over the vertices: with their number the work of a sweep grows as the ratings do."""
    product, steps = System.product, []

    def counted(self, y):
        steps.append(None)
        return product(self, y)

    monkeypatch.setattr(System, "product", counted)
    counts = []
    for size in (1, 4, 16):
        user, item, values = random_ratings(40 * size, 60, 0.3, seed=0)
        table = tabulate(user, item, values, bounds=None)
        problem = sampled(table, rank=20)
        rng = np.random.default_rng(0)
        state = gibbs.start(problem, rng)
        steps.clear()
        for _ in range(20):
            state = gibbs.sweep(problem, state, rng)
        counts.append(len(steps) / (20 * 6))  # both sides, three times a sweep
    assert counts[-1] < 1.5 * counts[0] + 2
    assert max(counts) < 30


#: Ratings, and draws after which sweeps in single precision have failed.
FEW = {
    "one rating": ((["a"], ["x"], [1.0]), 60),
    "two that have nothing in common": ((["a", "b"], ["x", "y"], [1.0, 2.0]), 200),
    "one item": (([*range(20)], [0] * 20, [float(i * i % 5) for i in range(20)]), 60),
}


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.SamplingWarning")
@pytest.mark.parametrize(("ratings", "draws"), FEW.values(), ids=FEW)
def test_scales_that_few_ratings_leave_open_do_not_run_away(ratings, draws):
    """Single precision cannot carry them: sweeps were drawn of another posterior, and soon failed."""
    model = KPMF(chains=1, draws=draws, random_state=0).fit(*ratings)
    mean, std = model.predict(*ratings[:2], return_std=True)
    assert (mean >= min(ratings[2])).all()
    assert (mean <= max(ratings[2])).all()
    assert (std < 10.0).all()
    assert max(float(kept.variance.max()) for kept in model.draws_) < 1e20


def test_the_number_of_factors_grows_with_the_ratings_that_users_and_items_have():
    user, item = (axis.ravel() for axis in np.indices((8, 32)))
    model = KPMF(draws=1, chains=1, warm_up=0, random_state=0).fit(user, item, 1.0 + (user + item) % 5)
    assert model.draws_[0].users.shape[2] - 1 == 3  # 1 + 256 / (9 sqrt(8 * 32))
    # Items that only a relation knows have no ratings.
    more = {"kind": Hypergraph.from_edges({"all": range(200)})}
    few = KPMF(draws=1, chains=1, warm_up=0, item_relations=more, random_state=0).fit([0, 0, 1], [0, 1, 1], [1, 2, 3])
    assert few.draws_[0].users.shape[2] - 1 == 1
    assert KPMF(inference="map").fit([0, 0, 1], [0, 1, 1], [1, 2, 3]).mode_.users.shape[1] - 1 == 10
    with pytest.raises(ValueError, match=r"`n_factors` must be one of 'auto'\. Got 'many'"):
        KPMF("many").fit([0, 0, 1], [0, 1, 1], [1, 2, 3])
