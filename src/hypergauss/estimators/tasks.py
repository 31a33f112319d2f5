"""What is learned, and how: the steps that all models have in common, and a Gaussian model of measurements.

A task knows the data and how to learn. Given a kernel it learns the hyperparameters, and conditions on the data. A
Gaussian model is learned by its evidence; latent functions (`latent_task`) differ in their model, in what is maximised,
and in what a posterior is.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Generic, NamedTuple, Self

import numpy as np

from hypergauss import parameters
from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior
from hypergauss.kernels import Kernel
from hypergauss.learning.objective import Objective
from hypergauss.learning.priors import LogNormal, match_priors, with_defaults
from hypergauss.learning.search import Learned, maximise
from hypergauss.parameters import Model
from hypergauss.solvers.base import GaussianModel, Posterior, Solver
from hypergauss.solvers.choose import Choice, solver_for
from hypergauss.solvers.markov.outlook import by_outlook
from hypergauss.solvers.projection import Inducing, InducingVertices, SpectralFeatures
from hypergauss.solvers.sites import NaturalSites, Observations


class How(NamedTuple):
    """How to learn, whatever is learned: the settings that both estimators have.

    Attributes
    ----------
    solver, inducing
        How systems are solved; ``inducing`` holds leading eigenvectors, inducing vertices by index, or None.
    priors : dict of name to LogNormal
        On hyperparameters, as the user has them.
    default_priors : dict of name to LogNormal
        For those that the user does not name.
    averages : bool
        Whether posteriors are averaged over hyperparameters.
    n_starts, max_iterations : int
        Starts that learning follows, and iterations of each; 0 iterations keep the hyperparameters.
    seed : int
        For whatever is random.
    report : callable or None
        Called with a line of text as learning goes on.
    """

    solver: Choice
    inducing: SpectralFeatures | np.ndarray | None
    priors: Mapping[str, LogNormal]
    default_priors: Mapping[str, LogNormal]
    averages: bool
    n_starts: int
    max_iterations: int
    seed: int
    report: Callable[[str], None] | None


class Attempt(NamedTuple):
    """Hyperparameters learned with one kernel, and the solver that was prepared for it."""

    learned: Learned
    solver: Solver

    @property
    def objective(self) -> float:
        """What was reached, log priors included."""
        return self.learned.objective


class Task(ABC, Generic[Model]):
    """Data, a model for any kernel, and how to learn it."""

    #: The gain of an iteration, in nats, that ends learning at an exponent of a profile; the chosen one is learned out.
    coarse_gain: ClassVar[float]
    #: The same for the default model, whose hyperparameters are averaged over with their surroundings.
    fine_gain: ClassVar[float] = 1e-4
    #: The largest standard deviation of a direction, in logarithms of hyperparameters, around the mode that averages
    #: are taken around: an approximate evidence is trusted less far from it than the priors reach.
    widest: float = 2.0
    #: Whether a posterior needs nothing that an evaluation of the objective would find, such as sites.
    conditions_at_once: ClassVar[bool] = False

    def __init__(self, rows: np.ndarray, how: How) -> None:
        self.rows, self.how = rows, how
        #: Whether these are some of the observations only, whose choice matters more than the last digits of the mode.
        self.is_part = False
        #: Whether hyperparameters are drawn by chains around their mode, the function integrated out.
        self.draws = False

    def exactly(self) -> Self:
        """Return the same task, solved exactly."""
        other = copy.copy(self)
        other.how = self.how._replace(solver="auto")
        return other

    @abstractmethod
    def model(self, kernel: Kernel) -> Model:
        """Return the model at the values to start from."""

    @abstractmethod
    def objective(self, solver: Solver, model: Model, state: NaturalSites | None) -> Objective[Model]:
        """Return what is maximised, from where a previous kernel left off if there is a state."""

    def reported(self, model: Model) -> Model:
        """Return a learned model in the units of the data."""
        return model

    @abstractmethod
    def posterior(self, attempt: Attempt) -> Posterior | GaussianLatents | SampledLatents:
        """Return what was learned given the data, in their units."""

    @abstractmethod
    def mixed(self, attempt: Attempt, points: Sequence[tuple[float, Attempt]]) -> MixedPosterior | MixedLatents:
        """Return the posteriors at some hyperparameters, averaged by their weights; an attempt is at the mode."""

    def fields(self, kernels: Sequence[Kernel]) -> list[Model]:
        """Return models of Markov fields that differ in nu where they begin, the first to be learned first."""
        return [self.model(kernel) for kernel in kernels]

    def check_priors(self, kernel: Kernel) -> None:
        """Refuse priors on what is not learned with a kernel."""
        match_priors(self.model(kernel), self.how.priors)

    def priors_for(self, model: Model) -> dict[str, LogNormal]:
        """Return the priors of a model's hyperparameters: the user's, and the defaults where there is none of those.

        A stiff filter holds hyperparameters that have a prior once they are free.
        """
        names = {name for slot in parameters.slots(model) for name in (slot.name, slot.name.rsplit(".", 1)[-1])}
        own = {name: prior for name, prior in self.how.priors.items() if name in names}
        return with_defaults(model, own, self.how.default_priors)

    def part(self, size: int) -> Self:
        """Return the same task on so many of the observations, chosen at random but always the same."""
        other = self.restricted_to(size)
        other.is_part = True
        return other

    @abstractmethod
    def restricted_to(self, size: int) -> Self:
        """Return the same task on so many of the observations."""

    def carried_over(self, attempt: Attempt) -> Attempt:
        """Return an attempt on a part of the observations as one on these: what was learned is kept."""
        kernel = attempt.learned.model.kernel
        solver = self.solver(kernel)
        return Attempt(attempt.learned._replace(state=None), solver)

    def inducing(self, kernel: Kernel) -> Inducing | None:
        """Return the inducing variables of a kernel, if there are to be some."""
        given = self.how.inducing
        return InducingVertices.of(kernel, given) if isinstance(given, np.ndarray) else given

    def solver(self, kernel: Kernel) -> Solver:
        """Return what solves systems of a kernel at the observed vertices."""
        return solver_for(kernel, self.rows, self.how.solver, self.inducing(kernel))

    @property
    def learns(self) -> bool:
        """Whether hyperparameters are to be learned."""
        return self.how.max_iterations > 0

    def averages(self, attempt: Attempt) -> bool:
        """Return whether there is something to average over: hyperparameters that were learned by exact values."""
        return self.how.averages and self.how.max_iterations > 0 and not attempt.solver.is_estimated

    def learn(
        self,
        kernel: Kernel,
        previous: Attempt | None = None,
        *,
        start: Model | None = None,
        coarsely: bool = False,
        worthless_below: float = -np.inf,
    ) -> Attempt:
        """Learn the hyperparameters with a kernel, from those of a previous attempt if there is one.

        Parameters
        ----------
        start : GaussianModel or LatentModel, optional
            At the hyperparameters to begin with; a previous attempt then leaves its state only.
        coarsely : bool
            Whether what is found is only a place to start from, or one to pass over.
        worthless_below : float
            A search that cannot be expected to reach this is given up.
        """
        model = self.model(kernel) if start is None else start
        solver = self.solver(kernel)
        state = None
        if previous is not None:
            model = parameters.transferred(model, previous.learned.model) if start is None else start
            state = previous.learned.state
        if self.how.max_iterations == 0 and solver.is_estimated and self.conditions_at_once:
            return Attempt(unlearned(model, "nothing to learn"), solver)
        learned = maximise(
            self.objective(solver, model, state),
            model,
            priors=self.priors_for(model),
            n_starts=1 if previous is not None or solver.is_estimated else self.how.n_starts,
            max_iterations=self.how.max_iterations,
            # An estimate knows what gain it can tell from its own error.
            tolerance=None if solver.is_estimated else self._tolerance(coarsely),
            worthless_below=worthless_below,
            seed=self.how.seed,
            report=self.how.report,
        )
        return Attempt(learned, solver)

    def _tolerance(self, coarsely: bool) -> float | None:
        """Return the gain of an iteration, for each observation, that ends learning; None for the objective's own."""
        if coarsely or self.is_part:
            return self.coarse_gain / len(self.rows)
        return self.fine_gain / len(self.rows) if self.how.default_priors else None


