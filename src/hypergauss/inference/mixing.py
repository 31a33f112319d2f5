"""Fixed points of slow maps: Anderson's mixing of the last steps, and when they are reached."""

from __future__ import annotations

import numpy as np

#: Mixing weights are found with this much damping, relative to the residuals' own size.
_DAMPING = 1e-8
#: How much larger than the last change the one before it may be, for the last not to be small by chance.
_BEFORE = 30.0
#: A residual that has grown by this much says that the steps before it have nothing to say.
_WORSE = 1.5


class Settling:
    """Whether values have settled: the last change is at most ``enough``, and the one before it was small too.

    Steps that are mixed may change a value by nearly nothing once and go on; near a fixed point each change is a
    fraction of the one before.
    """

    def __init__(self, enough: float) -> None:
        self.enough = enough
        self._last, self._change = np.inf, np.inf

    def has_at(self, value: float) -> bool:
        """Return whether they have, with this one."""
        before, self._change, self._last = self._change, abs(value - self._last), value
        return self._change <= self.enough and before <= _BEFORE * self.enough


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
