"""What is going on, said where someone is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Say what is going on while it lasts, and yield a function that says what comes next."""
    with Console(stderr=True).status(first) as status:
        yield status.update
