"""What is learned: a Gaussian model of measurements, or latent functions seen through a likelihood.

A task knows the data and how to learn. Given a kernel it learns the hyperparameters, and conditions on the data: the
same steps for both, which differ in their model, in what is maximised, and in what a posterior is.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.inducing import InducingFor
from hypergauss.estimators.parts import chosen_part
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.dirichlet import DirichletObjective, check_softmax
from hypergauss.inference.laplace import LaplaceObjective, check_mode
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.inference.mcmc.sampling import sample_posterior
from hypergauss.inference.mini_batches import learn_in_batches
from hypergauss.inference.mixtures import MixedLatents, MixedPosterior
from hypergauss.inference.one_hot import OneHotLatents, OneHotObjective
from hypergauss.inference.propagation import PropagationObjective
from hypergauss.inference.site_objective import SiteObjective
from hypergauss.inference.variational import VariationalObjective
from hypergauss.inference.variational_by_products import IterativeVariational, MarkovVariational
from hypergauss.kernels import Kernel, Standardised, Sum
from hypergauss.learning.priors import LogNormal, match_priors, with_defaults
from hypergauss.learning.search import Learned, Objective, maximise
from hypergauss.likelihoods import Likelihood, MultinomialProbit
from hypergauss.solvers.base import ExactSolver, GaussianModel, Posterior, Solver
from hypergauss.solvers.choose import Choice, solver_for
from hypergauss.solvers.iterative.solver import IterativeSolver
from hypergauss.solvers.markov.outlook import by_outlook
from hypergauss.solvers.markov.solver import MarkovSolver
from hypergauss.solvers.sites import Observations

INFERENCES = ("ep", "variational", "laplace", "dirichlet", "one-hot", "mcmc")
_OBJECTIVES: dict[str, type[SiteObjective]] = {
    "ep": PropagationObjective,
    "variational": VariationalObjective,
    "laplace": LaplaceObjective,
    "dirichlet": DirichletObjective,
    "one-hot": OneHotObjective,
}


class How(NamedTuple):
    """How to learn, whatever is learned: the settings that both estimators have.

    Attributes
    ----------
    solver, inducing
        How systems are solved; ``inducing`` gives the inducing variables for a kernel, or None.
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
    inducing: InducingFor
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


class Task(ABC):
    """Data, a model for any kernel, and how to learn it."""

    #: The gain of an iteration, in nats, that ends learning at an exponent of a profile; the chosen one is learned out.
    coarse_gain: ClassVar[float]
    #: The same for the default model, whose hyperparameters are averaged over with their surroundings.
    fine_gain: ClassVar[float] = 1e-4
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
    def model(self, kernel: Kernel) -> Any:
        """Return the model at the values to start from."""

    @abstractmethod
    def objective(self, solver: Solver, model: Any, state: Any) -> Objective:
        """Return what is maximised, from where a previous kernel left off if there is a state."""

    def reported(self, model: Any) -> Any:
        """Return a learned model in the units of the data."""
        return model

    @abstractmethod
    def posterior(self, attempt: Attempt) -> Any:
        """Return what was learned given the data, in their units."""

    @abstractmethod
    def mixed(self, attempt: Attempt, points: Sequence[tuple[float, Attempt]]) -> Any:
        """Return the posteriors at some hyperparameters, averaged by their weights; an attempt is at the mode."""

    def fields(self, kernels: Sequence[Kernel]) -> list[Any]:
        """Return models of Markov fields that differ in nu where they begin, the first to be learned first."""
        return [self.model(kernel) for kernel in kernels]

    def check_priors(self, kernel: Kernel) -> None:
        """Refuse priors on what is not learned with a kernel."""
        match_priors(self.model(kernel), self.how.priors)

    def priors_for(self, model: Any) -> dict[str, LogNormal]:
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
        solver = solver_for(kernel, self.rows, self.how.solver, self.how.inducing(kernel))
        return Attempt(attempt.learned._replace(state=None), solver)

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
        start: Any = None,
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
        solver = solver_for(kernel, self.rows, self.how.solver, self.how.inducing(kernel))
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


