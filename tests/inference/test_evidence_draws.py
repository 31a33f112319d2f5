"""Draws of hyperparameters, against grids and by simulation-based calibration."""

import warnings

import numpy as np
import pytest
from scipy.stats import chisquare

from hypergauss.exceptions import SamplingWarning
from hypergauss.inference.mcmc.evidence import sample_hyperparameters, split_r_hat

WIDE = np.array([[-20.0, 20.0]] * 2)


def banana(x):
    """Return the log density of a bent normal, and its gradient."""
    a, b = x[0], x[1] - 0.5 * (x[0] ** 2 - 1)
    return -(a**2) / 2 - 2 * b**2, np.array([-a + 4 * b * a, -4 * b])


def test_draws_of_a_bent_posterior_have_its_moments():
    found = sample_hyperparameters([banana], np.array([[0.0, -0.5]]), np.eye(2), WIDE, draws=800, thin=2)
    flat = found.coordinates.reshape(-1, 2)
    # x_0 is standard normal; x_1 = (x_0^2 - 1) / 2 + N(0, 1/4).
    assert flat[:, 0].mean() == pytest.approx(0.0, abs=0.08)
    assert flat[:, 0].var() == pytest.approx(1.0, abs=0.12)
    assert flat[:, 1].mean() == pytest.approx(0.0, abs=0.08)
    assert flat[:, 1].var() == pytest.approx(0.75, abs=0.15)


def test_the_end_of_a_range_is_no_wall():
    """A posterior that is highest at its bound, where a normal would have half of itself outside."""
    limits = np.array([[0.0, 1.0]])
    found = sample_hyperparameters(
        [lambda x: (-4 * x[0], np.array([-4.0]))], np.zeros((1, 1)), np.full((1, 1), 0.1), limits, draws=1200
    )
    x = found.coordinates.ravel()
    grid = np.linspace(0, 1, 2001)
    density = np.exp(-4 * grid) / np.exp(-4 * grid).sum()
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert x.mean() == pytest.approx(density @ grid, abs=0.012)
    assert (x**2).mean() == pytest.approx(density @ grid**2, abs=0.012)


def test_modes_are_visited_by_their_probability():
    def mode(centre, height):
        return lambda x: (height - (x[0] - centre) ** 2 / 2, centre - x)

    heights = [mode(0.0, 0.0), mode(7.0, np.log(2.0)), mode(-5.0, -20.0)]
    found = sample_hyperparameters(heights, np.array([[0.0], [7.0], [-5.0]]), np.eye(1), WIDE[:1], draws=1200)
    shares = np.bincount(found.modes.ravel(), minlength=3) / found.modes.size
    assert shares == pytest.approx([1 / 3, 2 / 3, 0.0], abs=0.04)
    assert found.coordinates[found.modes == 1].mean() == pytest.approx(7.0, abs=0.1)


def test_the_same_seed_gives_the_same_draws():
    one, other = (sample_hyperparameters([banana], np.zeros((1, 2)), np.eye(2), WIDE, draws=100, seed=3) for _ in "ab")
    assert np.array_equal(one.coordinates, other.coordinates)


def test_chains_that_disagree_go_on_until_they_agree():
    """Two basins of one well: 30 draws of each chain do not tell how much of it lies in either."""

    def basins(x):
        weights = np.exp(-((x[0] - np.array([-2.2, 2.2])) ** 2) / 2)
        return np.log(weights.sum()), np.array([(weights * (np.array([-2.2, 2.2]) - x[0])).sum() / weights.sum()])

    def drawn(**options):
        return sample_hyperparameters([basins], np.zeros((1, 1)), np.eye(1), WIDE[:1], draws=30, seed=1, **options)

    with pytest.warns(SamplingWarning, match="The chains disagree"):
        once = drawn(most_times=1).coordinates
    longer = drawn(most_times=100).coordinates
    assert longer.shape[1] > once.shape[1] == 30
    assert np.array_equal(longer[:, :30], once)
    assert split_r_hat(longer[..., 0]) <= 1.05


def test_chains_that_disagree_are_reported():
    def apart(x):  # two narrow hills that no trajectory crosses between
        side = 1.0 if x[0] > 0 else -1.0
        return -((x[0] - 8 * side) ** 2) * 50, -100 * (x - 8 * side)

    with pytest.warns(SamplingWarning, match="The chains disagree"):
        sample_hyperparameters([apart], np.zeros((1, 1)), np.full((1, 1), 100.0), WIDE[:1], draws=40, seed=1)


def test_r_hat_is_one_where_chains_agree_and_more_where_they_drift():
    rng = np.random.default_rng(0)
    level = rng.standard_normal((4, 500))
    assert split_r_hat(level) == pytest.approx(1.0, abs=0.02)
    assert split_r_hat(level + np.arange(4)[:, None]) > 1.3
    assert split_r_hat(level + np.linspace(0, 5, 500)) > 1.3


@pytest.mark.slow
def test_ranks_of_true_hyperparameters_are_uniform():
    """Simulation-based calibration (Talts et al., 2018): y drawn from the prior, ranks of theta among draws."""
    rng = np.random.default_rng(100)
    points = rng.standard_normal(15)
    # In the basis of eigenvectors of K all covariances are diagonal.
    eigenvalues = np.linalg.eigvalsh(np.exp(-((points[:, None] - points[None, :]) ** 2))).clip(min=0.0)

    def variances(x):
        return np.exp(x[0]) * eigenvalues + np.exp(x[1] - 1.0)

    def height_of(y):
        squares = y**2

        def height(x):
            S = variances(x)
            W = (squares / S - 1.0) / S
            value = -(squares / S + np.log(S)).sum() / 2 - x @ x / 2
            slopes = [np.exp(x[0]) * (W @ eigenvalues), np.exp(x[1] - 1.0) * W.sum()]
            return value, np.array(slopes) / 2 - x

        return height

    ranks = []
    for number in range(40):
        theta = rng.standard_normal(2)
        y = np.sqrt(variances(theta)) * rng.standard_normal(15)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SamplingWarning)  # so few draws may disagree
            few = {"chains": 1, "draws": 9, "warm_up": 20, "thin": 4, "most_times": 1}
            found = sample_hyperparameters([height_of(y)], np.zeros((1, 2)), np.eye(2), WIDE, seed=number, **few)
        ranks.append((found.coordinates[0] < theta).sum(axis=0))
    for column in np.array(ranks).T:
        assert chisquare(np.bincount(column // 2, minlength=5)).pvalue > 1e-3
