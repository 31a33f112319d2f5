"""Fixed points of slow maps: Anderson's mixing of the last steps."""

from __future__ import annotations

import numpy as np

#: Mixing weights are found with this much damping, relative to the residuals' own size.
_DAMPING = 1e-8
#: A residual that has grown by this much says that the steps before it have nothing to say.
_WORSE = 1.5


class Mixing:
    """The next point of x -> g(x), from the last few: the combination whose residuals g(x) - x cancel best.

    Parameters
    ----------
    memory : int
        How many differences of steps are combined.
    damping : float
        The share of what is left of the residual that is taken: 1 for all, less where g overshoots.
    """

    def __init__(self, memory: int, damping: float = 1.0) -> None:
        self.memory, self.damping = memory, damping
        self._latest: tuple[np.ndarray, np.ndarray] | None = None
        #: What the point and the residual have changed by in each of the last steps, (memory, size) each.
        self._steps: tuple[np.ndarray, np.ndarray] | None = None

    def next(self, x: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return where to go from x with g(x) = target: straight towards the target at first."""
        here = (np.ravel(x), np.ravel(target - x))
        residual = here[1]
        before, self._latest = self._latest, here
        if before is None or residual @ residual > _WORSE**2 * (before[1] @ before[1]):
            self._steps = None
            return x + self.damping * (target - x)
        nothing = np.empty((0, residual.size))
        X, F = (nothing, nothing) if self._steps is None else self._steps
        oldest = max(len(X) + 1 - self.memory, 0)
        X, F = np.vstack([X, here[0] - before[0]])[oldest:], np.vstack([F, residual - before[1]])[oldest:]
        self._steps = X, F
        gram = F @ F.T
        size = np.trace(gram) or 1.0  # steps that have changed nothing have nothing to say
        gram.flat[:: len(gram) + 1] += _DAMPING * size
        weights = np.linalg.solve(gram, F @ residual)
        step = self.damping * residual - weights @ X - self.damping * (weights @ F)
        return x + step.reshape(np.shape(x))
