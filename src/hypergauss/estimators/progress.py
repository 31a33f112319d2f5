"""What a long fit is doing, as one line that changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hypergauss._progress import displayed, is_listened_to


@contextmanager
def progress(show: bool) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows a line of progress, or None if nothing is to be shown and nobody listens."""
    if not (show or is_listened_to()):
        yield None
        return
    with displayed("learning") as display:
        yield display
