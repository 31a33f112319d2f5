"""LatentFit: learn a model of latent functions with one kernel after another, each from where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.inducing import InducingFor
from hypergauss.inference.variational_by_products import IterativeVariational
from hypergauss.solvers.choose import Solver, choose_solver, condition, iterative_options
from hypergauss.inference.mcmc.draws import Draws
from hypergauss.inference.laplace import LaplaceObjective
from hypergauss.inference.latent import TIGHT, GaussianLatents, LatentData, LatentModel, SiteObjective
from hypergauss.learning.search import Learned, maximise
from hypergauss.solvers.marginals import NaturalSites
from hypergauss.inference.mcmc.sampling import sample_posterior
from hypergauss.solvers.base import Prior
from hypergauss.learning.priors import LogNormal, match_priors
from hypergauss.solvers.sites import Sites
from hypergauss.inference.mini_batches import learn_in_batches
from hypergauss.inference.variational import VariationalObjective
from hypergauss.kernels import Kernel
from hypergauss.likelihoods import Likelihood

OBJECTIVES: dict[str, type[SiteObjective]] = {"variational": VariationalObjective, "laplace": LaplaceObjective}
INFERENCES = (*OBJECTIVES, "mcmc")

#: Draws whose conditionals are averaged in predictions, of each chain.
_PREDICTIVE_DRAWS = 100


class SampledLatents(NamedTuple):
    """The latent functions by Markov chain Monte Carlo: a mixture of Gaussians, one for each draw."""

    draws: Draws

    @property
    def solver(self) -> str:
        """How covariances are factorised."""
        return "dense"

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class, shape (m, C), averaged over draws."""
        every = max(1, self.draws.latents.shape[1] // _PREDICTIVE_DRAWS)
        return self.draws.probabilities(rows, every=every)

    def sample(self, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return joint draws, shape (size, m, L): for draws of the chains, what their latents say elsewhere."""
        chains, kept = self.draws.latents.shape[:2]
        sampled = []
        for chain, draw in zip(rng.integers(chains, size=size), rng.integers(kept, size=size), strict=True):
            model = self.draws.model(chain, draw)
            noise = np.full(len(self.draws.rows), 1e-10 * float(model.kernel.diagonal(self.draws.rows).max()))
            latents = [
                condition(
                    Prior(model.kernel, np.asarray(model.mean[latent : latent + 1])),
                    Sites(self.draws.rows, self.draws.latents[chain, draw, :, latent : latent + 1], noise),
                    "dense",
                ).sample(rows, 1, rng)
                for latent in range(self.draws.latents.shape[3])
            ]
            sampled.append(np.concatenate(latents, axis=2))
        return np.concatenate(sampled)


class LatentFit:
    """What stays the same while kernels change: the data, the likelihood, and how to learn.

    Parameters
    ----------
    likelihood : Likelihood
        At the values to start from.
    rows, y : arrays, shape (n,)
        Observed vertices by index, and what was observed.
    inference : {"variational", "laplace", "mcmc"}
        How the posterior is found; "mcmc" learns nothing beforehand.
    solver, inducing
        How its systems are solved.
    batch_size : int, optional
        Learn in mini-batches of this size, by ``max_iterations`` passes over the data.
    priors, n_starts, max_iterations, seed, report
        As for `maximise`.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        rows: np.ndarray,
        y: np.ndarray,
        *,
        inference: str,
        solver: Solver,
        inducing: InducingFor,
        batch_size: int | None,
        priors: Mapping[str, LogNormal],
        n_starts: int,
        max_iterations: int,
        seed: int,
        report: Callable[[str], None] | None,
    ) -> None:
        self.likelihood, self.rows, self.y = likelihood, rows, y
        self.objective_of = OBJECTIVES.get(inference, VariationalObjective)
        self.is_sampled = inference == "mcmc"
        self.solver, self.inducing, self.batch_size = solver, inducing, batch_size
        self.n_starts = n_starts
        self.priors = priors
        self.options: dict[str, Any] = {"max_iterations": max_iterations, "seed": seed, "report": report}

    def learn(self, kernel: Kernel, previous: Learned | None) -> Learned:
        """Learn the hyperparameters with a kernel, from those of a previous outcome if there is one."""
        # A constant mean would compete with a likelihood's own level.
        fixed = ("mean",) if self.likelihood.sets_level else ()
        mean = parameters.as_array(np.zeros(self.likelihood.num_latents))
        model = LatentModel(kernel, self.likelihood, mean, fixed)
        if previous is not None:
            model = parameters.unpack(model, parameters.pack(previous.model))
        if self.batch_size is not None:
            return self._learn_in_batches(model, self.batch_size)
        # Sites belong to vertices, whatever the kernel: the next kernel starts from the last one's.
        objective = self._objective(model, None if previous is None else previous.state)
        n_starts = self.n_starts if previous is None and not isinstance(objective, IterativeVariational) else 1
        return maximise(objective, model, priors=self.priors, n_starts=n_starts, **self.options)

    def latents(self, learned: Learned) -> GaussianLatents | SampledLatents:
        """Return the latent functions' posterior under a learned model."""
        model = learned.model
        if self.is_sampled:
            return SampledLatents(
                sample_posterior(
                    model,
                    self.rows,
                    self.y,
                    priors=self.priors,
                    seed=self.options["seed"],
                    report=self.options["report"],
                )
            )
        inducing = self.inducing(model.kernel)
        if self.batch_size is not None:
            return GaussianLatents.of(model, self.rows, learned.state, self.solver, inducing=inducing)
        objective = self._objective(model, learned.state)
        if isinstance(objective, IterativeVariational):
            # The best sites so far may be those of other hyperparameters, which learning did not end with.
            sites, _ = objective.settle(model)
            return GaussianLatents.of(model, self.rows, sites, self.solver, workspace=objective.workspace)
        objective.tolerance = TIGHT
        # The function that learning has compiled also finds the sites.
        evaluate = objective.value_and_gradient if self.options["max_iterations"] else objective.value
        evaluate(parameters.pack(model), match_priors(model, self.priors))
        return GaussianLatents.of(model, self.rows, objective.sites, self.solver, inducing=inducing)

    def _learn_in_batches(self, model: LatentModel, batch_size: int) -> Learned:
        inducing = self.inducing(model.kernel)
        assert inducing is not None, "mini-batches go with inducing variables"
        passes = self.options["max_iterations"]
        found = learn_in_batches(
            model,
            self.rows,
            self.y,
            inducing,
            batch_size=batch_size,
            n_passes=passes,
            priors=match_priors(model, self.priors),
            seed=self.options["seed"],
            report=self.options["report"],
        )
        return Learned(
            model=found.model,
            log_evidence=found.elbo,
            objective=found.trace[-1],
            trace=found.trace,
            converged=True,
            message=f"{passes} passes",
            n_evaluations=passes,
            state=found.sites,
        )

    def _objective(self, model: LatentModel, start: NaturalSites | None) -> SiteObjective | IterativeVariational:
        inducing = self.inducing(model.kernel)
        if inducing is None and choose_solver(model.kernel, len(self.rows), self.solver) == "iterative":
            if self.objective_of is not VariationalObjective:
                raise ValueError(
                    "The iterative solver finds posteriors by `inference='variational'`. Got another way. Leave "
                    "`inference` out, or use `rank` or `inducing` with another solver."
                )
            options = iterative_options(self.solver)
            return IterativeVariational(model, self.rows, self.y, options, start)
        data = LatentData.of(model.kernel, self.rows, self.y, solver=self.solver, inducing=inducing)
        return self.objective_of(model, data, start)
