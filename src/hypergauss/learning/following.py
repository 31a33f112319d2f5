r"""Following a top that moves: a step or two from where it was, by gradients and what is known of its curvature.

Where data are added to data that hyperparameters were learned from, the top of the evidence moves by some of their
standard errors as a rule. With g the gradient of objective plus log prior where the top was, and C the covariance of
the coordinates there, Newton's step is C g. One that would be longer than a standard error is cut short, and a second
goes from the better end of it, with C as the two gradients correct it (Broyden, Fletcher, Goldfarb and Shanno's update
of an inverse): as more is known, C narrows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: The gain that a step foresees, in nats, below which none is taken, and the longest step in standard errors.
ENOUGH, _LONGEST = 0.2, 1.0
#: The cosine between a step and what the gradient changed by, at which these still say something of C.
_LEAST_COSINE = 1e-3


def followed(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    covariance: np.ndarray,
    limits: np.ndarray,
) -> np.ndarray:
    """Return the coordinates that two steps at most lead to, shape (p,); the last of them is not looked at.

    Parameters
    ----------
    value_and_gradient : callable
        Objective plus log prior, and its gradient, at coordinates.
    start : array, shape (p,)
        Where the top was.
    covariance : array, shape (p, p)
        C, zero for coordinates that are held.
    limits : array, shape (p, 2)
        The range of each coordinate.
    """
    free, C = np.diag(covariance) > 0, covariance

    def foreseen(gradient: np.ndarray) -> float:
        return max(float(gradient @ C @ gradient), 0.0) / 2

    def step(theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        gain = foreseen(gradient)
        if gain < ENOUGH:
            return theta
        return np.clip(theta + C @ gradient * min(1.0, _LONGEST / np.sqrt(2 * gain)), limits[:, 0], limits[:, 1])

    value, gradient = value_and_gradient(start)
    gradient = gradient * free
    there = step(start, gradient)
    if 2 * foreseen(gradient) <= _LONGEST**2:
        return there
    value_there, gradient_there = value_and_gradient(there)
    gradient_there = gradient_there * free
    C = _corrected(C, there - start, gradient - gradient_there)
    return step(there, gradient_there) if value_there > value else step(start, gradient)


def _corrected(C: np.ndarray, step: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Return C such that C bend = step, where a step lost so much of the gradient, if that says that there is a top."""
    along = float(step @ bend)
    if along <= _LEAST_COSINE * np.sqrt((step @ step) * (bend @ bend)):
        return C
    V = np.eye(len(step)) - np.outer(step, bend) / along
    return V @ C @ V.T + np.outer(step, step) / along
