import math

import numpy as np
import pandas as pd
import pytest

from hypergauss import Hypergraph, HypergraphGPRegressor, LogNormal, Spectrum
from hypergauss.datasets import load_automobiles
from hypergauss.estimators.blueprint import ACTIVITY, LEVEL, Blueprint
from hypergauss.exceptions import LearningWarning
from hypergauss.inference.mixtures import components
from hypergauss.kernels import Linear, Matern, Standardised, Walk
from hypergauss.solvers.work import Work
from tests import oracles
from tests.hypergraphs import hypergraph_of_sizes, random_hypergraph, relabelled

pytestmark = pytest.mark.usefixtures("few_points")


class Problem:
    """A signal drawn from a Matern kernel on a hypergraph, measured with noise at most of its vertices."""

    def __init__(self, seed=0, outputs=1):
        rng = np.random.default_rng(seed)
        self.H = hypergraph_of_sizes(80, [2, 3, 5, 8, 12] * 6, seed=seed)
        self.names = np.asarray(self.H.vertices)
        self.f = Matern(Spectrum.of(self.H), 2.0, 8.0).prior_draws(np.arange(80), outputs, rng)
        self.train = rng.permutation(80)[:60]
        noisy = 3.0 + self.f[self.train] + 0.1 * rng.standard_normal((60, outputs))
        self.X, self.y = self.names[self.train], noisy[:, 0] if outputs == 1 else noisy


@pytest.fixture(scope="module")
def problem():
    return Problem()


@pytest.fixture(scope="module")
def fitted(problem):
    return HypergraphGPRegressor(problem.H, random_state=0).fit(problem.X, problem.y)


def quick(H, *arguments, **options):
    starts = {"n_starts": 1} if options.get("learn", True) else {}
    return HypergraphGPRegressor(H, *arguments, **{"size_exponent": 0.0, "random_state": 0, **starts, **options})


def log_evidence_at_the_mode(model, rows, y):
    """Return the log density of measurements under the reported hyperparameters, by SciPy."""
    noise, mean = model.hyperparameters_["noise_variance"], np.atleast_1d(model.mean_)
    return oracles.log_evidence(model.kernel_.gram(), rows, y.reshape(len(rows), -1), noise, mean)


def mixture(model, rows, y, at):
    """Return mean, covariance and noise at vertices: conditional normals of all components, put together by hand."""
    parts = []
    for weight, part in components(model.posterior_):
        noise = part.sites.variance[0]
        mean, covariance = oracles.posterior(part.prior.kernel.gram(), rows, y[:, None], noise, part.prior.mean)
        parts.append((weight, mean[at, 0], covariance[np.ix_(at, at)], noise))
    mean = sum(w * m for w, m, _, _ in parts)
    covariance = sum(w * (C + np.outer(m - mean, m - mean)) for w, m, C, _ in parts)
    return mean, covariance, sum(w * noise for w, _, _, noise in parts)


# ------------------------------------------------------------------ what it reports


def test_the_log_evidence_is_scipys_in_the_targets_units(problem, fitted):
    expected = log_evidence_at_the_mode(fitted, problem.train, problem.y)
    assert fitted.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)


def test_predictions_average_conditional_normals_over_hyperparameters(problem, fitted):
    mean, covariance, noise = mixture(fitted, problem.train, problem.y, np.arange(80))
    assert len(components(fitted.posterior_)) > 5
    assert sum(weight for weight, _ in components(fitted.posterior_)) == pytest.approx(1.0)
    assert fitted.noise_variance_ == pytest.approx(noise)
    found, std = fitted.predict(problem.names, return_std=True)
    assert np.allclose(found, mean, atol=1e-7)
    assert np.allclose(std, np.sqrt(np.diag(covariance) + noise), atol=1e-7)
    assert np.array_equal(fitted.predict(problem.names), found)
    latent = fitted.predict(problem.names, return_std=True, include_noise=False).std
    assert np.allclose(latent, np.sqrt(np.diag(covariance)), atol=1e-7)
    assert np.allclose(fitted.predict_covariance(problem.names[:5]), covariance[:5, :5], atol=1e-8)