class LatentTask(Task):
    """Observations through a likelihood, each vertex once.

    Parameters
    ----------
    likelihood : Likelihood
        At the values to start from.
    rows, y : arrays, shape (n,)
        Observed vertices by index, and what was observed.
    inference : {"ep", "variational", "laplace", "dirichlet", "one-hot", "mcmc"}
        How the posterior is found; "mcmc" learns nothing beforehand.
    batch_size : int or None
        Learn in mini-batches of this size, by ``max_iterations`` passes over the data.
    how : How
        Settings.
    """

    coarse_gain: ClassVar[float] = 3e-3  # each evaluation moves all sites
    fine_gain: ClassVar[float] = 1e-3

    def __init__(
        self,
        likelihood: Likelihood,
        rows: np.ndarray,
        y: np.ndarray,
        *,
        inference: str,
        batch_size: int | None,
        how: How,
    ) -> None:
        super().__init__(rows, how)
        self.likelihood, self.y = likelihood, np.asarray(y, dtype=np.float64)
        self.inference, self.batch_size = inference, batch_size
        if inference == "laplace":
            check_mode(likelihood)
        if inference in ("dirichlet", "one-hot"):
            check_softmax(likelihood, inference)

    def restricted_to(self, size: int) -> Self:
        """Return the task on so many labels: of each class in proportion, and at least one."""
        chosen = chosen_part(self.y, size)
        return type(self)(
            self.likelihood,
            self.rows[chosen],
            self.y[chosen],
            inference=self.inference,
            batch_size=self.batch_size,
            how=self.how,
        )

    def carried_over(self, attempt: Attempt) -> Attempt:
        """Return an attempt on a part of the labels as one on these, with the sites that these settle at."""
        learned, solver = super().carried_over(attempt)
        found = self.objective(solver, learned.model, None).settle(learned.model)  # type: ignore[attr-defined]
        return Attempt(learned._replace(state=found.sites, log_evidence=found.value), solver)

    def model(self, kernel: Kernel) -> LatentModel:  # noqa: D102
        # A constant mean would compete with a likelihood's own level, and with a kernel's.
        fixed = ("mean",) if self.likelihood.sets_level or has_level(kernel) else ()
        return LatentModel(kernel, self.likelihood, np.zeros(self.likelihood.num_latents), fixed)

    def objective(self, solver: Solver, model: LatentModel, state: Any) -> Objective:
        """Return the bound or Laplace's evidence; sites belong to vertices, so a kernel starts from the last one's."""
        if isinstance(solver, ExactSolver):
            return self._kind()(solver, self.y, self.likelihood.num_latents, state)
        if self.inference != "variational":
            raise ValueError(
                f"The {solver.name} solver finds posteriors by `inference='variational'`. Got {self.inference!r}. "
                "Leave `inference` out, or use `rank` or `inducing` with another solver."
            )
        if isinstance(solver, MarkovSolver):
            return MarkovVariational(solver, model, self.y, state)
        return IterativeVariational(cast(IterativeSolver, solver), model, self.y, state)

    def learn(self, kernel: Kernel, previous: Attempt | None = None, **options: Any) -> Attempt:  # noqa: D102
        if self.inference == "mcmc":
            solver = solver_for(kernel, self.rows, "dense")
            return Attempt(unlearned(self.model(kernel), "sampled"), solver)
        if self.batch_size is not None:
            return self._learn_in_batches(kernel, self.batch_size)
        return super().learn(kernel, previous, **options)

    def posterior(self, attempt: Attempt) -> GaussianLatents | SampledLatents:  # noqa: D102
        learned, solver, how = attempt.learned, attempt.solver, self.how
        model = learned.model
        if self.inference == "mcmc":
            return SampledLatents(
                sample_posterior(model, self.rows, self.y, priors=how.priors, seed=how.seed, report=how.report)
            )
        if self.batch_size is not None:
            return GaussianLatents.of(model, learned.state, solver)
        objective = self.objective(solver, model, learned.state)
        if isinstance(objective, SiteObjective):
            objective.tolerance = objective.tight
        # The best sites so far may be those of other hyperparameters, which learning did not end with.
        return self.conditioned(model, objective.settle(model)[0], solver, objective)  # type: ignore[attr-defined]

    def _kind(self) -> type[SiteObjective]:
        is_coupled = kind_of(self.likelihood, self.inference) == "coupled"
        return CoupledPropagation if is_coupled else _OBJECTIVES[self.inference]

    def conditioned(
        self, model: LatentModel, sites: Any, solver: Solver, objective: Objective | None = None
    ) -> GaussianLatents:
        """Return the latents given the sites that an objective ended with, which may know more of them."""
        objective = self.objective(solver, model, sites) if objective is None else objective
        if isinstance(objective, CoupledPropagation):
            separate, coupling = objective.separate(model, sites)
            return GaussianLatents.of(model, separate, solver, coupling)
        kind = OneHotLatents if self.inference == "one-hot" else GaussianLatents
        return kind.of(model, sites, solver)

    def mixed(self, attempt: Attempt, points: Sequence[tuple[float, Attempt]]) -> MixedLatents:  # noqa: D102, ARG002
        found = (self.conditioned(point.learned.model, point.learned.state, point.solver) for _, point in points)
        return MixedLatents(tuple(found), np.array([weight for weight, _ in points]))

    def averages(self, attempt: Attempt) -> bool:  # noqa: D102
        # The density of held-out labels is no evidence to weigh hyperparameters by.
        weighs = self.inference not in ("mcmc", "one-hot") and self.batch_size is None
        return weighs and super().averages(attempt)

    def _learn_in_batches(self, kernel: Kernel, batch_size: int) -> Attempt:
        model, inducing = self.model(kernel), self.how.inducing(kernel)
        assert inducing is not None, "mini-batches go with inducing variables"
        passes = self.how.max_iterations
        found = learn_in_batches(
            model,
            self.rows,
            self.y,
            inducing,
            batch_size=batch_size,
            n_passes=passes,
            priors=match_priors(model, self.how.priors),
            seed=self.how.seed,
            report=self.how.report,
        )
        learned = unlearned(found.model, f"{passes} passes")._replace(
            log_evidence=found.elbo,
            objective=float(found.trace[-1]),
            trace=found.trace,
            n_evaluations=passes,
            state=found.sites,
        )
        return Attempt(learned, solver_for(kernel, self.rows, inducing=inducing))


def resolved(inference: str, likelihood: Likelihood, *, is_variational: bool) -> str:
    """Return how to infer where that is left to us: by expectation propagation, if likelihood and solver have it."""
    if inference != "auto":
        return inference
    return "ep" if likelihood.can_propagate and not is_variational else "variational"


def kind_of(likelihood: Likelihood, inference: str) -> str:
    """Return what an evaluation of the objective does, as `Work` names it."""
    if inference in ("dirichlet", "one-hot"):
        return "known" if inference == "dirichlet" else "one-hot"
    if inference != "ep":
        return "variational"
    return "coupled" if isinstance(likelihood, MultinomialProbit) else "sites"


def has_level(kernel: Kernel) -> bool:
    """Return whether a level with a prior of its own is part of a kernel, or of a term of it."""
    if isinstance(kernel, Sum):
        return any(has_level(term) for term in kernel.terms)
    return isinstance(kernel, Standardised) and kernel.level > 0


def unlearned(model: Any, message: str) -> Learned:
    """Return an outcome of which nothing is known but the model."""
    return Learned(model, np.nan, np.nan, np.array([np.nan]), converged=True, message=message, n_evaluations=0)
