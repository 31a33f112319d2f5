"""R-hat is that of ArviZ, and what is watched does not see what cannot be told."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from hypergauss.factorisation.convergence import rhat, watched, worst_rhat
from hypergauss.factorisation.predictive import Kept
from hypergauss.factorisation.ratings import tabulate
from tests.factorisation.problems import random_ratings

TABLE = tabulate(*random_ratings(12, 9, 0.5, seed=0), bounds=None)


def draws(rng, size=20):
    """Return draws of factors and noise that have nothing to do with the ratings."""
    num_users, num_items = TABLE.shape
    parts = dict.fromkeys(Kept._fields, np.zeros((size, 1)))
    parts |= {"users": rng.standard_normal((size, num_users, 4)), "items": rng.standard_normal((size, num_items, 4))}
    parts |= {"mean": rng.standard_normal(size), "noise_variance": rng.gamma(5.0, size=size)}
    parts |= {
        "user_noise": rng.gamma(5.0, size=(size, num_users)),
        "item_noise": rng.gamma(5.0, size=(size, num_items)),
    }
    return Kept(**parts)


def test_rhat_is_that_of_arviz(rng):
    arviz = pytest.importorskip("arviz")
    series = np.cumsum(rng.standard_normal((3, 41, 5)), axis=1) + rng.standard_cauchy((3, 41, 5))
    expected = arviz.rhat(arviz.convert_to_dataset(series))["x"].to_numpy()
    assert np.allclose(rhat(series), expected, rtol=1e-6)


def test_few_draws_tell_nothing_and_constants_agree():
    assert np.isinf(rhat(np.zeros((2, 3))))
    assert rhat(np.zeros((2, 8))) == 1.0


def test_turned_factors_and_traded_means_are_watched_alike(rng):
    kept = draws(rng)
    before = watched([kept], TABLE, "gaussian")
    users, items = kept.users.copy(), kept.items.copy()
    turn, shift = ortho_group.rvs(3, random_state=0), rng.standard_normal(3)
    users[:, :, 1:], items[:, :, 1:] = 2.0 * kept.users[:, :, 1:] @ turn, 0.5 * kept.items[:, :, 1:] @ turn + shift
    users[:, :, 0] -= users[:, :, 1:] @ shift
    after = watched([kept._replace(users=users, items=items)], TABLE, "gaussian")
    for name in ("prediction", "bias_variance", "factor_variance", "noise_variance"):
        assert np.allclose(before[name], after[name]), name


def test_variances_are_those_over_ratings(rng):
    kept = draws(rng, 2)
    found = watched([kept], TABLE, "gaussian")
    users, items = kept.users[1], kept.items[1]
    bias = users[:, 0] + users[:, 1:] @ items[TABLE.item, 1:].mean(axis=0)
    assert found["bias_variance"][0, 1, 0] == pytest.approx(bias[TABLE.user].var())
    centred = [f[:, 1:] - f[at, 1:].mean(axis=0) for f, at in ((users, TABLE.user), (items, TABLE.item))]
    over_pairs = (centred[0][TABLE.user] @ centred[1][TABLE.item].T) ** 2
    assert found["factor_variance"][0, 1] == pytest.approx(over_pairs.mean())
    level = np.log(kept.user_noise[1, TABLE.user]).mean() + np.log(kept.item_noise[1, TABLE.item]).mean()
    assert found["noise_variance"][0, 1] == pytest.approx(kept.noise_variance[1] * np.exp(level))


def test_the_worst_of_all_is_told(rng):
    chains = [draws(rng, 60), draws(rng, 60)]
    assert worst_rhat(chains, TABLE, "gaussian") < 1.3
    chains[1] = chains[1]._replace(noise_variance=chains[1].noise_variance + 20.0)
    assert worst_rhat(chains, TABLE, "gaussian") > 1.5
