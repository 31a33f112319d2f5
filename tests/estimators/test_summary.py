"""Summaries of what was learned, standard errors, and hyperparameters that are drawn."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

from hypergauss import Hypergraph, HypergraphGPClassifier, HypergraphGPRegressor, Spectrum, load, parameters, save
from hypergauss.estimators.summary import Row, Summary
from hypergauss.exceptions import SamplingWarning
from hypergauss.inference.mcmc import sample_posterior
from hypergauss.kernels import Matern
from hypergauss.learning.priors import LogNormal
from hypergauss.solvers.base import GaussianModel
from tests import oracles
from tests.hypergraphs import random_hypergraph


@pytest.fixture(scope="module")
def problem():
    H = random_hypergraph(30, 20, seed=5, awkward=False)
    f = Matern(Spectrum.of(H), 2.0, 3.0).prior_draws(np.arange(30), 1, np.random.default_rng(0))[:, 0]
    y = 3.0 + 2.0 * (f + 0.3 * np.random.default_rng(1).standard_normal(30))
    return H, list(H.vertices)[:20], y[:20]


@pytest.fixture(scope="module")
def fitted(problem):
    H, names, y = problem
    return HypergraphGPRegressor(H, size_exponent=0.0).fit(names, y)


def test_standard_errors_are_those_of_the_curvature_that_averages_use(problem):
    """Against second differences of the evidence by dense formulas, plus the priors' precisions."""
    H, names, y = problem
    priors = {
        "variance": LogNormal(1.0, 1.0),
        "noise_variance": LogNormal(0.1, 1.0),
        "steps": LogNormal(3.0, 0.5),
    }
    options = {"priors": priors, "size_exponent": 0.0, "n_starts": 1}
    model = HypergraphGPRegressor(H, "walk", **options).fit(names, y)
    found = model.hyperparameter_covariance_
    assert list(found.index) == ["steps", "variance", "individuality", "activity", "noise_variance"]
    whole = GaussianModel(model.kernel_, model.hyperparameters_["noise_variance"], [model.mean_], ("mean",))
    theta = parameters.pack(whole)

    def height(moved):
        at = parameters.unpack(whole, moved)
        return oracles.log_evidence(at.kernel.gram(), np.arange(20), y[:, None], at.noise_variance, at.mean)

    free = np.flatnonzero(np.diag(found) > 0)
    steps = 0.01 * np.eye(len(theta))[free]
    bend = np.array(
        [
            [
                sum(way * height(theta + way * i + j) - way * height(theta + way * i - j) for way in (1, -1))
                for j in steps
            ]
            for i in steps
        ]
    )
    precisions = np.array([1 / 0.5**2, 1.0, 1 / 1.5**2, 1 / 2.0**2, 1.0])  # of the priors
    expected = np.linalg.inv(np.diag(precisions[free]) - bend / (4 * 0.01**2))
    # Differences of gradients are taken over 0.03, to one side.
    assert np.allclose(found.to_numpy()[np.ix_(free, free)], expected, rtol=0.1, atol=0.05 * np.abs(expected).max())


def test_the_summary_has_estimates_intervals_and_words(fitted):
    table = fitted.summary().to_frame()
    assert table.loc["noise variance", "estimate"] == pytest.approx(fitted.hyperparameters_["noise_variance"])
    row = table.loc["noise variance"]
    error = np.sqrt(fitted.hyperparameter_covariance_.loc["noise_variance", "noise_variance"])
    assert row["error"] == pytest.approx(error)
    assert row["upper"] == pytest.approx(row["estimate"] * np.exp(1.6448536 * error))
    assert row["lower"] == pytest.approx(row["estimate"] * np.exp(-1.6448536 * error))
    text = str(fitted.summary())
    assert text.splitlines()[0].split()[:2] == ["hyperparameter", "estimate"]
    assert "Variation of single measurements" in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_entries_of_an_array_are_shown_in_one_row_and_a_printed_summary_is_no_wider_than_a_terminal(fitted):
    summary = fitted.summary()
    shapes = [row for row in summary.rows if row.name.startswith("shape ")]
    (shown,) = [row for row in summary.shown() if row.name.startswith("shape")]
    assert len(shapes) > 2
    assert shown.name == f"shape 1 to {len(shapes)}"
    ends = [f"{end([row.estimate for row in shapes]):.3g}" for end in (min, max)]
    assert shown.estimate == " to ".join(ends)
    assert len(list(summary.shown())) == len(summary.rows) - len(shapes) + 1
    assert max(len(line) for line in str(summary).splitlines()) <= 80


