r"""log det(I + K W) = log det(Q + W) - log det Q, both estimated.

The first is that of the preconditioner P = q + W, plus tr log(P^-1/2 B P^-1/2) by stochastic Lanczos quadrature: the
mean over probes z = P^1/2 (signs) of N e_1' log(T_z) e_1, T_z the tridiagonal matrix that conjugate gradients for
B x = z have gone through. The second is a mean over the density of eigenvalues (`field`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hypergauss.operators import Block
from hypergauss.solvers.iterative.determinant import log_forms
from hypergauss.solvers.markov.system import System
from hypergauss.solvers.pathwise import Estimate


class Probes(NamedTuple):
    """Solved probes z: B^-1 z and P^-1 z, blocks of shape (N, s), and log det(I + K W)."""

    solved: Block
    preconditioned: Block
    log_det: Estimate


def log_determinant(system: System) -> Probes:
    """Return log det(I + K W) with its standard error, and the solves behind it."""
    operator, options = system.workspace.operator, system.workspace.options
    N = operator.size
    count = options.probes_for(N)
    # As many probes as vertices are all unit vectors, and leave nothing to chance.
    signs = operator.vector(np.sqrt(N) * np.eye(N)) if count >= N else operator.signs(count, options.generator(2))
    root = np.sqrt(system.diagonal)
    solution = system.solve(operator.settle(root * signs), by_diagonal=True)
    by_probe, missing = log_forms(solution, np.full(signs.shape[1], float(N)))
    spread = 0.0 if count >= N else float(by_probe.std(ddof=1) / np.sqrt(len(by_probe)))
    log_det, of_density = system.field.log_det()
    of_diagonal = float(operator.fetch(np.log(system.diagonal).sum()))
    value = of_diagonal + float(by_probe.mean()) - log_det
    estimate = Estimate(value, float(np.hypot(max(spread, missing), of_density)))
    return Probes(solution.x, operator.settle(signs / root), estimate)
