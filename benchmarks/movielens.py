"""What the contenders of the MovieLens benchmark share; it imports nothing that their environments lack."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Of myFM, as in its own examples.
RANK = 10


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds of processor time that a call took, and its result: other work does not count."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result
