r"""Labels as zeros and ones on a Markov field: hyperparameters by labels that are held out, in folds.

As `one_hot`, whose targets and density these are, but for what is held out: some labels together (`folds`), since one
at a time is out of reach of products. Classes have one matrix, so that an evaluation solves for all of them at once,
2 C columns a fold with its slopes, however many labels there are; nothing is drawn and nothing estimated.

A vertex that no label reaches has the probabilities softmax(mean / T), which should be the shares p of the classes:

    mean_c = T (log p_c - average of log p),

from where learning starts. Held-out labels alone say little of it, as few of them are out of reach of all others.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from hypergauss import parameters
from hypergauss.inference.calibration import best_temperature
from hypergauss.inference.folds import folds_of
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.one_hot import held_out_density, targets_of
from hypergauss.learning.objective import Objective
from hypergauss.solvers.markov import MarkovSolver
from hypergauss.solvers.markov.solver import JointSolver
from hypergauss.solvers.sites import NaturalSites

#: The gain of an iteration, in nats, that ends learning: the folds' choice is worth more.
_LEAST_GAIN = 0.3
#: How closely held-out labels tell the logarithm of what a part of several has.
_TOLD = 0.25


class OneHotByProducts(Objective[LatentModel]):
    """The log density of labels held out in folds, at their best temperature, as a function of the hyperparameters.

    Parameters
    ----------
    solver : MarkovSolver or JointSolver
        At the labelled vertices.
    y : array, shape (n,)
        Classes by number.
    num_classes : int
        C.
    """

    def __init__(self, solver: MarkovSolver | JointSolver, y: np.ndarray, num_classes: int) -> None:
        self.codes = np.asarray(y).astype(int)
        targets = targets_of(y, num_classes)
        self.sites = NaturalSites(targets, np.ones_like(targets))
        self.folds = folds_of(solver.workspace, solver.rows, self.codes, targets)
        self.told = self.codes[self.folds.places]
        self._has_parts = isinstance(solver, JointSolver)

    @property
    def num_observations(self) -> int:  # noqa: D102
        return len(self.told)

    @property
    def least_gain(self) -> float:  # noqa: D102
        return _LEAST_GAIN / self.num_observations

    def widths(self, model: LatentModel) -> float:  # noqa: ARG002
        """Return 1 for one field, which begins near its top, and for several parts what makes a first step Newton's.

        The loss is for each label, of a curvature of about 1 / (h told^2).
        """
        return _TOLD * float(np.sqrt(self.num_observations)) if self._has_parts else 1.0

    @property
    def state(self) -> NaturalSites:
        """The sites, which are known."""
        return self.sites

    def settle(self, model: LatentModel) -> tuple[NaturalSites, float]:  # noqa: ARG002
        """Return the sites at a model, the same at all, and for the objective NaN: conditioning does not need it."""
        return self.sites, float("nan")

    def with_shares(self, model: LatentModel) -> LatentModel:
        """Return a model with the means that stand for the shares of the classes, at its best temperature."""
        held_out = softmax(self.folds.means(model.kernel, model.mean), axis=1)
        logs = np.log(np.bincount(self.codes, minlength=len(model.mean)))
        mean = best_temperature(held_out, self.told) * (logs - logs.mean())
        return parameters.with_value(model, ("mean",), mean)

    def value(self, model: LatentModel) -> float:  # noqa: D102
        return held_out_density(self.folds.means(model.kernel, model.mean), self.told)[0]

    def value_and_gradient(self, model: LatentModel) -> tuple[float, np.ndarray]:  # noqa: D102
        value, slopes = held_out_density(self.folds.means(model.kernel, model.mean), self.told)
        in_kernel, in_mean = self.folds.pull_back(model.kernel, slopes)
        return value, parameters.gather(model, {"kernel": in_kernel, "mean": in_mean})