class GaussianTask(Task[GaussianModel]):
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
    widest: float = 3.0  # of the widest default priors, which is what is left where data say nothing
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
        #: The log Jacobian of what took the target to the scale that it is measured on here.
        self.log_slope = 0.0
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

    def objective(self, solver: Solver, model: GaussianModel, state: NaturalSites | None) -> Objective[GaussianModel]:  # noqa: D102, ARG002
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


def chosen_part(kinds: np.ndarray, size: int) -> np.ndarray:
    """Return which observations to learn from: a random choice, the same each time, of each kind one at least.

    Each kind's members are shuffled and spread evenly over [0, 1): the first of all kinds come first.
    """
    shuffled = np.random.default_rng(0).permutation(len(kinds))
    _, group, counts = np.unique(kinds[shuffled], return_inverse=True, return_counts=True)
    turn = np.empty(len(kinds))
    for kind, count in enumerate(counts):
        turn[group == kind] = np.arange(count) / count
    return np.sort(shuffled[np.argsort(turn, kind="stable")[:size]])


def has_level(kernel: Kernel) -> bool:
    """Return whether a level with a prior of its own is part of a kernel, or of a term of it."""
    return bool(kernel.level_variance > 0)


def unlearned(model: Model, message: str) -> Learned[Model]:
    """Return an outcome of which nothing is known but the model."""
    return Learned(model, np.nan, np.nan, np.array([np.nan]), converged=True, message=message, n_evaluations=0)
