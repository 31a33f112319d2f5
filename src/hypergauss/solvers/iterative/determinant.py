r"""log det B by stochastic Lanczos quadrature on the preconditioned system.

    log det B = log det P + tr log(P^-1/2 B P^-1/2),

the trace as the mean over probes z, coloured signs of covariance P, of q_z = |z|_P^2 e_1' log(T_z) e_1, where
|z|_P^2 = z' P^-1 z and T_z is the tridiagonal matrix that conjugate gradients for B x = z have gone through (Gardner et
al., 2018). The closer P is to B, the less there is to estimate. |z|_P^2 is n on average; what it differs by in a probe
moves q_z by as much of the mean logarithm, which is taken off with the mean logarithm of all other probes: independent
of this one, so that the estimate has no bias. Where a system is factorised, nothing is left to chance: log det B is
known, and probes are multiples of all unit vectors, for the gradient's sake.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.operators import Block, scattered
from hypergauss.operators.base import random_signs
from hypergauss.solvers.conjugate_gradients import Solution
from hypergauss.solvers.iterative.system import FactorisedSystem, System
from hypergauss.solvers.pathwise import Estimate

#: The rate at which quadrature is taken to converge where it does not show.
_SLOWEST = 0.5


class Probes(NamedTuple):
    """Solved probes z: B^-1 z and P^-1 z, blocks of shape (N, s), and what they say of the determinant."""

    solved: Block
    preconditioned: Block
    value: float
    standard_error: float

    @property
    def estimate(self) -> Estimate:
        """Log det B with its standard error."""
        return Estimate(self.value, self.standard_error)


def log_determinant(system: System) -> Probes:
    """Return log det B with its standard error, or a bound on the error, and the solves behind it."""
    if isinstance(system, FactorisedSystem):
        coloured = _spanning(system)
        preconditioned = system.preconditioner.solve(coloured)
        return Probes(system.solve(coloured).x, preconditioned, system.log_det(), system.log_det_bound)
    while True:
        preconditioner = system.preconditioner
        coloured = system.operator.settle(_draw(system))
        preconditioned = system.operator.settle(preconditioner.solve(coloured))
        squares = system.operator.fetch(system.operator.dot(coloured, preconditioned))
        solution = system.solve(coloured)
        if system.preconditioner is preconditioner:
            break
        # Leading eigenvectors were found on the way: probes are drawn anew for the better preconditioner.
    by_probe, missing = log_forms(solution, squares)
    mean_log_of_others = (by_probe.sum() - by_probe) / (squares.sum() - squares)
    by_probe = by_probe - mean_log_of_others * (squares - system.num_sites)
    error = max(missing, float(by_probe.std(ddof=1) / np.sqrt(len(by_probe))))
    return Probes(solution.x, preconditioned, preconditioner.log_det() + float(by_probe.mean()), error)


def log_forms(solution: Solution, squares: np.ndarray) -> tuple[np.ndarray, float]:
    """Return y' log(P^-1/2 B P^-1/2) y of each probe, and what quadrature may leave of their mean."""
    by_probe = _log_forms(solution, squares)
    return by_probe, _missing([float(forms.mean()) for forms in (by_probe, *_earlier_forms(solution, squares))])


def _earlier_forms(solution: Solution, squares: np.ndarray) -> list[np.ndarray]:
    """Return the same forms as they were one and two steps before."""
    one = solution.without_last_step()
    return [_log_forms(one, squares), _log_forms(one.without_last_step(), squares)]


def _missing(latest: list[float]) -> float:
    """Return what is missing of a limit, from the last three of its approximations, the latest first.

    Gauss' rule converges geometrically: what is missing is to the last change as this is to the one before.
    """
    last, before = abs(latest[0] - latest[1]), abs(latest[1] - latest[2])
    rate = last / before if before > last else _SLOWEST
    return last * rate / (1 - rate)


def _log_forms(solution: Solution, squares: np.ndarray) -> np.ndarray:
    """Return y' log(P^-1/2 B P^-1/2) y of each probe."""
    rule = solution.rules(squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(rule.weights > 0, np.log(rule.nodes), 0.0)
    return (rule.weights * logs).sum(axis=1)


def _draw(system: System) -> Block:
    """Return random probes."""
    preconditioner, operator, options = system.preconditioner, system.operator, system.workspace.options
    count, rng = options.probes_for(operator.size), options.generator(2)
    white = (system.precision > 0) * operator.signs(count, rng)
    return preconditioner.colour(white, random_signs((preconditioner.rank, count), rng))


def _spanning(system: FactorisedSystem) -> Block:
    """Return probes with nothing random about them: the mean of z z' is P itself."""
    n, k = len(system.rows), system.preconditioner.rank
    units = np.sqrt(n + k) * np.eye(n + k)
    return system.preconditioner.colour(scattered(system.operator, system.rows, units[:n]), units[n:])