@pytest.mark.parametrize("kernel", [None, "matern", "given"])
def test_without_averaging_predictions_are_the_conditional_normal_at_the_mode(problem, kernel):
    options = {"kernel": Matern(Spectrum.of(problem.H)), "size_exponent": "auto"} if kernel == "given" else {}
    options = options or {"kernel": kernel, "integrate": False}
    model = quick(problem.H, **options).fit(problem.X, problem.y)
    noise = model.hyperparameters_["noise_variance"]
    assert model.noise_variance_ == pytest.approx(noise)
    mean, covariance = oracles.posterior(
        model.kernel_.gram(), problem.train, problem.y[:, None], noise, np.array([model.mean_])
    )
    found, std = model.predict(problem.names, return_std=True)
    assert np.allclose(found, mean[:, 0], atol=1e-7)
    assert np.allclose(std, np.sqrt(np.diag(covariance) + noise), atol=1e-7)


def test_samples_follow_the_posterior(problem, fitted):
    asked = problem.names[:6]
    draws = fitted.sample(asked, 4000, random_state=0)
    mean, std = fitted.predict(asked, return_std=True, include_noise=False)
    assert draws.shape == (4000, 6)
    assert np.abs((draws.mean(axis=0) - mean) / (std / np.sqrt(4000))).max() < 4.5
    assert np.abs((draws.var(axis=0) / std**2 - 1) / np.sqrt(2 / 4000)).max() < 4.5
    assert np.array_equal(draws, fitted.sample(asked, 4000, random_state=0))


def test_leave_one_out_is_a_refit_without_the_vertex(problem, fitted):
    table = fitted.leave_one_out()
    for i in (0, 17, 59):
        keep = np.arange(60) != i
        mean, covariance, noise = mixture(fitted, problem.train[keep], problem.y[keep], problem.train[[i]])
        assert table.loc[problem.X[i], "mean"] == pytest.approx(mean[0], abs=1e-7)
        assert table.loc[problem.X[i], "std"] == pytest.approx(np.sqrt(covariance[0, 0] + noise), abs=1e-7)


def test_leave_one_out_lists_vertices_as_they_were_given_each_once(problem, fitted):
    assert fitted.leave_one_out().index.tolist() == problem.X.tolist()
    twice = quick(problem.H, learn=False).fit(np.r_[problem.X, problem.X[::-1]], np.r_[problem.y, problem.y[::-1]])
    assert twice.leave_one_out().index.tolist() == problem.X.tolist()


def test_what_was_learned_is_listed_by_name(fitted):
    assert {"shape", "steps", "individuality", "activity", "variance", "noise_variance"} == set(fitted.hyperparameters_)
    weighted = [w * part.sites.variance[0] for w, part in components(fitted.posterior_)]
    assert fitted.noise_variance_ == pytest.approx(sum(weighted))
    assert fitted.solver_ in {"dense", "low-rank"}
    assert fitted.n_iter_ > 0
    assert fitted.size_exponent_ in fitted.size_exponent_profile_.exponents
    assert fitted.relation_weights_ is None


# ------------------------------------------------------------------ how it behaves


def test_both_solvers_give_one_answer(problem):
    dense, low_rank = (quick(problem.H, solver=solver).fit(problem.X, problem.y) for solver in ("dense", "low-rank"))
    assert (dense.solver_, low_rank.solver_) == ("dense", "low-rank")
    assert dense.log_marginal_likelihood_ == pytest.approx(low_rank.log_marginal_likelihood_, rel=1e-4)
    assert np.allclose(dense.predict(problem.names), low_rank.predict(problem.names), atol=1e-2)


def test_one_random_state_gives_one_answer(problem):
    first, second = (
        HypergraphGPRegressor(problem.H, random_state=5).fit(problem.X, problem.y).predict(problem.names)
        for _ in range(2)
    )
    assert np.array_equal(first, second)


