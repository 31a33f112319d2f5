"""The path from a plan to a fitted model, one for all estimators: build, learn, condition."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.tasks import Attempt, Task
from hypergauss.learning.search import Learned
from hypergauss.learning.size_exponent import Profile, search
from hypergauss.solvers.threads import threads_for


class Fitted(NamedTuple):
    """A learned model, its posterior, and how it was found.

    Attributes
    ----------
    model : GaussianModel or LatentModel
        With its hyperparameters, in the units of the data.
    learned : Learned
        How they were learned, and what they reached.
    posterior : object
        As the task makes it.
    exponents : dict of name to float
        The size exponent of each hypergraph.
    profiles : dict of name to Profile
        Of each exponent that was searched for.
    """

    model: Any
    learned: Learned
    posterior: Any
    exponents: dict[str, float]
    profiles: dict[str, Profile]


def fit(blueprint: Blueprint, task: Task) -> Fitted:
    """Learn everything, the size exponents relation by relation, and condition on the data."""
    with threads_for(len(task.rows)):
        return _fit(blueprint, task)


def _fit(blueprint: Blueprint, task: Task) -> Fitted:
    exponents, profiles = dict(blueprint.exponents), {}
    if blueprint.searched:
        attempt: Attempt | None = None
        for name in blueprint.searched:
            profiles[name] = _profile(blueprint, task, exponents, name, attempt)
            exponents[name], attempt = profiles[name].size_exponent, profiles[name].best
        # A profile is learned coarsely; the model that it chose is learned out.
        attempt = task.learn(blueprint.kernel_at(exponents), attempt)
    else:
        attempt = task.learn(blueprint.kernel_at(exponents))
    found = {name: a for name, a in exponents.items() if a is not None}
    return Fitted(task.reported(attempt.learned.model), attempt.learned, task.posterior(attempt), found, profiles)


def _profile(
    blueprint: Blueprint, task: Task, exponents: dict[str, float | None], name: str, start: Attempt | None
) -> Profile:
    """Search one relation's exponent, the others held."""
    coarse = task.coarse_gain / len(task.rows)

    def learn_at(exponent: float, previous: Attempt | None, *, worthless_below: float) -> Attempt:
        kernel = blueprint.kernel_at({**exponents, name: exponent})
        return task.learn(kernel, previous or start, tolerance=coarse, worthless_below=worthless_below)

    return search(learn_at)
