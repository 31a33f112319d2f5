r"""Climbing by gradients alone, for objectives whose values and gradients are separate estimates.

Where a trace is estimated with probes, the gradient is smooth in the hyperparameters but not exactly the derivative of
the estimated value; a line search that compares the two ends where they begin to disagree. So the top is where the
gradient vanishes, a step s from gradient g to gradient g' has gained about (g + g')' s / 2, and each step goes to the
top of the objective's own model of its surroundings, within a box.

That model may be off: an information that holds if the data came from the model says little of data that did not. What
the gradient differed by after the last step s from what was foreseen there, d, is added as curvature of its own,

    s' E s / 2    with    E = d d' / (d' s),    so that E s = d,

where it bends downwards: a step that went too far so says where the top was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from hypergauss.exceptions import NumericalError

#: Half the width of the first box, and the most it grows to: hyperparameters change by a factor of e to this.
_FIRST_WIDTH, _LARGEST_WIDTH = 1.0, 2.0
#: A step is taken if it gained at least this share of what was foreseen; the box grows if it gained nearly all.
_ACCEPTED, _FORESEEN = 0.1, 0.7
#: A search whose box has shrunk is unfinished if a wide one would promise so many times the gain that ends it.
_OUT_OF_REACH = 10.0
#: By how much the box shrinks after a step that was not taken, less where that step corrected the model, and at least
#: grows after one that went as foreseen.
_SHRINKAGE, _CORRECTED, _GROWTH = 0.3, 0.5, 2.0
#: A correction whose direction is further than this from the step's, as a cosine, is left out.
_LEAST_COSINE = 0.05
#: A search may be expected to gain this many times what its next step is foreseen to.
_HOPE = 3.0
#: Iterations towards the top of a model, which a ridge that hardly rises would have thousands of.
_MOST_ITERATIONS = 200


class LocalModel(NamedTuple):
    """An objective at a point, and what it is expected to gain elsewhere.

    ``gain`` takes coordinates to the expected gain and its gradient; at the point itself it is zero, and its gradient
    the objective's.
    """

    value: float
    gradient: np.ndarray
    gain: Callable[[np.ndarray], tuple[float, np.ndarray]]

    @property
    def is_finite(self) -> bool:
        """Whether it can be worked with."""
        return bool(np.isfinite(self.value) and np.isfinite(self.gradient).all())


class Ascent(NamedTuple):
    """Where a search ended, and the objective after each of its iterations."""

    theta: np.ndarray
    value: float
    trace: np.ndarray
    converged: bool
    message: str
    is_exhausted: bool = False  # whether it ended only since it may not go on


def climb_by_gradients(
    evaluate: Callable[[np.ndarray], LocalModel],
    starts: Sequence[np.ndarray],
    limits: np.ndarray,
    *,
    max_iterations: int,
    least_gain: Callable[[], float],
    follow: Callable[[float], None],
    worthless_below: float = -np.inf,
) -> Ascent:
    """Follow gradients from the highest of some starts to where they vanish.

    Parameters
    ----------
    evaluate : callable
        theta -> the objective around it. What it raises at the first start is the caller's; later on a point that
        cannot be evaluated is one to keep away from.
    starts : sequence of arrays, shape (p,)
        Where to begin, within the limits.
    limits : array, shape (p, 2)
        The range of each coordinate.
    max_iterations : int
        Evaluations after the first.
    least_gain : callable
        It ends when no more than this is to be gained; an estimate may know only after an evaluation.
    follow : callable
        Called with the objective after each step.
    worthless_below : float
        A search that cannot be expected to reach this is given up.
    """
    found = [evaluate(starts[0]), *(_attempt(evaluate, start) for start in starts[1:])]
    theta, here = max(zip(starts, found, strict=True), key=lambda pair: pair[1].value if pair[1].is_finite else -np.inf)
    trace = [here.value]
    if not here.is_finite:
        return Ascent(theta, -np.inf, np.array(trace), False, "the start cannot be evaluated")
    width, bend = _FIRST_WIDTH, np.zeros((len(theta), len(theta)))
    for evaluations in range(max_iterations + 1):
        there, foreseen = _top_within(_bent(here, theta, bend), theta, limits, width)
        if foreseen < least_gain():
            # A box that has shrunk after steps that failed may see little where there is much.
            further = _top_within(_bent(here, theta, bend), theta, limits, max(width, _FIRST_WIDTH))[1]
            if further < _OUT_OF_REACH * least_gain():
                return Ascent(theta, here.value, np.array(trace), True, "nothing more is to be gained")
            return Ascent(theta, here.value, np.array(trace), False, "no step gains what its gradient promises")
        if here.value + _HOPE * foreseen < worthless_below:
            return Ascent(theta, here.value, np.array(trace), False, "not expected to become the highest")
        if evaluations == max_iterations:
            break
        reached = _attempt(evaluate, there)
        step = there - theta
        gain = (here.gradient + reached.gradient) @ step / 2 if reached.is_finite else -np.inf
        reach = np.abs(step).max()
        bend = _missing_bend(step, reached.gradient - here.gain(there)[1])
        if not gain >= _ACCEPTED * foreseen:
            width = reach * (_CORRECTED if bend.any() else _SHRINKAGE)
            continue
        if gain > _FORESEEN * foreseen:
            width = max(width, min(_GROWTH * reach, _LARGEST_WIDTH))
        theta, here = there, reached
        trace.append(here.value)
        follow(here.value)
    message = f"not at the top after {max_iterations} evaluations"
    return Ascent(theta, here.value, np.array(trace), False, message, is_exhausted=True)


def _attempt(evaluate: Callable[[np.ndarray], LocalModel], theta: np.ndarray) -> LocalModel:
    """Evaluate, or return a model that is not finite where arithmetic ends."""
    try:
        return evaluate(theta)
    except NumericalError:
        return LocalModel(np.nan, np.full(len(theta), np.nan), lambda point: (np.nan, np.full(len(point), np.nan)))


def _bent(model: LocalModel, theta: np.ndarray, bend: np.ndarray) -> LocalModel:
    """Return a model around theta with curvature added."""
    if not bend.any():
        return model

    def gain(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = model.gain(point)
        slope = bend @ (point - theta)
        return value + float(slope @ (point - theta)) / 2, gradient + slope

    return model._replace(gain=gain)


def _missing_bend(step: np.ndarray, missed: np.ndarray) -> np.ndarray:
    """Return the curvature by which a model would have foreseen the gradient after a step, if that is downwards."""
    along = float(missed @ step)
    # Not so either where the gradient is not a number.
    if not along < -_LEAST_COSINE * float(np.linalg.norm(missed) * np.linalg.norm(step)):
        return np.zeros((len(step), len(step)))
    return np.outer(missed, missed) / along


def _top_within(model: LocalModel, theta: np.ndarray, limits: np.ndarray, width: float) -> tuple[np.ndarray, float]:
    """Return where a model is highest within limits and a box around theta, and the gain it expects there."""
    scale = max(float(np.abs(model.gradient).max()), 1e-300)

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):  # at the edge of a range a filter may overflow: no step ends there
            gain, gradient = model.gain(point)
        return -gain / scale, -gradient / scale

    box = np.clip(theta[:, None] + np.array([-width, width]), limits[:, :1], limits[:, 1:])
    options = {"ftol": 1e-12, "gtol": 1e-9, "maxiter": _MOST_ITERATIONS}
    found = minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return found.x, -float(found.fun) * scale
