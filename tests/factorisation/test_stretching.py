"""A stretch of the latent scale is accepted as the joint density, written out, and the change of volume have it."""

import numpy as np
import pytest
from scipy.stats import invgamma, norm

from hypergauss.factorisation.grades import THRESHOLD_SPREAD, Cuts, Grades
from hypergauss.factorisation.moods import MOOD_RATE, MOOD_SHAPE
from hypergauss.factorisation.stretching import stretch
from tests.factorisation.test_calibration import PROBLEM, TABLE, from_prior


class Told:
    """A generator that proposes what it is told to, and accepts down to a level."""

    def __init__(self, step, level):
        self.step, self.level = step, level

    def standard_normal(self):
        return self.step

    def random(self):
        return np.exp(self.level)


def log_joint(problem, state, eta):
    """Return log p of grades, thresholds, expansions, moods and their variance."""
    b, grades = state.cuts.thresholds, problem.grades
    root = np.sqrt(state.noise[0].each[grades.user] * state.noise[1].each[grades.item])
    ends = np.concatenate([[-np.inf], b, [np.inf]])
    low, high = (root * (ends[grades.label + end] - eta) for end in (0, 1))
    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)  # in the lower tail nothing cancels
    total = np.log(norm.cdf(high) - norm.cdf(low)).sum()
    gaps = np.diff(b)
    total += norm.logpdf(np.concatenate([b[:1], np.log(gaps)]), scale=THRESHOLD_SPREAD).sum() - np.log(gaps).sum()
    # One expansion for a bias, one for all factors.
    total += sum(norm.logpdf(hyper.expansion[:2]).sum() for hyper in state.hyper)
    if problem.days is not None:
        omega = state.moods.variance
        total += norm.logpdf(state.moods.each, scale=np.sqrt(omega)).sum()
        total += invgamma.logpdf(omega, MOOD_SHAPE, scale=MOOD_RATE)
    return total


@pytest.mark.parametrize("days", [True, False])
@pytest.mark.parametrize("biases", [True, False])
def test_a_stretch_is_accepted_by_the_ratio_of_joint_densities(days, biases, rng):
    grades = Grades(np.arange(4.0), rng.integers(4, size=len(TABLE.user)), TABLE.user, TABLE.item, np.dtype(float))
    problem = PROBLEM._replace(grades=grades, biases=biases, days=PROBLEM.days if days else None)
    state = from_prior(rng, tau=1.0)._replace(cuts=Cuts(np.zeros(len(TABLE.user)), np.array([-1.0, 0.3, 0.9])))
    users, items = (0.3 * x / np.abs(x).max() for x in state.coordinates)
    if not biases:
        users[:, 0] = items[:, 0] = 0.0
    state = state._replace(coordinates=(users, items))
    eta = problem.fitted(state) + problem.moods(state)
    step = 1.3
    moved, stretched = stretch(problem, state, eta, Told(step, -700.0))
    c = moved.cuts.thresholds[0] / state.cuts.thresholds[0]
    assert np.allclose(problem.fitted(moved) + problem.moods(moved), stretched)
    assert np.allclose(stretched, c * eta)
    # Volume: every number that is multiplied by c counts once, a variance twice.
    count = 3 + (3 if biases else 1)
    count += len(state.moods.each) + 2 if days else 0
    gain = log_joint(problem, moved, stretched) - log_joint(problem, state, eta) + count * np.log(c)
    assert stretch(problem, state, eta, Told(step, gain - 1e-6))[0] is not state
    assert stretch(problem, state, eta, Told(step, gain + 1e-6))[0] is state