def test_names_that_end_in_a_number_are_no_array():
    own = {"estimate": 0.5, "lower": np.nan, "upper": np.nan, "error": np.nan, "told": np.nan}
    rows = [Row(f"share of film {i}", **own, meaning="How much is put down to it.") for i in (1, 2)]
    assert [row.name for row in Summary(tuple(rows), None, ()).shown()] == ["share of film 1", "share of film 2"]
    rows = [Row("shape 1", **own, meaning="A filter."), Row("shape 2", **own, meaning="At the end of its range.")]
    (shown,) = Summary(tuple(rows), None, ()).shown()
    assert shown == ("shape 1 to 2", "0.5", "", "", "", "A filter.")


def test_notebooks_get_an_html_table(fitted):
    html = fitted.summary()._repr_html_()
    assert html.startswith("<table>")
    assert "noise variance" in html


def test_correlations_are_the_scaled_covariance(fitted):
    found, covariance = fitted.summary().correlations, fitted.hyperparameter_covariance_
    errors = np.sqrt(np.diag(covariance))
    i, j = covariance.index.get_indexer(["variance", "noise_variance"])
    assert found.iloc[i, j] == pytest.approx(covariance.iloc[i, j] / errors[i] / errors[j])
    assert np.nanmax(np.abs(found)) <= 1 + 1e-9


def test_a_sentence_names_what_the_data_say_nothing_about():
    H = Hypergraph.from_edges([["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"], ["f", "a"]])
    model = HypergraphGPRegressor(H, size_exponent=0.0).fit(list("abcd"), [1.0, 1.2, 2.0, 2.1])
    (note,) = model.summary().notes
    assert note.startswith("The data say next to nothing about")
    assert "individuality" in note  # every vertex has two memberships
    assert "noise variance" not in note
    assert model.summary().to_frame().loc["individuality", "told"] < 0.1


def test_without_averaging_the_summary_says_why_there_are_no_errors(problem):
    H, names, y = problem
    model = HypergraphGPRegressor(H, Matern(Spectrum.of(H))).fit(names, y)
    assert model.hyperparameter_covariance_ is None
    assert "There are no standard errors" in model.summary().notes[0]
    assert np.isnan(model.summary().to_frame()["error"]).all()
    unlearned = HypergraphGPRegressor(H, learn=False).fit(names, y)
    assert "`learn=False`" in unlearned.summary().notes[0]


def test_a_searched_size_exponent_has_the_spread_of_its_lattice(problem):
    H, names, y = problem
    model = HypergraphGPRegressor(H, size_exponent="learn").fit(names, y)
    profile, row = model.size_exponent_profile_, model.summary().to_frame().loc["size exponent"]
    weights = np.exp(profile.objectives - logsumexp(profile.objectives))
    mean = weights @ profile.exponents
    assert row["error"] == pytest.approx(np.sqrt(weights @ (profile.exponents - mean) ** 2))
    assert row["lower"] <= row["estimate"] <= row["upper"]


