"""Measurements through likelihoods and on a log scale: against quadrature, dense formulas, other ways to the same."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.special import kn, logsumexp
from sklearn.base import clone

from hypergauss import HypergraphGPClassifier, HypergraphGPRegressor, Spectrum, assess, load, save, suggest_vertices
from hypergauss.exceptions import LearningWarning
from hypergauss.inference.mixtures import components
from hypergauss.inference.predictive import LikelihoodPrediction, NormalPrediction, Part
from hypergauss.kernels import Matern
from hypergauss.likelihoods import (
    Bernoulli,
    Gaussian,
    Measurement,
    Moments,
    OneLatent,
    OrderedProbit,
    Poisson,
    StudentT,
)
from hypergauss.likelihoods.transforms import TRANSFORMS
from hypergauss.report import report_html
from tests.hypergraphs import hypergraph_of_sizes

pytestmark = pytest.mark.usefixtures("few_points")

H = hypergraph_of_sizes(40, [2, 3, 5, 8] * 6, seed=0)
NAMES = np.arange(40)
TRAIN, TEST = NAMES[:28], NAMES[28:]
RNG = np.random.default_rng(0)
F = Matern(Spectrum.of(H), 2.0, 8.0).prior_draws(NAMES, 1, RNG)[:, 0]
F = (F - F.mean()) / F.std()
PRICES = np.exp(9.0 + F + 0.2 * RNG.standard_normal(40))
COUNTS = RNG.poisson(np.exp(1.5 + 0.8 * F))
LEVELS = np.digitize(F, [-0.8, 0.0, 0.8]) + 1
OUTLIERS = np.where(NAMES % 9 == 4, 30.0, 0.0) + 5.0 + F + 0.1 * RNG.standard_normal(40)
TARGETS = {"student-t": OUTLIERS, "poisson": COUNTS, "ordinal": LEVELS, "gaussian": F}


def quick(**options):
    return HypergraphGPRegressor(H, **{"size_exponent": 0.0, "random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted():
    """A model of each likelihood, and one of logarithms."""
    models = {name: quick(likelihood=name).fit(TRAIN, y[TRAIN]) for name, y in TARGETS.items()}
    return {**models, "log": quick(transform="log").fit(TRAIN, PRICES[TRAIN])}


@pytest.fixture(scope="module")
def of_logarithms():
    return quick().fit(TRAIN, np.log(PRICES[TRAIN]))


# ------------------------------------------------ logarithms


@pytest.mark.parametrize("integrates", [True, False])
def test_evidence_on_a_log_scale_is_that_of_logarithms_with_the_jacobian(integrates):
    y = PRICES[TRAIN]
    own = quick(transform="log", integrate=integrates).fit(TRAIN, y)
    plain = quick(integrate=integrates).fit(TRAIN, np.log(y))
    assert own.log_marginal_likelihood_ == pytest.approx(plain.log_marginal_likelihood_ - np.log(y).sum(), abs=1e-9)


def test_quantiles_on_a_log_scale_are_those_of_logarithms_taken_back(fitted, of_logarithms):
    mean, std = of_logarithms.predict(TEST, return_std=True)
    expected = np.exp(stats.norm.ppf([0.05, 0.5, 0.95], mean[:, None], std[:, None]))
    found = fitted["log"].predict_quantiles(TEST)
    assert np.allclose(found, expected, rtol=1e-12)
    assert (found > 0).all()


def test_mean_and_spread_on_a_log_scale_are_those_of_scipys_log_normal(fitted, of_logarithms):
    mean, std = of_logarithms.predict(TEST, return_std=True)
    expected = stats.lognorm(s=std, scale=np.exp(mean))
    found = fitted["log"].predict(TEST, return_std=True)
    assert np.allclose(found.mean, expected.mean(), rtol=1e-12)
    assert np.allclose(found.std, expected.std(), rtol=1e-9)
    assert np.array_equal(fitted["log"].predict(TEST), found.mean)


def test_densities_on_a_log_scale_integrate_to_one_and_are_zero_below_zero(fitted):
    model = fitted["log"]
    grid = np.exp(np.linspace(2.0, 16.0, 4001))
    density = np.exp(model.log_density(np.repeat(TEST[:1], len(grid)), grid))
    assert integrate.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-5)
    assert model.log_density(TEST[:1], [-3.0])[0] == -np.inf


def test_without_noise_the_spread_is_that_of_the_expected_measurement():
    m, v, noise = np.array([0.3]), np.array([0.5]), 0.2
    found = NormalPrediction(m, v, noise, TRANSFORMS["log"]).moments(include_noise=False)
    z = np.linspace(-9, 9, 2001)
    expected = np.exp(m + np.sqrt(v) * z + noise / 2)  # E(y | f)
    mean = integrate.trapezoid(expected * stats.norm.pdf(z), z)
    assert found.mean[0] == pytest.approx(mean, rel=1e-9)
    assert found.variance[0] == pytest.approx(
        integrate.trapezoid((expected - mean) ** 2 * stats.norm.pdf(z), z), rel=1e-9
    )


def test_auto_takes_the_scale_of_larger_evidence():
    skewed = quick(transform="auto").fit(TRAIN, PRICES[TRAIN])
    assert skewed.transform_ == "log"
    assert skewed.log_marginal_likelihood_ == max(skewed.transform_evidence_.values())
    plain = quick().fit(TRAIN, PRICES[TRAIN]).log_marginal_likelihood_
    assert skewed.transform_evidence_["none"] == pytest.approx(plain, abs=1e-9)
    shifted = quick(transform="auto").fit(TRAIN, F[TRAIN] - F.min() + 1.0)
    assert shifted.transform_ == max(shifted.transform_evidence_, key=shifted.transform_evidence_.get)
    assert list(shifted.transform_evidence_) == ["none", "log"]
    signed = quick(transform="auto").fit(TRAIN, F[TRAIN])
    assert signed.transform_ == "none"
    assert list(signed.transform_evidence_) == ["none"]


def test_several_outputs_have_logarithms_too():
    y = np.column_stack([PRICES, 1 / PRICES])[TRAIN]
    model = quick(transform="log").fit(TRAIN, y)
    assert model.predict(TEST).shape == (12, 2)
    assert model.predict_quantiles(TEST).shape == (12, 2, 3)
    assert np.isfinite(model.log_density(TRAIN, y)).all()
    assert list(model.leave_one_out().columns) == ["mean_0", "mean_1", "std_0", "std_1"]


def test_leaving_one_out_on_a_log_scale_is_fitting_without_it():
    kernel = Matern(Spectrum.of(H), 2.0, 8.0)
    options = {"kernel": kernel, "learn": False, "scale_target": False, "transform": "log"}
    left_out = HypergraphGPRegressor(H, **options).fit(TRAIN, PRICES[TRAIN]).leave_one_out()
    again = HypergraphGPRegressor(H, **options).fit(TRAIN[1:], PRICES[TRAIN[1:]]).predict(TRAIN[:1], return_std=True)
    assert np.allclose(left_out.iloc[0], np.ravel(again), rtol=1e-8)


# ------------------------------------------------ likelihoods


def test_a_gaussian_likelihood_by_propagation_is_exact_regression():
    """Two ways to one posterior: sites that settle, and one linear system."""
    kernel = Matern(Spectrum.of(H), 2.0, 8.0)
    exact = HypergraphGPRegressor(H, kernel, noise_variance=0.3, learn=False).fit(TRAIN, F[TRAIN])
    sites = HypergraphGPRegressor(H, kernel, likelihood=Gaussian(0.3), learn=False).fit(TRAIN, F[TRAIN])
    for one, other in zip(exact.predict(TEST, return_std=True), sites.predict(TEST, return_std=True), strict=True):
        assert np.allclose(one, other, atol=1e-6)
    assert sites.log_marginal_likelihood_ == pytest.approx(exact.log_marginal_likelihood_, abs=1e-6)
    assert np.allclose(sites.predict_quantiles(TEST), exact.predict_quantiles(TEST), atol=1e-6)
    assert np.allclose(sites.log_density(TEST, F[TEST]), exact.log_density(TEST, F[TEST]), atol=1e-6)
    assert np.allclose(sites.leave_one_out(), exact.leave_one_out(), atol=1e-5)
    assert np.allclose(sites.predict_covariance(TEST), exact.predict_covariance(TEST), atol=1e-6)


def test_a_gaussian_likelihood_in_large_units_is_learned_as_the_exact_one_is():
    y = 1e8 + 1e7 * F[TRAIN] + 3e6 * RNG.standard_normal(28)
    options = {"kernel": "walk", "integrate": False, "n_starts": 3}  # one start may end where a step gains little
    exact = quick(**options).fit(TRAIN, y)
    sites = quick(**options, likelihood=Gaussian(1e13)).fit(TRAIN, y)
    assert sites.log_marginal_likelihood_ == pytest.approx(exact.log_marginal_likelihood_, abs=0.05)
    assert np.allclose(sites.predict(TEST), exact.predict(TEST), atol=0.05 * 1e7)


def test_levels_are_the_classifiers(fitted):
    same = HypergraphGPClassifier(H, likelihood="ordinal", size_exponent=0.0, random_state=0, max_iterations=200)
    expected = same.fit(TRAIN, LEVELS[TRAIN]).predict_proba(TEST)
    model = fitted["ordinal"]
    assert np.array_equal(model.predict_proba(TEST), expected)
    assert np.allclose(model.predict(TEST), expected @ [1, 2, 3, 4], rtol=1e-12)
    assert np.allclose(model.log_density(TEST, LEVELS[TEST]), np.log(expected[np.arange(12), LEVELS[TEST] - 1]))
    below = np.cumsum(expected, axis=1)
    assert np.array_equal(model.predict_quantiles(TEST, [0.3])[:, 0], 1 + (below < 0.3).sum(axis=1))


def test_levels_may_have_names_in_an_order(fitted):
    names = np.array(["low", "medium", "high", "top"])[LEVELS - 1]
    ordered = pd.Categorical(names, categories=["low", "medium", "high", "top"], ordered=True)
    model = quick(likelihood="ordinal").fit(TRAIN, ordered[TRAIN])
    assert list(model.levels_) == ["low", "medium", "high", "top"]
    assert np.allclose(model.predict(TEST) + 1, fitted["ordinal"].predict(TEST))
    assert set(np.ravel(model.predict_quantiles(TEST))) <= set(model.levels_)
    assert model.score(TEST, ordered[TEST]) == pytest.approx(fitted["ordinal"].score(TEST, LEVELS[TEST]))
    assert np.allclose(model.log_density(TEST, names[TEST]), fitted["ordinal"].log_density(TEST, LEVELS[TEST]))
    assert model.log_density(TEST[:1], ["unheard of"])[0] == -np.inf


def test_counts_are_predicted_as_mixtures_of_poissons_over_log_normal_rates(fitted):
    model = fitted["poisson"]
    parts = [(w, *part.conditionals(TEST)) for w, part in components(model.posterior_)]
    z = np.linspace(-9, 9, 801)
    for at in range(3):
        y = np.arange(60.0)
        rates = [np.exp(mean[at] + np.sqrt(v[at]) * z) for _, mean, v in parts]
        mass = sum(
            w * integrate.trapezoid(stats.poisson.pmf(y[:, None], rate) * stats.norm.pdf(z), z)
            for (w, _, _), rate in zip(parts, rates, strict=True)
        )
        found = model.log_density(np.repeat(TEST[at], 60), y)
        assert np.allclose(np.exp(found), mass, atol=1e-9)
        quantiles = model.predict_quantiles(TEST[[at]])[0]
        assert quantiles.tolist() == [float(np.argmax(np.cumsum(mass) >= p - 1e-9)) for p in (0.05, 0.5, 0.95)]
    mean, std = model.predict(TEST[:1], return_std=True)
    far = np.arange(4000.0)
    every = np.exp(model.log_density(np.repeat(TEST[0], 4000), far))
    assert mean[0] == pytest.approx((every * far).sum(), rel=1e-4)
    assert std[0] == pytest.approx(np.sqrt((every * (far - mean[0]) ** 2).sum()), rel=1e-2)


def test_outliers_move_students_predictions_less_than_normal_ones(fitted):
    clean = 5.0 + F
    normal = quick().fit(TRAIN, OUTLIERS[TRAIN])
    errors = [np.abs(model.predict(TEST) - clean[TEST]).mean() for model in (fitted["student-t"], normal)]
    assert errors[0] < 0.5 * errors[1]
    assert isinstance(fitted["student-t"].likelihood_, StudentT)
    assert float(fitted["student-t"].likelihood_.scale) < 0.3 * np.sqrt(normal.hyperparameters_["noise_variance"])


def test_quantiles_of_students_errors_are_where_the_distribution_function_reaches_them():
    rng = np.random.default_rng(1)
    parts = [
        Part(w, StudentT(s, 3.0), rng.normal(size=(5, 1)), rng.uniform(0.1, 2, (5, 1)))
        for w, s in [(0.3, 0.1), (0.7, 2.0)]
    ]
    levels = np.array([0.001, 0.05, 0.5, 0.95, 0.999])
    found = LikelihoodPrediction(parts).quantiles(levels)
    z = np.linspace(-9, 9, 4001)
    for row in range(5):
        for at, level in enumerate(levels):
            reached = sum(
                part.weight
                * integrate.trapezoid(
                    stats.t.cdf(
                        found[row, at], 3.0, part.mean[row] + np.sqrt(part.variance[row]) * z, part.likelihood.scale
                    )
                    * stats.norm.pdf(z),
                    z,
                )
                for part in parts
            )
            assert reached == pytest.approx(level, abs=1e-8)


@pytest.mark.parametrize("name", ["poisson", "student-t"])
def test_evidence_and_posterior_are_close_to_those_of_weighted_prior_draws(name):
    """Importance sampling with the prior as proposal, on few vertices, where it is all but exact."""
    kernel = Matern(Spectrum.of(H), 2.0, 8.0)
    rows, y = NAMES[:4], TARGETS[name][:4].astype(float)
    likelihood = Poisson() if name == "poisson" else StudentT(0.5)
    options = {"learn": False, "scale_target": False} if name == "student-t" else {"learn": False}
    y = y - 5.0 if name == "student-t" else y
    y = np.clip(y, -3, 8)
    model = HypergraphGPRegressor(H, kernel, likelihood=likelihood, **options).fit(rows, y)
    prior = model.posterior_.posteriors[0].prior
    both = np.concatenate([rows, TEST[:1]])
    K = kernel.gram(both, both)
    draws = np.random.default_rng(0).multivariate_normal(np.full(5, prior.mean[0]), K, size=200_000)
    logs = likelihood.pointwise(draws[:, :4], y).sum(axis=1)
    log_evidence = logsumexp(logs) - np.log(len(draws))
    weights = np.exp(logs - logsumexp(logs))
    expected = weights @ draws[:, 4]
    std = np.sqrt(weights @ (draws[:, 4] - expected) ** 2)
    mean, variance = model.posterior_.conditionals(TEST[:1])
    assert mean[0, 0] == pytest.approx(expected, abs=0.1 * std)
    assert np.sqrt(variance[0, 0]) == pytest.approx(std, rel=0.1)
    # Propagation is all but exact here; the variational bound lies below.
    assert model.log_marginal_likelihood_ == pytest.approx(log_evidence, abs=0.02 if name == "poisson" else 0.6)


class Hyperbolic(OneLatent, Measurement):
    """A likelihood of one's own: errors of variance 2.70, with heavier tails than normal ones, smooth at zero."""

    def pointwise(self, latent, y):
        return -np.sqrt(1 + (y - latent) ** 2) - np.log(2 * kn(1, 1.0))

    def moments(self, mean, variance):
        return Moments(mean[:, 0], variance[:, 0] + kn(2, 1.0) / kn(1, 1.0))


