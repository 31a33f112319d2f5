"""Learning hyperparameters: L-BFGS on the log evidence, with exact gradients, from several starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from hypergauss import _checks, parameters
from hypergauss.exceptions import NumericalError
from hypergauss.inference.conditioning import Evidence, evidence_of
from hypergauss.inference.posterior import Prior
from hypergauss.inference.sites import Observations
from hypergauss.kernels import Kernel

#: How many points are looked at for each start that is followed.
_CANDIDATES_PER_START = 4
#: The loss where the evidence cannot be evaluated, larger than any that can.
_FAILED = 1e10
#: Projected gradient, for each observation, below which a search that stopped early still counts as converged.
_SMALL_SLOPE = 1e-4


class GaussianModel(eqx.Module):
    """y = mean + f(vertex) + noise: a kernel, a noise variance, and a constant mean for each of L outputs."""

    kernel: Kernel
    noise_variance: Array = parameters.positive(1e-6, 1e4)
    mean: Array = parameters.bounded(-1e3, 1e3)
    fixed: tuple[str, ...] = eqx.field(static=True, default=())

    def prior(self) -> Prior:
        """Return the prior of the latent function."""
        return Prior(self.kernel, np.asarray(self.mean))

    def rescaled(self, centre: np.ndarray, scale: float) -> GaussianModel:
        """Return the model of centre + scale * y."""
        return GaussianModel(
            self.kernel.scaled(scale**2),
            self.noise_variance * scale**2,
            jnp.asarray(centre) + scale * self.mean,
            self.fixed,
        )

    def log_evidence(self, evidence: Evidence) -> Float[Array, ""]:
        """Evaluate the log evidence at these hyperparameters."""
        return evidence(self.kernel, self.noise_variance, self.mean)


class LogNormal(NamedTuple):
    """A prior on a positive hyperparameter t: log t is normal around log(median) with this spread.

    Its log density is taken with respect to log t, so that the most probable value does not depend on the units.
    """

    median: float
    spread: float = 1.0

    def log_density(self, value: Array) -> Array:
        """Return the log density at a value, summed over its entries."""
        z = (jnp.log(value) - jnp.log(self.median)) / self.spread
        return -0.5 * (z**2 + jnp.log(2 * jnp.pi * self.spread**2)).sum()


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


def learn(
    model: GaussianModel,
    observations: Observations,
    *,
    solver: str = "auto",
    priors: Mapping[str, LogNormal] | None = None,
    n_starts: int = 2,
    max_iterations: int = 200,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Learned:
    """Return the model at the hyperparameters of highest log evidence (plus log prior).

    Parameters
    ----------
    model : GaussianModel
        Its hyperparameters are the first start.
    observations : Observations
        The data.
    solver : str
        As for `condition`.
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
    evidence = evidence_of(model.kernel, observations, solver)
    chosen = _match_priors(model, priors or {})
    scale = 1.0 / observations.mean.size  # L-BFGS tolerances are meant for objectives of order one
    evaluations = 0

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        value, gradient = _value_and_gradient(jnp.asarray(theta), model, evidence, chosen)
        if not np.isfinite(value):  # outside what the arithmetic can carry: L-BFGS backs off
            return _FAILED, np.zeros_like(theta)
        return -scale * float(value), -scale * np.asarray(gradient)

    limits = parameters.bounds(model)
    first = np.asarray(parameters.pack(model))
    starts = [first]
    if max_iterations > 0 and len(first):
        first = np.clip(first, limits[:, 0], limits[:, 1])
        starts = [first, *_random_starts(first, limits, loss, n_starts - 1, np.random.default_rng(seed))]
    ascents = [_ascend(loss, start, limits, scale, max_iterations, report) for start in starts]
    best = min(ascents, key=lambda ascent: ascent.loss)
    if best.loss >= _FAILED:
        raise NumericalError(
            "The log evidence is not finite at any start. Likely causes: targets of a very different size from the "
            "kernel's variance, or starting values at the edge of their range."
        )
    learned = parameters.unpack(model, jnp.asarray(best.theta))
    return Learned(
        model=learned,
        log_evidence=float(_value_and_gradient(jnp.asarray(best.theta), model, evidence, ())[0]),
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

    options = {"maxiter": max_iterations, "ftol": 1e-10, "gtol": 1e-6}
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, callback=follow, options=options)
    # Where rounding stops the line search, a small projected gradient tells that the top was reached all the same.
    slope = result.x - np.clip(result.x - result.jac, limits[:, 0], limits[:, 1])
    converged = bool(result.success) or float(np.abs(slope).max()) < _SMALL_SLOPE
    return _Ascent(result.x, float(result.fun), np.array(trace), converged, str(result.message))


@eqx.filter_jit
def _value_and_gradient(
    theta: Array, template: GaussianModel, evidence: Evidence, priors: tuple[tuple[int, LogNormal], ...]
) -> tuple[Array, Array]:
    """Return log evidence + log prior and its gradient at coordinates theta.

    The template and the data are arguments, not constants, so that another spectrum of the same shape does not
    compile again. Eigenvectors among them that no formula touches are never copied to JAX.
    """

    def objective(theta: Array) -> Array:
        model = parameters.unpack(template, theta)
        free = parameters.slots(model)
        penalty = sum((prior.log_density(free[slot].of(model)) for slot, prior in priors), jnp.zeros(()))
        return model.log_evidence(evidence) + penalty

    return jax.value_and_grad(objective)(theta)


def _match_priors(model: GaussianModel, priors: Mapping[str, LogNormal]) -> tuple[tuple[int, LogNormal], ...]:
    """Return (number of the slot, prior on what the slot holds) for each free hyperparameter with a prior."""
    free = parameters.slots(model)
    matched = []
    for name, prior in priors.items():
        found = [i for i, slot in enumerate(free) if slot.name == name or slot.name.rsplit(".", 1)[-1] == name]
        if not found:
            known = ", ".join(slot.name for slot in free)
            raise ValueError(f"`priors` must name hyperparameters to be learned ({known}). Got {name!r}.")
        if not isinstance(prior, LogNormal):
            raise TypeError(f"`priors[{name!r}]` must be a LogNormal. Got {type(prior).__name__}.")
        _checks.positive(f"priors[{name!r}].median", prior.median)
        _checks.positive(f"priors[{name!r}].spread", prior.spread)
        for i in found:
            inverted = free[i].coordinate.shown_as is not None
            matched.append((i, LogNormal(1.0 / prior.median if inverted else prior.median, prior.spread)))
    return tuple(matched)


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
