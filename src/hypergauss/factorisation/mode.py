r"""The mode of the posterior: the paper's own model, log p(U, W | R) maximised over the factors.

    log p = -tau/2 sum_ij (r_ij - u_i . w_j)^2 - 1/2 sum_k u_k' K_U^-1 u_k - 1/2 sum_k w_k' K_W^-1 w_k + constant

Given one side's factors the other side's mode solves the system of `system`, without its perturbation. Alternating
between sides climbs log p at every step, with nothing to tune, until it changes no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hypergauss.factorisation.columns import Columns
from hypergauss.factorisation.normal_equations import NormalEquations, Solution, features, normal_equations, system
from hypergauss.factorisation.ratings import View

_START_SPREAD = 0.1


class ModeProblem(NamedTuple):
    """Ratings less their mean, the priors of both sides' columns, and the precision of the noise."""

    columns: tuple[Columns, Columns]
    views: tuple[View, View]
    values: np.ndarray
    n_factors: int
    biases: bool
    precision: float
    tolerance: float

    @property
    def free(self) -> np.ndarray:
        """Columns that are learned."""
        return np.arange(0 if self.biases else 1, self.n_factors + 1)

    def rows(self, factors: np.ndarray) -> np.ndarray:
        """Return the rows (b_i, u_i); without biases b = 0."""
        if self.biases:
            return factors
        return np.concatenate([np.zeros((len(factors), 1), factors.dtype), factors], axis=1)

    def equations(self, side: int, others: np.ndarray) -> NormalEquations:
        """Return the sums that one side's system needs, given rows of the other side."""
        view = self.views[side]
        return normal_equations(view.pattern, view.table(self.values), features(others))

    def log_posterior(self, users: Solution, items: Solution) -> float:
        """Return log p at both sides' coordinates, up to a constant."""
        rows = [self.rows(solution.factors) for solution in (users, items)]
        residuals = self.values - fitted(rows[0], rows[1], self.views[0])
        prior = sum(float(np.vdot(part, part)) for solution in (users, items) for part in solution[:2])
        return -0.5 * (self.precision * float(np.vdot(residuals, residuals)) + prior)


class Mode(NamedTuple):
    """Rows of users and items at the mode, and log p after each pair of steps."""

    users: np.ndarray
    items: np.ndarray
    trace: np.ndarray


def fitted(users: np.ndarray, items: np.ndarray, by_user: View) -> np.ndarray:
    """Return b_i + c_j + u_i . w_j for every rating."""
    user = np.repeat(np.arange(len(users)), np.diff(by_user.pattern.indptr))
    u, w = users[user], items[by_user.pattern.indices]
    return np.einsum("nk,nk->n", u[:, 1:], w[:, 1:], dtype=np.float64) + u[:, 0] + w[:, 0]


def find_mode(
    problem: ModeProblem,
    rng: np.random.Generator,
    *,
    max_iterations: int,
    enough: float,
    report: Callable[[int, int], None] | None = None,
) -> Mode:
    """Climb from small random factors until log p gains less than ``enough``, as a share of its size.

    An interrupt (Ctrl-C) ends the climb where it is: every step is better than the last.
    """
    columns = problem.columns[1]
    start = _START_SPREAD * rng.standard_normal(columns.shape).astype(problem.values.dtype)
    smooth = columns.factors(start)
    items = Solution(start, np.zeros_like(smooth), smooth)
    users = _step(problem, 0, items, None)
    trace: list[float] = []
    try:
        for number in range(max_iterations):
            items = _step(problem, 1, users, items)
            users = _step(problem, 0, items, users)
            trace.append(problem.log_posterior(users, items))
            if report is not None:
                report(number + 1, max_iterations)
            if number and trace[-1] - trace[-2] < enough * abs(trace[-1]):
                break
    except KeyboardInterrupt:
        if not trace:
            raise
    return Mode(problem.rows(users.factors), problem.rows(items.factors), np.array(trace))


def _step(problem: ModeProblem, own: int, other: Solution, before: Solution | None) -> Solution:
    """Return one side's mode given the other side."""
    equations = problem.equations(own, problem.rows(other.factors))
    conditional = system(equations, problem.columns[own], mean=0.0, precision=problem.precision, free=problem.free)
    return conditional.mean(problem.tolerance, None if before is None else before.smooth)
