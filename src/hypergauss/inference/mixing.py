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
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._residuals: list[np.ndarray] = []
        self._targets: list[np.ndarray] = []

    def next(self, x: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return where to go from x with g(x) = target: to the target itself at first."""
        residual = np.ravel(target - x)
        if self._residuals and np.linalg.norm(residual) > _WORSE * np.linalg.norm(self._residuals[-1]):
            self._residuals, self._targets = [], []
        self._residuals = [*self._residuals, residual][-1 - self.memory :]
        self._targets = [*self._targets, np.ravel(target)][-1 - self.memory :]
        if len(self._residuals) == 1:
            return target
        F = np.diff(self._residuals, axis=0)
        G = np.diff(self._targets, axis=0)
        gram = F @ F.T
        weights = np.linalg.solve(gram + _DAMPING * np.trace(gram) * np.eye(len(F)), F @ residual)
        return (np.ravel(target) - weights @ G).reshape(np.shape(x))
