"""The path from a plan to a fitted model, one for all estimators: build, learn, average, condition."""

from __future__ import annotations

import warnings
from typing import Any, Generic, NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.averaging import Averaged, Neighbour, Point, average
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.drawing import draw
from hypergauss.estimators.fields import learn_field
from hypergauss.estimators.tasks import Attempt, Task
from hypergauss.estimators.uncertainty import HyperparameterPosterior, entry_names, prior_variance
from hypergauss.exceptions import ConvergenceError, LearningWarning
from hypergauss.inference.mcmc.evidence import HyperparameterDraws
from hypergauss.learning.search import Learned
from hypergauss.learning.size_exponent import Profile, log_prior, search
from hypergauss.parameters import Model
from hypergauss.solvers.choose import Plan
from hypergauss.solvers.threads import threads_for
from hypergauss.solvers.work import Work


class Fitted(NamedTuple, Generic[Model]):
    """A learned model, its posterior, and how it was found.

    Attributes
    ----------
    model : GaussianModel or LatentModel
        At the mode of its hyperparameters, in the units of the data.
    learned : Learned
        How they were learned, and what they reached.
    posterior : object
        As the task makes it.
    exponents : dict of name to float
        The size exponent of each hypergraph, at the mode.
    profiles : dict of name to Profile
        Of each exponent that was searched for.
    plan : Plan or None
        What was chosen to solve it, and what it was predicted to take; None with a given kernel.
    averaged : Averaged or None
        The hyperparameters that the posterior is averaged over.
    draws : HyperparameterDraws or None
        All of them, where they were drawn.
    uncertainty : HyperparameterPosterior or None
        How far from their estimates they may be, where that is known.
    """

    model: Model
    learned: Learned[Model]
    posterior: Any
    exponents: dict[str, float]
    profiles: dict[str, Profile[Attempt]]
    plan: Plan | None
    averaged: Averaged | None = None
    draws: HyperparameterDraws | None = None
    uncertainty: HyperparameterPosterior | None = None


def fit(blueprint: Blueprint, task: Task[Model]) -> Fitted[Model]:
    """Learn everything, the size exponents relation by relation, and condition on the data.

    Where conjugate gradients do not converge and an exact solver fits in memory, it takes their place with a warning.
    """
    if task.how.report is not None and blueprint.plan is not None:
        task.how.report(str(blueprint.plan))
    with threads_for(len(task.rows)):
        try:
            return _fit(blueprint, task)
        except ConvergenceError as error:
            exact = blueprint.exactly(Work(len(task.rows), averages=False))
            if exact is None or exact.plan is None:
                raise
            name = "Markov" if blueprint.is_markov else "iterative"
            warnings.warn(
                f"The {name} solver did not converge, and the model is fitted anew by an exact one, predicted to "
                f"take {exact.plan.chosen}. {error}",
                LearningWarning,
                stacklevel=3,
            )
            return _fit(exact, task.exactly())


def _fit(blueprint: Blueprint, task: Task[Model]) -> Fitted[Model]:
    """Learn from a part of the observations where all would take long; condition on all of them in any case."""
    size = blueprint.learning_size(len(task.rows))
    part = task if size == len(task.rows) else task.part(size)
    attempt, averaged, draws, exponents, profiles = _learn(blueprint, part)
    uncertainty = _uncertainty(part, attempt, averaged, draws)
    if part is not task:
        attempt = task.carried_over(attempt)
        if averaged is not None:
            points = [Point(point.weight, task.carried_over(point.attempt)) for point in averaged.points]
            averaged = averaged._replace(points=tuple(points))
    found = {name: a for name, a in exponents.items() if a is not None}
    posterior = task.posterior(attempt) if averaged is None else task.mixed(attempt, averaged.points)
    kept = {name: profile._replace(outcomes=()) for name, profile in profiles.items()}
    model = task.reported(attempt.learned.model)
    return Fitted(model, attempt.learned, posterior, found, kept, blueprint.plan, averaged, draws, uncertainty)


