"""Targets of a regressor and the likelihoods that they are seen through: checked, scaled, and learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from hypergauss import _checks
from hypergauss._checks import Labels, Values
from hypergauss.estimators.defaults import (
    default_class_priors,
    default_count_priors,
    default_likelihood_priors,
    default_priors,
)
from hypergauss.estimators.labels import numbered
from hypergauss.estimators.latent_task import LatentTask
from hypergauss.estimators.settings import Idle
from hypergauss.estimators.tasks import How, chosen_part
from hypergauss.hypergraph.names import Names, plain
from hypergauss.inference.latent_model import LatentModel
from hypergauss.inference.latents import GaussianLatents
from hypergauss.kernels import Kernel
from hypergauss.learning.objective import Objective
from hypergauss.learning.priors import LogNormal
from hypergauss.likelihoods import Likelihood, Measurement, OneLatent, OrderedProbit, Poisson, StudentT
from hypergauss.likelihoods.transforms import TRANSFORMS, Transform
from hypergauss.solvers.base import Solver
from hypergauss.solvers.sites import NaturalSites

LIKELIHOODS = ("gaussian", "student-t", "poisson", "ordinal")
#: More levels than this are measurements.
_MOST_LEVELS = 50


def check_likelihood(likelihood: object) -> str | Likelihood:
    """Return a name or a likelihood of one latent function and of numbers or ordered levels; refuse others."""
    if not isinstance(likelihood, Likelihood):
        return _checks.one_of("likelihood", likelihood, LIKELIHOODS)
    if isinstance(likelihood, OneLatent) and isinstance(likelihood, Measurement | OrderedProbit):
        return likelihood
    raise ValueError(
        "`likelihood` must be of numbers (a `OneLatent` that is a `Measurement`, with `moments`) or of ordered levels. "
        f"Got {type(likelihood).__name__}. Use `HypergraphGPClassifier` for classes."
    )


def check_transform(transform: object) -> str:
    """Return the name of a scale, or "auto"."""
    return "none" if transform is None else _checks.one_of("transform", transform, (*TRANSFORMS, "auto"))


def scales_to_try(transform: str, y: np.ndarray) -> list[Transform]:
    """Return the scale of a name; of "auto" all that the measurements can be on."""
    if transform != "auto":
        return [TRANSFORMS[transform]]
    return [each for each in TRANSFORMS.values() if np.isfinite(each.log_slope(y)).all()]


def is_gaussian(likelihood: str | Likelihood) -> bool:
    """Return whether noise is normal and all is exact; a `likelihoods.Gaussian` that is given is one among others."""
    return _is_named(likelihood, "gaussian")


def is_ordinal(likelihood: str | Likelihood) -> bool:
    """Return whether a likelihood, by name or itself, is of ordered levels."""
    return isinstance(likelihood, OrderedProbit) or _is_named(likelihood, "ordinal")


def kind_of_work(likelihood: str | Likelihood) -> str:
    """Return what an evaluation of the objective does, as `Work` names it."""
    if is_gaussian(likelihood):
        return "gaussian"
    is_log_concave = likelihood.is_log_concave if isinstance(likelihood, Likelihood) else likelihood != "student-t"
    return "sites" if is_log_concave else "variational"


def measurement_rules(likelihood: str | Likelihood, *, knows_noise: bool) -> list[Idle]:
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


def _is_named(likelihood: str | Likelihood, name: str) -> bool:
    return isinstance(likelihood, str) and likelihood == name


class Target(NamedTuple):
    """What was observed, as a likelihood takes it.

    Attributes
    ----------
    y : array, shape (n,)
        Numbers; those of levels, from 0.
    likelihood : Likelihood
        At the values to start from, in units of (y - centre) / scale.
    centre, scale : float
        What takes y to the units that learning works in: 0 and 1 but where errors are around f.
    mean : float or None
        Around what the latent function is, in these units; None if that is to be learned.
    levels : array of C, or None
        The levels in their order, if y holds numbers of them.
    priors : dict of name to LogNormal
        Of hyperparameters that the user says nothing of.
    """

    y: np.ndarray
    likelihood: Likelihood
    centre: float
    scale: float
    mean: float | None
    levels: np.ndarray | None
    priors: Mapping[str, LogNormal]

    @property
    def inference(self) -> str:
        """How its posterior is found: propagation need not settle where a likelihood is not log-concave."""
        return "ep" if self.likelihood.is_log_concave else "variational"


def target_of(
    likelihood: str | Likelihood, y: Values | Labels, *, noise_variance: float, scales: bool, centres: bool
) -> Target:
    """Return what was observed for a likelihood, checked.

    Parameters
    ----------
    likelihood : str or Likelihood
        As `check_likelihood` has it, other than "gaussian"; one that is given is in the units of y.
    y : array, shape (n,)
        Numbers; of levels also an ordered `pandas.Categorical`.
    noise_variance : float
        Of errors around f, to start from, in the units of learning.
    scales, centres : bool
        Whether errors around f are learned in units of the target's spread, and around its mean.
    """
    if is_ordinal(likelihood):
        return _levels(likelihood, y)
    values = _numbers(y)
    if likelihood == "student-t":
        given: Likelihood | None = None
    else:
        given = Poisson() if isinstance(likelihood, str) else likelihood
    if isinstance(given, Measurement) and given.rescaled(1.0) is None:
        if given.is_discrete:
            _check_counts(values)
        is_poisson = isinstance(given, Poisson)
        # Half a count more: counts that are all zero have a rate too.
        mean = float(np.log((values.sum() + 0.5) / len(values))) if is_poisson else None
        priors = default_count_priors() if is_poisson else default_likelihood_priors()
        return Target(values, given, 0.0, 1.0, mean, None, priors)
    centre, scale = centre_and_scale(values[:, None], scales=scales, centres=centres)
    unit = 1.0 if scales else float(np.var(values)) or 1.0
    start = StudentT(np.sqrt(noise_variance)) if given is None else given.rescaled(1 / scale)  # type: ignore[attr-defined]
    return Target(values, start, float(centre[0]), scale, 0.0, None, default_priors(unit))


def check_once_each(names: Names, rows: np.ndarray) -> None:
    """Refuse a vertex that was observed twice, which normal noise alone merges without loss."""
    unique, counts = np.unique(rows, return_counts=True)
    repeated = unique[counts > 1]
    if len(repeated):
        name = plain(names[int(np.flatnonzero(rows == repeated[0])[0])])
        raise ValueError(
            f"`vertices` must be observed once each with this likelihood. Got {name!r}"
            f"{_checks.others(len(repeated) - 1)} more often. Keep one observation of each, or use "
            "`likelihood='gaussian'`."
        )


def centre_and_scale(y: np.ndarray, *, scales: bool, centres: bool) -> tuple[np.ndarray, float]:
    """Return each output's mean and the common standard deviation; 0 and 1 where they are not wanted."""
    if not centres:
        return np.zeros(y.shape[1]), 1.0
    largest = np.abs(y).max() or 1.0
    shares = y / largest  # squares of what is at most one do not overflow
    centre = shares.mean(axis=0)
    spread = float(np.sqrt(((shares - centre) ** 2).mean()))
    return centre * largest, spread * float(largest) if scales and spread > 1e-12 else 1.0


