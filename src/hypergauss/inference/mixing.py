"""Fixed points of slow maps: Anderson's mixing of the last steps, and when they are reached."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

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
        #: Where the last step would have led without mixing, and its residual.
        self._latest: np.ndarray | None = None
        #: What these two have changed by in each of the last steps, in any order, and how many steps that are.
        self._changes = np.empty((2, memory, 0))
        self._count = 0

    def next(self, x: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return where to go from x with g(x) = target: straight towards the target at first."""
        residual = (target - x).ravel()
        latest = np.array([x.ravel() + self.damping * residual, residual])
        before, self._latest = self._latest, latest
        plain = latest[0]
        if self.memory == 0 or before is None or residual @ residual > _WORSE**2 * (before[1] @ before[1]):
            self._count = 0
            return plain.reshape(x.shape)
        if self._count == 0:
            self._changes = np.empty((2, self.memory, residual.size))
        np.subtract(latest, before, out=self._changes[:, self._count % self.memory])
        self._count += 1
        moves, F = self._changes[:, : self._count]
        gram = F @ F.T
        size = gram.trace() or 1.0  # steps that have changed nothing have nothing to say
        gram.flat[:: len(gram) + 1] += _DAMPING * size
        return (plain - dposv(gram, F @ residual)[1] @ moves).reshape(x.shape)