def test_a_target_a_thousand_times_larger_gives_predictions_a_thousand_times_larger(problem):
    small, large = quick(problem.H).fit(problem.X, problem.y), quick(problem.H).fit(problem.X, 1000 * problem.y)
    (mean, std), (large_mean, large_std) = (m.predict(problem.names, return_std=True) for m in (small, large))
    assert np.allclose(large_mean, 1000 * mean, rtol=1e-4)
    assert np.allclose(large_std, 1000 * std, rtol=1e-4)
    assert large.noise_variance_ == pytest.approx(1e6 * small.noise_variance_, rel=1e-3)
    shift = 60 * np.log(1000)
    assert large.log_marginal_likelihood_ == pytest.approx(small.log_marginal_likelihood_ - shift, rel=1e-5)


def test_relabelling_vertices_does_not_change_their_predictions(problem, rng):
    shuffled = relabelled(problem.H, rng.permutation(80))
    before = quick(problem.H).fit(problem.X, problem.y).predict(problem.names, return_std=True)
    after = quick(shuffled).fit(problem.X, problem.y).predict(problem.names, return_std=True)
    assert np.allclose(after.mean, before.mean, rtol=1e-4)
    assert np.allclose(after.std, before.std, rtol=1e-4)


def test_several_outputs_share_the_kernel_and_keep_their_shape():
    problem = Problem(outputs=3)
    model = quick(problem.H).fit(problem.X, problem.y)
    mean, std = model.predict(problem.names[:7], return_std=True)
    assert mean.shape == std.shape == (7, 3)
    assert model.mean_.shape == (3,)
    assert model.sample(problem.names[:7], 2, random_state=0).shape == (2, 7, 3)
    assert list(model.leave_one_out().columns) == ["mean_0", "mean_1", "mean_2", "std"]
    expected = log_evidence_at_the_mode(model, problem.train, problem.y)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)


def test_known_noise_is_kept_and_trusted(problem):
    noise = np.where(np.arange(60) < 30, 1e-4, 1e4)
    model = quick(problem.H).fit(problem.X, problem.y, noise_variance=noise)
    assert model.noise_variance_ is None
    assert np.allclose(model.predict(problem.X[:30]), problem.y[:30], atol=0.1)
    expected = oracles.log_evidence(
        model.kernel_.gram(), problem.train, problem.y[:, None], noise, np.array([model.mean_])
    )
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)


def test_measurements_are_those_of_the_vertices_that_their_index_names(problem):
    model = quick(problem.H, learn=False)
    noise = pd.Series(np.linspace(0.1, 1.0, 60), index=problem.X)
    y = pd.Series(problem.y, index=problem.X)
    plain = model.fit(problem.X, problem.y, noise_variance=noise.to_numpy()).predict(problem.names)
    for moved in (y, y.iloc[::-1], y.sample(frac=1.0, random_state=0), y.to_frame()):
        found = model.fit(problem.X, moved, noise_variance=noise.iloc[::-1]).predict(problem.names)
        assert np.allclose(np.ravel(found), plain, atol=1e-9)


def test_an_index_that_numbers_rows_is_ignored(problem):
    model = quick(problem.H, learn=False)
    plain = model.fit(problem.X, problem.y).predict(problem.names)
    table = pd.DataFrame({"vertex": problem.X, "y": problem.y}, index=np.arange(60)[::-1] + 7)
    assert np.array_equal(model.fit(problem.X, pd.Series(problem.y)).predict(problem.names), plain)
    assert np.array_equal(model.fit(table["vertex"], table["y"]).predict(problem.names), plain)
    words = Hypergraph.from_incidence(problem.H.incidence, vertices=[f"v{i}" for i in range(80)])
    names = words.vertices[problem.train]
    assert np.allclose(quick(words, learn=False).fit(names, table["y"]).predict(words.vertices), plain, atol=1e-9)


@pytest.mark.parametrize("change", ["another", "twice"])
def test_an_index_with_other_names_is_refused(problem, change):
    labels = list(problem.X)
    labels[0] = "nobody" if change == "another" else labels[1]
    message = "'nobody', which is not in `X`" if change == "another" else "a vertex more than once"
    with pytest.raises(ValueError, match=rf"The index of `y` must name the vertices.*{message}"):
        quick(problem.H).fit(problem.X, pd.Series(problem.y, index=pd.Index(labels, dtype=object)))


