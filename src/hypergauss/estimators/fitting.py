"""The path from a plan to a fitted model, one for all estimators: build, learn, average, condition."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from hypergauss.estimators.averaging import Averaged, average
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.tasks import Attempt, Task
from hypergauss.exceptions import ConvergenceError, LearningWarning
from hypergauss.learning.search import Learned
from hypergauss.learning.size_exponent import Profile, log_prior, search
from hypergauss.solvers.choose import Plan
from hypergauss.solvers.threads import threads_for


class Fitted(NamedTuple):
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
    """

    model: Any
    learned: Learned
    posterior: Any
    exponents: dict[str, float]
    profiles: dict[str, Profile]
    plan: Plan | None
    averaged: Averaged | None = None


def fit(blueprint: Blueprint, task: Task) -> Fitted:
    """Learn everything, the size exponents relation by relation, and condition on the data.

    Where conjugate gradients do not converge and an exact solver fits in memory, it takes their place with a warning.
    """
    with threads_for(len(task.rows)):
        try:
            return _fit(blueprint, task)
        except ConvergenceError as error:
            exact = blueprint.exactly(len(task.rows))
            if exact is None or exact.plan is None:
                raise
            warnings.warn(
                "The iterative solver did not converge, and the model is fitted anew by an exact one, predicted to "
                f"take {exact.plan.chosen}. {error}",
                LearningWarning,
                stacklevel=3,
            )
            return _fit(exact, task.exactly())


def _fit(blueprint: Blueprint, task: Task) -> Fitted:
    exponents, profiles = dict(blueprint.exponents), {}
    neighbours: list[tuple[float, Attempt]] = []
    if blueprint.searched:
        attempt: Attempt | None = None
        for name in blueprint.searched:
            profiles[name] = _profile(blueprint, task, exponents, name, attempt)
            exponents[name], attempt = profiles[name].size_exponent, profiles[name].best
        # A profile is learned coarsely; the model that it chose is learned out.
        last = profiles[blueprint.searched[-1]]
        attempt = task.learn(blueprint.kernel_at(exponents), attempt)
        for exponent, outcome in zip(last.exponents, last.outcomes, strict=True):
            neighbours.append((log_prior(exponent), attempt if exponent == last.size_exponent else outcome))
    else:
        attempt = task.learn(blueprint.kernel_at(exponents))
        neighbours = [(0.0, attempt)]
    found = {name: a for name, a in exponents.items() if a is not None}
    averaged = average(task, attempt, neighbours, count) if (count := task.num_points(attempt)) else None
    posterior = task.posterior(attempt) if averaged is None else task.mixed(attempt, averaged.points)
    kept = {name: profile._replace(outcomes=()) for name, profile in profiles.items()}
    return Fitted(
        task.reported(attempt.learned.model), attempt.learned, posterior, found, kept, blueprint.plan, averaged
    )


def _profile(
    blueprint: Blueprint, task: Task, exponents: dict[str, float | None], name: str, start: Attempt | None
) -> Profile:
    """Search one relation's exponent, the others held."""
    coarse = task.coarse_gain / len(task.rows)

    def learn_at(exponent: float, previous: Attempt | None, *, worthless_below: float) -> Attempt:
        kernel = blueprint.kernel_at({**exponents, name: exponent})
        return task.learn(kernel, previous or start, tolerance=coarse, worthless_below=worthless_below)

    return search(learn_at)