def test_a_likelihood_of_ones_own_predicts_intervals_by_its_moments():
    model = quick(likelihood=Hyperbolic()).fit(TRAIN, 50.0 + 3 * F[TRAIN])
    mean, std = model.predict(TEST, return_std=True)
    assert np.abs(mean - 50.0 - 3 * F[TEST]).mean() < 3.0
    found = model.predict_quantiles(TEST)
    assert (np.diff(found, axis=1) > 0).all()
    assert ((found[:, 2] - found[:, 0]) < 2 * 1.7 * std).all()


# ------------------------------------------------ all of them


@pytest.mark.parametrize("name", ["student-t", "poisson", "ordinal", "gaussian", "log"])
def test_a_model_of_any_likelihood_is_saved_explained_sampled_and_suggests(name, fitted, tmp_path):
    model = fitted[name]
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    for ask in ("predict", "predict_quantiles"):
        assert np.array_equal(getattr(again, ask)(TEST), getattr(model, ask)(TEST))
    assert again.transform_ == model.transform_
    explained = model.explain(TEST[0])
    assert explained.mean + explained.vertices["contribution"].sum() == pytest.approx(explained.prediction)
    assert model.sample(TEST, 3, random_state=0).shape == (3, 12)
    assert len(suggest_vertices(model, 2)) == 2
    bound = suggest_vertices(model, 2, criterion="upper-confidence")["bound"]
    assert bound.iloc[0] >= bound.iloc[1]
    left_out = model.leave_one_out()
    assert list(left_out.columns) == ["mean", "std"]
    assert (left_out["std"] > 0).all()


