"""What is going on, said where someone is looking."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hypergauss._progress import Clock, Display
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


def tell_folds(display: Display, folds: int, *, guess: float) -> Callable[[str], None]:
    """Return what announces one fold after the other, each with the time that all of the rest will take.

    Parameters
    ----------
    display : Display
        Where.
    folds : int
        How many there are.
    guess : float
        Seconds of one, before the first is done.
    """
    clock, told = Clock(guess), iter(range(folds))
    return lambda text: display.stage(f"{text}{clock.remaining(next(told), folds)}")
