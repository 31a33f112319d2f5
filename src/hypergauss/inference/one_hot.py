r"""Labels as zeros and ones, regressed together: hyperparameters by labels that are held out, each from all others.

With t_ic = s ([c = y_i] - 1 / C) measured as f_c with noise of variance 1, one matrix serves all classes. From
A = K + I, a_c = A^-1 (t_c - mean_c) and d the diagonal of A^-1, a label is predicted by all others as

    m_ic = t_ic - a_ic / d_i        (Sundararajan and Keerthi, 2001),

exactly as if the model had been conditioned without it. Probabilities are softmax(m / T), and what is maximised is

    L = max over T of  sum over i of log softmax(m_i / T)_{y_i} - (log T)^2 / (2 spread^2)    (`inference.calibration`).

Zeros and ones are no measurements with normal noise, and their evidence as such is high where noise vanishes and labels
are learned by heart; held-out labels are asked what will be asked of the model. The variance of a regression does not
depend on the labels, and so says nothing of how surely they are told apart: predictions are softmax of the means.

With G the slopes of L in m, zero in T at the best one, g_c = -G_c / d and h = sum over c of G_c o a_c / d^2 are those
in a and d, and as dA^-1 = -A^-1 dK A^-1, those in K are

    -( sum over c of (A^-1 g_c) a_c' + A^-1 diag(h) A^-1 ).

s = 4: at T = 1 a label is taken to be right 98 times in 100 of two classes. It sets the unit of latents and T alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from hypergauss import parameters
from hypergauss.inference.calibration import best_temperature, log_prior_of_temperature
from hypergauss.inference.folds import folds_of
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.inference.site_objective import Settled, SiteObjective
from hypergauss.solvers.base import ExactSolver, Marginals
from hypergauss.solvers.cholesky import cholesky, inverse_of_factor
from hypergauss.solvers.markov.joint_posterior import JointPosterior
from hypergauss.solvers.markov.posterior import MarkovPosterior
from hypergauss.solvers.sites import NaturalSites

#: s.
SIZE = 4.0


class OneHotLatents(GaussianLatents):
    """One latent function a class from a regression of zeros and ones; probabilities are a softmax of their means."""

    __slots__ = ()

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class at vertices given by index, shape (m, C)."""
        return _softmax(np.hstack([posterior.mean(rows) for posterior in self.posteriors]))

    def left_out_probabilities(self) -> np.ndarray:
        """Return the same at each labelled vertex from other labels: all, t - a / d with d the same for all classes.

        By products those of other folds, and of labels in folds that are not held out NaN.
        """
        first = self.posteriors[0]
        if isinstance(first, MarkovPosterior | JointPosterior):
            targets = np.hstack([each.sites.mean for each in self.posteriors])
            mean = np.concatenate([each.prior.mean for each in self.posteriors])
            folds = folds_of(first.workspace, first.sites.rows, targets.argmax(axis=1), targets)
            found = np.full_like(targets, np.nan)
            found[folds.places] = _softmax(folds.means(first.prior.kernel, mean))
            return found
        variance = first.leave_one_out().variance[:, None]
        return _softmax(np.hstack([each.sites.mean - each.dual_weights() * variance for each in self.posteriors]))


class HeldOut(NamedTuple):
    """A^-1 (n, n), a (n, C), and the means of held-out labels, (n, C)."""

    inverse: np.ndarray
    alpha: np.ndarray
    mean: np.ndarray


class OneHotObjective(SiteObjective):
    """L as a function of the hyperparameters; sites stay where they are."""

    def __init__(self, solver: ExactSolver, y: np.ndarray, num_latents: int, start: NaturalSites | None = None) -> None:
        self.targets = targets_of(y, num_latents)
        super().__init__(
            solver, y, num_latents, NaturalSites(self.targets, np.ones_like(self.targets)) if start is None else start
        )
        self.codes = np.asarray(y).astype(int)
        self._latest: tuple[LatentModel | None, HeldOut | None] = (None, None)

    def settle(self, model: LatentModel) -> Settled:  # noqa: D102
        found = self._held_out(model)
        value = held_out_density(found.mean, self.codes)[0]
        # K^-1 + I has the inverse I - A^-1, and K a = t - a - mean.
        variance = np.repeat(1.0 - np.diagonal(found.inverse)[:, None], self.targets.shape[1], axis=1)
        return Settled(self.sites, Marginals(self.targets - found.alpha, variance, value), value)

    def gradient(self, model: LatentModel, found: Settled) -> np.ndarray:  # noqa: D102, ARG002
        inverse, alpha, mean = self._held_out(model)
        slopes, d = held_out_density(mean, self.codes)[1], np.diagonal(inverse)[:, None]
        in_alpha, in_d = -slopes / d, (slopes * alpha / d**2).sum(axis=1)
        solved = inverse @ in_alpha
        in_kernel = self.solver.pull_back_product(
            model.kernel, np.hstack([-solved, -inverse * in_d]), np.hstack([alpha, inverse])
        )
        return parameters.gather(model, {"kernel": in_kernel, "likelihood": np.zeros(0), "mean": -solved.sum(axis=0)})

    def _held_out(self, model: LatentModel) -> HeldOut:
        if self._latest[0] is not model or self._latest[1] is None:
            n = len(self.targets)
            A = self.solver.multiply(model.kernel, np.eye(n))
            A.flat[:: n + 1] += 1.0
            inverse = inverse_of_factor(cholesky(A))
            alpha = inverse @ (self.targets - model.mean)
            found = HeldOut(inverse, alpha, self.targets - alpha / np.diagonal(inverse)[:, None])
            self._latest = (model, found)
            return found
        return self._latest[1]


def targets_of(y: np.ndarray, num_classes: int) -> np.ndarray:
    """Return t of labels 0 to C - 1, shape (n, C)."""
    return SIZE * ((np.asarray(y)[:, None] == np.arange(num_classes)) - 1.0 / num_classes)


def held_out_density(mean: np.ndarray, codes: np.ndarray) -> tuple[float, np.ndarray]:
    """Return L of held-out means, shape (n, C), and its slopes in them."""
    temperature = best_temperature(_softmax(mean), codes)
    logs = log_softmax(mean / temperature, axis=1)
    own = np.arange(mean.shape[1]) == codes[:, None]
    value = float(logs[own].sum()) + log_prior_of_temperature(temperature)
    return value, (own - np.exp(logs)) / temperature


def _softmax(mean: np.ndarray) -> np.ndarray:
    return np.exp(log_softmax(mean, axis=1))
