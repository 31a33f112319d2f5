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
        self._residuals: list[np.ndarray] = []
        self._points: list[np.ndarray] = []

    def next(self, x: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return where to go from x with g(x) = target: straight towards the target at first."""
        residual = np.ravel(target - x)
        if self._residuals and np.linalg.norm(residual) > _WORSE * np.linalg.norm(self._residuals[-1]):
            self._residuals, self._points = [], []
        self._residuals = [*self._residuals, residual][-1 - self.memory :]
        self._points = [*self._points, np.ravel(x)][-1 - self.memory :]
        step = self.damping * residual
        if len(self._residuals) > 1:
            F, X = np.diff(self._residuals, axis=0), np.diff(self._points, axis=0)
            gram = F @ F.T
            size = np.trace(gram) or 1.0  # steps that have changed nothing have nothing to say
            weights = np.linalg.solve(gram + _DAMPING * size * np.eye(len(F)), F @ residual)
            step = step - weights @ (X + self.damping * F)
        return x + step.reshape(np.shape(x))