def test_repeated_measurements_count_as_such(problem):
    X, y = np.repeat(problem.X, 2), np.repeat(problem.y, 2) + np.tile([-0.3, 0.3], 60)
    model = quick(problem.H, Matern(Spectrum.of(problem.H)), size_exponent="auto").fit(X, y)
    expected = log_evidence_at_the_mode(model, np.repeat(problem.train, 2), y)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)
    assert model.noise_variance_ == pytest.approx(2 * 0.3**2, rel=0.3)  # the spread within a pair
    assert len(model.leave_one_out()) == 60


def test_without_learning_hyperparameters_are_taken_in_the_targets_units(problem):
    kernel = Matern(Spectrum.of(problem.H), 1.0, 3.0, variance=4.0)
    model = HypergraphGPRegressor(problem.H, kernel, learn=False, noise_variance=0.7).fit(problem.X, problem.y)
    assert np.allclose(model.kernel_.gram(), kernel.gram())
    assert model.noise_variance_ == pytest.approx(0.7)
    assert model.mean_ == pytest.approx(problem.y.mean())


def test_without_scaling_the_target_the_prior_mean_starts_at_zero(problem):
    model = quick(problem.H, learn=False, scale_target=False).fit(problem.X, problem.y)
    assert model.mean_ == 0.0


def test_fixed_hyperparameters_and_priors_are_heeded(problem):
    kernel = Matern(Spectrum.of(problem.H), 0.7, 3.0, fixed="nu")
    model = HypergraphGPRegressor(
        problem.H, kernel, priors={"lengthscale": LogNormal(17.0, 1e-3)}, n_starts=1, random_state=0
    ).fit(problem.X, problem.y)
    assert float(model.kernel_.nu) == pytest.approx(0.7)
    assert model.hyperparameters_["lengthscale"] == pytest.approx(17.0, rel=0.05)


@pytest.mark.parametrize("kernel", ["matern", "diffusion", "bernstein"])
def test_every_named_kernel_predicts_hidden_vertices_better_than_the_mean(kernel):
    problem = Problem(seed=1, outputs=8)
    hidden = np.setdiff1d(np.arange(80), problem.train)
    predicted = quick(problem.H, kernel).fit(problem.X, problem.y).predict(problem.names[hidden])
    truth = 3.0 + problem.f[hidden]
    assert ((predicted - truth) ** 2).mean() < 0.9 * ((problem.y.mean(axis=0) - truth) ** 2).mean()


def test_graphs_stand_in_for_hypergraphs(problem):
    G, options = problem.H.clique_expansion(), {"size_exponent": "auto", "learn": False}
    model = quick(G, "matern", **options).fit(problem.X, problem.y)
    assert model.size_exponent_ is None
    kernel = Standardised(Matern(Spectrum.of(G)), level=LEVEL, activity=ACTIVITY, fixed="evenness")
    by_hand = quick(problem.H, kernel, **options).fit(problem.X, problem.y)
    assert np.allclose(model.predict(problem.names), by_hand.predict(problem.names), atol=1e-9)
    learned = quick(G, size_exponent="auto").fit(problem.X, problem.y)
    assert learned.size_exponent_ is None
    assert learned.log_marginal_likelihood_ > model.log_marginal_likelihood_


def test_a_truncated_spectrum_is_used_when_asked_for(problem):
    model = quick(problem.H, rank=10).fit(problem.X, problem.y)
    assert model.kernel_.spectrum.rank == 10
    assert model.kernel_.rank == 12  # and the level, and the number of memberships
    assert model.kernel_.error_bound() > 0


def test_a_size_exponent_that_is_given_is_kept(problem):
    model = quick(problem.H, size_exponent=1.25).fit(problem.X, problem.y)
    assert model.size_exponent_ == 1.25
    assert model.kernel_.spectrum.size_exponent == 1.25
    assert model.size_exponent_profile_ is None


# ------------------------------------------------------------------ relations and covariates


