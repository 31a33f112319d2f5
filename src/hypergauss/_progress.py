"""One line that says what is going on: in a terminal, in a notebook, or as plain lines where there is neither."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.display import DisplayHandle, Pretty
    from rich.status import Status

#: Seconds between plain lines of one stage, and between changes of a notebook's line.
_LINES, _NOTEBOOK = 10.0, 0.2
_LISTENER: ContextVar[Display | None] = ContextVar("listener", default=None)


class Display(ABC):
    """What is shown: a stage, and the latest detail of it. Calling it says the detail."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def stage(self, text: str) -> None:
        """Begin another stage."""
        self._stage = text
        self._show(text, is_new=True)

    def __call__(self, detail: str) -> None:
        """Say where the stage is."""
        self._show(f"{self._stage}: {detail}", is_new=False)

    @abstractmethod
    def _show(self, text: str, *, is_new: bool) -> None: ...


class _Terminal(Display):
    def __init__(self, stage: str, status: Status) -> None:
        super().__init__(stage)
        self._status = status

    def _show(self, text: str, *, is_new: bool) -> None:  # noqa: ARG002
        self._status.update(text)


class _Notebook(Display):
    """One line of output that changes; a page takes some time to draw, so not at every step."""

    def __init__(self, stage: str, handle: DisplayHandle, make: Callable[[str], Pretty]) -> None:
        super().__init__(stage)
        self._handle, self._make, self._last = handle, make, 0.0

    def _show(self, text: str, *, is_new: bool) -> None:
        if is_new or time.monotonic() - self._last >= _NOTEBOOK:
            self._handle.update(self._make(text))
            self._last = time.monotonic()


class _Lines(Display):
    """A line at each stage, and now and then one within a long stage."""

    _last: float

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage(stage)

    def _show(self, text: str, *, is_new: bool) -> None:
        if is_new or time.monotonic() - self._last >= _LINES:
            print(f"hypergauss: {text}", file=sys.stderr, flush=True)  # noqa: T201
            self._last = time.monotonic()


class _Silent(Display):
    def _show(self, text: str, *, is_new: bool) -> None: ...


@contextmanager
def displayed(stage: str, *, lines: bool = True, quiet: bool = False) -> Iterator[Display]:
    """Show a stage while it lasts, and yield what shows what comes next.

    Parameters
    ----------
    stage : str
        The first one.
    lines : bool
        Print plain lines where there is neither a terminal nor a notebook; otherwise nothing is shown there.
    quiet : bool
        Show nothing anywhere.
    """
    listener = _LISTENER.get()
    if listener is not None:
        yield listener
    elif quiet:
        yield _Silent(stage)
    elif (notebook := _notebook(stage)) is not None:
        yield notebook
        notebook.stage("done")
    elif sys.stderr.isatty():
        from rich.console import Console  # not needed by most imports, and the first to be felt

        with Console(stderr=True).status(stage) as status:
            yield _Terminal(stage, status)
    else:
        yield _Lines(stage) if lines else _Silent(stage)


@contextmanager
def reported_to(display: Display) -> Iterator[None]:
    """Let whatever is displayed meanwhile, such as a model's learning, appear as details of this display."""
    token = _LISTENER.set(display)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def progress(show: bool) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows how far learning is, or None if nothing is to be shown and nobody listens."""
    if not show and _LISTENER.get() is None:
        yield None
        return
    with displayed("learning") as display:
        yield display


def _notebook(stage: str) -> Display | None:
    """Return a line of a notebook's cell, if there is one; it needs no widgets."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import Pretty, display

    def make(text: str) -> Pretty:
        return Pretty(text)

    return _Notebook(stage, display(make(stage), display_id=True), make)


def duration(seconds: float) -> str:
    """Return seconds as a person says them.

    >>> duration(3.2), duration(200), duration(9000)
    ('3 s', '3 min', '2.5 h')
    """
    if seconds < 99.5:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5970 else f"{seconds / 3600:.2g} h"


class Clock:
    """How long the rest of equal parts will take, by those that are done.

    Parameters
    ----------
    guess : float, optional
        Seconds of one, before any is done.
    """

    def __init__(self, guess: float | None = None) -> None:
        self._guess, self._start = guess, time.monotonic()

    def remaining(self, done: int, parts: int) -> str:
        """Return ", about so long to go", or nothing where nothing is known."""
        each = (time.monotonic() - self._start) / done if done else self._guess
        return "" if each is None or done >= parts else f", about {duration(each * (parts - done))} to go"
