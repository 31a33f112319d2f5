"""Drawing hyperparameters in place of averaging over a few of them: chains around the modes that learning found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hypergauss import parameters
from hypergauss.estimators.averaging import Averaged, Neighbour, Point, curvature_of
from hypergauss.estimators.tasks import Attempt, Task
from hypergauss.estimators.uncertainty import prior_variance
from hypergauss.inference.mcmc.evidence import Height, HyperparameterDraws, sample_hyperparameters
from hypergauss.learning.search import Penalised

#: Draws whose posteriors are mixed in predictions.
_PREDICTIVE_DRAWS = 100
#: The largest standard deviation that chains begin with, for a coordinate without a prior of its own.
_WIDEST = 2.0
#: Size exponents whose modes are lower than the best by more nats than this are not visited.
_FAR = 8.0


def draw(
    task: Task, attempt: Attempt, neighbours: Sequence[Neighbour], exponents: Sequence[float]
) -> tuple[Averaged, HyperparameterDraws]:
    """Return equally weighted hyperparameters to average over, and all draws, in the units of the data.

    Parameters
    ----------
    task : Task
        What was learned.
    attempt : Attempt
        The mode.
    neighbours : sequence of Neighbour
        Modes at all size exponents that were tried, the best one's among them.
    exponents : sequence of float
        The exponent of each; empty if none was searched for.
    """
    model, curvature = attempt.learned.model, curvature_of(task, attempt)
    if not len(curvature.centre):
        only = np.zeros((1, 1))
        return Averaged((Point(1.0, attempt),), curvature), HyperparameterDraws(np.zeros((1, 1, 0)), {}, only)
    covariance = curvature.covariance
    held = np.diag(covariance) == 0
    covariance[np.diag_indices_from(covariance)] += held * np.minimum(
        prior_variance(model, task.priors_for(model)), _WIDEST**2
    )
    likely = [k for k, other in enumerate(neighbours) if other.height > max(o.height for o in neighbours) - _FAR]
    neighbours, exponents = [neighbours[k] for k in likely], [exponents[k] for k in likely if exponents]
    found = sample_hyperparameters(
        [_height(task, other) for other in neighbours],
        np.stack([parameters.pack(other.attempt.learned.model) for other in neighbours]),
        covariance,
        parameters.bounds(model),
        seed=task.how.seed,
        report=task.how.report,
    )
    flat, modes = found.coordinates.reshape(-1, len(covariance)), found.modes.ravel()
    models = [
        parameters.unpack(neighbours[mode].attempt.learned.model, theta)
        for mode, theta in zip(modes, flat, strict=True)
    ]
    shown = [parameters.values(task.reported(each)) for each in models]
    shape = found.modes.shape
    values = {
        name: np.array([each[name] for each in shown]).reshape(*shape, *np.shape(shown[0][name])) for name in shown[0]
    }
    if len(exponents) > 1:
        values["size_exponent"] = np.asarray(exponents, dtype=float)[found.modes]
    chosen = np.unique(np.linspace(0, len(flat) - 1, min(_PREDICTIVE_DRAWS, len(flat))).round().astype(int))
    points = tuple(
        Point(
            1.0 / len(chosen),
            neighbours[modes[i]].attempt._replace(
                learned=neighbours[modes[i]].attempt.learned._replace(model=models[i], objective=found.heights.flat[i])
            ),
        )
        for i in chosen
    )
    return Averaged(points, curvature), HyperparameterDraws(found.coordinates, values, found.heights)


def _height(task: Task, other: Neighbour) -> Height:
    """Return objective plus log priors around a mode as a function of coordinates."""
    template = other.attempt.learned.model
    objective = task.objective(other.attempt.solver, template, other.attempt.learned.state)
    penalised = Penalised(objective, template, task.priors_for(template))

    def height(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = penalised(theta)
        # Where there is no value, a search is told of a bad one without a slope.
        return (value + other.log_prior if gradient.any() else -np.inf), gradient

    return height