def test_the_relation_that_matters_gets_most_of_the_weight():
    problem = Problem(seed=2)
    noise = random_hypergraph(80, 30, seed=8, density=0.06, awkward=False)
    relations = {"noise": Hypergraph.from_incidence(noise.incidence), "signal": problem.H}
    rng = np.random.default_rng(2)
    f = Standardised(Walk(Spectrum.of(problem.H))).prior_draws(problem.train, 3, rng)
    model = quick(relations).fit(problem.X, f + 0.1 * rng.standard_normal(f.shape))
    assert model.relation_weights_["signal"] > 0.8  # a level, which both have, says nothing
    assert sum(model.relation_weights_.values()) == pytest.approx(1.0)
    assert model.size_exponent_ == {"noise": 0.0, "signal": 0.0}


def test_covariates_that_matter_are_found_by_sum(problem):
    x = np.linspace(-2, 2, 80)
    y = np.sin(2 * x)[problem.train] * 3
    model = quick(problem.H, None, x[:, None]).fit(problem.X, y)
    assert model.relation_weights_["covariates"] > 0.7
    assert np.abs(model.predict(problem.names) - 3 * np.sin(2 * x)).max() < 0.3


def test_covariates_join_by_product(problem):
    x = np.linspace(-2, 2, 80)
    model = quick(problem.H, None, x[:, None], combine="product").fit(problem.X, problem.y)
    whole = model.kernel_.gram()
    parts = [np.asarray(factor.gram()) for factor in model.kernel_.factors]
    assert np.allclose(whole, parts[0] * parts[1])
    assert model.relation_weights_ is None
    by_hand = mixture(model, problem.train, problem.y, np.arange(80))[0]
    assert np.allclose(model.predict(problem.names), by_hand, atol=1e-8)


def test_covariates_in_a_dataframe_are_matched_by_vertex(problem, rng):
    frame = pd.DataFrame({"x": np.linspace(-2, 2, 80), "z": rng.standard_normal(80)}, index=problem.names)
    ordered = quick(problem.H, None, frame.to_numpy()).fit(problem.X, problem.y)
    shuffled = quick(problem.H, None, frame.sample(frac=1, random_state=0)).fit(problem.X, problem.y)
    assert np.allclose(ordered.predict(problem.names), shuffled.predict(problem.names))


def test_covariates_may_come_as_a_kernel(problem):
    model = quick(problem.H, None, Linear(np.linspace(-2, 2, 80))).fit(problem.X, problem.y)
    assert set(model.relation_weights_) == {"hypergraph", "covariates"}


# ------------------------------------------------------------------ bad and scarce input


def test_one_observation_keeps_the_starting_values_and_says_so(problem):
    with pytest.warns(LearningWarning, match="one measurement only"):
        model = HypergraphGPRegressor(problem.H).fit(problem.X[:1], [5.0])
    assert model.hyperparameters_["steps"] == pytest.approx(2.0)
    assert model.size_exponent_ == 0.0
    mean, std = model.predict(problem.names, return_std=True)
    assert np.allclose(mean, 5.0)
    assert (std > 0).all()


def test_a_constant_target_is_predicted_and_said_to_be_constant(problem):
    with pytest.warns(LearningWarning, match="all measurements are equal"):
        model = HypergraphGPRegressor(problem.H, random_state=0).fit(problem.X, np.full(60, 7.0))
    mean, std = model.predict(problem.names, return_std=True)
    assert np.allclose(mean, 7.0, atol=1e-3)
    assert std.max() < 0.1


@pytest.mark.parametrize("edges", [[], [[], []]])
def test_a_hypergraph_without_members_predicts_the_mean_and_says_so(edges):
    H = Hypergraph.from_edges(edges, vertices=range(6))
    with pytest.warns(LearningWarning, match="no hyperedge with members"):
        model = HypergraphGPRegressor(H, random_state=0).fit([0, 1, 2], [1.0, 2.0, 3.0])
    mean, std = model.predict([4, 5], return_std=True)
    assert np.allclose(mean, 2.0, atol=1e-3)
    mean, covariance, noise = mixture(model, np.arange(3), np.array([1.0, 2.0, 3.0]), np.array([4, 5]))
    assert np.allclose(std**2, np.diag(covariance) + noise)
    for _, part in components(model.posterior_):  # all of the prior's, and what is left of the level's
        kernel = part.prior.kernel
        own = float(kernel.variance)
        level = 1 / (1 / kernel.level + 3 / (own + part.sites.variance[0]))
        assert np.allclose(part.variance(np.array([4, 5])), own + level)


