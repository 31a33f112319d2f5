"""Coordinates of a finite range as functions of coordinates that know no end."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logit

#: How far inside its range a point stands at least, as a share of it, where coordinates without an end are asked for.
_WITHIN = 0.02


class Ranges:
    """theta = a + (b - a) / (1 + exp(-u)) for each coordinate, and theta = u where a range has no end.

    Parameters
    ----------
    limits : array, shape (p, 2)
        a and b.
    """

    def __init__(self, limits: np.ndarray) -> None:
        self.low, high = limits.T
        self.is_bounded = np.isfinite(limits).all(axis=1)
        self.width = np.where(self.is_bounded, high - self.low, 1.0)

    def inside(self, u: np.ndarray) -> np.ndarray:
        """Return theta."""
        return np.where(self.is_bounded, self.low + self.width * expit(u), u)

    def free(self, theta: np.ndarray) -> np.ndarray:
        """Return u, of a point a little inside where theta is at the end of a range."""
        share = np.clip((theta - self.low) / self.width, _WITHIN, 1 - _WITHIN)
        return np.where(self.is_bounded, logit(share), theta)

    def slope(self, u: np.ndarray) -> np.ndarray:
        """Return d theta / d u."""
        return np.where(self.is_bounded, self.width * expit(u) * expit(-u), 1.0)

    def log_volume(self, u: np.ndarray) -> float:
        """Return log |d theta / d u|, which underflows nowhere."""
        logs = np.log(self.width) + log_expit(u) + log_expit(-u)
        return float(np.where(self.is_bounded, logs, 0.0).sum())

    def log_volume_slope(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of `log_volume`."""
        return np.where(self.is_bounded, expit(-u) - expit(u), 0.0)
