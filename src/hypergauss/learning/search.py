"""Learning hyperparameters from several starts: by L-BFGS, or where values are estimates by gradients alone.

An objective is a function of a model (`learning.objective`). The search moves the model's coordinates
(`parameters.pack`) and adds the priors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Any, Generic, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from hypergauss import formula_checks, parameters
from hypergauss.exceptions import NumericalError
from hypergauss.learning.objective import EstimatedObjective, Objective
from hypergauss.learning.priors import LogNormal, Matched, check_priors, log_prior, log_prior_and_gradient, match_priors
from hypergauss.learning.trust_region import Ascent, LocalModel, climb_by_gradients
from hypergauss.parameters import Model, Parametrised

#: How many points are looked at for each start that is followed.
_CANDIDATES_PER_START = 4
#: The loss where the objective cannot be evaluated: this if it never could be, and otherwise this much more than the
#: worst that could, so that a line search shortens its step but keeps its direction.
_FAILED, _WORSE = 1e10, 10.0
#: A search that stopped early still counts as converged if its last iterations gained less than this.
_STALLED, _SMALL_GAIN = 3, 1e-2
#: A search may be expected to gain this many times what its last iteration gained.
_HOPE = 10.0
#: Iterations towards the top of what costs next to nothing.
_ENOUGH = 500


class Limits(NamedTuple):
    """How far a search goes, whatever it climbs by.

    Attributes
    ----------
    max_iterations : int
        Of L-BFGS, or evaluations of an estimate; with 0 a start is only evaluated.
    tolerance : float or None
        The gain of an iteration, or that an estimate foresees, for each number observed, that ends it; None for the
        objective's own.
    worthless_below : float
        It is given up where it cannot be expected to reach this.
    report : callable or None
        Called with a line of text after each iteration.
    """

    max_iterations: int
    tolerance: float | None = None
    worthless_below: float = -np.inf
    report: Callable[[str], None] | None = None


class Learned(NamedTuple, Generic[Model]):
    """The outcome of learning.

    ``log_evidence`` is that of the data alone, without the priors on hyperparameters; ``trace`` holds the objective
    after each iteration of the start that won, ``state`` what the objective leaves for a later one, and
    ``is_exhausted`` tells whether more iterations would have been taken.
    """

    model: Model
    log_evidence: float
    objective: float
    trace: np.ndarray
    converged: bool
    message: str
    n_evaluations: int
    state: Any = None
    is_exhausted: bool = False


def maximise(
    objective: Objective[Model],
    model: Model,
    *,
    priors: Mapping[str, LogNormal] | None = None,
    n_starts: int = 2,
    max_iterations: int = 200,
    tolerance: float | None = None,
    worthless_below: float = -np.inf,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Learned[Model]:
    """Return the model at the hyperparameters where objective plus log prior is highest.

    Parameters
    ----------
    objective : Objective
        What is maximised.
    model : Parametrised
        Its hyperparameters are the first start.
    priors : dict of name to LogNormal, optional
        Names as `parameters.values` lists them, or their last part ("lengthscale" for every lengthscale).
    n_starts : int
        How many starts are followed to the end: the given one, and the best of random ones.
    max_iterations : int
        Of L-BFGS, for each start, or evaluations of an estimate; 0 keeps the model as it is and only evaluates it.
    tolerance : float, optional
        The gain of an iteration, for each number observed, that ends a search; the objective's own if not given.
    worthless_below : float
        A search that cannot be expected to reach this is given up.
    seed : int
        For the random starts.
    report : callable, optional
        Called with a line of text after each iteration.
    """
    first = _within(model, parameters.pack(model))
    if max_iterations > 0:
        formula_checks.check_own_formulas(model)
    tried = 0
    starts = [model]
    if max_iterations > 0 and len(first):
        loss = _Loss(objective, model, match_priors(model, check_priors(priors)))
        others = _random_starts(first, parameters.bounds(model), loss, n_starts - 1, np.random.default_rng(seed))
        starts += [parameters.unpack(model, theta) for theta in others]
        tried = loss.evaluations
    limits = Limits(max_iterations, tolerance, worthless_below, report)
    ends = [climb(objective, start, limits, priors=priors) for start in starts]
    return highest(ends)._replace(n_evaluations=tried + sum(end.n_evaluations for end in ends))


def climb(
    objective: Objective[Model], model: Model, limits: Limits, *, priors: Mapping[str, LogNormal] | None = None
) -> Learned[Model]:
    """Follow one start, the model's own hyperparameters, to the top; other arguments are those of `maximise`.

    A start where the objective is not finite ends where it began, with an objective of minus infinity.
    """
    matched = match_priors(model, check_priors(priors))
    loss = _Loss(objective, model, matched)
    theta = parameters.pack(model)
    if limits.max_iterations > 0:
        theta = _within(model, theta)
    if limits.max_iterations == 0 or not len(theta):
        end = _evaluated(loss, theta)
    elif isinstance(objective, EstimatedObjective):
        end = _ascend_estimate(loss, theta, limits)
    else:
        end = _ascend(loss, theta, limits)
    reached = loss.model(end.theta)
    return Learned(
        model=reached,
        log_evidence=end.value - float(log_prior(reached, matched)),
        objective=end.value,
        trace=end.trace,
        converged=end.converged and end.value > -np.inf,
        message=end.message,
        n_evaluations=loss.evaluations,
        state=objective.state,
        is_exhausted=end.is_exhausted,
    )


def highest(ends: Sequence[Learned[Model]]) -> Learned[Model]:
    """Return the end that reached the highest objective."""
    best = max(ends, key=lambda end: end.objective)
    if best.objective == -np.inf:
        raise NumericalError(
            "The objective is not finite at any start. Likely causes: targets of a very different size from the "
            "kernel's variance, or starting values at the edge of their range."
        )
    return best


def top_of(objective: Objective[Model], starts: Sequence[Model], priors: Matched) -> Ascent:
    """Return the top of an exact objective plus log prior, the highest of those that some models lead to."""
    ends = []
    for model in starts:
        loss = _Loss(objective, model, priors)
        theta = _within(model, parameters.pack(model))
        ends.append(_ascend(loss, theta, Limits(_ENOUGH)) if len(theta) else _evaluated(loss, theta))
    return max(ends, key=lambda end: end.value)


@np.errstate(all="ignore")
def value_at(objective: Objective[Model], model: Model) -> float:
    """Return an objective at a model, minus infinity where there is none."""
    try:
        value = objective.value(model)
    except NumericalError:
        return -np.inf
    return value if np.isfinite(value) else -np.inf


class Penalised:
    """Objective plus log prior as a function of a model's coordinates."""

    def __init__(self, objective: Objective[Model], template: Model, priors: Mapping[str, LogNormal] | None) -> None:
        self._loss = _Loss(objective, template, match_priors(template, check_priors(priors)))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient."""
        loss, gradient = self._loss(theta)
        return -loss / self._loss.scale, -gradient / self._loss.scale


class _Loss(Generic[Model]):
    """Minus the objective and log prior for each observation, and how often it was evaluated.

    Searches look at the ends of ranges too, where a value may not be finite. That is found by looking at the value.
    """

    def __init__(self, objective: Objective[Model], template: Model, priors: Matched) -> None:
        self.objective, self.template, self.priors = objective, template, priors
        self.free = parameters.slots(template)
        self.scale = 1.0 / objective.num_observations  # L-BFGS tolerances are meant for objectives of order one
        self.evaluations = 0
        self.worst = -np.inf

    def model(self, theta: np.ndarray) -> Model:
        """Return the model of these coordinates."""
        return parameters.unpack(self.template, theta, self.free)

    @np.errstate(all="ignore")
    def at(self, theta: np.ndarray) -> float:
        """Return the loss where no gradient is needed."""
        self.evaluations += 1
        model = self.model(theta)
        value = self.objective.value(model) + log_prior(model, self.priors)
        return -self.scale * value if np.isfinite(value) else _FAILED

    @np.errstate(all="ignore")
    def __call__(self, theta: np.ndarray, rival: float | None = None) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient; where a rival loss is given as exactly as comparing the two asks for."""
        self.evaluations += 1
        model = self.model(theta)
        prior, in_prior = log_prior_and_gradient(model, self.priors) if self.priors else (0.0, 0.0)
        try:
            if rival is None:
                value, gradient = self.objective.value_and_gradient(model)
            else:
                value, gradient = self.objective.compared(model, -rival / self.scale - prior)
        except NumericalError:  # beyond what the arithmetic can carry
            value, gradient = np.nan, np.zeros_like(theta)
        value, gradient = value + prior, gradient + in_prior
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return (self.worst + _WORSE if np.isfinite(self.worst) else _FAILED), np.zeros_like(theta)
        loss = -self.scale * value
        self.worst = max(self.worst, loss)
        return loss, -self.scale * gradient

    @np.errstate(all="ignore")
    def local_model(self, theta: np.ndarray) -> LocalModel:
        """Return an estimated objective plus log prior around a point."""
        self.evaluations += 1
        model = self.model(theta)
        found = self.objective.local_model(model)  # type: ignore[attr-defined]
        if not self.priors:
            return found
        here, in_prior = log_prior_and_gradient(model, self.priors)

        def gain(there: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = found.gain(there)
            prior, slope = log_prior_and_gradient(self.model(there), self.priors)
            return value + prior - here, gradient + slope

        return LocalModel(found.value + here, found.gradient + in_prior, gain)


def _within(model: Parametrised, theta: np.ndarray) -> np.ndarray:
    limits = parameters.bounds(model)
    return np.clip(theta, limits[:, 0], limits[:, 1])


def _ascend(loss: _Loss, start: np.ndarray, limits: Limits) -> Ascent:
    """Follow one start to the end by L-BFGS, or to where it has become clear that it leads to nothing.

    The search has the coordinates in units of their widths: its first steps know nothing of curvature, and what one
    that moves all coordinates alike has to learn of a flat one takes it many evaluations.
    """
    scale = loss.scale
    widths = loss.objective.widths(loss.model(start)) * np.ones_like(start)
    trace: list[float] = []
    lowest = (np.inf, start)
    tell = _teller(limits.report)

    def follow(intermediate_result: OptimizeResult) -> None:
        trace.append(-float(intermediate_result.fun) / scale)
        tell(trace[-1])
        if trace[-1] + _HOPE * (trace[-1] - trace[-2]) < limits.worthless_below:
            raise StopIteration

    def watched(units: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest
        theta = units * widths
        value, gradient = loss(theta, lowest[0])
        if not trace:
            trace.append(-value / scale)
        if value < lowest[0]:
            lowest = (value, theta)
        return value, gradient * widths

    enough = loss.objective.least_gain if limits.tolerance is None else limits.tolerance
    options = {"maxiter": limits.max_iterations, "ftol": enough, "gtol": 1e-6}
    ranges = parameters.bounds(loss.template) / widths[:, None]
    how = {"method": "L-BFGS-B", "bounds": ranges, "callback": follow, "options": options}
    result = minimize(watched, start / widths, jac=True, **how)
    # Rounding can stop the line search at the top; then the last iterations have gained next to nothing.
    stalled = len(trace) > _STALLED and trace[-1] - trace[-1 - _STALLED] < _SMALL_GAIN
    converged = bool(result.success) or (stalled and result.nit < limits.max_iterations)
    # The search may end on a point that could not be evaluated, where the gradient is zero; the lowest seen counts.
    value, theta = lowest
    height = -np.inf if value >= _FAILED else -value / scale
    return Ascent(
        theta,
        height,
        np.array(trace),
        converged and result.fun <= loss.worst,
        str(result.message),
        is_exhausted=result.nit >= limits.max_iterations,
    )


def _ascend_estimate(loss: _Loss, start: np.ndarray, limits: Limits) -> Ascent:
    """Follow one start to the end where only gradients can be trusted to the last digit."""
    tolerance = limits.tolerance
    return climb_by_gradients(
        loss.local_model,
        [start, *loss.objective.further_starts(loss.model(start), loss.priors)],  # type: ignore[attr-defined]
        parameters.bounds(loss.template),
        max_iterations=limits.max_iterations,
        worthless_below=limits.worthless_below,
        least_gain=lambda: (loss.objective.least_gain if tolerance is None else tolerance) / loss.scale,
        follow=_teller(limits.report),
    )


def _evaluated(loss: _Loss, theta: np.ndarray) -> Ascent:
    """Return a search that has nowhere to go."""
    here = loss.at(theta)
    height = -np.inf if here >= _FAILED else -here / loss.scale
    return Ascent(theta, height, np.array([height]), True, "nothing to learn")


def _teller(report: Callable[[str], None] | None) -> Callable[[float], None]:
    """Return a function that reports the objective after each iteration."""
    iterations = count(1)

    def tell(value: float) -> None:
        number = next(iterations)
        if report is not None:
            report(f"log evidence {value:,.2f} after {number} iterations")

    return tell


def _random_starts(
    first: np.ndarray,
    limits: np.ndarray,
    loss: _Loss,
    n_starts: int,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return the most promising of some random points around the first start."""
    shape = (_CANDIDATES_PER_START * n_starts, len(first))
    candidates = np.clip(first + rng.normal(scale=1.5, size=shape), limits[:, 0], limits[:, 1])
    found = sorted(((loss(point)[0], tuple(point)) for point in candidates), key=itemgetter(0))
    return [np.array(point) for value, point in found[:n_starts] if value < _FAILED]
