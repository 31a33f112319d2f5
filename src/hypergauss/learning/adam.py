"""Adam: steps whose length follows the noise of the gradient (Kingma and Ba, 2015)."""

from __future__ import annotations

import numpy as np

#: How long means of gradients and of their squares remember; and what keeps a step finite where they vanish.
_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8


class Adam:
    r"""Steps rate * m / (sqrt(v) + 1e-8), with m and v running means of gradients and of their squares.

    Both start at zero, which is made up for by m / (1 - 0.9^t) and v / (1 - 0.999^t) after t steps.

    Parameters
    ----------
    rate : float
        The length of a step while gradients keep their direction.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._taken = 0
        self._mean: np.ndarray | float = 0.0
        self._square: np.ndarray | float = 0.0

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """Return the next step uphill."""
        self._taken += 1
        self._mean = _FIRST * self._mean + (1 - _FIRST) * gradient
        self._square = _SECOND * self._square + (1 - _SECOND) * gradient**2
        mean, square = self._mean / (1 - _FIRST**self._taken), self._square / (1 - _SECOND**self._taken)
        return self.rate * mean / (np.sqrt(square) + _LEAST)