def test_learning_cut_short_is_said(problem):
    with pytest.warns(LearningWarning, match="Raise `max_iterations` above 1"):
        quick(problem.H, max_iterations=1).fit(problem.X, problem.y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"noise_variance": 0.0}, ValueError, "`noise_variance` must be positive. Got 0"),
        ({"rank": 1000}, ValueError, "`rank` must be between 1 and 30 .*80 x 30.*Got 1000"),
        ({"kernel": "rbf"}, ValueError, "one of 'auto', 'walk', 'matern', 'diffusion', 'bernstein'. Got 'rbf'"),
        ({"combine": "mean"}, ValueError, "one of 'sum', 'product'. Got 'mean'"),
        ({"solver": "cg"}, ValueError, "one of 'auto', 'dense', 'low-rank', 'iterative', 'markov'. Got 'cg'"),
        ({"size_exponent": "best"}, ValueError, "one of 'auto', 'learn'. Got 'best'"),
        ({"size_exponent": math.inf}, ValueError, "`size_exponent` must be finite"),
        ({"n_starts": 0}, ValueError, "`n_starts` must be at least 1. Got 0"),
        ({"max_iterations": 2.5}, TypeError, "`max_iterations` must be a whole number"),
        ({"priors": {"beta": LogNormal(1.0)}}, ValueError, "`priors` must name hyperparameters.*Got 'beta'"),
        ({"covariates": np.eye(3)}, ValueError, r"each of the 80 vertices. Got shape \(3, 3\)"),
        ({"covariates": np.full((80, 1), np.nan)}, ValueError, "NaN"),
        ({"covariates": Linear(np.eye(3))}, ValueError, "on the 80 vertices of `H`. Got one on 3"),
        ({"kernel": Linear(np.eye(3))}, ValueError, r"vertices of `H` \(80\). Got a kernel on 3"),
        ({"kernel": Linear(np.ones(80)), "rank": 3, "size_exponent": "auto"}, ValueError, "belong to the spectrum"),
        ({"H": [["a", "b"]]}, TypeError, "Hypergraph, a Graph, or a dict"),
    ],
)
def test_bad_settings_are_named_with_their_rule(problem, options, error, message):
    with pytest.raises(error, match=message):
        quick(**{"H": problem.H, **options}).fit(problem.X, problem.y)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([0, 1, 999], [1.0, 2.0, 3.0], ValueError, r"belong to the hypergraph \(80 vertices\). Got 999.*from_edges"),
        ([0, 1], [1.0, np.nan], ValueError, "NaN or infinity. Got nan at position 1.*Leave unmeasured vertices out"),
        ([0, 1], [1.0, -np.inf], ValueError, "NaN or infinity. Got -inf at position 1"),
        ([0, 1], [1.0, 2.0, 3.0], ValueError, "same length. Got 2 and 3"),
        ([], [], ValueError, "at least one observed vertex. Got none"),
        ([0, 1], ["low", "high"], TypeError, "`y` must hold numbers"),
        ("ab", [1.0, 2.0], TypeError, "Names must come in a list"),
        (np.zeros((2, 3)), [1.0, 2.0], ValueError, r"one name each: a 1-D array. Got shape \(2, 3\)"),
    ],
)
def test_bad_data_is_named_with_its_rule(problem, X, y, error, message):
    with pytest.raises(error, match=message):
        quick(problem.H).fit(X, y)


def test_predicting_an_unknown_vertex_is_told(problem, fitted):
    with pytest.raises(ValueError, match=r"belong to the hypergraph \(80 vertices\). Got 'nobody'"):
        fitted.predict(["nobody"])
    with pytest.raises(ValueError, match=r"`n` must be at least 1. Got 0"):
        fitted.sample(problem.names, 0)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_a_target_whose_squares_are_no_numbers_is_refused(problem, factor, learn):
    with pytest.raises(ValueError, match=r"`y` must have squares that a number can hold.*Divide `y` by"):
        quick(problem.H, learn=learn).fit(problem.X, factor * problem.y)


