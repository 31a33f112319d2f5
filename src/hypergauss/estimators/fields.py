"""Learning a Markov field: from where, and at which whole nu.

One evaluation of a bound on the evidence of labels moves the sites of every class. What indicators of the classes,
taken for measurements, say of nu and the lengthscale by their spectral measure (`solvers.markov.outlook`) costs some
hundred products, once. So a bound is climbed from there, at that nu: the size of latent functions is left to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.defaults import default_priors
from hypergauss.estimators.latent_task import LatentTask
from hypergauss.estimators.tasks import Attempt, GaussianTask, Task
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.one_hot_by_products import OneHotByProducts
from hypergauss.kernels import Kernel, Matern
from hypergauss.likelihoods import Classification
from hypergauss.solvers.base import GaussianModel
from hypergauss.solvers.sites import Observations

#: The noise variance that indicators of unit variance begin with.
_NOISE = 0.3
#: Variance of latent functions, relative to that of indicators of unit variance which are as smooth.
_LATENT = 4.0


def learn_field(kernels: Sequence[Kernel], task: Task) -> Attempt:
    """Return the mode at the whole nu of highest evidence: each is tried in turn as long as they become better.

    One that cannot be expected to reach the last is given up.

    Parameters
    ----------
    kernels : sequence of Kernel
        Of the same spectra, one for each nu.
    task : Task
        Measurements or labels.
    """
    first, *others = _starts(kernels, task)
    attempt = task.learn(first.kernel, start=first)
    if not task.learns:
        return attempt
    for model in others:
        # Sites are kept, hyperparameters are not: at another nu another lengthscale says the same.
        other = task.learn(model.kernel, attempt, start=model, worthless_below=attempt.objective)
        if other.objective <= attempt.objective:
            break
        attempt = other
    return attempt


def _starts(kernels: Sequence[Kernel], task: Task) -> list[GaussianModel | LatentModel]:
    """Return models at the hyperparameters to begin with, the most promising first."""
    is_single = isinstance(kernels[0], Matern)
    simpler = indicators(task) if task.learns and is_single and isinstance(task, LatentTask) else None
    is_one_hot = isinstance(task, LatentTask) and task.inference == "one-hot"
    if simpler is None:
        return task.fields(kernels[:1] if is_one_hot else kernels)
    # Of held-out labels nu = 2 told more than 1 and, on the one seed tried, a little less than 3.
    # It took a ninth of the time: systems of 3 are far worse conditioned.
    promising = simpler.fields(kernels[:1] if is_one_hot else kernels)[0]
    found = cast(Matern, promising.kernel)
    # Zeros and ones are measurements themselves, with noise of variance 1.
    times = 1.0 / float(promising.noise_variance) if is_one_hot else _LATENT
    model = task.model(parameters.with_value(found, ("variance",), times * found.variance))
    objective = task.objective(task.solver(model.kernel), model, None) if is_one_hot else None
    return [objective.with_shares(model) if isinstance(objective, OneHotByProducts) else model]


def indicators(task: LatentTask) -> GaussianTask | None:
    """Return indicators of the classes as measurements with normal noise, or None where there are no classes.

    Of one latent function these are the labels themselves, in their order. All have one scale, so that a class counts
    for as much as it is seen.
    """
    likelihood = task.likelihood
    if not isinstance(likelihood, Classification):
        return None
    ones = task.y[:, None] == np.arange(likelihood.num_classes)
    seen = task.y[:, None] if likelihood.num_latents == 1 else ones.astype(np.float64)
    centre = seen.mean(axis=0)
    scale = float(np.sqrt(((seen - centre) ** 2).mean())) or 1.0
    priors = {name: prior for name, prior in task.how.priors.items() if name == "lengthscale"}
    how = task.how._replace(priors=priors, default_priors=default_priors(1.0))
    return GaussianTask(Observations.of(task.rows, seen), centre, scale, noise_variance=_NOISE, how=how)