@pytest.mark.parametrize("name", ["student-t", "poisson", "ordinal", "log"])
def test_cross_validation_and_report_have_the_density_of_the_likelihood(name, fitted):
    y = {**TARGETS, "log": PRICES}[name]
    # What an average over hyperparameters makes of a density is tested above.
    model = clone(fitted[name]).set_params(integrate=False).fit(TRAIN, y[TRAIN])
    found = assess(model, TRAIN, y[TRAIN], folds=3)
    table = found.held_out
    assert (table["low"] <= table["high"]).all()
    if name in ("poisson", "ordinal"):
        assert (table["log density"] <= 0).all()
        assert (table[["low", "high"]] == np.round(table[["low", "high"]])).all().all()
    if name == "log":
        assert (table["low"] > 0).all()
    summary = found.summary()["mean"]
    assert np.isfinite(summary.to_numpy()).all()
    by_fold = found.scores[found.scores["method"] == "hypergraph GP"]["log density"]
    sizes = [len(part) for part in np.array_split(TRAIN, 3)]  # folds of one size, larger ones first
    assert np.average(by_fold, weights=sizes) == pytest.approx(table["log density"].mean(), abs=1e-9)
    assert "<html" in report_html(model, dict(zip(TRAIN, y[TRAIN], strict=True)), assessment=found)


