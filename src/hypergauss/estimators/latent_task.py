"""Latent functions seen through a likelihood are learned by a bound, an approximate evidence, or held-out labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np

from hypergauss.estimators.tasks import Attempt, How, Task, chosen_part, has_level, unlearned
from hypergauss.inference.coupled_propagation import CoupledPropagation
from hypergauss.inference.dirichlet import DirichletObjective, check_softmax
from hypergauss.inference.laplace import LaplaceObjective, check_mode
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents, SampledLatents
from hypergauss.inference.mcmc.sampling import sample_posterior
from hypergauss.inference.mini_batches import learn_in_batches
from hypergauss.inference.mixtures import MixedLatents
from hypergauss.inference.one_hot import OneHotLatents, OneHotObjective
from hypergauss.inference.one_hot_by_products import OneHotByProducts
from hypergauss.inference.propagation import PropagationObjective
from hypergauss.inference.shares import has_free_shares, shares_of
from hypergauss.inference.site_objective import SiteObjective
from hypergauss.inference.variational import VariationalObjective
from hypergauss.inference.variational_by_products import IterativeVariational, MarkovVariational
from hypergauss.inference.variational_of_parts import JointVariational
from hypergauss.kernels import Kernel
from hypergauss.learning.objective import Objective
from hypergauss.learning.priors import match_priors
from hypergauss.likelihoods import Classification, Likelihood, MultinomialProbit, as_classification
from hypergauss.solvers.base import ExactSolver, Solver
from hypergauss.solvers.choose import solver_for
from hypergauss.solvers.iterative.solver import IterativeSolver
from hypergauss.solvers.markov.solver import JointSolver, MarkovSolver
from hypergauss.solvers.sites import NaturalSites

INFERENCES = ("ep", "variational", "laplace", "dirichlet", "one-hot", "mcmc")
#: Those that take labels as measurements.
MEASURED = ("dirichlet", "one-hot")
#: The largest standard deviation of a direction for labels, which say little of most hyperparameters: spread over all
#: that the priors leave open, probabilities are timid.
WIDEST_OF_CLASSES = 1.0
_OBJECTIVES: dict[str, type[SiteObjective]] = {
    "ep": PropagationObjective,
    "variational": VariationalObjective,
    "laplace": LaplaceObjective,
    "dirichlet": DirichletObjective,
    "one-hot": OneHotObjective,
}


class LatentTask(Task[LatentModel]):
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
        if isinstance(likelihood, Classification):
            self.widest = WIDEST_OF_CLASSES
        if inference == "laplace":
            check_mode(likelihood)
        if inference in MEASURED:
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

    def objective(self, solver: Solver, model: LatentModel, state: NaturalSites | None) -> Objective[LatentModel]:
        """Return the bound or Laplace's evidence; sites belong to vertices, so a kernel starts from the last one's."""
        if isinstance(solver, ExactSolver):
            return self._kind()(solver, self.y, self.likelihood.num_latents, state)
        if isinstance(solver, MarkovSolver | JointSolver) and self.inference == "one-hot":
            return OneHotByProducts(solver, self.y, self.likelihood.num_latents)
        if self.inference != "variational":
            raise ValueError(
                f"The {solver.name} solver finds posteriors by `inference='variational'`. Got {self.inference!r}. "
                "Leave `inference` out, or use `rank` or `inducing` with another solver."
            )
        if isinstance(solver, MarkovSolver):
            return MarkovVariational(solver, model, self.y, state)
        if isinstance(solver, JointSolver):
            return JointVariational(solver, model, self.y, state)
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
            return self._shared(GaussianLatents.of(model, learned.state, solver))
        objective = self.objective(solver, model, learned.state)
        if isinstance(objective, SiteObjective):
            objective.tolerance = objective.tight
        # The best sites so far may be those of other hyperparameters, which learning did not end with.
        return self.conditioned(model, objective.settle(model)[0], solver, objective)  # type: ignore[attr-defined]

    def _kind(self) -> type[SiteObjective]:
        is_coupled = kind_of(self.likelihood, self.inference) == "coupled"
        return CoupledPropagation if is_coupled else _OBJECTIVES[self.inference]

    def conditioned(
        self, model: LatentModel, sites: NaturalSites, solver: Solver, objective: Objective[LatentModel] | None = None
    ) -> GaussianLatents:
        """Return the latents given the sites that an objective ended with, which may know more of them."""
        objective = self.objective(solver, model, sites) if objective is None else objective
        if isinstance(objective, CoupledPropagation):
            separate, coupling = objective.separate(model, sites)
            return self._shared(GaussianLatents.of(model, separate, solver, coupling))
        kind = OneHotLatents if self.inference == "one-hot" else GaussianLatents
        return self._shared(kind.of(model, sites, solver))

    def _shared(self, latents: GaussianLatents) -> GaussianLatents:
        """Return latents whose vertices' own follows the classes' shares, where there is a level that they go by."""
        kernel, likelihood = latents.posteriors[0].prior.kernel, latents.likelihood
        if self.inference in MEASURED or not (has_free_shares(likelihood) and has_level(kernel)):
            return latents
        return latents.with_shares(shares_of(self.y, as_classification(likelihood).num_classes))

    def mixed(self, attempt: Attempt, points: Sequence[tuple[float, Attempt]]) -> MixedLatents:  # noqa: D102, ARG002
        found = (self.conditioned(point.learned.model, point.learned.state, point.solver) for _, point in points)
        weights, evidences = ([*each] for each in zip(*((w, p.learned.log_evidence) for w, p in points), strict=True))
        return MixedLatents(tuple(found), np.array(weights), np.array(evidences))

    def averages(self, attempt: Attempt) -> bool:  # noqa: D102
        # The density of held-out labels is no evidence to weigh hyperparameters by.
        weighs = self.inference not in ("mcmc", "one-hot") and self.batch_size is None
        return weighs and super().averages(attempt)

    def _learn_in_batches(self, kernel: Kernel, batch_size: int) -> Attempt:
        model, inducing = self.model(kernel), self.inducing(kernel)
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
    if inference in MEASURED:
        return "known" if inference == "dirichlet" else "one-hot"
    if inference != "ep":
        return "variational"
    return "coupled" if isinstance(likelihood, MultinomialProbit) else "sites"
