"""What the contenders of the MovieLens benchmark share; it imports nothing that their environments lack."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Of myFM, as in its own examples.
RANK = 10


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[dict[str, float], Any]:
    """Return how long a call took, and its result.

    ``seconds`` are of processor time, so that other work does not count, and ``clock`` are those that passed.
    """
    start, clock = time.process_time(), time.perf_counter()
    result = function(*arguments)
    return {"seconds": time.process_time() - start, "clock": time.perf_counter() - clock}, result
