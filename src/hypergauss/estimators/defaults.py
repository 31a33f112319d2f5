"""What estimators assume of hyperparameters that nobody has said anything of: broad priors, each with its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hypergauss import parameters
from hypergauss.learning.priors import LogNormal
from hypergauss.parameters import Parametrised

#: The variance that latent functions of classes are expected to have, their noise being 1: one label in ten is noise.
CLASS_VARIANCE = 10.0
#: Of filters and of what is a vertex's own. Influence reaches a step or a few; half of a vertex is told by as many
#: memberships as are usual.
_SHAPES = {
    "steps": LogNormal(2.0, 1.0),
    "shape": LogNormal(1.0, 3.0),
    "individuality": LogNormal(1.0, 1.5),
    # As a rule the number of memberships says little by itself. Variances hold the mean of activity, which is
    # exp(spread^2 / 2) medians: with a spread of 3 ninety, of what vertices that are equally active say nothing of.
    "activity": LogNormal(0.01, 2.0),
    "lengthscale": LogNormal(5.0, 1.5),
    "angle": LogNormal(1.0, 1.0),  # in radians: rows that share nothing are pi / 2 apart
    "beta": LogNormal(5.0, 1.5),
    "coefficients": LogNormal(0.3, 2.0),
}


def default_priors(unit: float) -> dict[str, LogNormal]:
    """Return the priors for measurements whose variance is ``unit``: signal about as large, noise a tenth."""
    return {
        **_SHAPES,
        "variance": LogNormal(unit, 1.0),
        "noise_variance": LogNormal(0.1 * unit, 1.5),
        "scale": LogNormal(math.sqrt(0.1 * unit), 0.75),  # of errors, whose square is as the noise variance
    }


def default_class_priors() -> dict[str, LogNormal]:
    """Return the priors for classes: latent functions relative to noise of variance 1, by far the larger as a rule.

    The share of labels that are wrong, where a likelihood has one, is around the paper's 1e-3. At times the number of
    memberships says nearly all of a class, and probabilities bear an activity that is far too large.
    """
    return {
        **_SHAPES,
        "activity": LogNormal(0.01, 3.0),
        "variance": LogNormal(CLASS_VARIANCE, 2.0),
        "epsilon": LogNormal(1e-3, 1.0),
    }


def default_count_priors() -> dict[str, LogNormal]:
    """Return the priors for counts: logarithms of rates that differ by about one, a factor of e."""
    return {**_SHAPES, "variance": LogNormal(1.0, 1.0)}


def default_likelihood_priors() -> dict[str, LogNormal]:
    """Return the priors for likelihoods that say nothing of the size of latent functions: any, around one."""
    return {**_SHAPES, "variance": LogNormal(1.0, 3.0)}


def priors_around(model: Parametrised, priors: Mapping[str, LogNormal]) -> dict[str, LogNormal]:
    """Return priors around the values of a model, for positive hyperparameters that no other prior names.

    One that is infinite, such as nu, keeps its range.
    """
    found = {}
    for slot in parameters.slots(model):
        value = parameters.values(model)[slot.name]
        is_named = slot.name in priors or slot.name.rsplit(".", 1)[-1] in priors
        if slot.coordinate.is_positive and np.ndim(value) == 0 and 0 < float(value) < np.inf and not is_named:
            found[slot.name] = LogNormal(float(value), 1.0)
    return found
