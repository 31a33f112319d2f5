"""How measurements arise, as a regressor is told: by a likelihood, and on a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergauss import _checks
from hypergauss.estimators.settings import Idle
from hypergauss.likelihoods import Likelihood, Measurement, OneLatent, OrderedProbit
from hypergauss.likelihoods.transforms import TRANSFORMS, Transform

LIKELIHOODS = ("gaussian", "student-t", "poisson", "ordinal")


def check_likelihood(likelihood: Any) -> str | Likelihood:
    """Return a name or a likelihood of one latent function and of numbers or ordered levels; refuse others."""
    if not isinstance(likelihood, Likelihood):
        return _checks.one_of("likelihood", likelihood, LIKELIHOODS)
    if isinstance(likelihood, OneLatent) and isinstance(likelihood, Measurement | OrderedProbit):
        return likelihood
    raise ValueError(
        "`likelihood` must be of numbers (a `OneLatent` that is a `Measurement`, with `moments`) or of ordered levels. "
        f"Got {type(likelihood).__name__}. Use `HypergraphGPClassifier` for classes."
    )


def check_transform(transform: Any) -> str:
    """Return the name of a scale, or "auto"."""
    return "none" if transform is None else _checks.one_of("transform", transform, (*TRANSFORMS, "auto"))


def scales_to_try(transform: str, y: np.ndarray) -> list[Transform]:
    """Return the scale of a name; of "auto" all that the measurements can be on."""
    if transform != "auto":
        return [TRANSFORMS[transform]]
    return [each for each in TRANSFORMS.values() if np.isfinite(each.log_slope(y)).all()]


def is_gaussian(likelihood: Any) -> bool:
    """Return whether noise is normal and all is exact; a `likelihoods.Gaussian` that is given is one among others."""
    return _is_named(likelihood, "gaussian")


def is_ordinal(likelihood: Any) -> bool:
    """Return whether a likelihood, by name or itself, is of ordered levels."""
    return isinstance(likelihood, OrderedProbit) or _is_named(likelihood, "ordinal")


def kind_of_work(likelihood: Any) -> str:
    """Return what an evaluation of the objective does, as `Work` names it."""
    if is_gaussian(likelihood):
        return "gaussian"
    is_log_concave = likelihood.is_log_concave if isinstance(likelihood, Likelihood) else likelihood != "student-t"
    return "sites" if is_log_concave else "variational"


def measurement_rules(likelihood: Any, *, knows_noise: bool) -> list[Idle]:
    """Return the rules of a regressor's own settings: what a likelihood, or noise that is known, leaves to do."""
    is_normal, is_student = is_gaussian(likelihood), _is_named(likelihood, "student-t")
    has_errors = isinstance(likelihood, Measurement) and likelihood.rescaled(1.0) is not None
    if knows_noise and not is_normal:
        raise ValueError(
            "The `noise_variance` of each measurement goes with normal noise. Got another `likelihood`. Leave one of "
            "the two out."
        )
    return [
        Idle(("noise_variance",), lambda _: knows_noise, "the noise of each measurement is given to `fit`"),
        Idle(
            ("noise_variance",),
            lambda _: not (is_normal or is_student),
            "it is where 'gaussian' and 'student-t' start from, and the likelihood is another",
        ),
        Idle(
            ("scale_target",),
            lambda _: not (is_normal or is_student or has_errors),
            "the likelihood is not of errors around f, which have the units of the target",
        ),
        Idle(
            ("transform",),
            lambda given: knows_noise and given["transform"] is not None,
            "the noise of each measurement is given to `fit`, in the units of `y`",
        ),
        Idle(
            ("transform",),
            lambda given: not is_normal and given["transform"] is not None,
            "it goes with normal noise: counts and levels have a scale of their own, and logarithms with errors of "
            "heavier tails would be of measurements whose mean is infinite",
            "Leave it out, or fit `np.log(y)` and take quantiles back with `np.exp`.",
        ),
    ]


def _is_named(likelihood: Any, name: str) -> bool:
    return isinstance(likelihood, str) and likelihood == name
