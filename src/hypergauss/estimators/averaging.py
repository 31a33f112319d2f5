"""Averaging over hyperparameters: the mode that learning found, its surroundings, and neighbouring size exponents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.tasks import Attempt, Task
from hypergauss.learning.curvature import Curvature, curvature_at
from hypergauss.learning.priors import Matched, log_prior, match_priors
from hypergauss.learning.search import Penalised, value_at

#: Exponents of less posterior probability than this are left out, and the lightest points that weigh less together.
_NEGLIGIBLE, _WEIGHTLESS = 0.02, 0.01


class Point(NamedTuple):
    """A value of the hyperparameters, its share of the average, and what its posterior is found from."""

    weight: float
    attempt: Attempt


class Neighbour(NamedTuple):
    """A mode at one size exponent: the exponent's log prior, what it reaches with that, and the mode itself."""

    log_prior: float
    height: float
    attempt: Attempt


class Averaged(NamedTuple):
    """The points averaged over, the heaviest first, and the curvature around the mode."""

    points: tuple[Point, ...]
    curvature: Curvature

    @property
    def effective_size(self) -> float:
        """How many equally weighted points the average is worth."""
        weights = np.array([point.weight for point in self.points])
        return float(1.0 / (weights**2).sum())


def average(task: Task, attempt: Attempt, neighbours: Sequence[Neighbour], count: int) -> Averaged:
    """Return hyperparameters to average over, drawn around modes and weighted by what they reach.

    Parameters
    ----------
    task : Task
        What was learned.
    attempt : Attempt
        The mode.
    neighbours : sequence of Neighbour
        Modes at all size exponents that were tried, the best one's among them.
    count : int
        Points to draw.
    """
    curvature = curvature_of(task, attempt)
    if not curvature.root.size:
        return Averaged((Point(1.0, attempt),), curvature)
    offsets, log_densities = curvature.points(count)
    heights = np.array([other.height for other in neighbours])
    shares = np.exp(heights - heights.max())
    shares = np.where(shares / shares.sum() < _NEGLIGIBLE, 0.0, shares)
    counts = _apportioned(shares / shares.sum(), count)
    found, log_weights, start = [], [], 0
    for number, other in zip(counts, neighbours, strict=True):
        model = other.attempt.learned.model
        priors = match_priors(model, task.priors_for(model))
        for at in range(start, start + number):
            reached, height = _moved(task, other.attempt, offsets[at], priors)
            if np.isfinite(height):
                found.append(reached)
                # An exponent that is drawn in proportion to its share is not weighted by it once more.
                log_weights.append(height + other.log_prior - log_densities[at] - np.log(number))
        start += number
    if not found:
        return Averaged((Point(1.0, attempt),), curvature)
    kept, weights = heaviest_of(_truncated(np.array(log_weights)))
    return Averaged(tuple(Point(float(w), found[i]) for i, w in zip(kept, weights, strict=True)), curvature)


def heaviest_of(weights: np.ndarray, dispensable: float = _WEIGHTLESS) -> tuple[np.ndarray, np.ndarray]:
    """Return which points to keep, the heaviest first, and their weights: without the lightest, of so large a share."""
    order = np.argsort(-weights, kind="stable")
    kept = order[np.cumsum(weights[order]) - weights[order] < (1 - dispensable) * weights.sum()]
    return kept, weights[kept] / weights[kept].sum()


def curvature_of(task: Task, attempt: Attempt) -> Curvature:
    """Return the normal approximation of the hyperparameters around a mode."""
    model = attempt.learned.model
    evaluate = Penalised(task.objective(attempt.solver, model, attempt.learned.state), model, task.priors_for(model))
    return curvature_at(evaluate, parameters.pack(model), parameters.bounds(model), widest=task.widest)


def _moved(task: Task, attempt: Attempt, offset: np.ndarray, priors: Matched) -> tuple[Attempt, float]:
    """Return an attempt away from its mode, and objective plus log prior there."""
    template = attempt.learned.model
    limits = parameters.bounds(template)
    theta = np.clip(parameters.pack(template) + offset, limits[:, 0], limits[:, 1])
    model = parameters.unpack(template, theta)
    objective = task.objective(attempt.solver, model, attempt.learned.state)
    evidence = value_at(objective, model)
    height = evidence + log_prior(model, priors)
    learned = attempt.learned._replace(model=model, log_evidence=evidence, objective=height, state=objective.state)
    return Attempt(learned, attempt.solver), height


def _apportioned(shares: np.ndarray, count: int) -> list[int]:
    """Return whole numbers in proportion to shares that add up to a count, by largest remainders."""
    exact = shares * count
    whole = np.floor(exact).astype(int)
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[: count - whole.sum()]] += 1
    return [int(number) for number in whole]


def _truncated(log_weights: np.ndarray) -> np.ndarray:
    """Return normalised weights, none larger than sqrt(count) times their mean (Ionides, 2008)."""
    weights = np.exp(log_weights - log_weights.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(len(weights)))
    return weights / weights.sum()
