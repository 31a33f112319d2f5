"""Numbers as the page holds them: five digits, which is what can be seen, in half the space."""

from __future__ import annotations

from typing import Any

import numpy as np


def rounded(values: Any) -> list[float]:
    """Return numbers to five digits."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float).tolist()]


def finite(value: Any, otherwise: Any = 0.0) -> Any:
    """Return a number to five digits, or what stands for one that is not finite."""
    number = float(value)
    return float(f"{number:.5g}") if np.isfinite(number) else otherwise
