"""What is going on, said where someone is looking."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from hypergauss.exceptions import DataWarning


@contextmanager
def data_notes() -> Iterator[list[str]]:
    """Collect what is to be said of the data that are read meanwhile."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield notes
    for warning in caught:
        if issubclass(warning.category, DataWarning):
            notes.append(str(warning.message))
        else:
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Say what is going on while it lasts, and yield a function that says what comes next."""
    with Console(stderr=True).status(first) as status:
        yield status.update
