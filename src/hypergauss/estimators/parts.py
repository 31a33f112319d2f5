"""Which observations hyperparameters are learned from where all of them would take long."""

from __future__ import annotations

import numpy as np


def chosen_part(kinds: np.ndarray, size: int) -> np.ndarray:
    """Return a random choice of observations, the same each time, in order: of each kind in proportion, one at least.

    Each kind's members are shuffled and spread evenly over [0, 1): the first of all kinds come first.
    """
    shuffled = np.random.default_rng(0).permutation(len(kinds))
    _, group, counts = np.unique(kinds[shuffled], return_inverse=True, return_counts=True)
    turn = np.empty(len(kinds))
    for kind, count in enumerate(counts):
        turn[group == kind] = np.arange(count) / count
    return np.sort(shuffled[np.argsort(turn, kind="stable")[:size]])
