"""Learning hyperparameters: L-BFGS with exact gradients, from several starts, on any objective of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from scipy.optimize import minimize

from hypergauss import parameters
from hypergauss.exceptions import NumericalError
from hypergauss.inference.priors import LogNormal, Matched, check_priors, log_prior, match_priors

#: How many points are looked at for each start that is followed.
_CANDIDATES_PER_START = 4
#: The loss where the objective cannot be evaluated, for each observation: worse than any point worth keeping, yet not
#: so far off that a line search would give up its direction.
_FAILED = 1e3
#: A search that stopped early still counts as converged if its last iterations gained less than this.
_STALLED, _SMALL_GAIN = 3, 1e-2


class Objective(ABC):
    """A function of a model's hyperparameters to be maximised: the log evidence, or a bound on it."""

    @property
    @abstractmethod
    def num_observations(self) -> int:
        """How many numbers were observed, the natural size of the objective."""

    @abstractmethod
    def value_and_gradient(self, theta: np.ndarray, priors: Matched) -> tuple[float, np.ndarray]:
        """Return the objective plus the log prior, and its gradient, at coordinates theta."""


class Learned(NamedTuple):
    """The outcome of learning.

    ``log_evidence`` is that of the data alone, without the priors on hyperparameters; ``trace`` holds the objective
    after each iteration of the start that won.
    """

    model: Any
    log_evidence: float
    objective: float
    trace: np.ndarray
    converged: bool
    message: str
    n_evaluations: int


def maximise(
    objective: Objective,
    model: eqx.Module,
    *,
    priors: Mapping[str, LogNormal] | None = None,
    n_starts: int = 2,
    max_iterations: int = 200,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Learned:
    """Return the model at the hyperparameters where objective plus log prior is highest.

    Parameters
    ----------
    objective : Objective
        What is maximised.
    model : Equinox module
        Its hyperparameters are the first start.
    priors : dict of name to LogNormal, optional
        Names as `parameters.values` lists them, or their last part ("lengthscale" for every lengthscale).
    n_starts : int
        How many starts are followed to the end: the given one, and the best of random ones.
    max_iterations : int
        Of L-BFGS, for each start; 0 keeps the model as it is and only evaluates it.
    seed : int
        For the random starts.
    report : callable, optional
        Called with a line of text after each iteration.
    """
    chosen = match_priors(model, check_priors(priors))
    scale = 1.0 / objective.num_observations  # L-BFGS tolerances are meant for objectives of order one
    evaluations = 0

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        value, gradient = objective.value_and_gradient(theta, chosen)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):  # beyond what the arithmetic can carry
            return _FAILED, np.zeros_like(theta)
        return -scale * value, -scale * gradient

    limits = parameters.bounds(model)
    first = parameters.pack(model)
    starts = [first]
    if max_iterations > 0 and len(first):
        first = np.clip(first, limits[:, 0], limits[:, 1])
        starts = [first, *_random_starts(first, limits, loss, n_starts - 1, np.random.default_rng(seed))]
    ascents = [_ascend(loss, start, limits, scale, max_iterations, report) for start in starts]
    best = min(ascents, key=lambda ascent: ascent.loss)
    if best.loss >= _FAILED:
        raise NumericalError(
            "The objective is not finite at any start. Likely causes: targets of a very different size from the "
            "kernel's variance, or starting values at the edge of their range."
        )
    return Learned(
        model=parameters.unpack(model, best.theta),
        log_evidence=-best.loss / scale - float(log_prior(parameters.unpack(model, best.theta), chosen)),
        objective=-best.loss / scale,
        trace=best.trace,
        converged=best.converged,
        message=best.message,
        n_evaluations=evaluations,
    )


class _Ascent(NamedTuple):
    """Where one run of L-BFGS ended."""

    theta: np.ndarray
    loss: float
    trace: np.ndarray
    converged: bool
    message: str


def _ascend(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    limits: np.ndarray,
    scale: float,
    max_iterations: int,
    report: Callable[[str], None] | None,
) -> _Ascent:
    """Follow one start to the end."""
    trace = [-loss(start)[0] / scale]
    if max_iterations == 0 or not len(start):
        return _Ascent(start, -trace[0] * scale, np.array(trace), True, "nothing to learn")

    def follow(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun) / scale)
        if report is not None:
            report(f"log evidence {trace[-1]:,.2f} after {len(trace) - 1} iterations")

    lowest = [(trace[0] * -scale, start)]

    def watched(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss(theta)
        if value < lowest[0][0]:
            lowest[0] = (value, theta.copy())
        return value, gradient

    options = {"maxiter": max_iterations, "ftol": 1e-9, "gtol": 1e-6}
    result = minimize(watched, start, jac=True, method="L-BFGS-B", bounds=limits, callback=follow, options=options)
    # Rounding can stop the line search at the top; then the last iterations have gained next to nothing.
    stalled = len(trace) > _STALLED and trace[-1] - trace[-1 - _STALLED] < _SMALL_GAIN
    converged = bool(result.success) or (stalled and result.nit < max_iterations)
    # The search may end on a point that could not be evaluated, where the gradient is zero; the lowest seen counts.
    value, theta = lowest[0]
    return _Ascent(theta, value, np.array(trace), converged and result.fun < _FAILED, str(result.message))


def _random_starts(
    first: np.ndarray,
    limits: np.ndarray,
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]],
    n_starts: int,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return the most promising of some random points around the first start."""
    shape = (_CANDIDATES_PER_START * n_starts, len(first))
    candidates = np.clip(first + rng.normal(scale=1.5, size=shape), limits[:, 0], limits[:, 1])
    return sorted(candidates, key=lambda point: loss(point)[0])[:n_starts]