def test_other_likelihoods_go_with_products_and_inducing_vertices():
    for options in ({"solver": "iterative", "integrate": True}, {"inducing": 12}):
        model = HypergraphGPRegressor(H, likelihood="poisson", random_state=0, **options).fit(TRAIN, COUNTS[TRAIN])
        assert np.isfinite(model.predict(TEST)).all()
        assert (model.predict_quantiles(TEST) >= 0).all()


# ------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"likelihood": "poisson"}, PRICES[TRAIN], r"counts, whole numbers from 0.*Got \d.*`transform='log'`"),
        ({"likelihood": "poisson"}, -COUNTS[TRAIN], r"counts, whole numbers from 0.*Got -"),
        ({"likelihood": "ordinal"}, np.array(["a", "b"] * 14), r"in an order.*pandas.Categorical"),
        ({"likelihood": "ordinal"}, np.ones(28), r"levels, 2 to 50.*Got 1"),
        ({"likelihood": OrderedProbit(3)}, LEVELS[TRAIN], r"for 3 levels. Got 4"),
        ({"likelihood": "logit"}, F[TRAIN], r"`likelihood` must be"),
        ({"likelihood": Bernoulli()}, LEVELS[TRAIN] % 2, r"of numbers.*Got Bernoulli.*HypergraphGPClassifier"),
        ({"likelihood": "student-t"}, np.ones((28, 2)), r"one number a vertex.*Got \(28, 2\)"),
        ({"likelihood": "poisson", "transform": "log"}, COUNTS[TRAIN], r"`transform` must be left.*normal noise"),
        ({"likelihood": "poisson", "noise_variance": 0.5}, COUNTS[TRAIN], r"`noise_variance` must be left"),
        ({"likelihood": "ordinal", "scale_target": False}, LEVELS[TRAIN], r"`scale_target` must be left"),
        ({"transform": "log"}, F[TRAIN], r"`transform='log'` is for positive `y`. Got -.*Leave `transform` out"),
        ({"transform": "sqrt"}, PRICES[TRAIN], r"`transform` must be"),
    ],
)
def test_targets_that_a_likelihood_cannot_have_are_refused(options, y, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(TRAIN, y)


def test_vertices_are_observed_once_but_with_normal_noise():
    with pytest.raises(ValueError, match=r"observed once each with this likelihood. Got 0 more often"):
        quick(likelihood="poisson").fit([0, 0, 1], [1, 2, 3])


def test_noise_that_is_known_goes_with_normal_noise_on_the_scale_of_the_data():
    with pytest.raises(ValueError, match="goes with normal noise"):
        quick(likelihood="student-t").fit(TRAIN, F[TRAIN], noise_variance=np.ones(28))
    with pytest.raises(ValueError, match=r"`transform` must be left.*in the units of `y`"):
        quick(transform="log").fit(TRAIN, PRICES[TRAIN], noise_variance=np.ones(28))


def test_probabilities_are_of_levels_alone(fitted):
    assert not hasattr(fitted["poisson"], "predict_proba")
    assert hasattr(fitted["ordinal"], "predict_proba")


def test_probabilities_of_quantiles_lie_between_zero_and_one(fitted):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted["poisson"].predict_quantiles(TEST, [0.5, 1.0])


def test_counts_that_are_all_zero_have_a_rate():
    with pytest.warns(LearningWarning, match="all measurements are equal"):
        model = quick(likelihood="poisson").fit(TRAIN, np.zeros(28))
    assert (model.predict(TEST) < 0.5).all()
    assert (model.predict_quantiles(TEST, [0.5]) == 0).all()