@pytest.mark.parametrize("factor", [1e-12, 1e100])
def test_the_size_of_the_target_does_not_matter_however_extreme(problem, factor):
    plain = quick(problem.H).fit(problem.X, problem.y).predict(problem.names)
    scaled = quick(problem.H).fit(problem.X, factor * problem.y).predict(problem.names)
    assert np.allclose(scaled / factor, plain, rtol=1e-3)


def test_a_distant_target_is_found_without_scaling_it(problem):
    model = quick(problem.H, scale_target=False).fit(problem.X, problem.y + 1e5)
    assert np.abs(model.predict(problem.X) - problem.y - 1e5).max() < 5


@pytest.mark.parametrize("names", [("covariates",), (0, "0")])
def test_relations_that_would_be_confused_are_refused(problem, names):
    with pytest.raises(ValueError, match="different names, and 'covariates' and 'smoothed covariates' are taken"):
        quick(dict.fromkeys(names, problem.H)).fit(problem.X, problem.y)


def test_a_product_with_covariates_has_one_variance(problem, rng):
    model = quick(problem.H, covariates=rng.normal(size=(80, 2)), combine="product").fit(problem.X, problem.y)
    assert "hypergraph.variance" in model.hyperparameters_
    assert "covariates.variance" not in model.hyperparameters_


def test_a_prior_on_what_may_be_negative_is_refused(problem):
    with pytest.raises(ValueError, match=r"positive hyperparameters. Got 'mean'"):
        quick(problem.H, Matern(Spectrum.of(problem.H)), size_exponent="auto", priors={"mean": LogNormal(1.0)}).fit(
            problem.X, problem.y
        )


def test_a_level_with_a_prior_leaves_no_mean_to_be_learned(problem):
    with pytest.raises(ValueError, match=r"`priors` must name hyperparameters to be learned .*shape.*Got 'mean'"):
        quick(problem.H, priors={"mean": LogNormal(1.0)}).fit(problem.X, problem.y)


def test_a_prior_on_the_shape_of_a_filter_is_heeded(problem):
    stiff = quick(problem.H, priors={"shape": LogNormal(1.0, 1e-3)}, integrate=False).fit(problem.X, problem.y)
    assert np.allclose(stiff.hyperparameters_["shape"], 1.0, atol=0.01)


def test_the_search_counts_the_cost_of_dense_kernels(rng):
    H = hypergraph_of_sizes(2500, [3] * 40, seed=0)
    options = {"kernel": None, "combine": "sum", "size_exponent": "auto", "rank": None}
    options["work"] = Work(2000, from_all=True)
    assert Blueprint.of(H, covariates=None, **options).searched == ("hypergraph",)
    assert Blueprint.of(H, covariates=rng.normal(size=2500), **options).searched == ()


def test_inducing_vertices_give_a_bound_below_the_evidence_and_reach_it_in_the_end():
    data = load_automobiles()
    cars = data.target.dropna().index.to_numpy()[:60]
    y = np.log(data.target[cars].to_numpy())
    exact = HypergraphGPRegressor(data.hypergraph, learn=False).fit(cars, y)
    some = HypergraphGPRegressor(data.hypergraph, learn=False, inducing=20, random_state=0).fit(cars, y)
    whole = HypergraphGPRegressor(data.hypergraph, learn=False, inducing=cars).fit(cars, y)
    assert some.solver_ == "sparse"
    assert some.log_marginal_likelihood_ < exact.log_marginal_likelihood_
    assert whole.log_marginal_likelihood_ == pytest.approx(exact.log_marginal_likelihood_, abs=1e-4)
    assert np.allclose(whole.predict(cars), exact.predict(cars), atol=1e-5)


def test_inducing_vertices_must_exist_once():
    data = load_automobiles()
    cars = data.target.dropna().index.to_numpy()[:20]
    y = np.arange(20.0)
    with pytest.raises(ValueError, match="number of vertices"):
        HypergraphGPRegressor(data.hypergraph, inducing=1000).fit(cars, y)
    with pytest.raises(ValueError, match="different vertices"):
        HypergraphGPRegressor(data.hypergraph, inducing=[cars[0], cars[0]]).fit(cars, y)
