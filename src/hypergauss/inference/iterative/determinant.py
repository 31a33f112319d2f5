r"""log det B by stochastic Lanczos quadrature on the preconditioned system.

    log det B = log det P + tr log(P^-1/2 B P^-1/2),

the trace as the mean over probes z, coloured signs of covariance P, of q_z = |z|_P^2 e_1' log(T_z) e_1, where
|z|_P^2 = z' P^-1 z and T_z is the tridiagonal matrix that conjugate gradients for B x = z have gone through (Gardner et
al., 2018). The closer P is to B, the less there is to estimate. |z|_P^2 is n on average; what it differs by in a probe
moves q_z by as much of the mean logarithm, which is taken off with the mean logarithm of all other probes: independent
of this one, so that the estimate has no bias.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hypergauss.inference.iterative.system import System
from hypergauss.operators.base import random_signs


class Probes(NamedTuple):
    """Solved probes z: B^-1 z and P^-1 z, blocks of shape (N, s), and what they say of the determinant."""

    solved: Any
    preconditioned: Any
    value: float
    standard_error: float


def log_determinant(system: System) -> Probes:
    """Return log det B with its standard error, and the solves behind it."""
    options = system.workspace.options
    count = options.probes_for(system.operator.size)
    number = system.operator.fetch((system.precision > 0).sum())
    while True:
        preconditioner = system.preconditioner
        rng = options.generator(2)
        white = (system.precision > 0) * system.operator.signs(count, rng)
        inner = random_signs((preconditioner.rank, count), rng)
        coloured = preconditioner.colour(white, inner)
        preconditioned = preconditioner.solve(coloured)
        squares = system.operator.fetch(system.operator.dot(coloured, preconditioned))
        solution = system.solve(coloured)
        if system.preconditioner is preconditioner:
            break
        # Leading eigenvectors were found on the way: probes are drawn anew for the better preconditioner.
    rule = solution.rules(squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(rule.weights > 0, np.log(rule.nodes), 0.0)
    by_probe = (rule.weights * logs).sum(axis=1)
    mean_log_of_others = (by_probe.sum() - by_probe) / (squares.sum() - squares)
    by_probe = by_probe - mean_log_of_others * (squares - number)
    return Probes(
        solution.x,
        preconditioned,
        preconditioner.log_det() + float(by_probe.mean()),
        float(by_probe.std(ddof=1) / np.sqrt(len(by_probe))),
    )