def further_values(likelihood: Likelihood, y: Values | Labels, levels: np.ndarray | None) -> np.ndarray:
    """Return what more was observed as a likelihood that has been learned takes it, shape (n,), checked."""
    if levels is None:
        values = _numbers(y)
        if isinstance(likelihood, Measurement) and likelihood.is_discrete:
            _check_counts(values)
        return values
    labels = _checks.labels("y", y, missing="Leave vertices without a level out: they are what is predicted.")
    at = _checks.positions(labels, levels)
    if (at < 0).any():
        raise ValueError(
            f"`y` must hold levels that the model knows ({', '.join(map(str, levels))}). Got "
            f"{plain(labels[int(np.flatnonzero(at < 0)[0])])!r}. A new level has a threshold to be learned: fit again."
        )
    return at.astype(np.float64)


def _numbers(y: Values | Labels) -> np.ndarray:
    if y is None:
        raise ValueError("Learning requires y to be passed, but the target y is None.")
    values = _checks.finite_array("y", y, missing="Leave unmeasured vertices out: they are what is predicted.")
    if values.ndim != 1:
        raise ValueError(
            f"`y` must have shape (n,), one number a vertex: several outputs go with `likelihood='gaussian'`. Got "
            f"{values.shape}. Fit them one by one."
        )
    return values


