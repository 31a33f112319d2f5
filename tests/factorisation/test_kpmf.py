"""KPMF as its users see it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hypergauss import KPMF, Hypergraph, LogNormal, Spectrum
from hypergauss.exceptions import SamplingWarning, UnseenWarning
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.ratings import Ratings
from hypergauss.kernels import Matern
from tests.factorisation.problems import random_ratings

USER, ITEM, VALUE = random_ratings(40, 30, 0.4, seed=3)
USERS = np.array([f"u{i}" for i in USER])
ITEMS = np.array([f"i{j}" for j in ITEM])
GRADES = np.clip(np.round(VALUE), 1, 5)
KNOWN = np.random.default_rng(0).random(len(USER)) < 0.7


def quick(**options):
    return KPMF(**{"n_factors": 2, "chains": 2, "warm_up": 4, "draws": 6, "random_state": 0, **options})


def fitted(**options):
    return quick(**options).fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])


@pytest.fixture(scope="module")
def model():
    return fitted(n_factors="auto", draws=100, warm_up=150)


@pytest.fixture(scope="module")
def straight():
    """A short run with nothing special about it."""
    return fitted()


def test_predictions_beat_the_mean_and_their_deviations_are_honest(model):
    mean, std = model.predict(USERS[~KNOWN], ITEMS[~KNOWN], return_std=True)
    error = VALUE[~KNOWN] - mean
    assert np.sqrt((error**2).mean()) < 0.75 * VALUE[~KNOWN].std()
    assert 0.7 < (error / std).std() < 1.3
    low, high = model.predict_interval(USERS[~KNOWN], ITEMS[~KNOWN], level=0.9)
    assert 0.83 < ((VALUE[~KNOWN] >= low) & (VALUE[~KNOWN] <= high)).mean() < 0.97


def test_moments_are_those_of_the_samples(model):
    users, items = USERS[~KNOWN][:6], ITEMS[~KNOWN][:6]
    prediction = model._prediction()
    mean, std = prediction.predictive.moments(*prediction.rows(users, items))
    drawn = model.sample(users, items, 8000, random_state=1)
    assert drawn.shape == (8000, 6)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * std / np.sqrt(8000))
    assert np.allclose(drawn.std(axis=0), std, rtol=0.06)


def test_the_log_density_is_that_of_the_mixture_over_draws(model):
    y = VALUE[~KNOWN][:1]
    grid = np.linspace(-6, 12, 4001)
    density = np.exp(model.log_density(np.repeat(USERS[:1], 4001), np.repeat(ITEMS[:1], 4001), grid))
    assert np.isclose(np.trapezoid(density, grid), 1.0, atol=1e-6)
    assert np.isfinite(model.log_density(USERS[~KNOWN][:1], ITEMS[~KNOWN][:1], y)).all()


def test_names_do_not_matter_only_who_is_who(straight):
    again = quick().fit(1000 + USER[KNOWN], ITEM[KNOWN], VALUE[KNOWN])
    assert np.array_equal(straight.predict(USERS[:9], ITEMS[:9]), again.predict(1000 + USER[:9], ITEM[:9]))


def test_the_order_of_ratings_changes_predictions_by_noise_only(model):
    order = np.random.default_rng(0).permutation(KNOWN.sum())
    shuffled = clone(model).set_params(chains=1).fit(USERS[KNOWN][order], ITEMS[KNOWN][order], VALUE[KNOWN][order])
    there, here = shuffled.predict(USERS, ITEMS), model.predict(USERS, ITEMS)
    assert np.corrcoef(there, here)[0, 1] > 0.97


def test_recommendations_leave_out_what_was_rated_and_are_sorted(model):
    found = model.recommend("u3", 5)
    assert list(found.columns) == ["item", "rating", "std"]
    assert found["rating"].is_monotonic_decreasing
    assert not set(found["item"]) & set(ITEMS[KNOWN & (USERS == "u3")])
    assert len(model.recommend("u3", 1000, include_seen=True)) == len(model.items_)
    assert np.allclose(found["rating"], model.predict(["u3"] * 5, found["item"]))


def test_unseen_users_and_items_have_the_prior_and_a_warning(model):
    with pytest.warns(UnseenWarning, match=r"`users` has 1 names that `fit` did not see, first 'new'"):
        _, lone = model.predict(["new"], ["i1"], return_std=True)
    _, known = model.predict(["u1"], ["i1"], return_std=True)
    assert lone[0] > known[0]
    with pytest.warns(UnseenWarning):
        mean, both_new = model.predict(["new"], ["newer"], return_std=True)
    assert mean[0] == pytest.approx(VALUE[KNOWN].mean(), abs=0.5)
    assert both_new[0] > known[0]
    with pytest.warns(UnseenWarning):
        assert len(model.recommend("new", 3)) == 3
    with pytest.warns(UnseenWarning, match=r"`items` has 1 names that `fit` did not see, first 7"):
        model.predict(["u1"], [7])  # a name of another kind is nobody's


def test_chains_agree_by_the_measures_of_arviz(model):
    arviz = pytest.importorskip("arviz")
    data = model.inference_data()
    assert data.posterior["prediction"].shape == (2, 100, 50)
    mean = data.posterior["prediction"].mean(("chain", "draw")).to_numpy()
    watched = np.linspace(0, len(model.ratings_.values) - 1, 50).astype(int)
    users, items = model.users_[model.ratings_.user[watched]], model.items_[model.ratings_.item[watched]]
    center, spread = model.scale_.center, model.scale_.spread
    assert np.allclose(np.clip(center + spread * mean, *model.bounds_), model.predict(users, items), atol=1e-4)
    assert float(arviz.rhat(data)["prediction"].median()) < 1.2


def test_a_seed_gives_the_same_draws_with_any_number_of_threads(straight):
    one, two = straight, fitted(n_jobs=2)
    assert all(np.array_equal(a.users, b.users) for a, b in zip(one.draws_, two.draws_, strict=True))
    assert not np.array_equal(one.draws_[0].users, one.draws_[1].users)


def test_single_and_double_precision_predict_alike():
    options = {"kernel": "independent", "warm_up": 40, "draws": 240, "chains": 1}  # with 60, chance has 0.85 to 0.99
    single, double = fitted(**options), fitted(**options, precision="double", tolerance=1e-8)
    assert np.corrcoef(double.predict(USERS, ITEMS), single.predict(USERS, ITEMS))[0, 1] > 0.98


def test_parameters_follow_scikit_learn(model):
    assert clone(model).get_params() == model.get_params()
    before = quick()
    params = dict(before.get_params())
    before.fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
    assert before.get_params() == params
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.predict(USERS, ITEMS), model.predict(USERS, ITEMS))
    for ask in (lambda m: m.predict(USERS, ITEMS), lambda m: m.recommend("u1"), lambda m: m.inference_data()):
        with pytest.raises(NotFittedError):
            ask(quick())


def test_predictions_stay_within_bounds():
    model = quick(bounds=(1, 5)).fit(USERS[KNOWN], ITEMS[KNOWN], GRADES[KNOWN])
    low, high = model.predict_interval(USERS, ITEMS)
    for values in (model.predict(USERS, ITEMS), low, high):
        assert values.min() >= 1
        assert values.max() <= 5
    free = quick(bounds=None).fit(USERS[KNOWN], ITEMS[KNOWN], GRADES[KNOWN])
    assert free.predict_interval(USERS, ITEMS)[1].max() > 5


def test_grades_have_probabilities_and_thresholds_in_order():
    model = quick(n_factors=4, likelihood="ordinal", draws=80, warm_up=100)
    model.fit(USERS[KNOWN], ITEMS[KNOWN], GRADES[KNOWN])
    p = model.predict_proba(USERS[~KNOWN], ITEMS[~KNOWN])
    assert list(p.columns) == [1, 2, 3, 4, 5]
    assert np.allclose(p.sum(axis=1), 1)
    assert (np.diff(model.draws_[0].thresholds, axis=1) > 0).all()
    mean = model.predict(USERS[~KNOWN], ITEMS[~KNOWN])
    assert np.allclose(mean, p.to_numpy() @ np.arange(1, 6))
    assert np.sqrt(((mean - GRADES[~KNOWN]) ** 2).mean()) < 0.85 * GRADES[~KNOWN].std()
    chosen = p.to_numpy()[np.arange(len(p)), GRADES[~KNOWN].astype(int) - 1]
    assert np.allclose(model.log_density(USERS[~KNOWN], ITEMS[~KNOWN], GRADES[~KNOWN]), np.log(chosen))
    assert set(np.unique(model.sample(USERS, ITEMS, 3, random_state=0))) <= {1, 2, 3, 4, 5}
    low, high = model.predict_interval(USERS[~KNOWN], ITEMS[~KNOWN])
    assert (low <= high).all()
    assert set(np.unique(low)) <= {1, 2, 3, 4, 5}


def test_a_relation_that_explains_the_ratings_gets_weight_and_helps_where_ratings_are_few():
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=60)
    taste = rng.standard_normal((50, 3)) * 1.5
    user, item = np.nonzero(rng.random((50, 60)) < 0.2)
    ratings = taste[user, kind[item]] + 0.3 * rng.standard_normal(len(user))
    kinds = Hypergraph.from_edges(
        {f"kind {k}": np.flatnonzero(kind == k).tolist() for k in range(3)}, vertices=range(60)
    )
    noise = Hypergraph.from_edges(
        {f"n{k}": np.flatnonzero(rng.random(60) < 0.3).tolist() for k in range(3)}, vertices=range(60)
    )
    train = rng.random(len(user)) < 0.7
    options = {"n_factors": 3, "chains": 1, "warm_up": 40, "draws": 20}
    plain = quick(**options).fit(user[train], item[train], ratings[train])
    informed = quick(**options, item_relations={"kind": kinds, "noise": noise})
    informed.fit(user[train], item[train], ratings[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)
        errors = [
            np.sqrt(((m.predict(user[~train], item[~train]) - ratings[~train]) ** 2).mean()) for m in (plain, informed)
        ]
    assert errors[1] < 0.85 * errors[0]
    assert errors[1] < 0.55  # the noise is 0.3, and a user has three ratings of a kind
    weights = informed.relation_weights().set_index("relation")["weight"]
    assert weights["kind"] > weights["noise"]
    assert list(informed.items_).count(59) == 1  # known from the relation even if nobody rated it


def test_checkpoints_lead_to_the_same_draws(tmp_path, straight):
    path = tmp_path / "deep" / "chains.npz"
    options = {"checkpoint": path, "checkpoint_every": 2}
    fitted(draws=3, **options)
    resumed = fitted(draws=6, **options)
    for ours, theirs in zip(resumed.draws_, straight.draws_, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_checkpoints_of_grades_lead_to_the_same_draws(tmp_path):
    options = {"likelihood": "ordinal", "chains": 1}
    data = (USERS[KNOWN], ITEMS[KNOWN], GRADES[KNOWN])
    quick(draws=3, checkpoint=tmp_path / "c.npz", **options).fit(*data)
    resumed = quick(draws=8, checkpoint=tmp_path / "c.npz", **options).fit(*data)
    assert np.array_equal(resumed.draws_[0].thresholds, quick(draws=8, **options).fit(*data).draws_[0].thresholds)


def test_a_spoilt_checkpoint_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "chains.npz"
    fitted(checkpoint=path)
    whole = path.read_bytes()
    for spoilt in (whole[: len(whole) // 2], b"", b"not a checkpoint", whole[:200] + b"\x00" * 400 + whole[600:]):
        path.write_bytes(spoilt)
        with pytest.raises(ValueError, match=r"checkpoint .*chains\.npz.* (cannot be read|must)"):
            fitted(checkpoint=path)
        assert path.read_bytes() == spoilt


def test_a_checkpoint_of_other_ratings_or_settings_is_refused(tmp_path):
    path = tmp_path / "chains.npz"
    fitted(checkpoint=path)
    for other in (
        quick(checkpoint=path, n_factors=3),
        quick(checkpoint=path, random_state=1),
    ):
        with pytest.raises(ValueError, match=r"must belong to the same ratings and settings"):
            other.fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
    with pytest.raises(ValueError, match=r"must belong to the same"):
        quick(checkpoint=path).fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN] + 1)
    with pytest.raises(ValueError, match=r"`checkpoint` needs a `random_state`"):
        fitted(checkpoint=path, random_state=None)


def test_a_checkpoint_of_other_relations_with_equal_counts_is_refused(tmp_path):
    one, two = (
        Hypergraph.from_edges({"g": ["i0", first], "h": ["i2", second]}, vertices=[f"i{j}" for j in range(30)])
        for first, second in (("i1", "i3"), ("i3", "i1"))
    )
    heavier = Hypergraph.from_incidence(one.incidence, vertices=one.vertices, edges=one.edges, weights=[1.0, 2.0])
    renamed = Hypergraph.from_incidence(one.incidence, vertices=one.vertices[::-1], edges=one.edges)
    options = {"checkpoint": tmp_path / "c.npz", "chains": 1, "warm_up": 1, "draws": 2}
    first = fitted(item_relations={"g": one}, **options)
    same = Hypergraph.from_incidence(one.incidence, vertices=one.vertices, edges=one.edges)
    assert np.array_equal(fitted(item_relations={"g": same}, **options).draws_[0].users, first.draws_[0].users)
    for other in ({"g": two}, {"g": heavier}, {"g": renamed}, {"k": one}, {}):
        with pytest.raises(ValueError, match=r"must belong to the same ratings and settings"):
            fitted(item_relations=other, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chains": 3}, r"begun with the same `chains`. It has 2, and got 3"),
        ({"warm_up": 2}, r"begun with the same `warm_up`. It has 1, and got 2"),
        ({"thin": 2}, r"begun with the same `thin`. It has 1, and got 2"),
        ({"draws": 1}, r"must not hold more draws than are asked for. It holds 3 of each chain, and got draws=1"),
        ({"random_state": 5}, r"must belong to the same ratings and settings, `random_state` among them"),
    ],
)
def test_a_checkpoint_of_another_start_or_length_is_refused(tmp_path, options, message):
    usual = {"checkpoint": tmp_path / "chains.npz", "draws": 3, "warm_up": 1}
    fitted(**usual)
    with pytest.raises(ValueError, match=message):
        fitted(**(usual | options))


def test_a_checkpoint_of_an_earlier_layout_is_refused(tmp_path):
    path = tmp_path / "chains.npz"
    fitted(checkpoint=path, draws=2, warm_up=1)
    arrays = dict(np.load(path))
    arrays["about"] = np.array(str(arrays["about"]).replace('"format": 7', '"format": 6'))
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"its format is 6, that of this version 7.*move it away"):
        fitted(checkpoint=path, draws=2, warm_up=1)


@pytest.mark.parametrize("after", [2, 8])
def test_an_interrupt_keeps_what_is_drawn(monkeypatch, after):
    sweep, calls = gibbs.sweep, []

    def interrupted(*arguments):
        calls.append(None)
        if len(calls) > after * 2:
            raise KeyboardInterrupt
        return sweep(*arguments)

    monkeypatch.setattr(gibbs, "sweep", interrupted)
    if after == 2:  # still warming up: there is nothing to keep
        with pytest.raises(KeyboardInterrupt):
            fitted()
        return
    with pytest.warns(SamplingWarning, match=r"4 of 6 draws"):
        model = fitted()
    assert [len(chain.mean) for chain in model.draws_] == [4, 4]
    assert np.isfinite(model.predict(USERS, ITEMS)).all()


def test_a_run_that_was_interrupted_goes_on_to_the_same_draws(tmp_path, monkeypatch, straight):
    path, sweep, calls = tmp_path / "chains.npz", gibbs.sweep, []

    def interrupted(*arguments):
        calls.append(None)
        if len(calls) > 2 * 7:
            raise KeyboardInterrupt
        return sweep(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(gibbs, "sweep", interrupted)
        with pytest.warns(SamplingWarning, match=r"3 of 6 draws.*chains\.npz holds the last checkpoint"):
            fitted(checkpoint=path, checkpoint_every=2)
    resumed = fitted(checkpoint=path, checkpoint_every=2)
    for ours, theirs in zip(resumed.draws_, straight.draws_, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_an_interrupt_while_a_checkpoint_is_written_leaves_the_one_before(tmp_path, monkeypatch, straight):
    path, savez, written = tmp_path / "chains.npz", np.savez, []

    def interrupted(file, **arrays):
        written.append(path.read_bytes() if path.exists() else None)
        if len(written) == 3:
            file.write(b"half of a checkp")
            raise KeyboardInterrupt
        savez(file, **arrays)

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", interrupted)
        with pytest.warns(SamplingWarning):
            fitted(checkpoint=path, checkpoint_every=2)
    assert path.read_bytes() == written[-1]
    assert np.array_equal(fitted(checkpoint=path).draws_[1].users, straight.draws_[1].users)


def test_a_refit_that_fails_leaves_the_model_as_it_was(monkeypatch):
    model = fitted()
    before = model.predict(USERS, ITEMS)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gibbs, "sweep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(USERS[:50], ITEMS[:50], 10 * VALUE[:50])
    with pytest.raises(ValueError, match="must not contain NaN"):
        model.fit(USERS[:2], ITEMS[:2], [1.0, np.nan])
    assert np.array_equal(model.predict(USERS, ITEMS), before)


def test_the_mode_climbs_and_the_sparse_mode_follows(capsys):
    data = (USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
    full = KPMF(2, inference="map", noise_variance=0.3, random_state=0, show_progress=True).fit(*data)
    assert (np.diff(full.mode_.trace) > -1e-6 * np.abs(full.mode_.trace[1:])).all()
    error = np.sqrt(((full.predict(USERS[~KNOWN], ITEMS[~KNOWN]) - VALUE[~KNOWN]) ** 2).mean())
    assert error < 0.85 * VALUE[~KNOWN].std()
    few = KPMF(2, inference="map", noise_variance=0.3, inducing=(5, 4), random_state=0).fit(*data)
    assert few.mode_.trace[-1] < full.mode_.trace[-1]


def test_the_mode_is_where_the_gradient_vanishes():
    model = KPMF(1, inference="map", noise_variance=0.5, biases=False, mean="zero", random_state=0, max_iterations=500)
    model.fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
    table = model.ratings_
    spectrum = Spectrum.of(table.hypergraph())
    kernels = [np.asarray(Matern(part, 1.5, 5.0).gram()) for part in (spectrum, spectrum.dual())]

    def log_posterior(u, w):
        residual = table.values - u[table.user] * w[table.item]
        prior = u @ np.linalg.solve(kernels[0], u) + w @ np.linalg.solve(kernels[1], w)
        return -residual @ residual - prior / 2

    u, w = model.mode_.users[:, 1], model.mode_.items[:, 1]
    assert np.isclose(log_posterior(u, w), model.mode_.trace[-1], rtol=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(5):
        du, dw = kernels[0] @ rng.standard_normal(len(u)), kernels[1] @ rng.standard_normal(len(w))
        slope = (log_posterior(u + 1e-4 * du, w + 1e-4 * dw) - log_posterior(u - 1e-4 * du, w - 1e-4 * dw)) / 2e-4
        assert abs(slope) < 1.0 * np.sqrt(du @ du + dw @ dw)


@pytest.mark.parametrize("kernel", ["diffusion", "independent"])
def test_other_kernels_of_the_mode_learn_from_the_ratings_and_differ(kernel):
    matern, model = (
        KPMF(2, inference="map", kernel=name, random_state=0).fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
        for name in ("matern", kernel)
    )
    error = VALUE[KNOWN] - model.predict(USERS[KNOWN], ITEMS[KNOWN])
    assert np.sqrt((error**2).mean()) < 0.8 * VALUE[KNOWN].std()
    assert np.abs(model.predict(USERS, ITEMS) - matern.predict(USERS, ITEMS)).max() > 0.05


def test_the_independent_prior_knows_no_hypergraph(monkeypatch):
    def refuse(ratings):
        raise AssertionError("asked for the hypergraph")

    monkeypatch.setattr(Ratings, "hypergraph", refuse)
    model = fitted(kernel="independent", draws=30)
    error = VALUE[~KNOWN] - model.predict(USERS[~KNOWN], ITEMS[~KNOWN])
    assert np.sqrt((error**2).mean()) < VALUE[~KNOWN].std()
    with pytest.raises(AssertionError, match="asked for the hypergraph"):
        fitted(kernel="matern")


def test_a_truncated_spectrum_predicts_much_the_same(model):
    truncated = clone(model).set_params(rank=12, chains=1, warm_up=80).fit(USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
    assert np.corrcoef(truncated.predict(USERS, ITEMS), model.predict(USERS, ITEMS))[0, 1] > 0.95


def test_constant_ratings_and_a_single_pair_are_no_trouble():
    model = quick().fit(["a"], ["x"], [3.0])
    assert np.isclose(model.predict(["a"], ["x"])[0], 3.0)
    model = quick().fit(["a", "a", "b"], ["x", "y", "x"], [4, 4, 4])
    assert np.allclose(model.predict(["b"], ["y"]), 4.0)
    one_user = quick().fit(["a"] * 5, list("vwxyz"), [1, 2, 3, 4, 5])
    first, last = one_user.predict(["a", "a"], ["v", "z"])
    assert 1.0 <= first < last <= 5.0


def test_an_item_known_from_a_relation_alone_is_predicted_without_warning():
    H = Hypergraph.from_edges({"g": ["x", "y", "z"]})
    model = quick(item_relations={"genre": H}).fit(["a", "a", "b"], ["x", "y", "x"], [1, 5, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict(["a"], ["z"], return_std=True)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_factors": 0}, r"`n_factors` must be at least 1"),
        ({"inference": "vi"}, r"`inference` must be one of 'gibbs', 'map'. Got 'vi'"),
        ({"likelihood": "poisson"}, r"`likelihood` must be one of"),
        ({"kernel": "diffusion"}, r"needs inference='map'"),
        ({"bounds": (5, 1)}, r"`bounds` must increase"),
        ({"bounds": 5}, r"`bounds` must be two numbers"),
        ({"draws": 0}, r"`draws` must be at least 1"),
        ({"tolerance": -1.0}, r"`tolerance` must be positive"),
        ({"priors": {"beta": LogNormal(1.0)}}, r"`priors` must be one of 'nu', 'lengthscale'"),
        ({"inducing": (3, 3)}, r"`inducing` must be left as it is unless inference='map'"),
        ({"inference": "map", "likelihood": "ordinal"}, r"`likelihood` must be left as it is unless inference='gibbs'"),
        ({"precision": "half"}, r"`precision` must be one of"),
        ({"rank": 1000}, r"`rank` must be between"),
        ({"likelihood": "ordinal"}, r"from 2 to 100 different ratings"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (
            (["a", "b"], ["x", "x"], [1, 9]),
            ValueError,
            r"`ratings` must lie in the bounds, 1 to 5. Got 9 at position 1",
        ),
        ((["a", "a"], ["x", "x"], [1, 2]), ValueError, r"must be rated once. \('a', 'x'\) is rated twice"),
        ((["a", "b"], ["x", "x"], [1, np.nan]), ValueError, r"`ratings` must not contain NaN"),
        ((["a", 1], ["x", "x"], [1, 2]), TypeError, r"`users` must be names of one kind. Got 'a' and 1"),
        (([1, 2], [7, "7"], [1, 2]), TypeError, r"`items` must be names of one kind. Got '7' and 7"),
        ((["a", "b"], ["x", "x"], [1, np.inf]), ValueError, r"`ratings` must"),
        ((["a"], ["x", "y"], [1, 2]), ValueError, r"`users` and `ratings` must have the same length. Got 1 and 2"),
        (([], [], []), ValueError, r"at least one"),
        (([None, "b"], ["x", "x"], [1, 2]), ValueError, r"`users` must not contain missing names"),
        ((["a", "b"], ["x", "x"], ["good", "bad"]), TypeError, r"`ratings` must hold numbers"),
        (("a", ["x"], [1]), TypeError, r"pass \['a'\]"),
    ],
)
def test_bad_ratings_are_named(data, kind, message):
    with pytest.raises(kind, match=message):
        quick(bounds=(1, 5)).fit(*data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nu": 2.5}, r"`nu` must be left as it is unless inference='map'. Got 2.5 and .*`priors=\{'nu': LogNormal"),
        ({"lengthscale": 2.0}, r"`lengthscale` must be left .* 'gibbs' draws it. .*`priors=\{'lengthscale'"),
        ({"variance": 2.0}, r"`variance` must be left as it is unless inference='map'"),
        ({"noise_variance": 2.0}, r"`noise_variance` must be left as it is unless inference='map'"),
        ({"inference": "map", "noise": "common"}, r"`noise` must be left as it is unless inference='gibbs'"),
        ({"draws": 10, "max_draws": 60}, r"`max_draws` needs draws='auto'. Got 60 and draws=10"),
        ({"max_iterations": 9}, r"`max_iterations` .* Set `warm_up` and `draws`"),
        ({"checkpoint_every": 9}, r"`checkpoint_every` needs a file .* Name one by `checkpoint`"),
        ({"kernel": "independent", "priors": {"nu": LogNormal(1.0)}}, r"`priors` .* unless kernel='matern'"),
        ({"kernel": "independent", "rank": 3}, r"`rank` .* unless kernel='matern' or 'diffusion'.*leave it out"),
        ({"kernel": "independent", "size_exponent": 1.0}, r"`size_exponent` .* unless kernel='matern'"),
        ({"inference": "map", "priors": {"nonsense": 3}}, r"`priors` must be left .* pass `nu` and `lengthscale`"),
        ({"inference": "map", "draws": 9}, r"`draws` must be left as it is unless inference='gibbs'"),
        ({"inference": "map", "precision": "double"}, r"`precision` .* 'map' always has double precision"),
        ({"inference": "map", "kernel": "diffusion", "nu": 2.5}, r"`nu` .* unless kernel='matern'"),
        ({"inference": "map", "kernel": "diffusion", "size_exponent": 1.0}, r"`size_exponent` .* kernel='matern'"),
        ({"inference": "map", "kernel": "independent", "inducing": (3, 3)}, r"`inducing` .* kernel='matern' or"),
    ],
)
def test_a_parameter_that_would_not_act_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KPMF(2, random_state=0, **options).fit(USERS, ITEMS, VALUE)


def test_chains_that_agree_stop_and_others_are_told_of():
    data = (USERS[KNOWN], ITEMS[KNOWN], VALUE[KNOWN])
    with pytest.warns(SamplingWarning, match=r"The 4 chains disagree after 3 draws each: the worst R-hat is inf"):
        KPMF(2, warm_up=1, max_draws=3, random_state=0).fit(*data)
    with pytest.raises(ValueError, match=r"`draws` must be one of 'auto'"):
        KPMF(2, draws="many", random_state=0).fit(*data)


def test_careless_raters_have_wider_intervals():
    rng = np.random.default_rng(0)
    user, item = (axis.ravel() for axis in np.indices((20, 30)))
    careless = user < 10
    values = 3 + rng.standard_normal(30)[item] + np.where(careless, 1.5, 0.2) * rng.standard_normal(len(user))
    seen = rng.random(len(user)) < 0.8
    std = {}
    for noise in ("individual", "common"):
        model = KPMF(1, noise=noise, chains=1, warm_up=30, draws=50, kernel="independent", random_state=0)
        std[noise] = model.fit(user[seen], item[seen], values[seen]).predict(user[~seen], item[~seen], return_std=True)[
            1
        ]
    ratio = {noise: found[careless[~seen]].mean() / found[~careless[~seen]].mean() for noise, found in std.items()}
    assert ratio["individual"] > 3.0
    assert ratio["common"] < 1.5


def test_relations_must_be_hypergraphs():
    with pytest.raises(TypeError, match=r"`item_relations\['genre'\]` must be a Hypergraph. Got list"):
        fitted(item_relations={"genre": [1]})
    with pytest.raises(TypeError, match=r"`user_relations` must be a dict"):
        fitted(user_relations=[1])


def test_a_table_of_pandas_is_welcome(straight):
    frame = pd.DataFrame({"user": USERS[KNOWN], "item": ITEMS[KNOWN], "rating": VALUE[KNOWN]})
    model = quick().fit(frame["user"], frame["item"], frame["rating"])
    assert np.array_equal(
        model.predict(frame["user"][:3], frame["item"][:3]), straight.predict(USERS[KNOWN][:3], ITEMS[KNOWN][:3])
    )
