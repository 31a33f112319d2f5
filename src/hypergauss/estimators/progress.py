"""One line in the terminal that says what a long fit is doing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def progress(show: bool) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows a line of progress, or None if nothing is to be shown."""
    if not show:
        yield None
        return
    with Console(stderr=True).status("learning") as status:
        yield status.update