def _check_counts(values: np.ndarray) -> None:
    bad = values[(values < 0) | (values != np.round(values))]
    if len(bad):
        raise ValueError(
            f"`y` must hold counts, whole numbers from 0, for this likelihood. Got {bad[0]:g}"
            f"{_checks.others(len(bad) - 1)}. Use `likelihood='gaussian'` for measurements, with `transform='log'` if "
            "they are positive."
        )


def _levels(likelihood: str | Likelihood, y: Values | Labels) -> Target:
    labels = _checks.labels("y", y, missing="Leave vertices without a level out: they are what is predicted.")
    codes, levels = numbered(labels, y, is_ordinal=True)
    if not 2 <= len(levels) <= _MOST_LEVELS:
        raise ValueError(
            f"`likelihood='ordinal'` is of levels, 2 to {_MOST_LEVELS} of them, that vertices share. Got "
            f"{len(levels)} in {len(labels)} observations. Use `likelihood='gaussian'` for measurements."
        )
    if isinstance(likelihood, OrderedProbit) and likelihood.num_classes != len(levels):
        raise ValueError(f"`likelihood` is for {likelihood.num_classes} levels. Got {len(levels)} in `y`.")
    start = likelihood if isinstance(likelihood, OrderedProbit) else OrderedProbit.from_labels(codes)
    return Target(codes.astype(float), start, 0.0, 1.0, 0.0, levels, default_class_priors())


class MeasurementTask(LatentTask):
    """Numbers or levels through a likelihood, each vertex once, learned as (y - centre) / scale.

    Parameters
    ----------
    target : Target
        What was observed.
    rows : array of int, shape (n,)
        Where.
    inference : {"ep", "variational"}
        How the posterior is found.
    how : How
        Settings.
    """

    def __init__(self, target: Target, rows: np.ndarray, *, inference: str, how: How) -> None:
        scaled = (target.y - target.centre) / target.scale
        super().__init__(target.likelihood, rows, scaled, inference=inference, batch_size=None, how=how)
        self.target = target

    def restricted_to(self, size: int) -> Self:
        """Return the task on so many observations: of each level in proportion, and at least one."""
        kinds = np.zeros(len(self.rows)) if self.target.levels is None else self.y
        chosen = chosen_part(kinds, size)
        part = self.target._replace(y=self.target.y[chosen])
        return type(self)(part, self.rows[chosen], inference=self.inference, how=self.how)

    def model(self, kernel: Kernel) -> LatentModel:  # noqa: D102
        model, mean = super().model(kernel), self.target.mean
        # Beside a mean that is free, a kernel's level has nothing to say and does no harm.
        fixed = () if mean is None else model.fixed
        return LatentModel(kernel, self.likelihood, np.array([mean or 0.0]), fixed)

    def reported(self, model: LatentModel) -> LatentModel:  # noqa: D102
        centre, scale = self.target.centre, self.target.scale
        own = model.likelihood.rescaled(scale) if isinstance(model.likelihood, Measurement) else None
        if own is None:
            return model
        return LatentModel(model.kernel.scaled(scale**2), own, centre + scale * model.mean, model.fixed)

    @property
    def log_slope(self) -> float:
        """The log Jacobian of what took y to the units that learning works in."""
        return -len(self.y) * float(np.log(self.target.scale))

    def conditioned(
        self,
        model: LatentModel,
        sites: NaturalSites,
        solver: Solver,
        objective: Objective[LatentModel] | None = None,  # noqa: ARG002
    ) -> GaussianLatents:
        """Return the latents given sites, both in the units of y."""
        centre, scale = self.target.centre, self.target.scale
        precision = sites.precision / scale**2
        moved = NaturalSites(sites.shift / scale + precision * centre, precision)
        return GaussianLatents.of(self.reported(model), moved, solver, unit=scale)
