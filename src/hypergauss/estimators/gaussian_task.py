"""A Gaussian model of measurements is learned by its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from hypergauss.estimators.parts import chosen_part
from hypergauss.estimators.tasks import Attempt, How, Task, has_level
from hypergauss.inference.mixtures import MixedPosterior
from hypergauss.kernels import Kernel
from hypergauss.learning.priors import match_priors
from hypergauss.learning.search import Objective
from hypergauss.solvers.base import GaussianModel, Posterior, Solver
from hypergauss.solvers.markov.outlook import by_outlook
from hypergauss.solvers.sites import Observations


class GaussianTask(Task):
    """Measurements with normal noise, learned as (y - centre) / scale.

    Parameters
    ----------
    measured : Observations
        In their own units.
    centre, scale : array of shape (L,), and float
        What takes them to those that learning works in.
    noise_variance : float
        To start from, in the latter.
    how : How
        Settings.
    draws : bool
        Whether hyperparameters are drawn.
    """

    coarse_gain: ClassVar[float] = 1e-3
    conditions_at_once: ClassVar[bool] = True

    def __init__(
        self,
        measured: Observations,
        centre: np.ndarray,
        scale: float,
        *,
        noise_variance: float,
        how: How,
        draws: bool = False,
    ) -> None:
        super().__init__(measured.rows, how)
        self.draws = draws
        self.measured, self.centre, self.scale = measured, centre, scale
        self.scaled, self.noise_variance = measured.rescaled(centre, scale), noise_variance

    def fields(self, kernels: Sequence[Kernel]) -> list[GaussianModel]:
        """Return models where the spectral measure of the measurements puts them, the most promising first."""
        models = [self.model(kernel) for kernel in kernels]
        if not self.learns:
            return models
        return by_outlook(models, self.scaled, [match_priors(model, self.priors_for(model)) for model in models])

    def restricted_to(self, size: int) -> Self:  # noqa: D102
        measured = self.measured.part(chosen_part(np.zeros(len(self.rows)), size))
        return type(self)(measured, self.centre, self.scale, noise_variance=self.noise_variance, how=self.how)

    def model(self, kernel: Kernel) -> GaussianModel:  # noqa: D102
        fixed = ("noise_variance",) if self.measured.known_variance is not None else ()
        fixed = (*fixed, "mean") if has_level(kernel) else fixed
        return GaussianModel(kernel, self.noise_variance, np.zeros(len(self.centre)), fixed)

    def objective(self, solver: Solver, model: GaussianModel, state: Any) -> Objective:  # noqa: D102, ARG002
        return solver.objective(self.scaled)

    def reported(self, model: GaussianModel) -> GaussianModel:  # noqa: D102
        return model.rescaled(self.centre, self.scale)

    def posterior(self, attempt: Attempt) -> Posterior:  # noqa: D102
        model = self.reported(attempt.learned.model)
        posterior = attempt.solver.posterior(model.prior(), self.measured.sites(model.noise_variance))
        if posterior.is_by_products:
            posterior.mean(self.rows[:1])  # solved for once, and kept: if it cannot be, that is said here
        return posterior

    def mixed(self, attempt: Attempt, points: Sequence[tuple[float, Attempt]]) -> MixedPosterior:  # noqa: D102
        components = tuple(self.posterior(point) for _, point in points)
        weights = np.array([weight for weight, _ in points])
        return MixedPosterior(components, weights, self.posterior(attempt).log_evidence)