def test_classifiers_have_summaries_too(problem):
    H, names, y = problem
    labels = np.where(y > np.median(y), "high", "low")
    model = HypergraphGPClassifier(H, size_exponent=0.0).fit(names, labels)
    table = model.summary().to_frame()
    assert {"steps", "variance"} <= set(table.index)
    assert table.loc["variance", "error"] > 0
    drawn = HypergraphGPClassifier(H, "diffusion", inference="mcmc", size_exponent=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hypergauss.estimators.latent_task.sample_posterior", _quick_posterior)
        drawn.fit(names, labels)
    values = drawn.draws_.hyperparameters["beta"]
    assert drawn.summary().to_frame().loc["beta", "lower"] == pytest.approx(np.quantile(values, 0.05))


def _quick_posterior(*arguments, **options):
    return sample_posterior(*arguments, **options, chains=2, draws=30, warm_up=5, thin=1)


def test_summaries_survive_saving(fitted, tmp_path):
    save(fitted, tmp_path / "model.hypergauss")
    again = load(tmp_path / "model.hypergauss")
    assert str(again.summary()) == str(fitted.summary())
    assert again.hyperparameter_covariance_.equals(fitted.hyperparameter_covariance_)


# ---------------------------------------------------------------- hyperparameters that are drawn


@pytest.fixture(scope="module")
def drawn(problem):
    """A kernel of which variance and noise alone are free, drawn."""
    H, names, y = problem
    kernel = Matern(Spectrum.of(H), 2.0, 3.0, fixed=("nu", "lengthscale"))
    priors = {"variance": LogNormal(1.0, 1.0), "noise_variance": LogNormal(0.2, 1.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", SamplingWarning)
        return HypergraphGPRegressor(H, kernel, inference="mcmc", priors=priors, random_state=0).fit(names, y)


def test_draws_agree_with_a_fine_grid(problem, drawn):
    """Variance, noise and mean on a grid, by the dense formula, in the units in which they are learned."""
    H, _, y = problem
    K = oracles.filtered(oracles.zhou_laplacian(H), lambda v: np.exp(-2 * np.log1p(9.0 * np.maximum(v, 0) / 4)))
    K = oracles.with_mean_variance(K, 1.0)
    scaled = (y - y.mean()) / y.std()
    variances, noises = np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-7, 2, 41), indexing="ij")
    log_weights, means = np.zeros(variances.shape), np.zeros((*variances.shape, 30))
    for at in np.ndindex(variances.shape):
        S = np.exp(variances[at]) * K[:20, :20] + np.exp(noises[at]) * np.eye(20)
        inverse = np.linalg.inv(S)
        precision = inverse.sum()  # of the mean, which has a flat prior and is integrated out
        centre = inverse.sum(axis=0) @ scaled / precision
        away = scaled - centre
        log_weights[at] = -away @ inverse @ away / 2 - np.linalg.slogdet(S)[1] / 2 - np.log(precision) / 2
        log_weights[at] += -(variances[at] ** 2) / 2 - (noises[at] - np.log(0.2)) ** 2 / 2
        means[at] = centre + np.exp(variances[at]) * K[:, :20] @ inverse @ away
    weights = np.exp(log_weights - logsumexp(log_weights))
    found = {name: np.log(values / y.var()) for name, values in drawn.draws_.hyperparameters.items() if name != "mean"}
    for name, grid in {"variance": variances, "noise_variance": noises}.items():
        mean = (weights * grid).sum()
        spread = np.sqrt((weights * (grid - mean) ** 2).sum())
        assert found[name].mean() == pytest.approx(mean, abs=0.15 * spread)
        assert found[name].std() == pytest.approx(spread, rel=0.12)
    expected = y.mean() + y.std() * np.einsum("ij,ijk->k", weights, means)
    spread = drawn.predict(list(H.vertices), return_std=True).std
    assert (np.abs(drawn.predict(list(H.vertices)) - expected) < 0.12 * spread).all()


def test_draws_are_reachable_and_predictions_mix_them(drawn, problem):
    H, _, _ = problem
    assert set(drawn.draws_.hyperparameters) == {"variance", "noise_variance", "mean"}
    assert drawn.draws_.hyperparameters["variance"].shape == (4, 300)
    assert drawn.draws_.log_posterior.shape == (4, 300)
    assert len(drawn.posterior_.components) == 100
    assert np.allclose(drawn.posterior_.weights, 0.01)
    means = [part.mean(np.arange(30))[:, 0] for part in drawn.posterior_.components]
    assert np.allclose(drawn.predict(list(H.vertices)), np.mean(means, axis=0))


def test_the_summary_of_draws_has_their_quantiles(drawn):
    row = drawn.summary().to_frame().loc["noise variance"]
    values = drawn.draws_.hyperparameters["noise_variance"]
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(np.quantile(values, [0.05, 0.95])))
    assert row["error"] == pytest.approx(np.log(values).std(ddof=1))


def test_drawn_models_are_saved(drawn, problem, tmp_path):
    H, _, _ = problem
    save(drawn, tmp_path / "model.hypergauss")
    again = load(tmp_path / "model.hypergauss")
    assert np.allclose(again.predict(list(H.vertices)), drawn.predict(list(H.vertices)))
    assert np.array_equal(again.draws_.coordinates, drawn.draws_.coordinates)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"learn": False}, "draws hyperparameters. Got `learn=False`"),
        ({"inducing": 3}, "Got `inducing`"),
        ({"solver": "iterative"}, "solver by products only estimates"),
        ({"inference": "ep"}, "'auto', 'mcmc'"),
        ({"integrate": False}, "draws hyperparameters in any case"),
    ],
)
def test_what_does_not_go_with_draws_is_refused(problem, arguments, message):
    H, names, y = problem
    with pytest.raises(ValueError, match=message):
        HypergraphGPRegressor(H, **{"inference": "mcmc", **arguments}).fit(names, y)