def _uncertainty(
    task: Task, attempt: Attempt, averaged: Averaged | None, draws: HyperparameterDraws | None
) -> HyperparameterPosterior | None:
    """Return how far hyperparameters may be from their mode, by its curvature or by draws."""
    model = attempt.learned.model
    if averaged is None or not len(averaged.curvature.centre):
        return None
    if draws is None:
        return HyperparameterPosterior.of_curvature(model, averaged.curvature, task.priors_for(model), task.reported)
    flat = draws.coordinates.reshape(-1, draws.coordinates.shape[-1])
    names = parameters.values(model)
    values = np.column_stack([draws.hyperparameters[name].reshape(len(flat), -1) for name in names])
    return HyperparameterPosterior.of_draws(
        entry_names(model), flat, values, prior_variance(model, task.priors_for(model))
    )


def _learn(
    blueprint: Blueprint, task: Task
) -> tuple[Attempt, Averaged | None, HyperparameterDraws | None, dict[str, float | None], dict[str, Profile[Attempt]]]:
    """Return the mode of the hyperparameters, what to average over, draws, the exponents there, and their profiles."""
    exponents, profiles = dict(blueprint.exponents), dict[str, Profile]()
    if blueprint.is_markov:
        kernels = blueprint.fields_at(exponents)
        task.check_priors(kernels[0])
        return learn_field(kernels, task), None, None, exponents, profiles
    attempt: Attempt | None = None
    stiff, kernel = blueprint.kernels_at(exponents)  # of one decomposition, which may be all that a fit takes
    task.check_priors(kernel)
    for name in blueprint.searched:
        profiles[name] = _profile(blueprint, task, exponents, name, attempt)
        exponents[name], attempt = profiles[name].size_exponent, profiles[name].best
    if profiles:
        kernel = blueprint.kernel_at(exponents)
    elif blueprint.is_shaped:
        attempt = task.learn(stiff, coarsely=True)
    # A profile is learned coarsely, with stiff filters; the model that it chose is learned out.
    attempt = task.learn(kernel, attempt)
    averaged = draws = None
    if task.draws:
        neighbours = _neighbours(blueprint, task, exponents, profiles, attempt)
        tried = next(reversed(profiles.values())).exponents.tolist() if profiles else []
        averaged, draws = draw(task, attempt, neighbours, tried)
    elif task.averages(attempt) and (count := blueprint.num_points):
        averaged = average(task, attempt, _neighbours(blueprint, task, exponents, profiles, attempt), count)
    return attempt, averaged, draws, exponents, profiles


def _profile(
    blueprint: Blueprint, task: Task, exponents: dict[str, float | None], name: str, start: Attempt | None
) -> Profile[Attempt]:
    """Search one relation's exponent, the others held."""

    def learn_at(exponent: float, previous: Attempt | None, *, worthless_below: float) -> Attempt:
        kernel = blueprint.kernel_at({**exponents, name: exponent}, stiff=True)
        return task.learn(kernel, previous or start, coarsely=True, worthless_below=worthless_below)

    return search(learn_at)


def _neighbours(
    blueprint: Blueprint,
    task: Task,
    exponents: dict[str, float | None],
    profiles: dict[str, Profile[Attempt]],
    attempt: Attempt,
) -> list[Neighbour]:
    """Return the modes at the size exponents that were tried last, with the chosen one's shape of filters."""
    if not profiles:
        return [Neighbour(0.0, attempt.objective, attempt)]
    name, profile = next(reversed(profiles.items()))
    gain = attempt.objective - profile.best.objective
    found = []
    for exponent, outcome in zip(profile.exponents, profile.outcomes, strict=True):
        prior = log_prior(exponent)
        if exponent == profile.size_exponent:
            found.append(Neighbour(prior, attempt.objective + prior, attempt))
            continue
        model = task.model(blueprint.kernel_at({**exponents, name: float(exponent)}))
        model = parameters.transferred(model, attempt.learned.model)
        learned = outcome.learned._replace(model=parameters.moved_as(model, outcome.learned.model))
        found.append(Neighbour(prior, outcome.objective + gain + prior, Attempt(learned, outcome.solver)))
    return found
